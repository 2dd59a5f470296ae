"""A graph of bodies and joints as the text of a description that a person would have written.

The pieces of the graph without base and trunk are its legs, with the names that their parts share as theirs;
quantities are texts with units.

Numbers as a person would write them: the shortest decimals that mean the same, with their units.

Files of other engines have passed through conversions (degrees to radians, principal axes and back), so that
a number that was typed as 22.5 comes as 22.500000000000004. The shortest decimal within 2e-15 of the number,
or of the largest number next to it, is what was meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.exchange.graph import (
    BASE,
    Axis,
    Coupling,
    Graph,
    Link,
    Motor,
    RotationDamper,
    Shape,
    Solid,
    Strut,
    UniqueNames,
)
from nacelle.model.build.graph import connected_components
from nacelle.model.description.version import NEWEST
from nacelle.model.platform import AXES, NAMED_MOTIONS
from nacelle.model.units import QUANTITIES, axis_quantity
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_rotation, rotation_rpy, rpy_from_rotation
from nacelle.spatial.scalar import Array

# ---- pieces without base and trunk: legs, with the names that their parts share


@dataclass(frozen=True, eq=False)
class LegPiece:
    """A leg: its name, the prefix that is taken off the names of its parts, bodies, joints and closures."""

    name: str
    prefix: str
    bodies: tuple[str, ...]
    joints: tuple[Link, ...]
    closures: tuple[Link, ...]

    def is_joined_to(self, bodies: Collection[str | None]) -> bool:
        """Whether a joint or closure of it is on one of some bodies."""
        return any(link.parent in bodies or link.child in bodies for link in (*self.joints, *self.closures))

    def short(self, name: str) -> str:
        """A name within the leg."""
        return name.removeprefix(self.prefix)


def leg_pieces(graph: Graph) -> list[LegPiece]:
    """The legs, in the order of their first bodies."""
    outside = {BASE, graph.floating, *graph.parts}
    links = [(link.parent, link.child) for link in graph.links]
    parts = connected_components([body for body in graph.bodies if body not in outside], links)
    names = UniqueNames(["platform", *(body for body in outside if body is not None)])
    pieces = []
    for number, bodies in enumerate(parts, 1):
        members = set(bodies)
        joints = tuple(joint for joint in graph.joints if joint.child in members)
        closures = tuple(c for c in graph.closures if c.parent in members or c.child in members)
        prefix = _prefix([*bodies, *(link.name for link in (*joints, *closures))], outside)
        only = graph.name if len(parts) == 1 else f"leg{number}"
        pieces.append(LegPiece(names.new(prefix.strip("-_"), only), prefix, tuple(bodies), joints, closures))
    return pieces


def _prefix(names: list[str], reserved: Collection[str | None]) -> str:
    """What all names begin with, up to a hyphen or underscore.

    Nothing if less than a word would be left, or the name of a body that is no part of the leg.
    """
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    prefix = re.sub("[^-_]*$", "", first[:same])
    left = [name.removeprefix(prefix) for name in names]
    fits = all(name and name[0].isalpha() and name not in reserved for name in left)
    return prefix if len(names) > 1 and fits else ""


# ---- numbers as a person would write them


_CLOSE = 2e-15
_AXES = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


def shortest_decimal(value: float, scale: float = 0.0, close: float = _CLOSE) -> str:
    """The shortest decimal of a number, as near to it as `close` of the larger of it and `scale`."""
    if not math.isfinite(value):
        return repr(float(value))
    within = close * max(abs(value), scale)
    if abs(value) <= within:
        return "0"
    for digits in range(1, 17):
        text = f"{value:.{digits}g}"
        if abs(float(text) - value) <= within:
            return _without_exponent(text)
    return _without_exponent(repr(float(value)))


def _without_exponent(text: str) -> str:
    """A number without an exponent where it is short, 1e-05 as 1e-5."""
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = int(exponent)
    decimal = f"{float(text):.{max(0, len(mantissa.replace('.', '').lstrip('-')) - 1 - power)}f}"
    return decimal if len(decimal) <= 7 and float(decimal) == float(text) else f"{mantissa}e{power}"


def vector_text(values: Sequence[float] | Array, unit: str, factor: float = 1.0, scale: float = 0.0) -> str:
    """Numbers with one unit: "0 0 300 mm"."""
    scaled = [float(value) * factor for value in values]
    largest = max([scale * factor, *(abs(value) for value in scaled)])
    return " ".join(shortest_decimal(value, largest) for value in scaled) + f" {unit}"


def length_text(value: float) -> str:
    """A length in mm."""
    return f"{shortest_decimal(1e3 * value)} mm"


def angle_text(value: float) -> str:
    """An angle in degrees, or in radians where that is shorter."""
    degrees, radians = shortest_decimal(math.degrees(value)), shortest_decimal(value)
    return f"{radians} rad" if len(radians) + 3 < len(degrees) else f"{degrees} deg"


def direction_text(values: Array) -> str | list[float]:
    """A direction: a letter, or three numbers."""
    unit = [0.0 if abs(v) < 1e-15 else float(v) for v in values]
    for axis, letter in _AXES.items():
        if unit == list(axis):
            return letter
        if [-v for v in unit] == list(axis):
            return f"-{letter}"
    return [float(shortest_decimal(v, 1.0)) for v in unit]


def frame_data(pose: Pose, size: float) -> Any:
    """A frame: a vector where nothing turns; None where it is the body's own."""
    R, p = pose.R, pose.p
    is_translated = bool(np.max(np.abs(p)) > _CLOSE * size)
    is_rotated = bool(np.max(np.abs(R - np.eye(3))) > 1e-15)
    translation = vector_text(p, "mm", 1e3, size)
    if not is_rotated:
        return translation if is_translated else None
    data: dict[str, Any] = {"translation": translation} if is_translated else {}
    data["rotation"] = rotation_data(R)
    return data


