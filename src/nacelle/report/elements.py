"""A robot as kinematic elements, on a page: the pen-and-paper view of [OAM].

The tables list the elements of each leg with their states ([OAM] section 3), the dynamic parameters of each
in its own axes, the kinematic coordinates ([OAM] Table 1) and the local forces and torques ([OAM] Table 2);
the equations run from the motion basis to A Gamma + b = 0 ([OAM] (58)). Formulas are written once, in LaTeX;
text on a terminal is derived from them. Signs are those of [OAM], with its errata: y = z x x, friction on
both bodies.

A leg is taken in the reference pose: lines, bodies, their parameters and the motion basis. Partial
velocities of its bodies ([OAM] Table 1) are K in V = K rate, and K^T f; its equations are motion
constraints, kinematic coordinates, forces, dynamic coordinates ([OAM] 3, 5).
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.legs.leg_type import leg_type, robot_elements
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot, body_parameters, has_mass
from nacelle.papers.elements import projection as elements
from nacelle.papers.elements.structure import ElementGeometry, ElementLeg, element_legs, welded_bodies
from nacelle.report.formula import Cell, ElementReport, Formula, FormulaSection, FormulaTable, escape_latex
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.scalar import Array

# ---- symbols in LaTeX


_BOLD = dict.fromkeys("xyzabcnefgrI", r"\mathbf{%s}") | {
    "w": r"\boldsymbol{\omega}",
    "T": r"\boldsymbol{\tau}",
    "t": r"\theta",
    "l": r"\ell",
}
_CODE = re.compile(r"<([A-Za-z])('*)([A-Za-z0-9#]*)>")


def format_formula(template: str, label: str = "", leg: str = "i") -> str:
    """A formula from a template: <x'2> is the rate of x of element 2 in a leg, # the label."""

    def symbol(match: re.Match[str]) -> str:
        letter, primes, index = match.groups()
        base = _BOLD.get(letter, letter)
        base = base % letter if "%s" in base else base
        index = index.replace("#", label)
        dotted = rf"\{'d' * len(primes)}ot{{{base}}}" if primes else base
        return f"{dotted}_{{{leg},{index}}}" if index else f"{dotted}_{{{leg}}}"

    return _CODE.sub(symbol, template)


def state_symbol(rate: str) -> str:
    """The symbol of a state from that of its rate."""
    return rate.replace(r"\dot{", "{", 1)


def latex_short_name(name: str) -> str:
    """The last part of a name, such as elbow of leg1.elbow, for LaTeX."""
    return escape_latex(name.rpartition(".")[2])


# ---- a leg in the reference pose


class ElementLine(NamedTuple):
    """An element in the reference pose: input point, direction, third axis; label of its indices."""

    label: str
    A: Array
    x: Array
    z: Array


class ElementBody(NamedTuple):
    """A body of an element.

    Attributes:
        body: index.
        line: index of the element among all of the leg.
        role: "body", "cross", "moving", "end" or "part".
        origin: point from which its parameters count (3,).
        mark: index of its symbols.
    """

    body: int
    line: int
    role: str
    origin: Array
    mark: str


