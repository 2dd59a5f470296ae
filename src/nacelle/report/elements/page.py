"""A robot as kinematic elements, on a page: the pen-and-paper view of [OAM].

The tables list the elements of each leg with their states ([OAM] section 3), the dynamic parameters of each
in its own axes, the kinematic coordinates ([OAM] Table 1) and the local forces and torques ([OAM] Table 2);
the equations run from the motion basis to A Gamma + b = 0 ([OAM] (58)). Formulas are written once, in LaTeX;
text on a terminal is derived from them. Signs are those of [OAM], with its errata: y = z x x, friction on
both bodies.
"""

from __future__ import annotations

from nacelle.dynamics.formulations.elements import projection as elements
from nacelle.errors import KinematicsError
from nacelle.kinematics.elements.geometry import ElementGeometry
from nacelle.kinematics.elements.reading import element_legs
from nacelle.kinematics.legs.leg_type import leg_type, robot_elements
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.report.elements.equations import leg_sections
from nacelle.report.elements.leg import LegPage
from nacelle.report.elements.symbols import short_name, state_symbol, tex
from nacelle.report.formula import Cell, ElementReport, FormulaSection, FormulaTable, Maths

_LETTERS = {"B": "bar", "Sp": "spindle", "T": "telescopic", "S": "screw"}


def element_report(robot: Robot) -> ElementReport:
    """Write a robot as kinematic elements.

    Raises:
        KinematicsError: if its elements are not covered; the message says why.
    """
    mechanism = mechanism_of(robot)
    reason = elements.reason_not(mechanism)
    if reason:
        raise KinematicsError(f"{robot.name} cannot be written as kinematic elements: {reason}")
    legs = element_legs(mechanism)
    at = ElementGeometry(robot, mechanism.assembly.motion.poses)
    pages = [LegPage(at, k, leg) for k, leg in enumerate(legs, start=1)]
    sections = [_element_section(pages), _parameter_section(pages), _motion_section(robot)]
    for alike in _alike(pages):
        sections += leg_sections(alike)
    sections.append(_sum_section(robot, pages))
    grammar = robot_elements([leg_type(robot, leg) for leg in robot.legs])
    return ElementReport(robot.name, robot.title, grammar, tuple(sections))


def _alike(pages: list[LegPage]) -> list[list[LegPage]]:
    """Legs that are written with the same equations."""
    groups: dict[tuple[object, ...], list[LegPage]] = {}
    for page in pages:
        groups.setdefault(page.signature, []).append(page)
    return list(groups.values())


def _element_section(pages: list[LegPage]) -> FormulaSection:
    rows: list[tuple[Cell, ...]] = []
    for page in pages:
        i, leg = str(page.number), page.leg
        for k, element in enumerate(leg.all_elements):
            states = {"A": "<A#>", "x": "<x#>", "d": "<d#>", "theta": "<t#>"}
            moving = [tex(states[name], page.lines[k].label, i) for name in element.basis]
            place, joint = _attachment(page, k)
            share = "" if element.share == 1.0 else f" (1/{round(1.0 / element.share)})"
            rows.append(
                (
                    leg.leg.name,
                    Maths(tex("<E#>", page.lines[k].label, i)),
                    element.name + share,
                    f"{element.letter} {_LETTERS[element.letter]}",
                    place,
                    joint,
                    Maths(", ".join(moving) or r"\text{-}"),
                )
            )
    header = ("leg", "element", "bodies", "type", "attached to", "by", "varying state")
    sentence = (
        "An element goes from its input point A along its direction x over its length d and turns by theta "
        "about it ([OAM] section 3); the nacelle is split evenly among the legs that hold it."
    )
    return FormulaSection("Kinematic elements", sentence, (FormulaTable(header, tuple(rows)),))


def _attachment(page: LegPage, k: int) -> tuple[str, str]:
    """What an element is attached to at its input, and by which joints."""
    leg, robot = page.leg, page.robot
    count = len(leg.elements)
    if k >= count:
        part = leg.parts[k - count]
        if part.neighbour is not None:
            return robot.bodies[part.neighbour].name, robot.joints[part.joint].name
        last = leg.rods[0].body if leg.moving is None else leg.moving
        if leg.fold is not None:
            last = robot.joints[leg.fold.end].successor
        return robot.bodies[last].name, f"{robot.joints[part.joint].name} ({robot.joints[part.joint].kind})"
    if k == 0 and leg.driver is not None:
        return "base", f"{robot.joints[leg.driver].name} ({robot.joints[leg.driver].kind})"
    hold = leg.rods[k - page.first].hold
    before = "base" if leg.driver is None else leg.elements[0].name
    if leg.fold is not None:
        joint = (leg.fold.rod_a, leg.fold.rod_b)[k - page.first]
        return robot.bodies[
            robot.joints[leg.fold.hub].successor
        ].name, f"{robot.joints[joint].name} (revolute)"
    return before, " + ".join(f"{robot.joints[j].name} ({robot.joints[j].kind})" for j in hold.joints)


