"""A graph as the data of a description, quantities as texts with units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, RotationDamper, Shape, Solid
from nacelle.exchange.text.legs import Piece, legs_in_order
from nacelle.exchange.text.quantities import (
    angle,
    frame,
    length,
    shortest_decimal,
    written_direction,
    written_rotation,
    written_vector,
)
from nacelle.model.description.version import NEWEST
from nacelle.model.platform import AXES, NAMED_MOTIONS
from nacelle.spatial.scalar import Array

# Guesses pick the branch: digits beyond these are not needed by a reader.
_GUESS = 1e-7
_EXACT = 1e-16


@dataclass(frozen=True, eq=False)
class Written:
    """The data of a description, and the full names that joints and bodies have in it."""

    data: dict[str, Any]
    joints: dict[str, str]
    bodies: dict[str, str]

    def joint(self, name: str) -> str:
        """The full name of a joint of the graph."""
        return self.joints[name]


def described(
    graph: Graph, motion: tuple[str, ...], axes: tuple[str, ...] = AXES, *, exact: bool = False
) -> Written:
    """Write a graph whose independent coordinates are given.

    Args:
        graph: the graph.
        motion: names of the independent joints.
        axes: independent coordinates of the floating body, if there is one.
        exact: whether joints are guessed to the last digit, so that an assembly stays as it is.
    """
    return _Writer(graph, _EXACT if exact else _GUESS).written(
        motion, axes if graph.floating is not None else ()
    )


class _Writer:
    def __init__(self, graph: Graph, near: float) -> None:
        self.graph, self.near = graph, near
        self.legs = legs_in_order(graph)
        self.size = max((float(np.linalg.norm(j.at.p)) for j in graph.joints), default=1.0) or 1.0
        self.own = {body: leg for leg in self.legs for body in leg.bodies}
        self.joints = {
            j.name: f"{leg.name}.{leg.short(j.name)}"
            for leg in self.legs
            for j in (*leg.joints, *leg.closures)
        }
        self.names = {body: f"{leg.name}.{leg.short(body)}" for body, leg in self.own.items()} | {BASE: BASE}
        if graph.floating is not None:
            aboard = (graph.floating, *graph.parts)
            self.names |= {body: body for body in aboard}
            self.aboard = Piece(
                "",
                "",
                aboard,
                tuple(j for j in graph.joints if j.child in graph.parts),
                tuple(c for c in graph.closures if c.parent in aboard and c.child in aboard),
            )
            self.joints |= {j.name: _distinct(j.name) for j in (*self.aboard.joints, *self.aboard.closures)}

    def written(self, motion: tuple[str, ...], axes: tuple[str, ...]) -> Written:
        graph = self.graph
        named = next((name for name, listed in NAMED_MOTIONS.items() if listed == axes), None)
        names = [*([named] if named else axes), *(self.shortest(name) for name in motion)]
        data: dict[str, Any] = {"format": NEWEST, "name": graph.name}
        data["motion"] = names[0] if names == [named] else names
        data["gravity"] = written_vector(graph.gravity, "m/s^2")
        if graph.floating is not None:
            data["reference"] = self.reference()
        if graph.shapes:
            data["base"] = {"display": [self.shape(shape) for shape in graph.shapes]}
        if graph.floating is not None:
            data["nacelle"] = self.nacelle(graph.floating)
        data["legs"] = [self.leg(leg) for leg in self.legs]
        if graph.couplings:
            data["couplings"] = {c.name: self.coupling(c.name) for c in graph.couplings}
        if graph.struts:
            data["springs"] = {strut.name: self.strut(strut.name) for strut in graph.struts}
        if graph.dampers:
            data["dampers"] = {damper.name: self.damper(damper) for damper in graph.dampers}
        driven = [self.joints[j.name] for j in graph.joints if j.motor is not None]
        if driven != [self.joints[j.name] for leg in self.legs for j in leg.joints if j.motor is not None]:
            data["actuators"] = [self.actuator_name(j) for j in graph.joints if j.motor is not None]
        return Written(data, self.joints, self.names)

    def shortest(self, joint: str) -> str:
        """A joint by its name in its leg where no other joint or axis is called so."""
        full = self.joints[joint]
        short_name = full.rsplit(".", maxsplit=1)[-1]
        alike = [name for name in self.joints.values() if name.rsplit(".", maxsplit=1)[-1] == short_name]
        return short_name if len(alike) == 1 and short_name not in AXES + tuple(NAMED_MOTIONS) else full

    def actuator_name(self, joint: Link) -> str:
        leg = self.own[joint.child]
        assert joint.motor is not None
        return f"{leg.name}.{leg.short(joint.motor.name)}"

    def reference(self) -> dict[str, Any]:
        pose = self.graph.pose
        data: dict[str, Any] = {"position": written_vector(pose.p, "mm", 1e3)}
        if np.max(np.abs(pose.R - np.eye(3))) > 1e-15:
            data["rotation"] = written_rotation(pose.R)
        return data

    def nacelle(self, main: str) -> dict[str, Any]:
        if not self.graph.parts:
            return {"name": main, **self.body(main)}
        data: dict[str, Any] = {"type": "articulated", "name": main}
        data["bodies"] = {body: self.body(body) for body in self.aboard.bodies}
        for key, links in (("joints", self.aboard.joints), ("closures", self.aboard.closures)):
            if links:
                data[key] = {
                    self.joints[j.name]: self.joint(j, self.aboard, closes=key == "closures") for j in links
                }
        return data

    def leg(self, leg: Piece) -> dict[str, Any]:
        data: dict[str, Any] = {"name": leg.name}
        data["bodies"] = {leg.short(body): self.body(body) for body in leg.bodies}
        data["joints"] = {leg.short(j.name): self.joint(j, leg) for j in leg.joints}
        if leg.closures:
            data["closures"] = {leg.short(c.name): self.joint(c, leg, closes=True) for c in leg.closures}
        return data

    def body(self, name: str) -> dict[str, Any]:
        solid: Solid = self.graph.bodies[name]
        data: dict[str, Any] = {}
        if solid.mass or np.any(solid.inertia):
            data["mass"] = (
                f"{shortest_decimal(solid.mass)} kg"
                if solid.mass >= 1e-3
                else f"{shortest_decimal(1e3 * solid.mass)} g"
            )
            if np.any(solid.com):
                data["com"] = written_vector(solid.com, "mm", 1e3)
            data["inertia"] = _inertia(solid.inertia)
        if solid.shapes:
            data["display"] = [self.shape(shape) for shape in solid.shapes]
        return data

    def shape(self, shape: Shape) -> dict[str, Any]:
        at = shape.at
        if shape.kind == "sphere":
            return {"sphere": {"radius": length(shape.size[0]), "at": written_vector(at.p, "mm", 1e3)}}
        if shape.kind == "cylinder":
            radius, long = shape.size
            half = 0.5 * long * at.R[:, 2]
            ends = [written_vector(_rounded(end), "mm", 1e3) for end in (at.p - half, at.p + half)]
            return {"cylinder": {"from": ends[0], "to": ends[1], "radius": length(radius)}}
        box: dict[str, Any] = {"size": written_vector(shape.size, "mm", 1e3)}
        place = frame(at, self.size)
        return {"box": box | ({"at": place} if place is not None else {})}

    def body_name(self, body: str, leg: Piece) -> str:
        return leg.short(body) if self.own.get(body) is leg else self.names[body]

    def joint(self, joint: Link, leg: Piece, closes: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = {"type": joint.kind}
        data["parent"] = self.body_name(joint.parent, leg)
        data["child"] = self.body_name(joint.child, leg)
        for key, pose in (("at", joint.at), ("child_at", joint.child_at)):
            place = frame(pose, self.size)
            if place is not None:
                data[key] = place
        if len(joint.axes) == 1:
            data["axis"] = written_direction(joint.axes[0].direction)
        elif joint.axes:
            data["axes"] = [written_direction(axis.direction) for axis in joint.axes]
        data |= self.drive(joint, leg)
        if not closes:
            data |= _guess(joint, self.near)
        return data

    def drive(self, joint: Link, leg: Piece) -> dict[str, Any]:
        data: dict[str, Any] = {}
        if joint.spherical:
            if joint.damping:
                data["friction"] = {"viscous": f"{shortest_decimal(joint.damping)} N*m*s/rad"}
            if joint.armature:
                data["rotor_inertia"] = f"{shortest_decimal(joint.armature)} kg*m^2"
            return data
        if joint.motor is not None:
            data["actuator"] = _actuator(joint, leg)
        elif joint.axes and joint.axes[0].armature:
            unit = "kg*m^2" if joint.axes[0].turns else "kg"
            data["rotor_inertia"] = f"{shortest_decimal(joint.axes[0].armature)} {unit}"
        if any(axis.damping or axis.coulomb or axis.quadratic or axis.cubic for axis in joint.axes):
            data["friction"] = _one_or_list([_friction(axis) for axis in joint.axes])
        if any(axis.stiffness for axis in joint.axes):
            data["spring"] = _one_or_list([_spring(axis) for axis in joint.axes])
        if any(math.isfinite(end) for axis in joint.axes for end in axis.limits):
            data["limits"] = _one_or_list([_limits(axis) for axis in joint.axes])
        if any(axis.stop for axis in joint.axes):
            data["stop"] = _one_or_list([_stop(axis) for axis in joint.axes])
        return data

    def coupling(self, name: str) -> dict[str, Any]:
        coupling = next(c for c in self.graph.couplings if c.name == name)
        turns = {joint.name: joint.axes[0].turns for joint in self.graph.joints if len(joint.axes) == 1}
        own = turns[coupling.joint]
        ratios = {
            self.joints[other]: _ratio(value, own, turns[other]) for other, value in coupling.follows.items()
        }
        data: dict[str, Any] = {"joint": self.joints[coupling.joint]}
        if len(ratios) == 1:
            (other, ratio), *_ = ratios.items()
            data |= {"follows": other} | ({"ratio": ratio} if ratio != 1.0 else {})
        else:
            data["follows"] = ratios
        if coupling.offset:
            data["offset"] = angle(coupling.offset) if own else length(coupling.offset)
        return data

    def strut(self, name: str) -> dict[str, Any]:
        strut = next(s for s in self.graph.struts if s.name == name)
        data = {
            "between": [self.names[body] for body in strut.bodies],
            "at": [written_vector(point, "mm", 1e3) for point in strut.points],
            "stiffness": f"{shortest_decimal(strut.stiffness)} N/m",
            "length": length(strut.length),
        }
        return data | ({"damping": f"{shortest_decimal(strut.damping)} N*s/m"} if strut.damping else {})

    def damper(self, damper: RotationDamper) -> dict[str, Any]:
        between = [self.names[body] for body in damper.bodies]
        return {"between": between, "damping": f"{shortest_decimal(damper.damping)} N*m*s/rad"}


def _distinct(joint: str) -> str:
    """The name of a nacelle's joint, which is no word for a motion."""
    return f"{joint}-joint" if joint in AXES + tuple(NAMED_MOTIONS) else joint