class LegPage:
    """Remarks about a leg, in the reference pose."""

    def __init__(self, at: ElementGeometry, number: int, leg: ElementLeg) -> None:
        self.robot, self.at, self.leg, self.number = at.robot, at, leg, number
        self.lines = [*self._leg_lines(), *(self._part_line(k) for k in range(len(leg.parts)))]
        self.members = self._members()

    @property
    def first(self) -> int:
        """Place of the first rod or strut among the elements."""
        return 0 if self.leg.form == "strut" else 1

    @property
    def starts_with_slider(self) -> bool:
        """Whether the leg starts with a slider."""
        return self.leg.elements[0].basis == ("d",)

    @property
    def signature(self) -> tuple[object, ...]:
        """What legs have in common that are written with the same equations."""
        return (
            self.leg.form,
            tuple((e.letter, e.basis) for e in self.leg.all_elements),
            tuple((rod.hold.letter, rod.hold.cross is None, rod.end.letter) for rod in self.leg.rods),
            tuple((m.line, m.role, self.is_off_line(m), self.is_misaligned(m)) for m in self.members),
            self.is_tip_off_line,
            tuple(part.neighbour for part in self.leg.parts),
            len(self.drives()),
        )

    def _leg_lines(self) -> list[ElementLine]:
        leg, at = self.leg, self.at
        lines: list[ElementLine] = []
        if leg.driver is not None:
            F = at.frame(leg.driver)
            if not leg.has_arm:
                lines.append(ElementLine("1", F.p, F.R[:, 2], _perpendicular(F.R[:, 2])))
            else:
                E, x = at.ends(leg, leg.rods[0])[0], at.lines(leg)[0].x
                lines.append(ElementLine("1", E - x * (x @ (E - F.p)), x, F.R[:, 2]))
        for k, rod in enumerate(leg.bars):
            x, A = at.direction(leg, rod), at.ends(leg, rod)[0]
            if leg.fold is not None:
                A = np.asarray(at.frame((leg.fold.rod_a, leg.fold.rod_b)[k]).p)
            lines.append(ElementLine(str(len(lines) + 1), A, x, self._third_axis(k, x)))
        return lines

    def _third_axis(self, k: int, x: Array) -> Array:
        """The third axis of a rod: across its direction, in the plane of its joint's axis behind."""
        axes = self.leg.rods[k].hold.axes
        if not axes:
            return _perpendicular(x)
        b = self.at.axis(axes[1])
        across = b - x * (x @ b)
        return np.asarray(across / np.linalg.norm(across))

    def _part_line(self, k: int) -> ElementLine:
        A, x = self.at.lines(self.leg)[len(self.leg.elements) + k]
        return ElementLine("n" if k == 0 else f"n{k + 1}", A, x, _perpendicular(x))

    def _members(self) -> list[ElementBody]:
        leg, members = self.leg, list[ElementBody]()
        if leg.driver is not None:
            members.append(ElementBody(leg.elements[0].body, 0, "body", self.lines[0].A, "1"))
        for k, rod in enumerate(leg.bars, start=self.first):
            line = self.lines[k]
            if rod.hold.cross is not None and (leg.fold is None or k == self.first):
                members.append(
                    ElementBody(rod.hold.cross, k, "cross", self.at.ends(leg, rod)[0], f"{line.label}c")
                )
            members.append(ElementBody(rod.body, k, "body", line.A, line.label))
        if leg.moving is not None:
            line = self.lines[self.first]
            B = self.at.ends(leg, leg.rods[0])[1]
            P = line.A + line.x * (line.x @ (B - line.A))
            members.append(ElementBody(leg.moving, self.first, "moving", P, f"{line.label}m"))
        if leg.fold is not None:
            tip = self.at.frame(leg.fold.end).p
            end = self.robot.joints[leg.fold.end].successor
            members.append(ElementBody(end, self.first, "end", np.asarray(tip), f"{self.lines[1].label}e"))
        stem = welded_bodies(self.robot)
        for body in leg.leg.bodies:
            if stem[body] not in (body, BASE):
                base = next(m for m in members if m.body == stem[body])
                members.append(base._replace(body=body, mark=f"{base.mark}{body}"))
        for k, part in enumerate(leg.parts, start=len(leg.elements)):
            members.append(ElementBody(part.element.body, k, "part", self.lines[k].A, self.lines[k].label))
        return [m for m in members if has_mass(self.robot, m.body)]

    def axes(self, member: ElementBody) -> Array:
        """Axes of a body's element (3, 3): columns x, y = z x x, z."""
        line = self.lines[member.line]
        return np.stack([line.x, np.cross(line.z, line.x), line.z], axis=1)

    def parameters(self, member: ElementBody) -> Array:
        """Ten parameters of a body, or of the element's share of it, in the element's axes."""
        R, pose = self.axes(member), self.at.poses[member.body]
        ten = transform_parameters(
            R.T @ pose.R, R.T @ (pose.p - member.origin), body_parameters(self.robot, member.body)
        )
        return np.asarray(ten * self.leg.all_elements[member.line].share)

    def is_off_line(self, member: ElementBody) -> bool:
        """Whether a body's centre of mass lies off its element's line, or a cross' off its centre."""
        ten = self.parameters(member)
        off = ten[1:4] if member.role in ("cross", "end") else ten[2:4]
        return bool(np.linalg.norm(off) > 1e-9 * self.robot.size * max(ten[0], 1e-300))

    @property
    def is_tip_off_line(self) -> bool:
        """Whether a strut's output lies off its line."""
        if self.leg.moving is None:
            return False
        line = self.lines[self.first]
        across = np.cross(line.x, self.at.ends(self.leg, self.leg.rods[0])[1] - line.A)
        return bool(np.linalg.norm(across) > 1e-9 * self.robot.size)

    def drives(self) -> dict[int, str]:
        """Columns of the leg's actuators: on its first joint, along a strut, on a strut's first axis."""
        codes: dict[int | None, str] = {}
        hold = self.leg.rods[0].hold
        if self.leg.form == "strut" and hold.letter in ("U", "R"):
            codes[hold.joints[0]] = r"\mathbf{M}_{<w1>}^{T} <a1>"
        codes[self.leg.prismatic] = r"\mathbf{M}_{<d#>}^{T}"
        first = {
            "x": r"\mathbf{M}_{<x1>}^{T} <y1>",
            "d": r"\mathbf{M}_{<d1>}^{T}",
            "theta": r"\mathbf{M}_{<t1>}^{T}",
        }
        codes[self.leg.driver] = first[self.leg.elements[0].basis[0]]
        codes.pop(None, None)
        label = self.lines[len(self.leg.elements) - 1].label
        return {
            number: format_formula(codes[actuator.joint], label, str(self.number))
            for number, actuator in enumerate(self.robot.actuators)
            if actuator.joint in codes
        }

    def basis(self, leg: str = "i") -> list[tuple[int, str, str]]:
        """The motion basis: element, state and symbol."""
        codes = {"A": "<A'#>", "x": "<x'#>", "d": "<d'#>", "theta": "<t'#>"}
        return [
            (k, name, format_formula(codes[name], self.lines[k].label, leg))
            for k, element in enumerate(self.leg.all_elements)
            for name in element.basis
        ]

    def is_misaligned(self, member: ElementBody) -> bool:
        """Whether a body hangs on the hub of a parallelogram off the hub's axis."""
        fold, axes = self.leg.fold, self.leg.rods[0].hold.axes
        if fold is None or not axes or member.role not in ("body", "end") or member.line < self.first:
            return False
        E, _ = self.at.ends(self.leg, self.leg.rods[0])
        c = self.lines[member.line].A - E
        off = np.cross(self.at.axis(axes[0]), c)
        return bool(np.linalg.norm(off) > 1e-9 * self.robot.size)


