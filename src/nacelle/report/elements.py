"""A robot as kinematic elements, on a page: the pen-and-paper view of [OAM].

The tables list the elements of each leg with their states ([OAM] section 3), the dynamic parameters of each
in its own axes, the kinematic coordinates ([OAM] Table 1) and the local forces and torques ([OAM] Table 2);
the equations run from the motion basis to A Gamma + b = 0 ([OAM] (58)). Formulas are written once, in LaTeX;
text on a terminal is derived from them. Signs are those of [OAM], with its errata: y = z x x, friction on
both bodies.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.formulations.elements import balance as elements
from nacelle.dynamics.formulations.elements.motion import (
    bar_direction,
    part_direction,
    part_input,
    rod_ends,
    tip_point,
)
from nacelle.dynamics.formulations.elements.structure import (
    ElementLeg,
    centre,
    direction,
    element_legs,
    frame,
    welds,
)
from nacelle.errors import KinematicsError
from nacelle.kinematics.legs.leg_type import leg_type, robot_elements
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.model.robot import Robot
from nacelle.report.formula import Cell, ElementReport, Grid, Maths, Section, escaped
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_LETTERS = {"B": "bar", "Sp": "spindle", "T": "telescopic", "S": "screw"}


def element_report(robot: Robot) -> ElementReport:
    """Write a robot as kinematic elements.

    Raises:
        KinematicsError: if its elements are not covered; the message says why.
    """
    mechanism = mechanism_of(robot)
    reason = elements.applies(mechanism)
    if reason:
        raise KinematicsError(f"{robot.name} cannot be written as kinematic elements: {reason}")
    legs = element_legs(mechanism)
    poses = mechanism.assembly.motion.poses
    pages = [_LegPage(robot, poses, k, leg) for k, leg in enumerate(legs, start=1)]
    sections = [_element_section(pages), _parameter_section(pages), _motion_section(robot)]
    for members in _alike(pages):
        sections += members[0].sections(members)
    sections.append(_sum_section(robot, pages))
    grammar = robot_elements([leg_type(robot, leg) for leg in robot.legs])
    return ElementReport(robot.name, robot.title, grammar, tuple(sections))


# ---- what a leg is made of


class _Line(NamedTuple):
    """An element in the reference pose: input point, direction, third axis; label of its indices."""

    label: str
    A: Array
    x: Array
    z: Array


class _Member(NamedTuple):
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


class _Entry(NamedTuple):
    """A partial velocity K as it stands in the table, and what it makes of a force in K^T f."""

    K: str
    force: str


class _LegPage:
    """What is to be said of a leg, in the reference pose."""

    def __init__(self, robot: Robot, poses: tuple[Pose, ...], number: int, leg: ElementLeg) -> None:
        self.robot, self.poses, self.leg, self.number = robot, poses, leg, number
        self.lines = [*self._own_lines(), *(self._part_line(k) for k in range(len(leg.parts)))]
        self.members = self._members()

    @property
    def first(self) -> int:
        """Place of the first rod or strut among the elements."""
        return 0 if self.leg.form == "strut" else 1

    @property
    def slides(self) -> bool:
        """Whether the leg starts with a slider."""
        return self.leg.elements[0].basis == ("d",)

    @property
    def signature(self) -> tuple[object, ...]:
        """What legs have in common that are written with the same equations."""
        return (
            self.leg.form,
            tuple((e.letter, e.basis) for e in self.leg.all_elements),
            tuple((rod.hold.letter, rod.hold.cross is None, rod.end.letter) for rod in self.leg.rods),
            tuple((m.line, m.role, self.off_line(m), self._askew(m)) for m in self.members),
            self.tip_off,
            tuple(part.neighbour for part in self.leg.parts),
            len(self.drives()),
        )

    def _own_lines(self) -> list[_Line]:
        leg, robot, poses = self.leg, self.robot, self.poses
        found: list[_Line] = []
        if leg.driver is not None:
            F = frame(robot, poses, leg.driver, on_successor=False)
            if robot.joints[leg.driver].kind is not JointKind.REVOLUTE or leg.form == "shaft":
                found.append(_Line("1", F.p, F.R[:, 2], _across(F.R[:, 2])))
            else:
                E, _ = rod_ends(robot, poses, leg.rods[0].hold, leg.rods[0].tip, leg)
                x = bar_direction(robot, poses, leg.driver, E)
                found.append(_Line("1", E - x * (x @ (E - F.p)), x, F.R[:, 2]))
        if leg.form in ("strut", "shaft"):
            assert leg.slide is not None
            x = frame(robot, poses, leg.slide, on_successor=False).R[:, 2] * leg.flip
            A = centre(robot, poses, leg.rods[0].hold)
            found.append(_Line(str(len(found) + 1), A, x, self._third(0, x)))
        elif leg.form != "plane":
            for k, rod in enumerate(leg.rods):
                E, B = rod_ends(robot, poses, rod.hold, rod.tip, leg)
                x = (B - E) / np.linalg.norm(B - E)
                if leg.fold is not None:
                    joint = (leg.fold.rod_a, leg.fold.rod_b)[k]
                    E = np.asarray(frame(robot, poses, joint, on_successor=False).p)
                found.append(_Line(str(len(found) + 1), E, x, self._third(k, x)))
        return found

    def _third(self, k: int, x: Array) -> Array:
        """The third axis of a rod: across its direction, in the plane of its joint's axis behind."""
        axis = self.leg.rods[k].hold.behind
        if axis is None:
            return _across(x)
        b = direction(self.robot, self.poses, axis)
        across = b - x * (x @ b)
        return np.asarray(across / np.linalg.norm(across))

    def _part_line(self, k: int) -> _Line:
        part = self.leg.parts[k]
        x = part_direction(self.robot, self.poses, part)
        label = "n" if k == 0 else f"n{k + 1}"
        return _Line(label, part_input(self.robot, self.poses, part), x, _across(x))

    def _members(self) -> list[_Member]:
        leg, found = self.leg, list[_Member]()
        if leg.driver is not None:
            found.append(_Member(leg.elements[0].body, 0, "body", self.lines[0].A, "1"))
        for k, rod in enumerate(leg.rods if leg.form != "plane" else (), start=self.first):
            line = self.lines[k]
            if rod.hold.cross is not None and (leg.fold is None or k == self.first):
                hub = (
                    line.A
                    if leg.fold is None
                    else rod_ends(self.robot, self.poses, rod.hold, rod.tip, leg)[0]
                )
                found.append(_Member(rod.hold.cross, k, "cross", hub, f"{line.label}c"))
            found.append(_Member(rod.body, k, "body", line.A, line.label))
        if leg.moving is not None:
            line = self.lines[self.first]
            B = tip_point(self.robot, self.poses, leg)
            P = line.A + line.x * (line.x @ (B - line.A))
            found.append(_Member(leg.moving, self.first, "moving", P, f"{line.label}m"))
        if leg.fold is not None:
            tip = frame(self.robot, self.poses, leg.fold.end, on_successor=False).p
            end = self.robot.joints[leg.fold.end].successor
            found.append(_Member(end, self.first, "end", np.asarray(tip), f"{self.lines[1].label}e"))
        stem = welds(self.robot)
        for body in leg.leg.bodies:
            if stem[body] not in (body, BASE):
                base = next(m for m in found if m.body == stem[body])
                found.append(base._replace(body=body, mark=f"{base.mark}{body}"))
        for k, part in enumerate(leg.parts, start=len(leg.elements)):
            found.append(_Member(part.element.body, k, "part", self.lines[k].A, self.lines[k].label))
        return [m for m in found if has_mass(self.robot, m.body)]

    def axes(self, member: _Member) -> Array:
        """Axes of a body's element (3, 3): columns x, y = z x x, z."""
        line = self.lines[member.line]
        return np.stack([line.x, np.cross(line.z, line.x), line.z], axis=1)

    def parameters(self, member: _Member) -> Array:
        """Ten parameters of a body, or of the element's share of it, in the element's axes."""
        R, pose = self.axes(member), self.poses[member.body]
        ten = transform_parameters(
            R.T @ pose.R, R.T @ (pose.p - member.origin), body_parameters(self.robot, member.body)
        )
        return np.asarray(ten * self.leg.all_elements[member.line].share)

    def off_line(self, member: _Member) -> bool:
        """Whether a body's centre of mass lies off its element's line, or a cross' off its centre."""
        ten = self.parameters(member)
        off = ten[1:4] if member.role in ("cross", "end") else ten[2:4]
        return bool(np.linalg.norm(off) > 1e-9 * self.robot.size * max(ten[0], 1e-300))

    @property
    def tip_off(self) -> bool:
        """Whether a strut's output lies off its line."""
        if self.leg.moving is None:
            return False
        line = self.lines[self.first]
        across = np.cross(line.x, tip_point(self.robot, self.poses, self.leg) - line.A)
        return bool(np.linalg.norm(across) > 1e-9 * self.robot.size)

    def drives(self) -> dict[int, str]:
        """Columns of the leg's actuators: on its first joint, along a strut, on a strut's first axis."""
        codes: dict[int | None, str] = {}
        hold = self.leg.rods[0].hold
        if self.leg.form == "strut" and hold.letter in ("U", "R"):
            codes[hold.joints[0]] = r"\mathbf{M}_{<w1>}^{T} <a1>"
        codes[self.leg.slide] = r"\mathbf{M}_{<d#>}^{T}"
        first = {
            "x": r"\mathbf{M}_{<x1>}^{T} <y1>",
            "d": r"\mathbf{M}_{<d1>}^{T}",
            "theta": r"\mathbf{M}_{<t1>}^{T}",
        }
        codes[self.leg.driver] = first[self.leg.elements[0].basis[0]]
        codes.pop(None, None)
        label = self.lines[len(self.leg.elements) - 1].label
        return {
            number: tex(codes[actuator.joint], label, str(self.number))
            for number, actuator in enumerate(self.robot.actuators)
            if actuator.joint in codes
        }

    # ---- tables and equations of all legs that are alike

    def basis(self, leg: str = "i") -> list[tuple[int, str, str]]:
        """The motion basis: element, state and symbol."""
        codes = {"A": "<A'#>", "x": "<x'#>", "d": "<d'#>", "theta": "<t'#>"}
        return [
            (k, name, tex(codes[name], self.lines[k].label, leg))
            for k, element in enumerate(self.leg.all_elements)
            for name in element.basis
        ]

    def sections(self, members: list[_LegPage]) -> list[Section]:
        """All that is to be said of these legs."""
        numbers = ", ".join(f"{page.number} ({page.leg.leg.name})" for page in members)
        title = f"Legs i = {numbers}" if len(members) > 1 else f"Leg i = {numbers}"
        kinds = " ".join(element.letter for element in self.leg.elements)
        motion = f"Elements {kinds}, with the nacelle's part n; a leg's end is B, its input on the base P."
        partial = "Partial velocities of centres of mass S and angular velocities ([OAM] Table 1)."
        local = "What acts on each body ([OAM] Table 2); friction of a joint acts on both its bodies."
        along = "Forces along the motion basis ([OAM] (52), (53)); f, tau: the sums of what acts on a body."
        return [
            Section(f"{title}: motion constraints", motion, equations=tuple(self.constraints())),
            Section(f"{title}: kinematic coordinates", partial, (self.coordinates(),)),
            Section(f"{title}: forces and torques", local, (_forces(members),)),
            Section(f"{title}: dynamic coordinates", along, equations=tuple(self.dynamics())),
        ]

    def constraints(self) -> list[str]:
        """From the motion of the leg's end B to the rates of its elements."""
        leg, label = self.leg, self.lines[self.first].label if self.leg.form != "plane" else "1"
        found: list[str] = []
        match leg.form:
            case "bars" | "parallelogram":
                found += self._bar_constraints()
            case "strut" | "shaft":
                lines = [
                    "<B> = <P> + <d#> <x#>",
                    r"<d'#> = <x#>^{T} <B'>",
                    r"<x'#> = \frac{<B'> - <d'#> <x#>}{<d#>}",
                ]
                if self.tip_off:
                    lines = [
                        r"<B> = <P> + <r>, \quad <r> = <d#> <x#> + <c#>",
                        r"<d'#> = \frac{<r>^{T} <B'>}{<r>^{T} <x#>}",
                        r"<w#> \times <r> = <B'> - <d'#> <x#>, \quad <x'#> = <w#> \times <x#>",
                    ]
                found += [tex(line, label) for line in lines]
                found += self._spin(self.first, tex("<wn>") if leg.form == "shaft" else "")
                if leg.form == "shaft":
                    found.append(
                        tex(r"<t'1> = \frac{<n1>^{T} <w2>}{<n1>^{T} <x1>}, \quad <n1> = <a1> \times <b1>")
                    )
            case "plane":
                found += [
                    tex(r"<n>^{T} (<P> + <d1> <x1> - <B>) = 0"),
                    tex(r"<d'1> = \frac{<n>^{T} <B'> - <n'>^{T} (<P> + <d1> <x1> - <B>)}{<n>^{T} <x1>}"),
                ]
        for k, part in enumerate(leg.parts, start=len(leg.elements)):
            if "x" in part.element.basis:
                name = escaped(self.robot.bodies[part.element.body].name)
                turn = r"\boldsymbol{\omega}_{\text{" + name + "}}"
                line = tex(r"<x'#> = @ \times <x#>, \quad <t'#> = @^{T} <x#>", self.lines[k].label)
                found.append(line.replace("@", turn))
        return found

    def _bar_constraints(self) -> list[str]:
        leg = self.leg
        several = len(leg.rods) > 1 and leg.fold is None
        end = "2" if several else ""
        if self.slides:
            found = [
                tex("<B#> = <P> + <d1> <x1> + <l2> <x2>", end),
                tex(r"<d'1> = \frac{<x2>^{T} <B'#>}{<x2>^{T} <x1>}", end),
            ]
        else:
            found = [
                tex("<B#> = <P> + <l1> <x1> + <l2> <x2>", end),
                tex(r"<y1> = <z1> \times <x1>"),
                tex(r"<q'> = \frac{<x2>^{T} <B'#>}{<l1> <x2>^{T} <y1>}, \quad <x'1> = <y1> <q'>", end),
            ]
        for k in range(1, len(leg.elements)):
            label = self.lines[k].label
            arm = "<d'1> <x1>" if self.slides else "<l1> <x'1>"
            if several and k > 1 and not self.slides:
                # Its input lies at c from the end of the bar.
                arm += r" - <w1> \times <c#>"
            ball = "<B'#>" if several else "<B'>"
            found.append(tex(rf"<x'#> = \frac{{{ball} - {arm}}}{{<l#>}}", label))
            if "theta" in leg.elements[k].basis:
                inner = leg.rods[k - 1].hold.letter == "U"
                before = "" if self.slides and inner else tex("<w1>" if inner else "<wn>")
                found += self._spin(k, before)
        return found

    def _spin(self, k: int, before: str) -> list[str]:
        """The spin of an element about its direction; `before` is the rotation of the joint's other body."""
        letter = self.leg.rods[max(0, k - self.first)].hold.letter
        label = self.lines[k].label
        if not before and letter != "U":
            where = r" \quad \text{(the hinge stands square to the element)}" if letter == "R" else ""
            return [tex("<t'#> = 0", label) + where]
        turn = (f"{before} - " if before else "-") + tex(r"<x#> \times <x'#>", label)
        line = tex(r"<t'#> = \frac{<n#>^{T} (@)}{<n#>^{T} <x#>}, \quad <n#> = <a#> \times <b#>", label)
        return [line.replace("@", turn)]

    def entries(self, member: _Member) -> dict[tuple[int, str], tuple[_Entry | None, _Entry | None]]:
        """Partial velocities of a body: of its centre of mass and of its rotation, by entry of the basis."""
        found: dict[tuple[int, str], tuple[_Entry | None, _Entry | None]] = {}
        names = [element.basis for element in self.leg.all_elements]
        for j in self._upstream(member):
            label = self.lines[j].label
            if "x" in names[j]:
                length = tex("<d#>" if "d" in names[j] else "<l#>", label)
                found[j, "x"] = _Entry(length + r" \mathbf{I}", length), None
                c = self._beside(member, j)
                if c:
                    hat, x = tex(r"[<x#>]_{\times}", label), tex("<x#>", label)
                    K, force = rf"{length} \mathbf{{I}} - {c} {hat}", rf"({length} + {hat}^{{T}} {c})"
                    if j >= len(self.leg.elements):
                        K, force = f"-{c} {hat}", rf"{hat}^{{T}} {c}"
                    found[j, "x"] = _Entry(K, force), None
                    if "theta" in names[j]:
                        found[j, "theta"] = _Entry(f"-{c} {x}", rf"{x}^{{T}} {c}"), None
            if "d" in names[j]:
                found[j, "d"] = _Entry(tex("<x#>", label), tex("<x#>^{T}", label)), None
        if self._askew(member):
            found |= self._hub_entries(member, found)
        if member.role in ("cross", "end"):
            return found | self._cross_entries(member, found)
        k, label = member.line, self.lines[member.line].label
        hat, x = tex(r"[<x#>]_{\times}", label), tex("<x#>", label)
        s, e = tex("<s#>", member.mark), tex(r"[<e#>]_{\times}", member.mark)
        if member.role == "moving":
            s = "(" + tex("<d#>", label) + f" + {s})"
        off = self.off_line(member)
        for name in names[k]:
            match name:
                case "x":
                    lin = _Entry(s + r" \mathbf{I}", s)
                    if off:
                        lin = _Entry(rf"{lin.K} - {e} {hat}", rf"({s} + {hat}^{{T}} {e})")
                    before = found.get((k, name), (None, None))[0]
                    found[k, name] = _sum(lin, before), _Entry(hat, hat + "^{T}")
                case "theta":
                    turn = _Entry(x, x + "^{T}")
                    spun = _Entry(f"- {e} {x}", rf"{x}^{{T}} {e}") if off else None
                    found[k, name] = _sum(spun, found.get((k, name), (None, None))[0]), turn
                case "d":
                    if member.role == "moving" or (k == 0 and self.slides):
                        found[k, name] = _Entry(x, x + "^{T}"), None
                case "A":
                    found[k, name] = _Entry(r"\mathbf{I}", ""), None
        return found

    def _cross_entries(
        self, member: _Member, upstream: dict[tuple[int, str], tuple[_Entry | None, _Entry | None]]
    ) -> dict[tuple[int, str], tuple[_Entry | None, _Entry | None]]:
        """Of a body between two axes a and b, that turns with its element about a alone.

        Its angular velocity is w_1 + a a^T (w - w_1), w_1 that of the body before; a is perpendicular to b.
        """
        k, label = member.line, self.lines[member.line].label
        e = tex(r"[<e#>]_{\times}", member.mark)
        found: dict[tuple[int, str], tuple[_Entry | None, _Entry | None]] = {}
        for place, turn in self._hub_turns(k).items():
            lin = upstream.get(place, (None, None))[0]
            if member.role == "end" and place == (k, "x"):
                lin = _sum(_Entry(tex(r"<l#> \mathbf{I}", label), tex("<l#>", label)), lin)
            if self.off_line(member):
                lin = _sum(lin, _Entry(f"- {e} {turn.K}", f"{turn.force} {e}"))
            found[place] = lin, turn
        return found

    def _hub_turns(self, k: int) -> dict[tuple[int, str], _Entry]:
        """Partial angular velocities of the body between the two axes at the input of an element."""
        label = self.lines[k].label
        share = tex("<a#> <a#>^{T}", label)
        rest = r"(\mathbf{I} - " + share + ")"
        listed = {
            (k, "x"): (share, tex(r"[<x#>]_{\times}", label)),
            (k, "theta"): (share, tex("<x#>", label)),
        }
        if self.leg.driver is not None and self.leg.elements[0].basis == ("x",):
            listed[0, "x"] = (rest, tex(r"[<x1>]_{\times}"))
        if self.leg.driver is not None and self.leg.elements[0].basis == ("theta",):
            listed[0, "theta"] = (rest, tex("<x1>"))
        return {place: _Entry(f"{one} {own}", f"{own}^{{T}} {one}") for place, (one, own) in listed.items()}

    def _askew(self, member: _Member) -> bool:
        """Whether a body hangs on the hub of a parallelogram beside the hub's axis."""
        fold, axis = self.leg.fold, self.leg.rods[0].hold.before
        if fold is None or axis is None or member.role not in ("body", "end") or member.line < self.first:
            return False
        E, _ = rod_ends(self.robot, self.poses, self.leg.rods[0].hold, fold.wrist, self.leg)
        c = self.lines[member.line].A - E
        off = np.cross(direction(self.robot, self.poses, axis), c)
        return bool(np.linalg.norm(off) > 1e-9 * self.robot.size)

    def _hub_entries(
        self, member: _Member, upstream: dict[tuple[int, str], tuple[_Entry | None, _Entry | None]]
    ) -> dict[tuple[int, str], tuple[_Entry | None, _Entry | None]]:
        """What the hub's rotation adds to a body that hangs on it at c from its centre."""
        c = tex(r"[<c#>]_{\times}", self.lines[member.line].label)
        return {
            place: (
                _sum(upstream.get(place, (None, None))[0], _Entry(f"- {c} {turn.K}", f"{turn.force} {c}")),
                None,
            )
            for place, turn in self._hub_turns(self.first).items()
        }

    def _upstream(self, member: _Member) -> list[int]:
        """Elements whose ends carry a body."""
        leg = self.leg
        if member.role != "part":
            return [0] if member.line > 0 and leg.form not in ("strut", "shaft") else []
        part = leg.parts[member.line - len(leg.elements)]
        if "A" in part.element.basis:
            return []
        chain = [0] if leg.form == "strut" else [1] if leg.form == "shaft" else [0, 1]
        while part.neighbour is not None:
            k = next(j for j, other in enumerate(leg.parts) if other.element.body == part.neighbour)
            chain.append(len(leg.elements) + k)
            part = leg.parts[k]
        return chain

    def _beside(self, member: _Member, j: int) -> str:
        """The skew matrix of c if a body's input lies at c from the end of an element's line; else empty.

        On a part of the nacelle c counts from its input.
        """
        if j >= len(self.leg.elements):
            return tex(r"[<c#>]_{\times}", self.lines[member.line].label)
        if j == self.first and self.tip_off:
            return tex(r"[<c#>]_{\times}", self.lines[j].label)
        several = len(self.leg.rods) > 1 and member.role in ("body", "end") and not self._askew(member)
        aside = several and j == 0 and member.line > (0 if self.leg.fold is not None else 1)
        return tex(r"[<c#>]_{\times}", self.lines[member.line].label) if aside else ""

    def coordinates(self) -> Grid:
        """Kinematic coordinates of all bodies with mass."""
        basis = self.basis()
        rows: list[tuple[Cell, ...]] = []
        for member in self.members:
            entries = self.entries(member)
            for part, symbol in enumerate(("<S'#>", "<w#>")):
                cells = [entries.get((k, name), (None, None))[part] for k, name, _ in basis]
                shown = (Maths(entry.K if entry else "0") for entry in cells)
                rows.append((Maths(tex(symbol, member.mark)), *shown))
        return Grid(("", *(Maths(symbol) for _, _, symbol in basis)), tuple(rows))

    def joint_forces(self, body: int) -> tuple[str, str, str, str]:
        """What the joints of a body do to it: actuators, friction as driven and as driving body, rotors."""
        active = {actuator.joint for actuator in self.robot.actuators}
        found: tuple[list[str], ...] = ([], [], [], [])
        nacelle = self.robot.nacelle
        own = {*self.leg.leg.joints, *self.leg.leg.closures, *nacelle.joints, *nacelle.closures}
        for j in sorted(own):
            joint = self.robot.joints[j]
            if body not in (joint.predecessor, joint.successor):
                continue
            behind = joint.successor == body
            letter = "f" if joint.kind is JointKind.PRISMATIC else r"\tau"
            place = r"_{\text{" + _short(joint.name) + "}}"
            if j in active:
                found[0].append(("" if behind else "-") + letter + place)
                if joint.rotor_inertia:
                    found[3].append(("-" if behind else "") + letter + "^{*}" + place)
            if any(joint.friction):
                bar = r"\bar{" + letter + "}" + place
                found[1 if behind else 2].append(f"-{bar}" if behind else bar)
        drive, friction, reaction, rotor = (", ".join(words) or "0" for words in found)
        return drive, friction, reaction, rotor

    def dynamics(self) -> list[str]:
        """Inertia of each body, and the dynamic coordinates."""
        found = [
            r"\mathbf{f}^{*} = -m \ddot{S}, \quad \boldsymbol{\tau}^{*} = -\mathbf{I} "
            r"\dot{\boldsymbol{\omega}} - \boldsymbol{\omega} \times \mathbf{I} \boldsymbol{\omega}"
        ]
        listed = [(member, self.entries(member)) for member in self.members]
        for k, name, symbol in self.basis():
            terms = []
            for member, entries in listed:
                pair = entries.get((k, name), (None, None))
                for entry, force in zip(pair, ("<f#>", "<T#>"), strict=True):
                    if entry is not None:
                        terms.append(f"{entry.force} {tex(force, member.mark)}".strip())
            found.append(f"F_{{{_state(symbol)}}} = {' + '.join(terms) or '0'}")
        return found