def _rounded(values: Array) -> Array:
    """A place to draw at: to the micrometre."""
    return np.round(values, 6) + 0.0


def _inertia(I: Array) -> str:
    largest = float(np.max(np.abs(I)))
    order = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
    numbers = [shortest_decimal(float(I[i, j]), largest) for i, j in order]
    if numbers[1] == numbers[3] == numbers[4] == "0":
        numbers = [numbers[0], numbers[2], numbers[5]]
    return " ".join(numbers) + " kg*m^2"


def _guess(joint: Link, near: float) -> dict[str, Any]:
    if joint.spherical:
        quat = [float(shortest_decimal(v, 1.0, near)) for v in joint.quat]
        return {"guess": quat} if quat != [0.0, 0.0, 0.0, 1.0] else {}
    if not any(abs(axis.value) > near for axis in joint.axes):
        return {}
    values = [_coordinate(axis, near) for axis in joint.axes]
    return {"guess": values[0] if len(values) == 1 else values}


def _coordinate(axis: Axis, close: float) -> str:
    if not axis.turns:
        return f"{shortest_decimal(1e3 * axis.value, 1.0, close)} mm"
    degrees = math.degrees(axis.value)
    return f"{shortest_decimal(degrees, 1.0, close)} deg"


def _one_or_list(entries: list[Any]) -> Any:
    return entries[0] if len(entries) == 1 else entries