def _perpendicular(x: Array) -> Array:
    """A unit vector across another, the same for the same direction."""
    axis = np.eye(3)[int(np.argmin(np.abs(x)))]
    across = np.cross(x, axis)
    return np.asarray(across / np.linalg.norm(across))


# ---- partial velocities


class PartialVelocity(NamedTuple):
    """A partial velocity K as it is in the table, and what it makes of a force in K^T f."""

    K: str
    force: str


PartialVelocities = dict[tuple[int, str], tuple[PartialVelocity | None, PartialVelocity | None]]


def partial_velocities(page: LegPage, member: ElementBody) -> PartialVelocities:
    """Partial velocities of a body: of its centre of mass and of its rotation, by entry of the basis."""
    partials: PartialVelocities = {}
    names = [element.basis for element in page.leg.all_elements]
    for j in _upstream_elements(page, member):
        label = page.lines[j].label
        if "x" in names[j]:
            length = format_formula("<d#>" if "d" in names[j] else "<l#>", label)
            partials[j, "x"] = PartialVelocity(length + r" \mathbf{I}", length), None
            c = _offset_matrix(page, member, j)
            if c:
                hat, x = format_formula(r"[<x#>]_{\times}", label), format_formula("<x#>", label)
                K, force = rf"{length} \mathbf{{I}} - {c} {hat}", rf"({length} + {hat}^{{T}} {c})"
                if j >= len(page.leg.elements):
                    K, force = f"-{c} {hat}", rf"{hat}^{{T}} {c}"
                partials[j, "x"] = PartialVelocity(K, force), None
                if "theta" in names[j]:
                    partials[j, "theta"] = PartialVelocity(f"-{c} {x}", rf"{x}^{{T}} {c}"), None
        if "d" in names[j]:
            partials[j, "d"] = (
                PartialVelocity(format_formula("<x#>", label), format_formula("<x#>^{T}", label)),
                None,
            )
    if page.is_misaligned(member):
        partials |= _hub_entries(page, member, partials)
    if member.role in ("cross", "end"):
        return partials | _cross_entries(page, member, partials)
    k, label = member.line, page.lines[member.line].label
    hat, x = format_formula(r"[<x#>]_{\times}", label), format_formula("<x#>", label)
    s, e = format_formula("<s#>", member.mark), format_formula(r"[<e#>]_{\times}", member.mark)
    if member.role == "moving":
        s = "(" + format_formula("<d#>", label) + f" + {s})"
    off = page.is_off_line(member)
    for name in names[k]:
        match name:
            case "x":
                lin = PartialVelocity(s + r" \mathbf{I}", s)
                if off:
                    lin = PartialVelocity(rf"{lin.K} - {e} {hat}", rf"({s} + {hat}^{{T}} {e})")
                partials[k, name] = (
                    _add_partials(lin, _linear_partial(partials, k, name)),
                    PartialVelocity(hat, hat + "^{T}"),
                )
            case "theta":
                rotation = PartialVelocity(x, x + "^{T}")
                spun = PartialVelocity(f"- {e} {x}", rf"{x}^{{T}} {e}") if off else None
                partials[k, name] = _add_partials(spun, _linear_partial(partials, k, name)), rotation
            case "d":
                if member.role == "moving" or (k == 0 and page.starts_with_slider):
                    partials[k, name] = PartialVelocity(x, x + "^{T}"), None
            case "A":
                partials[k, name] = PartialVelocity(r"\mathbf{I}", ""), None
    return partials


