"""Summary of a robot: tree, joints, loops, mobility, parameters and legs, as plain data and as text sections.

`nacelle show`, data sheets and notebooks show the same sections.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from nacelle.compile import refusal_reason
from nacelle.dynamics import reference
from nacelle.errors import NacelleError, Problem, format_count
from nacelle.kinematics.legs.leg_type import LegType, leg_type, robot_elements
from nacelle.kinematics.mechanism.check import Check
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.mobility import Mobility
from nacelle.model.joint import LETTERS, MOTION, JointKind
from nacelle.model.leg import BASE, PLATFORM, Leg
from nacelle.model.numbers import GROUPS
from nacelle.model.robot import Robot
from nacelle.report.table import Part, plain_table
from nacelle.spatial.inertia import inertia_about_com
from nacelle.spatial.physics import reason_for_tree
from nacelle.spatial.rotation import quat_from_rotation

# ---- as plain data


def summary(check: Check) -> dict[str, Any]:
    """Give everything that `nacelle show` prints, as plain data ready for JSON; SI units, base axes."""
    robot = check.robot
    types = [leg_type(robot, leg) for leg in robot.legs]
    methods = _leg_methods(check, types)
    return {
        "name": robot.name,
        "title": robot.title,
        "notes": " ".join(robot.notes.split()),
        "sources": list(robot.sources),
        "hash": robot.hash,
        "motion": robot.motion.name,
        "gravity": list(robot.gravity),
        "reference": {
            "position": _float_list(robot.reference.p),
            "quat_xyzw": _float_list(quat_from_rotation(robot.reference.R)),
        },
        "elements": robot_elements(types),
        "legs": [
            {
                "name": leg.name,
                "type": kind.name,
                "method": method,
                "reason": reason,
                "elements": kind.elements,
                "bodies": [robot.bodies[b].name for b in leg.bodies],
                "joints": [robot.joints[j].name for j in leg.joints],
                "closures": _closure_names(robot, leg.closures),
                "branch": leg.branch or None,
            }
            for leg, kind, (method, reason) in zip(robot.legs, types, methods, strict=True)
        ],
        "platform": {
            "kind": robot.platform.kind,
            "bodies": [robot.bodies[b].name for b in robot.platform.bodies if b in robot.described_bodies],
            "joints": [robot.joints[j].name for j in robot.platform.joints],
            "closures": _closure_names(robot, robot.platform.closures),
        },
        "bodies": [_body_data(robot, k) for k in robot.described_bodies],
        "joints": [_joint_data(robot, k) for k in robot.described_joints],
        "couplings": [_coupling_data(robot, k) for k in robot.couplings],
        "actuators": [_actuator_data(robot, k) for k in range(len(robot.actuators))],
        "tools": [{"name": t.name, "body": robot.bodies[t.body].name} for t in robot.tools],
        "payload": [
            {"name": p.name, "body": robot.bodies[p.body].name, "mass": p.inertia[0]} for p in robot.payload
        ],
        "springs": _between_bodies(robot, robot.springs, "stiffness", "length", "damping"),
        "dampers": _between_bodies(robot, robot.dampers, "damping"),
        "torsion_springs": _between_bodies(robot, robot.torsion_springs, "stiffness", "rest"),
        "modes": [{"name": m.name, "motion": m.motion.name} for m in robot.modes],
        "loops": _loop_count(robot),
        "refused_form": _reason_for_tree(check),
        "parameters": {group: len(robot.parameter_names(group)) for group in GROUPS},
        "mobility": None if check.mobility is None else mobility_data(check.mobility),
        "problems": [problem.as_dict() for problem in check.problems],
    }


def _between_bodies(robot: Robot, forces: Sequence[Any], *numbers: str) -> list[dict[str, Any]]:
    """Springs or dampers between two bodies as plain data: name, bodies, and the attributes `numbers`."""
    return [
        {
            "name": force.name,
            "between": [robot.bodies[b].name for b in force.bodies],
            **{number: getattr(force, number) for number in numbers},
        }
        for force in forces
    ]


def _reason_for_tree(check: Check) -> str:
    """Why programs of the robot use the formulation of the tree; empty if they use the compact form."""
    try:
        return refusal_reason(check.robot) or reason_for_tree(reference.inverse, check.robot)
    except NacelleError:
        return ""


def _leg_methods(check: Check, types: list[LegType]) -> list[tuple[str, str]]:
    """For each leg "closed form" or "Newton", and the reason where it is not solved in closed form."""
    try:
        mechanism = mechanism_of(check.robot)
    except NacelleError:
        return [(kind.method, kind.reason) for kind in types]
    if mechanism.parasitic:
        return [("Newton", "the platform has parasitic motion, so that all legs are solved together")] * len(
            types
        )
    missed = "no root of its closed form is the reference configuration"
    return [
        ("Newton", kind.reason or missed) if plan.closed_form is None else ("closed form", "")
        for plan, kind in zip(mechanism.legs, types, strict=True)
    ]


def mobility_data(m: Mobility) -> dict[str, Any]:
    """Mobility as plain data, with its description in sentences."""
    data = dataclasses.asdict(m)
    data["spinning"] = [spin.body for spin in m.internal_freedoms]
    return {**data, "sentences": m.describe()}


def _closure_names(robot: Robot, closures: tuple[int, ...]) -> list[str]:
    """Names of the joints where loops are cut, without couplings and the ground."""
    return [robot.joints[c].name for c in closures if c in robot.described_joints]


def _loop_count(robot: Robot) -> int:
    """Number of independent loops of the joint graph: joints minus moving bodies."""
    # A coupling connects no bodies; a joint at the point of a point platform closes no loop that the point
    # does not close.
    joints = sum(not (joint.at_point or joint.is_coupling) for joint in robot.joints)
    return joints - (len(robot.bodies) - 1)


def _coupling_data(robot: Robot, k: int) -> dict[str, Any]:
    """A coupling as plain data: q of `joint` = sum of ratio times q of `follows`, + offset; rad or m."""
    joint = robot.joints[k]
    (first, _), *followed = joint.terms
    return {
        "name": joint.name,
        "joint": robot.joints[first].name,
        "follows": {robot.joints[j].name: -factor for j, factor in followed},
        "offset": joint.offset,
    }


def body_name(robot: Robot, body: int) -> str:
    """Name of a body as the description has it; a robot without a platform has the base in its place."""
    return robot.bodies[BASE if body == PLATFORM and not robot.has_platform else body].name


def _float_list(values: Any) -> list[float]:
    # + 0.0 turns -0.0 into 0.0.
    return [float(value) + 0.0 for value in np.ravel(values)]


def _finite_or_none(values: tuple[float, ...]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]


def _body_data(robot: Robot, k: int) -> dict[str, Any]:
    body = robot.bodies[k]
    ten = np.array(body.inertia)
    com = ten[1:4] / ten[0] if ten[0] else np.zeros(3)
    return {
        "name": body.name,
        "mass": float(ten[0]),
        "com": _float_list(com),
        "inertia_about_com": _float_list(inertia_about_com(ten)[np.triu_indices(3)]),
        "flexible": body.section is not None,
    }


def _joint_data(robot: Robot, k: int) -> dict[str, Any]:
    joint = robot.joints[k]
    return {
        "name": joint.name,
        "kind": str(joint.kind),
        "role": "tree" if k < robot.tree else "closure",
        "active": any(actuator.joint == k for actuator in robot.actuators),
        "predecessor": body_name(robot, joint.predecessor),
        "successor": body_name(robot, joint.successor),
        "freedoms": joint.nv,
        "friction": sorted({term.basis for axis in joint.friction for term in axis}),
        "spring": any(spring is not None for spring in joint.springs),
        "stop": any(stop is not None for stop in joint.stops),
        "rotor_inertia": joint.rotor_inertia,
        "limits": [_finite_or_none(pair) for pair in joint.limits],
    }


def _actuator_data(robot: Robot, k: int) -> dict[str, Any]:
    actuator = robot.actuators[k]
    joint = robot.joints[actuator.joint]
    return {
        "name": actuator.name,
        "joint": joint.name,
        "kind": str(joint.kind),
        "gear_ratio": joint.gear_ratio,
        "rotor_inertia": joint.rotor_inertia,
        "torque_constant": actuator.torque_constant or None,
        "encoder": {"zero": actuator.encoder_zero, "sign": actuator.encoder_sign},
        "position": _finite_or_none(actuator.position),
        "speed": _finite_or_none((actuator.speed,))[0],
        "force": _finite_or_none((actuator.force,))[0],
    }


def tree_children(robot: Robot) -> dict[int, list[int]]:
    """For every body the tree joints whose predecessor it is; base and platform first."""
    children: dict[int, list[int]] = {BASE: [], PLATFORM: []}
    for k, joint in enumerate(robot.tree_joints):
        children.setdefault(joint.predecessor, []).append(k)
    return children


# ---- as sections, on a terminal and in pages


def problem_line(problem: Problem) -> str:
    """One problem as a line with colours."""
    location = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    colour = "red" if problem.severity == "error" else "yellow"
    path = f" [cyan]{escape(problem.path)}[/]:" if problem.path else ""
    hint = f" [green]({escape(problem.hint)})[/]" if problem.hint else ""
    kind = "" if problem.severity == "error" else "warning: "
    return f"[bold]{escape(location)}[/]:{path} [{colour}]{kind}{escape(problem.message)}[/]{hint}"


def print_summary(check: Check, console: Console) -> None:
    """Print everything about a robot."""
    data, robot = summary(check), check.robot
    console.print(f"[bold]{escape(data['name'])}[/]  {escape(data['title'])}")
    console.print(f"{counts_line(data)}; hash {data['hash'][:16]}", markup=False)
    if data["notes"]:
        console.print(Padding(f"[dim]{escape(data['notes'])}[/]", (0, 0, 0, 2), expand=False))
    console.print()
    console.print(_tree_diagram(robot))
    for title, parts in sections(data, robot).items():
        content = Group(*(Text(part) if isinstance(part, str) else part for part in parts))
        console.print(Group(f"\n[bold]{title}[/]", Padding(content, (0, 0, 0, 2), expand=False)))
    for problem in check.problems:
        console.print(problem_line(problem))


def counts_line(data: dict[str, Any]) -> str:
    """Line with the numbers of legs, bodies, joints, loops and actuators, the motion and the leg elements."""
    grammar = f", elements {data['elements']}" if data["elements"] else ""
    return (
        (f"{format_count(len(data['legs']), 'leg')}, " if data["legs"] else "")
        + f"{format_count(len(data['bodies']), 'moving body', 'moving bodies')}, "
        f"{format_count(len(data['joints']), 'joint')}, {format_count(data['loops'], 'loop')}, "
        f"{format_count(len(data['actuators']), 'actuator')}, motion {data['motion']}{grammar}"
    )


def sections(data: dict[str, Any], robot: Robot) -> dict[str, list[Part]]:
    """The sections of a robot by title, empty ones left out.

    Args:
        data: its summary.
        robot: the robot.
    """
    by_title: dict[str, list[Part]] = {
        "Legs": _leg_parts(data, robot),
        "Joints": [_joint_table(data)],
        "Couplings": [_coupling_table(data)] if data["couplings"] else [],
        "Actuators": [_actuator_table(data)],
        "Bodies": [_body_table(data)],
        "Mobility": ["not known: the loops do not close in the reference pose"]
        if data["mobility"] is None
        else mobility_lines(data["mobility"]),
        "Parameters": [_parameter_line(data)],
        "Platform" if robot.has_platform else "Reference": _platform_lines(data),
        "Sources": list(data["sources"]),
    }
    return {title: parts for title, parts in by_title.items() if parts}


def _tree_diagram(robot: Robot) -> Tree:
    """The spanning tree, with closures where the loops are cut."""
    children = tree_children(robot)
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
            if k not in robot.described_joints:
                continue
            if joint.predecessor == body:
                body_closed = joint.successor
            elif joint.successor == body and joint.predecessor == PLATFORM:
                body_closed = joint.predecessor
            else:
                continue
            if body == PLATFORM and robot.platform.kind in ("rigid", "point"):
                continue
            node.add(f"{describe(k)} [magenta]closes on[/] {escape(body_name(robot, body_closed))}")

    root = Tree("[bold]base[/]")
    grow(root, BASE)
    if not robot.has_platform:
        grow(root, PLATFORM)
        return root
    platform = f"[bold]{escape(robot.bodies[PLATFORM].name)}[/] [dim]{robot.platform.kind} platform[/]"
    motion = escape(robot.motion.name)
    grow(root.add(f"[cyan]platform coordinates[/] {motion} > {platform}"), PLATFORM)
    return root


def _leg_parts(data: dict[str, Any], robot: Robot) -> list[Part]:
    if not data["legs"]:
        return []
    table = plain_table("leg", "type", "inverse kinematics", "elements", "bodies>", "closures>", "branch>")
    names: dict[str, list[str]] = {}
    for leg, robot_leg in zip(data["legs"], robot.legs, strict=True):
        names.setdefault(leg["reason"], []).append(leg["name"])
        table.add_row(
            escape(leg["name"]),
            leg_letters(robot, robot_leg),
            leg["method"],
            escape(leg["elements"]) or "-",
            str(len(leg["bodies"])),
            str(len(leg["closures"])),
            f"{leg['branch']:+d}" if leg["branch"] else "-",
        )
    remarks = [f"{', '.join(legs)} without closed form: {reason}" for reason, legs in names.items() if reason]
    if data["refused_form"]:
        remarks.append(f"programs are not written in the compact form: {data['refused_form']}")
    return [table, *remarks]


def leg_letters(robot: Robot, leg: Leg) -> Text:
    """The type of a leg by letters, joints with a drive underlined: UPS."""
    kind, driven = leg_type(robot, leg), {actuator.joint for actuator in robot.actuators}
    letters = Text.assemble(*_styled_letters(robot, leg, kind, driven))
    if letters.plain == kind.name:
        return letters
    # The name of a leg with a parallelogram (RPaR) is not its letters; its first letter is the driven joint.
    first = kind.parallelogram is not None and kind.parallelogram.root in driven
    return Text.assemble(_styled_letter(kind.name[:1], first), kind.name[1:])


def _styled_letter(sign: str, active: bool) -> tuple[str, str]:
    return sign, "underline" if active else ""


def _styled_letters(robot: Robot, leg: Leg, kind: LegType, driven: set[int]) -> list[tuple[str, str]]:
    """Letters of a leg with their styles; brackets and bars around branches, R[SS|SS], are entries too."""
    if not kind.trunk:
        parts = [
            [_styled_letter(LETTERS[robot.joints[j].kind], j in driven) for j in part]
            for part in (leg.joints, leg.closures)
        ]
        return [*parts[0], ("-", ""), *parts[1]]

    def group_rows(groups: Any) -> list[tuple[str, str]]:
        return [
            _styled_letter(group.letter, any(joint.joint in driven for joint in group.joints))
            for group in groups
        ]

    trunk = group_rows(kind.trunk)
    if not kind.branches:
        if kind.planar and trunk:
            # In the plane the last joint acts as a revolute joint, whatever it is in space.
            trunk[-1] = ("R", trunk[-1][1])
        return trunk
    branches = [letter for branch in kind.branches for letter in (("|", ""), *group_rows(branch))][1:]
    return [*trunk, ("[", ""), *branches, ("]", "")]


def _format_limits(pairs: list[list[float | None]], is_rotation: Sequence[bool]) -> str:
    texts = []
    for (low, high), revolute in zip(pairs, is_rotation, strict=False):
        if low is None and high is None:
            continue
        ends = [
            "" if end is None else _format_short(math.degrees(end) if revolute else end)
            for end in (low, high)
        ]
        texts.append(f"{ends[0]}..{ends[1]} {'deg' if revolute else 'm'}")
    return ", ".join(texts) or "-"


def _format_short(value: float) -> str:
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
            _joint_effects(joint) or "-",
            _format_limits(joint["limits"], [step.is_rotation for step in MOTION[JointKind(joint["kind"])]]),
        )
    return table


def _joint_effects(joint: dict[str, Any]) -> str:
    """Labels of the forces in a joint: kinds of friction, spring, end stop."""
    kinds = (kind for kind, word in (("spring", "spring"), ("end stop", "stop")) if joint[word])
    return " ".join([*joint["friction"], *kinds])


def _actuator_table(data: dict[str, Any]) -> Table:
    table = plain_table("actuator", "joint", "gear>", "rotor inertia>", "position", "speed>", "force>")
    for actuator in data["actuators"]:
        revolute = actuator["kind"] == "revolute"
        table.add_row(
            escape(actuator["name"]),
            escape(actuator["joint"]),
            _format_short(actuator["gear_ratio"]),
            _format_short(actuator["rotor_inertia"]),
            _format_limits([actuator["position"]], [revolute]),
            _format_with_unit(actuator["speed"], "rad/s" if revolute else "m/s"),
            _format_with_unit(actuator["force"], "N m" if revolute else "N"),
        )
    return table


def _format_with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{_format_short(value)} {unit}"


def _body_table(data: dict[str, Any]) -> Table:
    table = plain_table("body", "mass kg>", "centre of mass m", "inertia about it, xx xy xz yy yz zz, kg m^2")
    for body in data["bodies"]:
        if not body["mass"]:
            table.add_row(escape(body["name"]), "-", "-", "-")
            continue
        table.add_row(
            escape(body["name"]),
            _format_short(body["mass"]),
            " ".join(_format_short(_round_to_zero(v)) for v in body["com"]),
            " ".join(_format_short(_round_to_zero(v, 1e-14)) for v in body["inertia_about_com"]),
        )
    return table


def _round_to_zero(value: float, tiny: float = 1e-15) -> float:
    return 0.0 if abs(value) < tiny else value


def mobility_lines(m: dict[str, Any]) -> list[Part]:
    """Lines on mobility: by the Chebyshev-Grübler-Kutzbach formula, by rank, and its description."""
    plane = "" if m["counted_planar"] is None else f", in the plane {m['counted_planar']}"
    internal = f" ({m['internal_count']} of them internal)" if m["internal_count"] else ""
    head = f"Chebyshev-Grübler-Kutzbach: {m['counted']} in space{plane}; by rank: {m['true']}{internal}."
    return [head, *m["sentences"]]


def _platform_lines(data: dict[str, Any]) -> list[Part]:
    """Reference pose, gravity, tools, payload, springs and dampers between bodies, modes."""

    def vector(values: list[float]) -> str:
        return " ".join(_format_short(_round_to_zero(value)) for value in values)

    return [
        f"reference position {vector(data['reference']['position'])} m, "
        f"quaternion x y z w {vector(data['reference']['quat_xyzw'])}; "
        f"gravity {vector(data['gravity'])} m/s^2",
        *(f"tool {tool['name']} on {tool['body']}" for tool in data["tools"]),
        *(f"payload {p['name']} on {p['body']}, {_format_short(p['mass'])} kg" for p in data["payload"]),
        *(
            f"spring {s['name']} between {' and '.join(s['between'])}, {_format_short(s['stiffness'])} N/m, "
            f"free length {_format_short(s['length'])} m"
            for s in data["springs"]
        ),
        *(
            f"damper {d['name']} between {' and '.join(d['between'])}, {_format_short(d['damping'])} "
            "N m s/rad"
            for d in data["dampers"]
        ),
        *(
            f"torsion spring {s['name']} between {' and '.join(s['between'])}, coefficients "
            f"{vector(s['stiffness'])} N m/rad^k, rest {_format_short(s['rest'])} rad"
            for s in data["torsion_springs"]
        ),
        *(f"mode {mode['name']}: motion {mode['motion']}" for mode in data["modes"]),
    ]


def _parameter_line(data: dict[str, Any]) -> str:
    numbers = data["parameters"]
    listing = ", ".join(f"{count} {group}" for group, count in numbers.items() if count)
    return f"{sum(numbers.values())} numbers: {listing}"
