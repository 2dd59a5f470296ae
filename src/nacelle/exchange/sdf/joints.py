"""Joints of SDF: hinges, slides, balls, universal joints, screws and gearboxes.

A joint has two frames that coincide in the drawn pose, one on each link. A universal joint and a revolute2
are two hinges one after the other; a screw is a hinge with a slide that follows it by pitch / (2 pi). A
gearbox is no joint but a coupling of two hinges on its reference body: with the angles theta_1 of its parent
about its first axis and theta_2 of its child about its second, theta_2 = -ratio theta_1. Pitches:
`screw_thread_pitch` in m/turn, right-handed; the older `thread_pitch` in rad/m, left-handed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.exchange.graph import Axis, Coupling, Link, Motor
from nacelle.exchange.names import Names
from nacelle.exchange.sdf.frames import Frames
from nacelle.exchange.sdf.texts import is_true, limit_value, unit_axis, value, word
from nacelle.exchange.tree import single_axes
from nacelle.exchange.xml import Element
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Limits from here on are none.
_FAR = 1e15
_FIXED, _BALL, _GEARBOX = "fixed", "ball", "gearbox"
_AXES = {
    "revolute": (True,),
    "continuous": (True,),
    "prismatic": (False,),
    "universal": (True, True),
    "revolute2": (True, True),
    "screw": (True, False),
}


@dataclass(eq=False)
class Joints:
    """What joints of a file become: joints of the graph with massless bodies between, and couplings.

    Attributes:
        links: joints of the graph.
        carriers: names of massless bodies.
        couplings: of screws, gearboxes and mimic axes.
        axes: for each joint of the file the joint of the graph of each of its axes.
    """

    links: list[Link]
    carriers: list[str]
    couplings: list[Coupling]
    axes: dict[str, list[Link]]


def joints_of(frames: Frames, bodies: dict[str, str], names: Names, in_model: bool = False) -> Joints:
    """Read all joints.

    Args:
        frames: frames of the model.
        bodies: names in the graph of links and the world.
        names: of bodies in the graph, which massless ones join.
        in_model: whether axes are in the model's frame where they do not say, as before version 1.5.
    """
    reader = _Reader(frames, bodies, names, in_model)
    for full, (element, scope) in frames.joints.items():
        reader.joint(full, element, scope)
    for full, (element, scope) in frames.joints.items():
        reader.couple(full, element, scope)
    return reader.made


class _Reader:
    def __init__(self, frames: Frames, bodies: dict[str, str], names: Names, in_model: bool) -> None:
        self.frames, self.bodies, self.body_names, self.in_model = frames, bodies, names, in_model
        self.names, self.coupling_names = Names(), Names()
        self.made = Joints([], [], [], {})

    def ends(self, element: Element, scope: str) -> tuple[str, str]:
        """Full names of the links that a joint joins."""
        found = []
        for tag in ("parent", "child"):
            end = element.first(tag)
            if end is None:
                raise element.fault(f"the joint {element.get('name')!r} has no {tag}")
            found.append(self.frames.link(self.frames.full(end.text.strip() or end.get("link"), scope, end)))
        if found[0] == found[1]:
            raise element.fault(f"the joint {element.get('name')!r} joins a link to itself")
        return found[0], found[1]

    def joint(self, full: str, element: Element, scope: str) -> None:
        kind = element.get("type")
        parent, child = self.ends(element, scope)
        if kind == _GEARBOX:
            return
        here = self.frames.pose(full)
        at, child_at = self.frames.pose(parent).inverse() @ here, self.frames.pose(child).inverse() @ here
        name = self.names.new(full.replace("::", "-"), "joint")
        link = Link(name, self.bodies[parent], self.bodies[child], at, child_at, line=element.line)
        if kind == _FIXED:
            self.made.links.append(link)
            return
        if kind == _BALL:
            self.made.links.append(replace(link, spherical=True))
            return
        if kind not in _AXES:
            raise element.fault(f"the joint {element.get('name')!r} has the type {kind!r}, which is not read")
        axes = self.axes(element, scope, here, kind)
        own = [name] + [self.names.new(f"{name}-{k}", "joint") for k in range(2, len(axes) + 1)]
        links, carriers = single_axes(link, axes, own, self.body_names)
        self.made.links += links
        self.made.carriers += carriers
        self.made.axes[full] = links

    def axes(self, element: Element, scope: str, here: Pose, kind: str) -> list[Axis]:
        """The axes of a joint in its frame."""
        turns = _AXES[kind]
        given = [element.first(tag) for tag in ("axis", "axis2")[: len(turns)]]
        if kind == "screw":
            given[1] = None
        if given[0] is None or (kind in ("universal", "revolute2") and given[1] is None):
            raise element.fault(f"the joint {element.get('name')!r} has no axis")
        axes = [
            _axis(axis, self.axis_direction(axis, scope, here), turn, kind != "continuous")
            for axis, turn in zip(given, turns, strict=True)
            if axis is not None
        ]
        if kind == "screw":
            axes.append(Axis(axes[0].direction, turns=False))
        return axes

    def axis_direction(self, axis: Element, scope: str, here: Pose) -> Array:
        """The direction of an axis in the joint's frame, whatever frame it is expressed in."""
        xyz = axis.first("xyz")
        given = unit_axis(axis)
        frame = "" if xyz is None else xyz.get("expressed_in")
        if not frame and (self.in_model or is_true(axis, "use_parent_model_frame")):
            frame = "__model__"
        if not frame:
            return given
        turned = self.frames.pose(self.frames.full(frame, scope, axis)).R
        return np.asarray(here.R.T @ turned @ given)

    # ---- couplings

    def couple(self, full: str, element: Element, scope: str) -> None:
        if element.get("type") == "screw":
            hinge, slide = self.made.axes[full]
            self.add(hinge.name, slide, {hinge.name: _pitch(element) / (2.0 * math.pi)}, 0.0)
        if element.get("type") == _GEARBOX:
            self.gearbox(element, scope)
        for k, tag in enumerate(("axis", "axis2")):
            axis = element.first(tag)
            mimic = None if axis is None else axis.first("mimic")
            if mimic is not None:
                self.mimic(full, k, mimic, scope)

    def add(self, name: str, joint: Link, follows: dict[str, float], offset: float) -> None:
        kept = {other: ratio for other, ratio in follows.items() if ratio}
        own = self.coupling_names.new(f"{name}-coupling", "coupling")
        self.made.couplings.append(Coupling(own, joint.name, kept, offset))

    def mimic(self, full: str, k: int, mimic: Element, scope: str) -> None:
        """Position = multiplier (leader's position - reference) + offset."""
        leader = self.made.axes.get(self.frames.full(mimic.get("joint"), scope, mimic), [])
        place = 1 if mimic.get("axis") == "axis2" else 0
        followers = self.made.axes.get(full, [])
        if place >= len(leader) or k >= len(followers):
            raise mimic.fault(f"{mimic.get('joint')!r} has no axis to follow")
        ratio, offset = value(mimic, "multiplier", 1.0), value(mimic, "offset", 0.0)
        offset -= ratio * value(mimic, "reference", 0.0)
        self.add(followers[k].name, followers[k], {leader[place].name: ratio}, offset)

    def gearbox(self, element: Element, scope: str) -> None:
        parent, child = self.ends(element, scope)
        name = word(element, "gearbox_reference_body")
        body = element.first("gearbox_reference_body")
        if body is None:
            raise element.fault(f"the gearbox {element.get('name')!r} has no reference body")
        reference = self.bodies[self.frames.link(self.frames.full(name, scope, body))]
        here = self.frames.pose(self.frames.full(element.get("name"), scope, element))
        hinges = []
        for tag, end in (("axis", parent), ("axis2", child)):
            axis = element.first(tag) or element.first("axis")
            if axis is None:
                raise element.fault(f"the gearbox {element.get('name')!r} has no axis")
            wanted = here.R @ self.axis_direction(axis, scope, here)
            hinges.append(self.hinge(element, reference, end, wanted))
        (first, one), (second, other) = hinges
        ratio = -value(element, "gearbox_ratio", 1.0) * one * other
        self.add(self.names.new(element.get("name"), "gearbox"), second, {first.name: ratio}, 0.0)

    def hinge(self, element: Element, reference: str, link: str, axis: Array) -> tuple[Link, float]:
        """The hinge between a gearbox's reference body and one of its links, and the sign of its angle."""
        for joint in self.made.links:
            if {joint.parent, joint.child} == {reference, self.bodies[link]} and joint.kind == "revolute":
                # The frame on the link is the joint's own, which is at zero in the drawn pose.
                own = joint.child_at if joint.child == self.bodies[link] else joint.at
                along = float(axis @ (self.frames.pose(link).R @ own.R @ joint.axes[0].direction))
                if abs(abs(along) - 1.0) > 1e-6:
                    raise element.fault(f"the hinge {joint.name!r} is not along the axis of the gearbox")
                return joint, math.copysign(1.0, along) * (1.0 if joint.parent == reference else -1.0)
        raise element.fault(
            f"the gearbox {element.get('name')!r} needs hinges between its reference body and its links"
        )