def _cross_entries(page: LegPage, member: ElementBody, upstream: PartialVelocities) -> PartialVelocities:
    """Of a body between two axes a and b, that turns with its element about a alone.

    Its angular velocity is w_1 + a a^T (w - w_1), w_1 that of the body before; a is perpendicular to b.
    """
    k, label = member.line, page.lines[member.line].label
    e = format_formula(r"[<e#>]_{\times}", member.mark)
    partials: PartialVelocities = {}
    for entry, rotation in _hub_angular_velocities(page, k).items():
        lin = _linear_partial(upstream, *entry)
        if member.role == "end" and entry == (k, "x"):
            lin = _add_partials(
                PartialVelocity(format_formula(r"<l#> \mathbf{I}", label), format_formula("<l#>", label)), lin
            )
        if page.is_off_line(member):
            lin = _add_partials(lin, PartialVelocity(f"- {e} {rotation.K}", f"{rotation.force} {e}"))
        partials[entry] = lin, rotation
    return partials


def _hub_angular_velocities(page: LegPage, k: int) -> dict[tuple[int, str], PartialVelocity]:
    """Partial angular velocities of the body between the two axes at the input of an element."""
    label = page.lines[k].label
    about_a = format_formula("<a#> <a#>^{T}", label)
    across_a = r"(\mathbf{I} - " + about_a + ")"
    factors = {
        (k, "x"): (about_a, format_formula(r"[<x#>]_{\times}", label)),
        (k, "theta"): (about_a, format_formula("<x#>", label)),
    }
    if page.leg.driver is not None and page.leg.elements[0].basis == ("x",):
        factors[0, "x"] = (across_a, format_formula(r"[<x1>]_{\times}"))
    if page.leg.driver is not None and page.leg.elements[0].basis == ("theta",):
        factors[0, "theta"] = (across_a, format_formula("<x1>"))
    return {
        entry: PartialVelocity(f"{projector} {rate}", f"{rate}^{{T}} {projector}")
        for entry, (projector, rate) in factors.items()
    }