def rotation_data(R: Array) -> dict[str, Any]:
    """A rotation in degrees or radians about fixed axes where these are short, otherwise a quaternion."""
    degrees = [float(shortest_decimal(math.degrees(v), 180.0)) for v in rpy_from_rotation(R)]
    radians = [float(shortest_decimal(v, math.pi)) for v in rpy_from_rotation(R)]
    for unit, angles, radians_read in (
        ("deg", degrees, np.radians(degrees)),
        ("rad", radians, np.array(radians)),
    ):
        text = " ".join(shortest_decimal(v) for v in angles)
        if len(text) < 24 and np.max(np.abs(rotation_rpy(radians_read) - R)) < 4e-16:
            return {"rpy": f"{text} {unit}"}
    quat = np.asarray(quat_from_rotation(R), dtype=float)
    return {"quat_xyzw": [float(shortest_decimal(v, 1.0, 1e-16)) for v in quat]}


# ---- the description


# Guesses pick the branch: digits beyond these are not needed by a reader.
_GUESS = 1e-7
_EXACT = 1e-16


@dataclass(frozen=True, eq=False)
class DescriptionData:
    """The data of a description, and the full names that joints have in it."""

    data: dict[str, Any]
    joints: dict[str, str]


def describe_graph(
    graph: Graph, motion: tuple[str, ...], axes: tuple[str, ...] = AXES, *, exact: bool = False
) -> DescriptionData:
    """Write a graph whose independent coordinates are given.

    Args:
        graph: the graph.
        motion: names of the independent joints.
        axes: independent coordinates of the floating body, if there is one.
        exact: whether joints are guessed to the last digit, so that an assembly stays as it is.
    """
    return _Writer(graph, _EXACT if exact else _GUESS).to_description(
        motion, axes if graph.floating is not None else ()
    )


