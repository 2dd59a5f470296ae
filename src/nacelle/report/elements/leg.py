"""A leg as kinematic elements in the reference pose: lines, bodies, their parameters and the motion basis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.kinematics.elements.geometry import ElementGeometry
from nacelle.kinematics.elements.reading import welds
from nacelle.kinematics.elements.structure import ElementLeg
from nacelle.model.leg import BASE
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.report.elements.symbols import tex
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.scalar import Array


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
    """What is to be said of a leg, in the reference pose."""

    def __init__(self, at: ElementGeometry, number: int, leg: ElementLeg) -> None:
        self.robot, self.at, self.leg, self.number = at.robot, at, leg, number
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
            tuple((m.line, m.role, self.off_line(m), self.askew(m)) for m in self.members),
            self.tip_off,
            tuple(part.neighbour for part in self.leg.parts),
            len(self.drives()),
        )

    def _own_lines(self) -> list[ElementLine]:
        leg, at = self.leg, self.at
        lines: list[ElementLine] = []
        if leg.driver is not None:
            F = at.frame(leg.driver)
            if "x" not in leg.elements[0].basis:
                lines.append(ElementLine("1", F.p, F.R[:, 2], _across(F.R[:, 2])))
            else:
                E, x = at.ends(leg, leg.rods[0])[0], at.bar_direction(leg)
                lines.append(ElementLine("1", E - x * (x @ (E - F.p)), x, F.R[:, 2]))
        for k, rod in enumerate(leg.rods if leg.form != "plane" else ()):
            x, A = at.direction(leg, rod), at.ends(leg, rod)[0]
            if leg.fold is not None:
                A = np.asarray(at.frame((leg.fold.rod_a, leg.fold.rod_b)[k]).p)
            lines.append(ElementLine(str(len(lines) + 1), A, x, self._third(k, x)))
        return lines

    def _third(self, k: int, x: Array) -> Array:
        """The third axis of a rod: across its direction, in the plane of its joint's axis behind."""
        axis = self.leg.rods[k].hold.behind
        if axis is None:
            return _across(x)
        b = self.at.axis(axis)
        across = b - x * (x @ b)
        return np.asarray(across / np.linalg.norm(across))

    def _part_line(self, k: int) -> ElementLine:
        part = self.leg.parts[k]
        x = self.at.part_direction(part)
        label = "n" if k == 0 else f"n{k + 1}"
        return ElementLine(label, self.at.part_input(part), x, _across(x))

    def _members(self) -> list[ElementBody]:
        leg, members = self.leg, list[ElementBody]()
        if leg.driver is not None:
            members.append(ElementBody(leg.elements[0].body, 0, "body", self.lines[0].A, "1"))
        for k, rod in enumerate(leg.rods if leg.form != "plane" else (), start=self.first):
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
        stem = welds(self.robot)
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

    def off_line(self, member: ElementBody) -> bool:
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
            number: tex(codes[actuator.joint], label, str(self.number))
            for number, actuator in enumerate(self.robot.actuators)
            if actuator.joint in codes
        }

    def basis(self, leg: str = "i") -> list[tuple[int, str, str]]:
        """The motion basis: element, state and symbol."""
        codes = {"A": "<A'#>", "x": "<x'#>", "d": "<d'#>", "theta": "<t'#>"}
        return [
            (k, name, tex(codes[name], self.lines[k].label, leg))
            for k, element in enumerate(self.leg.all_elements)
            for name in element.basis
        ]

    def askew(self, member: ElementBody) -> bool:
        """Whether a body hangs on the hub of a parallelogram beside the hub's axis."""
        fold, axis = self.leg.fold, self.leg.rods[0].hold.before
        if fold is None or axis is None or member.role not in ("body", "end") or member.line < self.first:
            return False
        E, _ = self.at.ends(self.leg, self.leg.rods[0])
        c = self.lines[member.line].A - E
        off = np.cross(self.at.axis(axis), c)
        return bool(np.linalg.norm(off) > 1e-9 * self.robot.size)


def _across(x: Array) -> Array:
    """A unit vector across another, the same for the same direction."""
    other = np.eye(3)[int(np.argmin(np.abs(x)))]
    across = np.cross(x, other)
    return np.asarray(across / np.linalg.norm(across))