def _hub_entries(page: LegPage, member: ElementBody, upstream: PartialVelocities) -> PartialVelocities:
    """What the hub's rotation adds to a body that hangs on it at c from its centre."""
    c = format_formula(r"[<c#>]_{\times}", page.lines[member.line].label)
    return {
        entry: (
            _add_partials(
                _linear_partial(upstream, *entry),
                PartialVelocity(f"- {c} {rotation.K}", f"{rotation.force} {c}"),
            ),
            None,
        )
        for entry, rotation in _hub_angular_velocities(page, page.first).items()
    }


def _upstream_elements(page: LegPage, member: ElementBody) -> list[int]:
    """Elements whose ends carry a body."""
    leg = page.leg
    if member.role != "part":
        return [0] if member.line > 0 and leg.form not in ("strut", "shaft") else []
    part = leg.parts[member.line - len(leg.elements)]
    if "A" in part.element.basis:
        return []
    chain = [0] if leg.form == "strut" else [1] if leg.form == "shaft" else [0, 1]
    while part.neighbour is not None:
        k = next(j for j, candidate in enumerate(leg.parts) if candidate.element.body == part.neighbour)
        chain.append(len(leg.elements) + k)
        part = leg.parts[k]
    return chain


def _offset_matrix(page: LegPage, member: ElementBody, j: int) -> str:
    """The skew matrix of c if a body's input lies at c from the end of an element's line; else empty.

    On a part of the platform c counts from its input.
    """
    if j >= len(page.leg.elements):
        return format_formula(r"[<c#>]_{\times}", page.lines[member.line].label)
    if j == page.first and page.is_tip_off_line:
        return format_formula(r"[<c#>]_{\times}", page.lines[j].label)
    several = len(page.leg.rods) > 1 and member.role in ("body", "end") and not page.is_misaligned(member)
    aside = several and j == 0 and member.line > (0 if page.leg.fold is not None else 1)
    return format_formula(r"[<c#>]_{\times}", page.lines[member.line].label) if aside else ""


def _linear_partial(partials: PartialVelocities, line: int, entry: str) -> PartialVelocity | None:
    """The partial velocity of the centre of mass at an entry of the basis; None if it is zero."""
    return partials.get((line, entry), (None, None))[0]


def _add_partials(first: PartialVelocity | None, second: PartialVelocity | None) -> PartialVelocity | None:
    """The sum of two partial velocities; the second one starts with its sign, or is the first one."""
    if first is None or second is None:
        return first or second
    return PartialVelocity(f"{first.K} {second.K}", f"({first.force} + {second.force})")


# ---- equations of a leg


