"""A graph as URDF with its closures in a second file, like Gepetto's closed-loop robots, for Pinocchio.

URDF is a tree of hinges and strokes. A universal joint is two hinges and a spherical one three, at zero in
the assembly, with massless links between. A loop is closed by two frames that coincide: a spherical closure
by their origins ("3d"), every other one is cut through a body (`write.cut`) and held by a weld ("6d"). A
link has its frame in the joint that carries it; orientations are those of the robot's bodies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Shape, Solid, UniqueNames
from nacelle.exchange.tree import split_axes
from nacelle.exchange.write.robot import is_bare, with_cut_loops
from nacelle.exchange.write.text import XmlNode, file_text, joined_numbers, shortest_number
from nacelle.exchange.xml import MOMENTS
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_quat, rpy_from_rotation
from nacelle.spatial.scalar import Array

# What stands for no limit: rad or m, N or N m, rad/s or m/s.
_UNLIMITED = 1e6
_DRAKE = "http://drake.mit.edu"


def write_urdf(graph: Graph) -> dict[str, str]:
    """The texts by the endings of their files: the robot, and its closures where there is something to say.

    The report of the graph gets what URDF does not hold.
    """
    graph = with_cut_loops(graph, lambda closure: closure.spherical and is_bare(graph, closure))
    return _Writer(graph).files()


@dataclass(eq=False)
class _Writer:
    graph: Graph
    root: XmlNode = field(init=False)
    # The robot's body frame, seen from the frame of its link.
    frames: dict[str, Pose] = field(default_factory=lambda: {BASE: identity()})
    names: UniqueNames = field(init=False)
    links: UniqueNames = field(init=False)
    joints: dict[str, str] = field(default_factory=dict)
    driven: list[tuple[str, Motor, Axis]] = field(default_factory=list)
    start: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.graph
        self.root = XmlNode("robot", {"name": graph.name})
        self.names = UniqueNames(())
        self.links = UniqueNames((BASE, *graph.bodies))
        if any(axis.armature and axis.motor for link in graph.joints for axis in link.axes):
            self.root.attributes["xmlns:drake"] = _DRAKE

    def files(self) -> dict[str, str]:
        graph = self.graph
        base = self.root.add("link", name=BASE)
        self._shapes(base, graph.shapes, identity())
        if graph.floating is not None:
            self._write_free_base(graph.floating)
        for link in graph.joints:
            for step in self._single_axis_joints(link):
                self._joint(step)
        for mark in graph.marks:
            frame = self.links.new(mark.name, "tool")
            self.root.add("link", name=frame)
            fixed = self.root.add(
                "joint", name=self.names.new(f"{mark.name}-fixed", "tool-fixed"), type="fixed"
            )
            self._write_ends(fixed, mark.body, frame, self.frames[mark.body] @ mark.at)
        self._write_couplings()
        loops = [self._closure(link) for link in graph.closures]
        self.driven.sort(key=lambda drive: drive[1].index)
        for name, motor, axis in self.driven:
            self._transmission(name, motor, axis)
        self._note_losses()
        title = f"{graph.name}, URDF" + ("; its closures are in the YAML file next to it" if loops else "")
        files = {".urdf": file_text(self.root, title, graph.report)}
        return files | ({".yaml": self._closure_file(loops)} if loops or self.driven or self.start else {})

    def _single_axis_joints(self, link: Link) -> list[Link]:
        """A joint as joints of one axis, with massless links between."""
        if link.spherical:
            if link.damping:
                self.graph.report.add_loss(
                    "damping of spherical joints acts about the three hinges that URDF has for them",
                    link.name,
                )
            if link.armature:
                self.graph.report.add_loss("rotors of spherical joints left out", link.name)
            rotated = link.at @ Pose(rotation_quat(link.quat), np.zeros(3))
            axes = tuple(Axis(direction, damping=link.damping) for direction in np.eye(3))
            link = replace(link, at=rotated, axes=axes, spherical=False)
        if len(link.axes) < 2:
            return [link]
        names = [f"{link.name}-{letter}" for letter in "xyz"[: len(link.axes)]]
        return split_axes(link, link.axes, names, self.links)[0]

    def _write_free_base(self, body: str) -> None:
        self.frames[body] = identity()
        self._link(body)
        joint = self.root.add("joint", name=self.names.new(f"{body}-free", "free"), type="floating")
        self._write_ends(joint, BASE, body, identity())

    def _joint(self, link: Link) -> None:
        name = self.names.new(link.name, "joint")
        self.joints[link.name] = name
        C = link.child_at.R
        # The link's frame is the body's, moved into the joint.
        self.frames[link.child] = Pose(np.eye(3), -link.child_at.p)
        self._link(link.child)
        origin = self.frames[link.parent] @ link.at @ Pose(C.T, np.zeros(3))
        if not link.axes:
            self._write_ends(self.root.add("joint", name=name, type="fixed"), link.parent, link.child, origin)
            return
        (axis,) = link.axes
        bounded = any(math.isfinite(end) for end in axis.limits)
        kind = "prismatic" if not axis.turns else "revolute" if bounded else "continuous"
        joint = self.root.add("joint", name=name, type=kind)
        self._write_ends(joint, link.parent, link.child, origin)
        joint.add("axis", xyz=joined_numbers(C @ axis.direction))
        if kind != "continuous" or axis.motor is not None:
            joint.add("limit", **_limit_attributes(axis, kind))
        if axis.damping or axis.coulomb:
            joint.add(
                "dynamics", damping=shortest_number(axis.damping), friction=shortest_number(axis.coulomb)
            )
        self._note_axis(name, axis)
        if axis.value:
            self.start[name] = axis.value
        if axis.motor is not None:
            self.driven.append((name, axis.motor, axis))

    def _note_axis(self, name: str, axis: Axis) -> None:
        if axis.quadratic or axis.cubic:
            self.graph.report.add_loss("quadratic and cubic friction left out", name)
        if axis.stiffness:
            self.graph.report.add_loss("springs of joints left out, URDF has none", name)
        if axis.stop:
            self.graph.report.add_loss("compliance of end stops left out, limits are rigid", name)
        if axis.armature and axis.motor is None:
            self.graph.report.add_loss("inertia of rotors that nothing drives left out", name)

    def _write_ends(self, joint: XmlNode, parent: str, child: str, origin: Pose) -> None:
        joint.add("origin", **_origin_attributes(origin))
        joint.add("parent", link=parent)
        joint.add("child", link=child)

    def _link(self, body: str) -> None:
        solid: Solid = self.graph.bodies.get(body, Solid())
        node = self.root.add("link", name=body)
        here = self.frames[body]
        if not solid.is_massless:
            inertial = node.add("inertial")
            inertial.add("origin", xyz=joined_numbers(here.p + solid.com), rpy="0 0 0")
            inertial.add("mass", value=shortest_number(solid.mass))
            moments = {name: shortest_number(solid.inertia[entry]) for name, entry in MOMENTS.items()}
            inertial.add("inertia", **moments)
        self._shapes(node, solid.shapes, here)

    def _shapes(self, node: XmlNode, shapes: tuple[Shape, ...], here: Pose) -> None:
        for shape in shapes:
            visual = node.add("visual")
            visual.add("origin", **_origin_attributes(here @ shape.at))
            geometry = visual.add("geometry")
            if shape.kind == "cylinder":
                geometry.add(
                    "cylinder", radius=shortest_number(shape.size[0]), length=shortest_number(shape.size[1])
                )
            elif shape.kind == "sphere":
                geometry.add("sphere", radius=shortest_number(shape.size[0]))
            else:
                geometry.add("box", size=joined_numbers(shape.size))

    def _write_couplings(self) -> None:
        nodes = {node.attributes["name"]: node for node in self.root.children if node.tag == "joint"}
        for coupling in self.graph.couplings:
            if len(coupling.follows) > 1:
                self.graph.report.add_loss("couplings of more than two joints left out", coupling.name)
                continue
            (leader, ratio), *_ = coupling.follows.items()
            law = {"multiplier": shortest_number(ratio), "offset": shortest_number(coupling.offset)}
            nodes[self.joints[coupling.joint]].add("mimic", joint=self.joints[leader], **law)

    def _closure(self, link: Link) -> tuple[str, str, str]:
        """Two frames that coincide: their names, and what of them does."""
        names = []
        for side, body, at in (("A", link.parent, link.at), ("B", link.child, link.child_at)):
            name = self.names.new(f"{link.name}_{side}", f"loop_{side}")
            frame = self.links.new(f"{name}_frame", "frame")
            self.root.add("link", name=frame)
            self._write_ends(
                self.root.add("joint", name=name, type="fixed"), body, frame, self.frames[body] @ at
            )
            names.append(name)
        return names[0], names[1], "3d" if link.spherical else "6d"

    def _transmission(self, joint: str, motor: Motor, axis: Axis) -> None:
        node = self.root.add(
            "transmission", name=self.names.new(f"{motor.name}-transmission", "transmission")
        )
        node.add("type", "transmission_interface/SimpleTransmission")
        node.add("joint", name=joint).add("hardwareInterface", "hardware_interface/EffortJointInterface")
        actuator = node.add("actuator", name=motor.name)
        actuator.add("hardwareInterface", "hardware_interface/EffortJointInterface")
        actuator.add("mechanicalReduction", shortest_number(motor.gear))
        if axis.armature:
            actuator.add("drake:rotor_inertia", value=shortest_number(axis.armature / motor.gear**2))
            actuator.add("drake:gear_ratio", value=shortest_number(motor.gear))

    def _note_losses(self) -> None:
        report, graph = self.graph.report, self.graph
        for strut in graph.struts:
            report.add_loss("springs between bodies left out", strut.name)
        if any(axis.armature for _, _, axis in self.driven):
            report.add_loss(
                "rotor inertias are in the transmissions, which Drake reads; for Pinocchio set "
                "model.armature from 'armature' of the YAML file"
            )
        if any(coupling.follows for coupling in graph.couplings):
            report.add_loss("couplings are <mimic>, which Pinocchio leaves out unless asked for it")
        if np.any(np.abs(graph.gravity - np.array([0.0, 0.0, -9.81])) > 1e-12):
            report.add_loss(f"gravity, to be set in the engine: {joined_numbers(graph.gravity)} m/s^2")

    def _closure_file(self, loops: list[tuple[str, str, str]]) -> str:
        pairs = "\n".join(f"  - ['{a}', '{b}']" for a, b, _ in loops)
        lines = ["# Frames that coincide, and the driven joints."]
        lines.append(f"closed_loop:\n{pairs}" if loops else "closed_loop: []")
        lines.append("type: [" + ", ".join(f"'{kind}'" for _, _, kind in loops) + "]")
        lines.append("name_mot: [" + ", ".join(f"'{name}'" for name, _, _ in self.driven) + "]")
        if self.start:
            lines.append("# Coordinates in which the loops are closed, rad and m; all others are zero.")
            lines += ["assembly:", *(f"  {name}: {_float_text(value)}" for name, value in self.start.items())]
        rotors = {name: axis.armature for name, _, axis in self.driven if axis.armature}
        if rotors:
            lines.append("# Inertia of the rotors at the joints, kg m^2 or kg.")
            lines += ["armature:", *(f"  {name}: {_float_text(value)}" for name, value in rotors.items())]
        return "\n".join(lines) + "\n"


def _float_text(value: float) -> str:
    """A number that every YAML reader takes for one: with a point before the exponent."""
    mantissa, e, exponent = repr(float(value)).partition("e")
    return mantissa + ("" if "." in mantissa or not e else ".0") + e + exponent


def _origin_attributes(pose: Pose) -> dict[str, str]:
    return {"xyz": joined_numbers(pose.p), "rpy": joined_numbers(_rpy(pose.R))}


def _rpy(R: Array) -> Array:
    return np.zeros(3) if not np.any(R - np.eye(3)) else rpy_from_rotation(R)


def _limit_attributes(axis: Axis, kind: str) -> dict[str, str]:
    motor = axis.motor
    force = 0.0 if motor is None else min(motor.force, _UNLIMITED)
    speed = _UNLIMITED if motor is None else min(motor.speed, _UNLIMITED)
    data = {"effort": shortest_number(force), "velocity": shortest_number(speed)}
    if kind == "continuous":
        return data
    return {
        "lower": shortest_number(max(axis.limits.lower, -_UNLIMITED)),
        "upper": shortest_number(min(axis.limits.upper, _UNLIMITED)),
        **data,
    }
