"""A graph as SDF, the format of Gazebo: links with their poses in the assembly, joints that may form loops.

A closure is a joint like every other. Coordinates are zero in the drawn pose: limits and springs are moved
by the coordinate q_0 of the assembly. A joint's frame is fixed to its child; of a universal joint R(a, q1)
R(b, q2) the first axis is there R(b, q2)^T a. Joints of other kinds are chains with bodies between that
have hardly any mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Shape, Solid, UniqueNames
from nacelle.exchange.write.inertia import with_minimal_inertia
from nacelle.exchange.write.text import XmlNode, file_text, joined_numbers, shortest_number
from nacelle.exchange.xml import MOMENTS
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rpy_from_rotation
from nacelle.spatial.scalar import Array

_VERSION = "1.11"
_FORCE = {"filename": "gz-sim-apply-joint-force-system", "name": "gz::sim::systems::ApplyJointForce"}
_TYPES = {"fixed": "fixed", "revolute": "revolute", "prismatic": "prismatic", "universal": "universal"}


def write_sdf(graph: Graph) -> str:
    """The text of a file; the report of the graph gets what SDF does not hold."""
    return _Writer(with_minimal_inertia(graph, list(graph.bodies), "Gazebo")).text()


def _pose_text(pose: Pose) -> str:
    return f"{joined_numbers(pose.p)} {joined_numbers(rpy_from_rotation(pose.R))}"


@dataclass(eq=False)
class _Writer:
    graph: Graph
    poses: dict[str, Pose] = field(init=False)
    names: UniqueNames = field(init=False)
    axes: dict[str, XmlNode] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.poses = self.graph.poses()
        # Links, joints and frames of a model share their names.
        self.names = UniqueNames(("world", *self.graph.bodies))

    def text(self) -> str:
        graph = self.graph
        root = XmlNode("sdf", {"version": _VERSION})
        world = root.add("world", name="world")
        world.add("gravity", joined_numbers(graph.gravity))
        model = world.add("model", name=graph.name)
        if graph.floating is not None:
            model.attributes["canonical_link"] = graph.floating
        if graph.shapes:
            self._base(model)
        for name, solid in graph.bodies.items():
            self._link(model, name, solid)
        for link in graph.links:
            self._joint(model, link)
        self._write_couplings()
        for mark in graph.marks:
            frame = model.add("frame", name=self.names.new(mark.name, "tool"), attached_to=mark.body)
            frame.add("pose", _pose_text(mark.at))
        driven = [(link.motor.index, link.name) for link in graph.links if link.motor is not None]
        for _, name in sorted(driven):
            model.add("plugin", **_FORCE).add("joint_name", self.named[name])
        self._note_losses()
        return file_text(root, f"{graph.name}, SDF for Gazebo, drawn in its assembly", graph.report)

    def _base(self, model: XmlNode) -> None:
        """What is seen of the base, welded to the world."""
        name = self.names.new("base_link", "base_link")
        self._shapes(model.add("link", name=name), self.graph.shapes)
        joint = model.add("joint", name=self.names.new(f"{name}-world", "base"), type="fixed")
        joint.add("parent", "world")
        joint.add("child", name)

    def _link(self, model: XmlNode, name: str, solid: Solid) -> None:
        node = model.add("link", name=name)
        node.add("pose", _pose_text(self.poses[name]))
        inertial = node.add("inertial")
        inertial.add("pose", f"{joined_numbers(solid.com)} 0 0 0")
        inertial.add("mass", shortest_number(solid.mass))
        inertia = inertial.add("inertia")
        for moment, entry in MOMENTS.items():
            inertia.add(moment, shortest_number(solid.inertia[entry]))
        self._shapes(node, solid.shapes)

    def _shapes(self, node: XmlNode, shapes: tuple[Shape, ...]) -> None:
        for k, shape in enumerate(shapes, 1):
            visual = node.add("visual", name=f"visual{k}")
            visual.add("pose", _pose_text(shape.at))
            form = visual.add("geometry").add(shape.kind)
            if shape.kind == "box":
                form.add("size", joined_numbers(shape.size))
                continue
            form.add("radius", shortest_number(shape.size[0]))
            if shape.kind == "cylinder":
                form.add("length", shortest_number(shape.size[1]))

    def _joint(self, model: XmlNode, link: Link) -> None:
        # A link may be the child of several joints, the world of none.
        link = link.reverse() if link.child == BASE else link
        preferred = f"{link.name}-joint" if link.name in self.graph.bodies else link.name
        name = self.named[link.name] = self.names.new(preferred, "joint")
        joint = model.add("joint", name=name, type="ball" if link.spherical else _TYPES[link.kind])
        joint.add("parent", "world" if link.parent == BASE else link.parent)
        joint.add("child", link.child)
        joint.add("pose", _pose_text(link.child_at))
        if link.damping:
            self.graph.report.add_loss("damping of spherical joints left out", name)
        if link.armature or any(axis.armature for axis in link.axes):
            self.graph.report.add_loss("inertia of rotors left out, SDF has none", name)
        for tag, axis, direction in zip(("axis", "axis2"), link.axes, _axes_on_child(link), strict=False):
            node = self._axis(joint.add(tag), axis, direction)
            self.axes.setdefault(link.name, node)
            self._note_axis(name, axis)

    def _axis(self, node: XmlNode, axis: Axis, direction: Array) -> XmlNode:
        node.add("xyz", joined_numbers(direction))
        lower, upper = (end - axis.value for end in axis.limits)
        motor = axis.motor
        if motor is not None or math.isfinite(lower) or math.isfinite(upper):
            limit = node.add("limit")
            for tag, end in (("lower", lower), ("upper", upper)):
                if math.isfinite(end):
                    limit.add(tag, shortest_number(end))
            for tag, most in (
                (("effort", motor.force), ("velocity", motor.speed)) if motor is not None else ()
            ):
                if math.isfinite(most):
                    limit.add(tag, shortest_number(most))
        if axis.damping or axis.coulomb or axis.stiffness:
            dynamics = node.add("dynamics")
            dynamics.add("damping", shortest_number(axis.damping))
            dynamics.add("friction", shortest_number(axis.coulomb))
            if axis.stiffness:
                dynamics.add("spring_reference", shortest_number(axis.rest - axis.value))
                dynamics.add("spring_stiffness", shortest_number(axis.stiffness))
        return node

    def _note_axis(self, name: str, axis: Axis) -> None:
        if axis.quadratic or axis.cubic:
            self.graph.report.add_loss("quadratic and cubic friction left out", name)
        if axis.stop:
            self.graph.report.add_loss("compliance of end stops left out, limits are rigid", name)
        if axis.motor is not None and axis.motor.gear != 1.0:
            self.graph.report.add_loss("gear ratios left out, forces act at the joints", name)

    def _write_couplings(self) -> None:
        """Couplings: in the drawn pose all coordinates are zero, and so is every offset."""
        for coupling in self.graph.couplings:
            if len(coupling.follows) != 1:
                self.graph.report.add_loss("couplings of more than two joints left out", coupling.name)
                continue
            (leader, ratio), *_ = coupling.follows.items()
            mimic = self.axes[coupling.joint].add("mimic", joint=self.named[leader])
            for tag, value in (("multiplier", ratio), ("offset", 0.0), ("reference", 0.0)):
                mimic.add(tag, shortest_number(value))

    def _note_losses(self) -> None:
        graph = self.graph
        for strut in graph.struts:
            graph.report.add_loss("springs between bodies left out", strut.name)
        if graph.closures:
            graph.report.add_step("joints close loops, which not every physics engine of Gazebo solves")


def _axes_on_child(link: Link) -> list[Array]:
    """Axes in the joint's frame on the child."""
    if len(link.axes) < 2:
        return [axis.direction for axis in link.axes]
    first, second = link.axes
    return [second.pose(second.value).R.T @ first.direction, second.direction]