def leg_sections(pages: list[LegPage]) -> list[FormulaSection]:
    """Constraints, coordinates and forces of legs that are written with the same equations."""
    page = pages[0]
    numbers = ", ".join(f"{each.number} ({each.leg.leg.name})" for each in pages)
    title = f"Legs i = {numbers}" if len(pages) > 1 else f"Leg i = {numbers}"
    kinds = " ".join(element.letter for element in page.leg.elements)
    motion = f"Elements {kinds}, with the platform's part n; a leg's end is B, its input on the base P."
    partial = "Partial velocities of centres of mass S and angular velocities ([OAM] Table 1)."
    local = "What acts on each body ([OAM] Table 2); friction of a joint acts on both its bodies."
    dynamic = "Forces along the motion basis ([OAM] (52), (53)); f, tau: the sums of what acts on a body."
    return [
        FormulaSection(f"{title}: motion constraints", motion, equations=tuple(constraints(page))),
        FormulaSection(f"{title}: kinematic coordinates", partial, (coordinate_equations(page),)),
        FormulaSection(f"{title}: forces and torques", local, (_force_table(pages),)),
        FormulaSection(f"{title}: dynamic coordinates", dynamic, equations=tuple(dynamic_equations(page))),
    ]


def constraints(page: LegPage) -> list[str]:
    """From the motion of the leg's end B to the rates of its elements."""
    leg, label = page.leg, page.lines[page.first].label if page.leg.form != "plane" else "1"
    equations: list[str] = []
    match leg.form:
        case "bars" | "parallelogram":
            equations += _bar_constraints(page)
        case "strut" | "shaft":
            lines = [
                "<B> = <P> + <d#> <x#>",
                r"<d'#> = <x#>^{T} <B'>",
                r"<x'#> = \frac{<B'> - <d'#> <x#>}{<d#>}",
            ]
            if page.is_tip_off_line:
                lines = [
                    r"<B> = <P> + <r>, \quad <r> = <d#> <x#> + <c#>",
                    r"<d'#> = \frac{<r>^{T} <B'>}{<r>^{T} <x#>}",
                    r"<w#> \times <r> = <B'> - <d'#> <x#>, \quad <x'#> = <w#> \times <x#>",
                ]
            equations += [format_formula(line, label) for line in lines]
            equations += _spin_equations(
                page, page.first, format_formula("<wn>") if leg.form == "shaft" else ""
            )
            if leg.form == "shaft":
                equations.append(
                    format_formula(
                        r"<t'1> = \frac{<n1>^{T} <w2>}{<n1>^{T} <x1>}, \quad <n1> = <a1> \times <b1>"
                    )
                )
        case "plane":
            equations += [
                format_formula(r"<n>^{T} (<P> + <d1> <x1> - <B>) = 0"),
                format_formula(
                    r"<d'1> = \frac{<n>^{T} <B'> - <n'>^{T} (<P> + <d1> <x1> - <B>)}{<n>^{T} <x1>}"
                ),
            ]
    for k, part in enumerate(leg.parts, start=len(leg.elements)):
        if "x" in part.element.basis:
            name = escape_latex(page.robot.bodies[part.element.body].name)
            rate = r"\boldsymbol{\omega}_{\text{" + name + "}}"
            line = format_formula(r"<x'#> = @ \times <x#>, \quad <t'#> = @^{T} <x#>", page.lines[k].label)
            equations.append(line.replace("@", rate))
    return equations


def _bar_constraints(page: LegPage) -> list[str]:
    leg = page.leg
    several = len(leg.rods) > 1 and leg.fold is None
    end = "2" if several else ""
    if page.starts_with_slider:
        equations = [
            format_formula("<B#> = <P> + <d1> <x1> + <l2> <x2>", end),
            format_formula(r"<d'1> = \frac{<x2>^{T} <B'#>}{<x2>^{T} <x1>}", end),
        ]
    else:
        equations = [
            format_formula("<B#> = <P> + <l1> <x1> + <l2> <x2>", end),
            format_formula(r"<y1> = <z1> \times <x1>"),
            format_formula(r"<q'> = \frac{<x2>^{T} <B'#>}{<l1> <x2>^{T} <y1>}, \quad <x'1> = <y1> <q'>", end),
        ]
    for k in range(1, len(leg.elements)):
        label = page.lines[k].label
        arm = "<d'1> <x1>" if page.starts_with_slider else "<l1> <x'1>"
        if several and k > 1 and not page.starts_with_slider:
            # Its input lies at c from the end of the bar.
            arm += r" - <w1> \times <c#>"
        ball = "<B'#>" if several else "<B'>"
        equations.append(format_formula(rf"<x'#> = \frac{{{ball} - {arm}}}{{<l#>}}", label))
        if "theta" in leg.elements[k].basis:
            inner = leg.rods[k - 1].hold.letter == "U"
            before = "" if page.starts_with_slider and inner else format_formula("<w1>" if inner else "<wn>")
            equations += _spin_equations(page, k, before)
    return equations