def _friction(axis: Axis) -> dict[str, str]:
    torque, rate = ("N*m", "N*m*s/rad") if axis.turns else ("N", "N*s/m")
    square, third = ("N*m*s^2/rad^2", "N*m*s^3/rad^3") if axis.turns else ("N*s^2/m^2", "N*s^3/m^3")
    terms = {
        "viscous": (axis.damping, rate),
        "coulomb": (axis.coulomb, torque),
        "quadratic": (axis.quadratic, square),
        "cubic": (axis.cubic, third),
    }
    return {key: f"{shortest_decimal(value)} {unit}" for key, (value, unit) in terms.items() if value}


def _stop(axis: Axis) -> dict[str, str] | None:
    if not axis.stop:
        return None
    return {"stiffness": f"{shortest_decimal(axis.stop)} {'N*m/rad' if axis.turns else 'N/m'}"}


def _spring(axis: Axis) -> dict[str, str] | None:
    if not axis.stiffness:
        return None
    data = {"stiffness": f"{shortest_decimal(axis.stiffness)} {'N*m/rad' if axis.turns else 'N/m'}"}
    if axis.rest:
        data["rest"] = angle(axis.rest) if axis.turns else length(axis.rest)
    return data


def _limits(axis: Axis) -> list[str | None]:
    written = angle if axis.turns else length
    return [written(end) if math.isfinite(end) else None for end in axis.limits]