def _pitch(element: Element) -> float:
    """The stroke of a screw for a turn, m, positive for a right-handed thread."""
    if element.first("screw_thread_pitch") is not None or element.first("thread_pitch") is None:
        return value(element, "screw_thread_pitch", 1.0)
    old = value(element, "thread_pitch", 1.0)
    if old == 0.0:
        raise element.fault("a <thread_pitch> of zero radians for a metre")
    return -2.0 * math.pi / old


def _axis(element: Element, along: Array, turns: bool, limited: bool) -> Axis:
    dynamics, limit = element.first("dynamics"), element.first("limit")
    lower, upper = limit_value(limit, "lower", -math.inf), limit_value(limit, "upper", math.inf)
    if lower > upper:
        raise element.fault(f"the lower limit {lower:g} is above the upper one {upper:g}")
    if not limited:
        lower, upper = -math.inf, math.inf
    return Axis(
        along,
        turns,
        damping=value(dynamics, "damping", 0.0),
        coulomb=value(dynamics, "friction", 0.0),
        stiffness=value(dynamics, "spring_stiffness", 0.0),
        rest=value(dynamics, "spring_reference", 0.0),
        limits=(lower if lower > -_FAR else -math.inf, upper if upper < _FAR else math.inf),
    )


def driven(joints: Joints, elements: dict[str, Element], plugins: Sequence[Element]) -> list[Link]:
    """The joints with their motors: those that plugins name, otherwise those with a limit of effort.

    Args:
        joints: the joints.
        elements: those of the file, by their full names.
        plugins: elements of plugins.
    """
    named = {entry.text.strip() for plugin in plugins for entry in plugin.named("joint_name")}
    chosen = {full for full in joints.axes if full in named}
    sure = bool(chosen)
    if not sure:
        chosen = {full for full in joints.axes if _effort(elements[full]) < math.inf}
    followers = {coupling.joint for coupling in joints.couplings}
    motors: dict[str, Link] = {}
    for full in chosen:
        link = joints.axes[full][0]
        if link.name in followers:
            continue
        axis = elements[full].first("axis")
        limit = None if axis is None else axis.first("limit")
        speed = limit_value(limit, "velocity", -1.0)
        motor = Motor(link.name, 1.0, _effort(elements[full]), speed if speed > 0.0 else math.inf, sure)
        motors[link.name] = _with_motor(link, motor)
    return [motors.get(link.name, link) for link in joints.links]


def _effort(element: Element) -> float:
    axis = element.first("axis")
    effort = limit_value(None if axis is None else axis.first("limit"), "effort", -1.0)
    return effort if 0.0 < effort < _FAR else math.inf


def _with_motor(link: Link, motor: Motor) -> Link:
    return replace(link, axes=(replace(link.axes[0], motor=motor),))