class _Writer:
    def __init__(self, graph: Graph, near: float) -> None:
        self.graph, self.near = graph, near
        self.legs = leg_pieces(graph)
        self.size = max((float(np.linalg.norm(j.at.p)) for j in graph.joints), default=1.0) or 1.0
        self.leg_of_body = {body: leg for leg in self.legs for body in leg.bodies}
        self.joints = {
            j.name: f"{leg.name}.{leg.short(j.name)}"
            for leg in self.legs
            for j in (*leg.joints, *leg.closures)
        }
        self.names = {body: f"{leg.name}.{leg.short(body)}" for body, leg in self.leg_of_body.items()} | {
            BASE: BASE
        }
        if graph.floating is not None:
            aboard = (graph.floating, *graph.parts)
            self.names |= {body: body for body in aboard}
            self.platform_piece = LegPiece(
                "",
                "",
                aboard,
                tuple(j for j in graph.joints if j.child in graph.parts),
                tuple(c for c in graph.closures if c.parent in aboard and c.child in aboard),
            )
            self.joints |= {
                j.name: _joint_name_unlike_motions(j.name)
                for j in (*self.platform_piece.joints, *self.platform_piece.closures)
            }

    def to_description(self, motion: tuple[str, ...], axes: tuple[str, ...]) -> DescriptionData:
        graph = self.graph
        motion_name = next((name for name, coordinates in NAMED_MOTIONS.items() if coordinates == axes), None)
        names = [
            *([motion_name] if motion_name else axes),
            *(self.shortest_joint_name(name) for name in motion),
        ]
        data: dict[str, Any] = {"format": NEWEST, "name": graph.name}
        data["motion"] = names[0] if names == [motion_name] else names
        data["gravity"] = vector_text(graph.gravity, "m/s^2")
        if graph.floating is not None:
            data["reference"] = self.reference()
        if graph.shapes:
            data["base"] = {"display": [self.shape(shape) for shape in graph.shapes]}
        if graph.floating is not None:
            data["platform"] = self.platform(graph.floating)
        data["legs"] = [self.leg(leg) for leg in self.legs]
        if graph.couplings:
            data["couplings"] = {c.name: self.coupling(c) for c in graph.couplings}
        if graph.struts:
            data["springs"] = {strut.name: self.strut(strut) for strut in graph.struts}
        if graph.dampers:
            data["dampers"] = {damper.name: self.damper(damper) for damper in graph.dampers}
        driven = [self.joints[j.name] for j in graph.joints if j.motor is not None]
        if driven != [self.joints[j.name] for leg in self.legs for j in leg.joints if j.motor is not None]:
            data["actuators"] = [self.actuator_name(j) for j in graph.joints if j.motor is not None]
        return DescriptionData(data, self.joints)

    def shortest_joint_name(self, joint: str) -> str:
        """A joint by its name in its leg where no other joint or axis is called so."""
        full = self.joints[joint]
        short_name = full.rsplit(".", maxsplit=1)[-1]
        alike = [name for name in self.joints.values() if name.rsplit(".", maxsplit=1)[-1] == short_name]
        return short_name if len(alike) == 1 and short_name not in AXES + tuple(NAMED_MOTIONS) else full

    def actuator_name(self, joint: Link) -> str:
        leg = self.leg_of_body[joint.child]
        assert joint.motor is not None
        return f"{leg.name}.{leg.short(joint.motor.name)}"

    def reference(self) -> dict[str, Any]:
        pose = self.graph.pose
        data: dict[str, Any] = {"position": vector_text(pose.p, "mm", 1e3)}
        if np.max(np.abs(pose.R - np.eye(3))) > 1e-15:
            data["rotation"] = rotation_data(pose.R)
        return data

    def platform(self, main: str) -> dict[str, Any]:
        if not self.graph.parts:
            return {"name": main, **self.body(main)}
        data: dict[str, Any] = {"type": "articulated", "name": main}
        data["bodies"] = {body: self.body(body) for body in self.platform_piece.bodies}
        for key, links in (
            ("joints", self.platform_piece.joints),
            ("closures", self.platform_piece.closures),
        ):
            if links:
                data[key] = {
                    self.joints[j.name]: self.joint(j, self.platform_piece, closes=key == "closures")
                    for j in links
                }
        return data

    def leg(self, leg: LegPiece) -> dict[str, Any]:
        data: dict[str, Any] = {"name": leg.name}
        data["bodies"] = {leg.short(body): self.body(body) for body in leg.bodies}
        data["joints"] = {leg.short(j.name): self.joint(j, leg) for j in leg.joints}
        if leg.closures:
            data["closures"] = {leg.short(c.name): self.joint(c, leg, closes=True) for c in leg.closures}
        return data

    def body(self, name: str) -> dict[str, Any]:
        solid: Solid = self.graph.bodies[name]
        data: dict[str, Any] = {}
        if not solid.is_massless:
            data["mass"] = (
                f"{shortest_decimal(solid.mass)} kg"
                if solid.mass >= 1e-3
                else f"{shortest_decimal(1e3 * solid.mass)} g"
            )
            if np.any(solid.com):
                data["com"] = vector_text(solid.com, "mm", 1e3)
            data["inertia"] = _inertia_text(solid.inertia)
        if solid.shapes:
            data["display"] = [self.shape(shape) for shape in solid.shapes]
        return data

    def shape(self, shape: Shape) -> dict[str, Any]:
        at = shape.at
        if shape.kind == "sphere":
            return {"sphere": {"radius": length_text(shape.size[0]), "at": vector_text(at.p, "mm", 1e3)}}
        if shape.kind == "cylinder":
            radius, long = shape.size
            half = 0.5 * long * at.R[:, 2]
            # To the micrometre: a place to draw at.
            ends = [vector_text(np.round(end, 6) + 0.0, "mm", 1e3) for end in (at.p - half, at.p + half)]
            return {"cylinder": {"from": ends[0], "to": ends[1], "radius": length_text(radius)}}
        box: dict[str, Any] = {"size": vector_text(shape.size, "mm", 1e3)}
        pose = frame_data(at, self.size)
        return {"box": box | ({"at": pose} if pose is not None else {})}

    def body_name(self, body: str, leg: LegPiece) -> str:
        return leg.short(body) if self.leg_of_body.get(body) is leg else self.names[body]

    def joint(self, joint: Link, leg: LegPiece, closes: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = {"type": joint.kind}
        data["parent"] = self.body_name(joint.parent, leg)
        data["child"] = self.body_name(joint.child, leg)
        for key, pose in (("at", joint.at), ("child_at", joint.child_at)):
            frame = frame_data(pose, self.size)
            if frame is not None:
                data[key] = frame
        if len(joint.axes) == 1:
            data["axis"] = direction_text(joint.axes[0].direction)
        elif joint.axes:
            data["axes"] = [direction_text(axis.direction) for axis in joint.axes]
        data |= self.drive(joint, leg)
        if not closes:
            data |= _guess_entry(joint, self.near)
        return data

    def drive(self, joint: Link, leg: LegPiece) -> dict[str, Any]:
        data: dict[str, Any] = {}
        if joint.spherical:
            if joint.damping:
                data["friction"] = {"viscous": _quantity_text(joint.damping, "damping", turns=True)}
            if joint.armature:
                data["rotor_inertia"] = _quantity_text(joint.armature, "mass", turns=True)
            return data
        if joint.motor is not None:
            data["actuator"] = _actuator_entry(joint, leg)
        elif joint.axes and joint.axes[0].armature:
            first = joint.axes[0]
            data["rotor_inertia"] = _quantity_text(first.armature, "mass", turns=first.turns)
        if any(axis.damping or axis.coulomb or axis.quadratic or axis.cubic for axis in joint.axes):
            data["friction"] = _one_or_list([_friction_entry(axis) for axis in joint.axes])
        if any(axis.stiffness for axis in joint.axes):
            data["spring"] = _one_or_list([_spring_entry(axis) for axis in joint.axes])
        if any(math.isfinite(end) for axis in joint.axes for end in axis.limits):
            data["limits"] = _one_or_list([_limits_entry(axis) for axis in joint.axes])
        if any(axis.stop for axis in joint.axes):
            data["stop"] = _one_or_list([_stop_entry(axis) for axis in joint.axes])
        return data

    def coupling(self, coupling: Coupling) -> dict[str, Any]:
        turns = {joint.name: joint.axes[0].turns for joint in self.graph.joints if len(joint.axes) == 1}
        follower_turns = turns[coupling.joint]
        ratios = {
            self.joints[leader]: _ratio_entry(value, follower_turns, turns[leader])
            for leader, value in coupling.follows.items()
        }
        data: dict[str, Any] = {"joint": self.joints[coupling.joint]}
        if len(ratios) == 1:
            (leader, ratio), *_ = ratios.items()
            data |= {"follows": leader} | ({"ratio": ratio} if ratio != 1.0 else {})
        else:
            data["follows"] = ratios
        if coupling.offset:
            data["offset"] = angle_text(coupling.offset) if follower_turns else length_text(coupling.offset)
        return data

    def strut(self, strut: Strut) -> dict[str, Any]:
        data = {
            "between": [self.names[body] for body in strut.bodies],
            "at": [vector_text(point, "mm", 1e3) for point in strut.points],
            "stiffness": _quantity_text(strut.stiffness, "stiffness"),
            "length": length_text(strut.length),
        }
        return data | ({"damping": _quantity_text(strut.damping, "damping")} if strut.damping else {})

    def damper(self, damper: RotationDamper) -> dict[str, Any]:
        between = [self.names[body] for body in damper.bodies]
        return {"between": between, "damping": _quantity_text(damper.damping, "damping", turns=True)}


def _joint_name_unlike_motions(joint: str) -> str:
    """The name of a platform's joint, which is no word for a motion."""
    return f"{joint}-joint" if joint in AXES + tuple(NAMED_MOTIONS) else joint


def _inertia_text(I: Array) -> str:
    largest = float(np.max(np.abs(I)))
    order = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
    numbers = [shortest_decimal(float(I[i, j]), largest) for i, j in order]
    if numbers[1] == numbers[3] == numbers[4] == "0":
        numbers = [numbers[0], numbers[2], numbers[5]]
    return " ".join(numbers) + " kg*m^2"


def _guess_entry(joint: Link, near: float) -> dict[str, Any]:
    if joint.spherical:
        quat = [float(shortest_decimal(v, 1.0, near)) for v in joint.quat]
        return {"guess": quat} if quat != [0.0, 0.0, 0.0, 1.0] else {}
    if not any(abs(axis.value) > near for axis in joint.axes):
        return {}
    values = [_coordinate_text(axis, near) for axis in joint.axes]
    return {"guess": values[0] if len(values) == 1 else values}


def _coordinate_text(axis: Axis, close: float) -> str:
    if not axis.turns:
        return f"{shortest_decimal(1e3 * axis.value, 1.0, close)} mm"
    degrees = math.degrees(axis.value)
    return f"{shortest_decimal(degrees, 1.0, close)} deg"


def _quantity_text(value: float, linear: str, *, turns: bool = False) -> str:
    """A number with its SI unit, of the kind `linear` along a translation: "force", else "torque"."""
    return f"{shortest_decimal(value)} {QUANTITIES[axis_quantity(linear, angular=turns)].si}"


def _one_or_list(entries: list[Any]) -> Any:
    return entries[0] if len(entries) == 1 else entries


def _friction_entry(axis: Axis) -> dict[str, str]:
    terms = {
        "viscous": (axis.damping, "damping"),
        "coulomb": (axis.coulomb, "force"),
        "quadratic": (axis.quadratic, "quadratic drag"),
        "cubic": (axis.cubic, "cubic drag"),
    }
    return {
        key: _quantity_text(value, kind, turns=axis.turns) for key, (value, kind) in terms.items() if value
    }


def _stop_entry(axis: Axis) -> dict[str, str] | None:
    if not axis.stop:
        return None
    return {"stiffness": _quantity_text(axis.stop, "stiffness", turns=axis.turns)}


def _spring_entry(axis: Axis) -> dict[str, str] | None:
    if not axis.stiffness:
        return None
    data = {"stiffness": _quantity_text(axis.stiffness, "stiffness", turns=axis.turns)}
    if axis.rest:
        data["rest"] = angle_text(axis.rest) if axis.turns else length_text(axis.rest)
    return data


def _limits_entry(axis: Axis) -> list[str | None]:
    text_of = angle_text if axis.turns else length_text
    return [text_of(end) if math.isfinite(end) else None for end in axis.limits]


def _actuator_entry(joint: Link, leg: LegPiece) -> dict[str, Any]:
    axis, motor = joint.axes[0], joint.motor
    assert isinstance(motor, Motor)
    data: dict[str, Any] = {}
    if motor.name != joint.name:
        data["name"] = leg.short(motor.name)
    gear = motor.gear if axis.turns else 1.0
    if gear != 1.0:
        data["gear_ratio"] = _number(gear)
    if axis.armature:
        data["rotor_inertia"] = _quantity_text(axis.armature / gear / gear, "mass", turns=axis.turns)
    limits = {}
    if math.isfinite(motor.speed):
        limits["speed"] = _quantity_text(motor.speed, "speed", turns=axis.turns)
    if math.isfinite(motor.force):
        limits["force"] = _quantity_text(motor.force, "force", turns=axis.turns)
    return data | ({"limits": limits} if limits else {})


def _number(value: float) -> float | int:
    """A pure number, without a point where it is whole."""
    read = float(shortest_decimal(value))
    return int(read) if read.is_integer() and abs(read) < 1e9 else read


def _ratio_entry(value: float, own_turns: bool, other_turns: bool) -> Any:
    if own_turns == other_turns:
        return _number(value)
    return f"{shortest_decimal(1e3 * value)} mm/rad" if other_turns else f"{shortest_decimal(value)} rad/m"