_BOLD = dict.fromkeys("xyzabcnefgrI", r"\mathbf{%s}") | {
    "w": r"\boldsymbol{\omega}",
    "T": r"\boldsymbol{\tau}",
    "t": r"\theta",
    "l": r"\ell",
}
_CODE = re.compile(r"<([A-Za-z])('*)([A-Za-z0-9#]*)>")


def tex(template: str, label: str = "", leg: str = "i") -> str:
    """A formula from a template: <x'2> is the rate of x of element 2 in a leg, # the label."""

    def symbol(found: re.Match[str]) -> str:
        letter, primes, index = found.groups()
        base = _BOLD.get(letter, letter)
        base = base % letter if "%s" in base else base
        index = index.replace("#", label)
        dotted = rf"\{'d' * len(primes)}ot{{{base}}}" if primes else base
        return f"{dotted}_{{{leg},{index}}}" if index else f"{dotted}_{{{leg}}}"

    return _CODE.sub(symbol, template)


def _state(rate: str) -> str:
    """The symbol of a state from that of its rate."""
    return rate.replace(r"\dot{", "{", 1)


def _forces(pages: list[_LegPage]) -> Grid:
    """Local forces and torques of all bodies with mass."""
    rows: list[tuple[Cell, ...]] = []
    for page in pages:
        leg = str(page.number)
        for member in page.members:
            drive, friction, reaction, rotor = page.joint_forces(member.body)
            weight = tex(r"<m#> \mathbf{g}", member.mark, leg)
            inertia = tex(r"<f#>^{*}, <T#>^{*}", member.mark, leg)
            cells = (drive, weight, friction, reaction, rotor, inertia)
            rows.append((page.robot.bodies[member.body].name, *(Maths(text) for text in cells)))
    header = ("body", "actuator", "gravity", "friction", "reaction of friction", "rotor", "inertia")
    return Grid(header, tuple(rows))


