"""The summary of a robot as text on a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.tree import Tree

from nacelle.errors import Problem, number_of
from nacelle.kinematics.mechanism.check import Check
from nacelle.model.joint import MOTION, JointKind
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.report.summary import force_words, shown_body, summary, tree_data
from nacelle.report.table import plain_table


def problem_line(problem: Problem) -> str:
    """One problem as a line with colours."""
    place = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    colour = "red" if problem.severity == "error" else "yellow"
    path = f" [cyan]{escape(problem.path)}[/]:" if problem.path else ""
    hint = f" [green]({escape(problem.hint)})[/]" if problem.hint else ""
    kind = "" if problem.severity == "error" else "warning: "
    return f"[bold]{escape(place)}[/]:{path} [{colour}]{kind}{escape(problem.message)}[/]{hint}"


def show(check: Check, console: Console) -> None:
    """Print everything about a robot."""
    data = summary(check)
    robot = check.robot
    console.print(f"[bold]{escape(data['name'])}[/]  {escape(data['title'])}")
    grammar = f", elements {data['elements']}" if data["elements"] else ""
    console.print(
        (f"{number_of(len(data['legs']), 'leg')}, " if data["legs"] else "")
        + f"{number_of(len(data['bodies']), 'moving body', 'moving bodies')}, "
        f"{number_of(len(data['joints']), 'joint')}, {number_of(data['loops'], 'loop')}, "
        f"{number_of(len(data['actuators']), 'actuator')}, motion {escape(data['motion'])}"
        f"{escape(grammar)}; hash {data['hash'][:16]}"
    )
    if data["notes"]:
        console.print(Padding(f"[dim]{escape(data['notes'])}[/]", (0, 0, 0, 2), expand=False))
    console.print()
    console.print(_tree(robot))
    if data["legs"]:
        console.print(_section("Legs", _legs(data)))
    console.print(_section("Joints", _joint_table(data)))
    if data["couplings"]:
        console.print(_section("Couplings", _coupling_table(data)))
    console.print(_section("Actuators", _actuator_table(data)))
    console.print(_section("Bodies", _body_table(data)))
    console.print(_section("Mobility", _mobility(data)))
    console.print(_section("Parameters", _parameters(data)))
    console.print(_section("Platform" if robot.has_nacelle else "Reference", _platform(data)))
    if data["sources"]:
        console.print(_section("Sources", Group(*(escape(text) for text in data["sources"]))))
    for problem in check.problems:
        console.print(problem_line(problem))


def _section(title: str, content: RenderableType) -> RenderableType:
    return Group(f"\n[bold]{title}[/]", Padding(content, (0, 0, 0, 2), expand=False))


def _tree(robot: Robot) -> Tree:
    """The spanning tree, with closures where the loops are cut."""
    children = tree_data(robot)
    active = {actuator.joint for actuator in robot.actuators}

    def describe(k: int) -> str:
        joint = robot.joints[k]
        mark = " [bold green]active[/]" if k in active else ""
        return f"[cyan]{escape(joint.name)}[/] {joint.kind}{mark}"

    def grow(node: Tree, body: int) -> None:
        for k in children.get(body, []):
            child = robot.joints[k].successor
            massless = " [dim]massless[/]" if robot.bodies[child].massless else ""
            grow(node.add(f"{describe(k)} > {escape(robot.bodies[child].name)}{massless}"), child)
        for k, joint in enumerate(robot.closures, start=robot.tree):
            if k not in robot.written_joints:
                continue
            if joint.predecessor == body:
                other = joint.successor
            elif joint.successor == body and joint.predecessor == PLATFORM:
                other = joint.predecessor
            else:
                continue
            if body == PLATFORM and robot.nacelle.kind in ("rigid", "point"):
                continue
            node.add(f"{describe(k)} [magenta]closes on[/] {escape(shown_body(robot, other))}")

    root = Tree("[bold]base[/]")
    grow(root, BASE)
    if not robot.has_nacelle:
        grow(root, PLATFORM)
        return root
    platform = f"[bold]{escape(robot.bodies[PLATFORM].name)}[/] [dim]{robot.nacelle.kind} nacelle[/]"
    motion = escape(robot.motion.name)
    grow(root.add(f"[cyan]platform coordinates[/] {motion} > {platform}"), PLATFORM)
    return root


def _legs(data: dict[str, Any]) -> RenderableType:
    table = _leg_table(data)
    names: dict[str, list[str]] = {}
    for leg in data["legs"]:
        names.setdefault(leg["reason"], []).append(leg["name"])
    listed = [f"{', '.join(legs)} without closed form: {reason}" for reason, legs in names.items() if reason]
    if data["refused_form"]:
        listed.append(f"programs are not written in the smallest form: {data['refused_form']}")
    return Group(table, *(escape(line) for line in listed))


def _leg_table(data: dict[str, Any]) -> Table:
    table = plain_table("leg", "type", "inverse kinematics", "elements", "bodies>", "closures>", "branch>")
    for leg in data["legs"]:
        table.add_row(
            escape(leg["name"]),
            escape(leg["type"]),
            leg["method"],
            escape(leg["elements"]) or "-",
            str(len(leg["bodies"])),
            str(len(leg["closures"])),
            f"{leg['branch']:+d}" if leg["branch"] else "-",
        )
    return table


def _limits(pairs: list[list[float | None]], turning: Sequence[bool]) -> str:
    words = []
    for (low, high), revolute in zip(pairs, turning, strict=False):
        if low is None and high is None:
            continue
        ends = ["" if end is None else _short(math.degrees(end) if revolute else end) for end in (low, high)]
        words.append(f"{ends[0]}..{ends[1]} {'deg' if revolute else 'm'}")
    return ", ".join(words) or "-"


def _short(value: float) -> str:
    return f"{value:.4g}"


def _coupling_table(data: dict[str, Any]) -> Table:
    table = plain_table("coupling", "joint", "follows")
    for coupling in data["couplings"]:
        terms = [f"{ratio:.6g} {name}" for name, ratio in coupling["follows"].items()]
        terms += [f"{coupling['offset']:.6g}"] if coupling["offset"] else []
        table.add_row(*map(escape, (coupling["name"], coupling["joint"], " + ".join(terms))))
    return table


def _joint_table(data: dict[str, Any]) -> Table:
    table = plain_table("joint", "kind", "role", "freedoms>", "between", "friction and springs", "limits")
    for joint in data["joints"]:
        table.add_row(
            escape(joint["name"]),
            joint["kind"] + (" [bold green]active[/]" if joint["active"] else ""),
            joint["role"],
            str(joint["freedoms"]),
            f"{escape(joint['predecessor'])} - {escape(joint['successor'])}",
            force_words(joint) or "-",
            _limits(joint["limits"], [step.is_rotation for step in MOTION[JointKind(joint["kind"])]]),
        )
    return table


def _actuator_table(data: dict[str, Any]) -> Table:
    table = plain_table("actuator", "joint", "gear>", "rotor inertia>", "position", "speed>", "force>")
    for actuator in data["actuators"]:
        revolute = actuator["kind"] == "revolute"
        table.add_row(
            escape(actuator["name"]),
            escape(actuator["joint"]),
            _short(actuator["gear_ratio"]),
            _short(actuator["rotor_inertia"]),
            _limits([actuator["position"]], [revolute]),
            _unit(actuator["speed"], "rad/s" if revolute else "m/s"),
            _unit(actuator["force"], "N m" if revolute else "N"),
        )
    return table


def _unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{_short(value)} {unit}"


def _body_table(data: dict[str, Any]) -> Table:
    table = plain_table("body", "mass kg>", "centre of mass m", "inertia about it, xx xy xz yy yz zz, kg m^2")
    for body in data["bodies"]:
        if not body["mass"]:
            table.add_row(escape(body["name"]), "-", "-", "-")
            continue
        table.add_row(
            escape(body["name"]),
            _short(body["mass"]),
            " ".join(_short(_zero(v)) for v in body["com"]),
            " ".join(_short(_zero(v, 1e-14)) for v in body["inertia_about_com"]),
        )
    return table


def _zero(value: float, tiny: float = 1e-15) -> float:
    return 0.0 if abs(value) < tiny else value


def _mobility(data: dict[str, Any]) -> RenderableType:
    m = data["mobility"]
    if m is None:
        return "not known: the loops do not close in the reference pose"
    plane = "" if m["counted_planar"] is None else f", in the plane {m['counted_planar']}"
    idle = f" ({m['idle_count']} of them idle)" if m["idle_count"] else ""
    head = f"Chebyshev-Grübler-Kutzbach: {m['counted']} in space{plane}; by rank: {m['true']}{idle}."
    return Group(head, *(escape(sentence) for sentence in m["sentences"]))


def _platform(data: dict[str, Any]) -> RenderableType:
    """Reference pose, gravity, tools, payload and modes."""

    def vector(values: list[float]) -> str:
        return " ".join(_short(_zero(value)) for value in values)

    lines = [
        f"reference position {vector(data['reference']['position'])} m, "
        f"quaternion x y z w {vector(data['reference']['quat_xyzw'])}; "
        f"gravity {vector(data['gravity'])} m/s^2"
    ]
    return Group(*(escape(line) for line in (*lines, *attached_parts(data, _short))))


def attached_parts(data: dict[str, Any], number: Callable[[float], str]) -> list[str]:
    """Tools, payload, springs and dampers between bodies, and modes of a summary, a line each."""
    return [
        *(f"tool {tool['name']} on {tool['body']}" for tool in data["tools"]),
        *(f"payload {p['name']} on {p['body']}, {number(p['mass'])} kg" for p in data["payload"]),
        *(
            f"spring {s['name']} between {' and '.join(s['between'])}, {number(s['stiffness'])} N/m, "
            f"free length {number(s['length'])} m"
            for s in data["springs"]
        ),
        *(
            f"damper {d['name']} between {' and '.join(d['between'])}, {number(d['damping'])} N m s/rad"
            for d in data["dampers"]
        ),
        *(f"mode {mode['name']}: motion {mode['motion']}" for mode in data["modes"]),
    ]


def _parameters(data: dict[str, Any]) -> str:
    numbers = data["parameters"]
    listing = ", ".join(f"{count} {group}" for group, count in numbers.items() if count)
    return f"{sum(numbers.values())} numbers: {listing}"