def _actuator(joint: Link, leg: Piece) -> dict[str, Any]:
    axis, motor = joint.axes[0], joint.motor
    assert isinstance(motor, Motor)
    data: dict[str, Any] = {}
    if motor.name != joint.name:
        data["name"] = leg.short(motor.name)
    gear = motor.gear if axis.turns else 1.0
    if gear != 1.0:
        data["gear_ratio"] = _number(gear)
    if axis.armature:
        unit = "kg*m^2" if axis.turns else "kg"
        data["rotor_inertia"] = f"{shortest_decimal(axis.armature / gear / gear)} {unit}"
    limits = {}
    if math.isfinite(motor.speed):
        limits["speed"] = f"{shortest_decimal(motor.speed)} {'rad/s' if axis.turns else 'm/s'}"
    if math.isfinite(motor.force):
        limits["force"] = f"{shortest_decimal(motor.force)} {'N*m' if axis.turns else 'N'}"
    return data | ({"limits": limits} if limits else {})


def _number(value: float) -> float | int:
    """A pure number, without a point where it is whole."""
    read = float(shortest_decimal(value))
    return int(read) if read.is_integer() and abs(read) < 1e9 else read


def _ratio(value: float, own_turns: bool, other_turns: bool) -> Any:
    if own_turns == other_turns:
        return _number(value)
    return f"{shortest_decimal(1e3 * value)} mm/rad" if other_turns else f"{shortest_decimal(value)} rad/m"