def _spin_equations(page: LegPage, k: int, before: str) -> list[str]:
    """The spin of an element about its direction; `before` is the rotation of the joint's other body."""
    letter = page.leg.rods[max(0, k - page.first)].hold.letter
    label = page.lines[k].label
    if not before and letter != "U":
        where = r" \quad \text{(the hinge is perpendicular to the element)}" if letter == "R" else ""
        return [format_formula("<t'#> = 0", label) + where]
    rotation = (f"{before} - " if before else "-") + format_formula(r"<x#> \times <x'#>", label)
    line = format_formula(r"<t'#> = \frac{<n#>^{T} (@)}{<n#>^{T} <x#>}, \quad <n#> = <a#> \times <b#>", label)
    return [line.replace("@", rotation)]


def coordinate_equations(page: LegPage) -> FormulaTable:
    """Kinematic coordinates of all bodies with mass."""
    basis = page.basis()
    rows: list[tuple[Cell, ...]] = []
    for member in page.members:
        entries = partial_velocities(page, member)
        for part, symbol in enumerate(("<S'#>", "<w#>")):
            cells = [entries.get((k, name), (None, None))[part] for k, name, _ in basis]
            formulas = (Formula(entry.K if entry else "0") for entry in cells)
            rows.append((Formula(format_formula(symbol, member.mark)), *formulas))
    return FormulaTable(("", *(Formula(symbol) for _, _, symbol in basis)), tuple(rows))


def _force_table(pages: list[LegPage]) -> FormulaTable:
    """Local forces and torques of all bodies with mass."""
    rows: list[tuple[Cell, ...]] = []
    for page in pages:
        leg = str(page.number)
        for member in page.members:
            drive, friction, reaction, rotor = _joint_forces(page, member.body)
            weight = format_formula(r"<m#> \mathbf{g}", member.mark, leg)
            inertia = format_formula(r"<f#>^{*}, <T#>^{*}", member.mark, leg)
            cells = (drive, weight, friction, reaction, rotor, inertia)
            rows.append((page.robot.bodies[member.body].name, *(Formula(text) for text in cells)))
    header = ("body", "actuator", "gravity", "friction", "reaction of friction", "rotor", "inertia")
    return FormulaTable(header, tuple(rows))


def _joint_forces(page: LegPage, body: int) -> tuple[str, str, str, str]:
    """What the joints of a body do to it: actuators, friction as driven and as driving body, rotors."""
    active = {actuator.joint for actuator in page.robot.actuators}
    acting: tuple[list[str], ...] = ([], [], [], [])
    platform = page.robot.platform
    joints = {*page.leg.leg.joints, *page.leg.leg.closures, *platform.joints, *platform.closures}
    for j in sorted(joints):
        joint = page.robot.joints[j]
        if body not in (joint.predecessor, joint.successor):
            continue
        behind = joint.successor == body
        letter = "f" if joint.kind is JointKind.PRISMATIC else r"\tau"
        index = r"_{\text{" + latex_short_name(joint.name) + "}}"
        if j in active:
            acting[0].append(("" if behind else "-") + letter + index)
            if joint.rotor_inertia:
                acting[3].append(("-" if behind else "") + letter + "^{*}" + index)
        if any(joint.friction):
            bar = r"\bar{" + letter + "}" + index
            acting[1 if behind else 2].append(f"-{bar}" if behind else bar)
    drive, friction, reaction, rotor = (", ".join(terms) or "0" for terms in acting)
    return drive, friction, reaction, rotor