def _sum(first: _Entry | None, second: _Entry | None) -> _Entry | None:
    """The sum of two partial velocities; the second one starts with its sign, or is the first one."""
    if first is None or second is None:
        return first or second
    return _Entry(f"{first.K} {second.K}", f"({first.force} + {second.force})")


def _across(x: Array) -> Array:
    """A unit vector across another, the same for the same direction."""
    other = np.eye(3)[int(np.argmin(np.abs(x)))]
    across = np.cross(x, other)
    return np.asarray(across / np.linalg.norm(across))


def _alike(pages: list[_LegPage]) -> list[list[_LegPage]]:
    """Legs that are written with the same equations."""
    found: dict[tuple[object, ...], list[_LegPage]] = {}
    for page in pages:
        found.setdefault(page.signature, []).append(page)
    return list(found.values())


def _short(name: str) -> str:
    return escaped(name.rpartition(".")[2])


# ---- sections of the whole robot


def _element_section(pages: list[_LegPage]) -> Section:
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
    return Section("Kinematic elements", sentence, (Grid(header, tuple(rows)),))


def _attachment(page: _LegPage, k: int) -> tuple[str, str]:
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


def _parameter_section(pages: list[_LegPage]) -> Section:
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
    return Section("Dynamic parameters", sentence, (Grid(tuple(header), tuple(rows)),))