def _parameter_section(pages: list[LegPage]) -> FormulaSection:
    rows: list[tuple[Cell, ...]] = []
    for page in pages:
        for member in page.members:
            m, hx, hy, hz, xx, xy, yy, xz, yz, zz = page.parameters(member)
            about = "output end" if member.role in ("moving", "end") else "A"
            rows.append(
                (
                    Maths(tex("<E#>", page.lines[member.line].label, str(page.number))),
                    page.robot.bodies[member.body].name,
                    about,
                    *(_number(value) for value in (m, hx, hy, hz, xx, yy, zz, xy, xz, yz)),
                )
            )
    unit = {"h": "kg m", "I": "kg m^2"}
    names = ["mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz"]
    header: list[Cell] = ["element", "body", "about", "m kg"]
    header += [f"{name} {unit['h'] if name[0] == 'm' else unit['I']}" for name in names]
    sentence = (
        "Mass, first moment and inertia of each body, or of the share of it, in the element's axes: x along "
        "its direction, z along its joint's axis where it has one, y = z x x; about its input point A, or "
        "its output end."
    )
    return FormulaSection("Dynamic parameters", sentence, (FormulaTable(tuple(header), tuple(rows)),))


def _motion_section(robot: Robot) -> FormulaSection:
    entries = ", ".join(robot.motion.coordinates)
    turn = "" if robot.nacelle.kind == "point" else r" + \boldsymbol{\omega} \times (B_{i} - E)"
    return FormulaSection(
        "Motion of the nacelle",
        f"The reduced twist v has the entries {entries}; E is the platform frame's origin, B a leg's end.",
        equations=(rf"\dot{{B}}_{{i}} = \dot{{E}}{turn} = \mathbf{{M}}_{{B_{{i}}}} \mathbf{{v}}",),
    )


def _sum_section(robot: Robot, pages: list[LegPage]) -> FormulaSection:
    """All legs together: A Gamma + b = 0."""
    # An actuator elsewhere is written by the rate of its own joint.
    columns = [r"\mathbf{M}_{q_{\text{" + short_name(drive.name) + "}}}^{T}" for drive in robot.actuators]
    free = []
    for page in pages:
        for number, column in page.drives().items():
            columns[number] = column
        for _, _, symbol in page.basis(str(page.number)):
            free.append(r"\mathbf{M}_{@}^{T} \tilde{F}_{@}".replace("@", state_symbol(symbol)))
    size = rf"\quad \mathbf{{A}}: {robot.motion.n} \times {len(robot.actuators)}"
    lines = [
        r"\dot{\mathbf{x}}_{i,j} = \mathbf{M}_{\mathbf{x}_{i,j}} \mathbf{v}, \quad \dot{d}_{i,j} = "
        r"\mathbf{M}_{d_{i,j}} \mathbf{v}, \quad \dot{\theta}_{i,j} = \mathbf{M}_{\theta_{i,j}} \mathbf{v}",
        r"\mathbf{A} \boldsymbol{\Gamma} + \mathbf{b} = 0, " + size,
        r"\mathbf{A} = [ " + ", ".join(columns) + " ]",
    ]
    for first, terms in enumerate(_batches(free, 4)):
        lines.append((r"\mathbf{b} = " if not first else r"\quad + ") + " + ".join(terms))
    names = ", ".join(actuator.name for actuator in robot.actuators)
    sentence = (
        f"Sum over all elements ([OAM] (56), (58)); Gamma are the forces of {names}, and F with a tilde are "
        "the dynamic coordinates without them."
    )
    return FormulaSection("The model", sentence, equations=tuple(lines))


def _batches(items: list[str], size: int) -> list[list[str]]:
    return [items[k : k + size] for k in range(0, len(items), size)]


def _number(value: float) -> Maths:
    """A number with four digits; zero where it is rounding."""
    text = f"{0.0 if abs(value) < 1e-12 else value:.4g}"
    digits, e, power = text.partition("e")
    return Maths(rf"{digits} \cdot 10^{{{int(power)}}}" if e else digits)