def dynamic_equations(page: LegPage) -> list[str]:
    """Inertia of each body, and the dynamic coordinates."""
    equations = [
        r"\mathbf{f}^{*} = -m \ddot{S}, \quad \boldsymbol{\tau}^{*} = -\mathbf{I} "
        r"\dot{\boldsymbol{\omega}} - \boldsymbol{\omega} \times \mathbf{I} \boldsymbol{\omega}"
    ]
    velocities = [(member, partial_velocities(page, member)) for member in page.members]
    for k, name, symbol in page.basis():
        terms = []
        for member, entries in velocities:
            pair = entries.get((k, name), (None, None))
            for entry, force in zip(pair, ("<f#>", "<T#>"), strict=True):
                if entry is not None:
                    terms.append(f"{entry.force} {format_formula(force, member.mark)}".strip())
        equations.append(f"F_{{{state_symbol(symbol)}}} = {' + '.join(terms) or '0'}")
    return equations


# ---- the page


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
    for group in _group_legs(pages):
        sections += leg_sections(group)
    sections.append(_sum_section(robot, pages))
    grammar = robot_elements([leg_type(robot, leg) for leg in robot.legs])
    return ElementReport(robot.name, robot.title, grammar, tuple(sections))


def _group_legs(pages: list[LegPage]) -> list[list[LegPage]]:
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
            moving = [format_formula(states[name], page.lines[k].label, i) for name in element.basis]
            attached, joint = _attachment(page, k)
            share = "" if element.share == 1.0 else f" (1/{round(1.0 / element.share)})"
            rows.append(
                (
                    leg.leg.name,
                    Formula(format_formula("<E#>", page.lines[k].label, i)),
                    element.name + share,
                    f"{element.letter} {_LETTERS[element.letter]}",
                    attached,
                    joint,
                    Formula(", ".join(moving) or r"\text{-}"),
                )
            )
    header = ("leg", "element", "bodies", "type", "attached to", "by", "varying state")
    sentence = (
        "An element goes from its input point A along its direction x over its length d and turns by theta "
        "about it ([OAM] section 3); the platform is split evenly among the legs that hold it."
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
                    Formula(format_formula("<E#>", page.lines[member.line].label, str(page.number))),
                    page.robot.bodies[member.body].name,
                    about,
                    *(_format_number(value) for value in (m, hx, hy, hz, xx, yy, zz, xy, xz, yz)),
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
    rotation = "" if robot.platform.kind == "point" else r" + \boldsymbol{\omega} \times (B_{i} - E)"
    return FormulaSection(
        "Motion of the platform",
        f"The reduced twist v has the entries {entries}; E is the platform frame's origin, B a leg's end.",
        equations=(rf"\dot{{B}}_{{i}} = \dot{{E}}{rotation} = \mathbf{{M}}_{{B_{{i}}}} \mathbf{{v}}",),
    )


def _sum_section(robot: Robot, pages: list[LegPage]) -> FormulaSection:
    """All legs together: A Gamma + b = 0."""
    # An actuator elsewhere is written by the rate of its own joint.
    columns = [
        r"\mathbf{M}_{q_{\text{" + latex_short_name(drive.name) + "}}}^{T}" for drive in robot.actuators
    ]
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


def _format_number(value: float) -> Formula:
    """A number with four digits; zero where it is rounding."""
    text = f"{0.0 if abs(value) < 1e-12 else value:.4g}"
    digits, e, power = text.partition("e")
    return Formula(rf"{digits} \cdot 10^{{{int(power)}}}" if e else digits)