def _motion_section(robot: Robot) -> Section:
    entries = ", ".join(robot.motion.coordinates)
    turn = "" if robot.nacelle.kind == "point" else r" + \boldsymbol{\omega} \times (B_{i} - E)"
    return Section(
        "Motion of the nacelle",
        f"The reduced twist v has the entries {entries}; E is the platform frame's origin, B a leg's end.",
        equations=(rf"\dot{{B}}_{{i}} = \dot{{E}}{turn} = \mathbf{{M}}_{{B_{{i}}}} \mathbf{{v}}",),
    )


def _sum_section(robot: Robot, pages: list[_LegPage]) -> Section:
    """All legs together: A Gamma + b = 0."""
    # An actuator elsewhere is written by the rate of its own joint.
    columns = [r"\mathbf{M}_{q_{\text{" + _short(drive.name) + "}}}^{T}" for drive in robot.actuators]
    free = []
    for page in pages:
        for number, column in page.drives().items():
            columns[number] = column
        for _, _, symbol in page.basis(str(page.number)):
            free.append(r"\mathbf{M}_{@}^{T} \tilde{F}_{@}".replace("@", _state(symbol)))
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
    return Section("The model", sentence, equations=tuple(lines))


def _batches(items: list[str], size: int) -> list[list[str]]:
    return [items[k : k + size] for k in range(0, len(items), size)]


def _number(value: float) -> Maths:
    """A number with four digits; zero where it is rounding."""
    text = f"{0.0 if abs(value) < 1e-12 else value:.4g}"
    digits, e, power = text.partition("e")
    return Maths(rf"{digits} \cdot 10^{{{int(power)}}}" if e else digits)


# ---- writing
