"""A graph as MJCF, the format of MuJoCo and MJX.

MuJoCo has spherical and fixed equalities (`connect`, `weld`) and none of other joints: a revolute closure
in which nothing acts is two `connect`s on its axis; every other closure is cut through a body
(`write.cut`), so that its joint is one of the tree. Several joints may move one body, so massless bodies
between joints need not be written. Coordinates are those of the robot, in rad and m; the keyframe "home" is
the assembly.

Massless bodies between two joints taken together: the joints act one after the other on the next body.

Engines that solve for accelerations of the tree refuse moving bodies without mass, but let several joints
move one body. A chain of joints ends at a body that has mass, or where the tree branches or something else
acts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Coupling, Graph, Link, Shape, Solid, UniqueNames, relative_quat
from nacelle.exchange.write.inertia import with_minimal_inertia
from nacelle.exchange.write.robot import is_bare, with_cut_loops
from nacelle.exchange.write.text import XmlNode, file_text, joined_numbers, principal_axes, shortest_number
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_quat
from nacelle.spatial.scalar import Array

# ---- massless bodies between two joints taken together


# Freedoms that MuJoCo gives one body.
_MAX_FREEDOMS = 6


@dataclass(frozen=True, eq=False)
class JointChain:
    """A body with the joints that place it, from the body that carries the first of them."""

    parent: str
    body: str
    links: tuple[Link, ...]


def joint_chains(graph: Graph) -> list[JointChain]:
    """All joints of the tree in its order, those with massless bodies between them in one chain."""
    loaded = graph.held_names
    after: dict[str, list[Link]] = {}
    for link in graph.joints:
        after.setdefault(link.parent, []).append(link)
    # For each body that only carries the next joint, the joints up to it.
    open_: dict[str, tuple[Link, ...]] = {}
    merged = []
    for link in graph.joints:
        links = (*open_.get(link.parent, ()), link)
        body, following = link.child, after.get(link.child, [])
        plain = body not in loaded and graph.bodies[body].is_massless and len(following) == 1
        free = sum(_freedoms(member) for member in (*links, *following)) <= _MAX_FREEDOMS
        if plain and free and (_only_slides(following[0]) or not any(member.spherical for member in links)):
            open_[body] = links
        else:
            merged.append(JointChain(links[0].parent, body, links))
    visible = [body for body in open_ if graph.bodies[body].shapes]
    if visible:
        message = "massless bodies merged, their joints act on the next body one after the other"
        graph.report.add_step(f"{message}: {', '.join(visible)}")
    return merged


def _freedoms(link: Link) -> int:
    return 3 if link.spherical else len(link.axes)


def _only_slides(link: Link) -> bool:
    """Whether a joint only slides: in MuJoCo no rotation follows a ball."""
    return bool(link.axes) and not any(axis.turns for axis in link.axes)


# ---- the file


_WORLD = "world"
# An end that is not bounded, where only the other is.
_UNLIMITED = 1e6
# Loops are held as stiffly as the step of the integrator allows.
_STEP = 1e-3
_GEOM = {"contype": "0", "conaffinity": "0", "mass": "0", "rgba": "0.55 0.6 0.68 1"}
_EQUALITY = {"solref": "0.002 1", "solimp": "0.99 0.999 0.001"}


def write_mjcf(graph: Graph) -> str:
    """The text of a file; the report of the graph gets what MJCF does not hold."""
    graph = with_cut_loops(
        graph, lambda closure: closure.kind in ("revolute", "spherical") and is_bare(graph, closure)
    )
    parts = joint_chains(graph)
    moving = [part.body for part in parts if any(_is_movable(link) for link in part.links)]
    graph = with_minimal_inertia(graph, moving, "MuJoCo")
    return _Writer(graph, parts).text()


def _is_movable(link: Link) -> bool:
    return link.spherical or bool(link.axes)


def _quat(R: Array) -> str:
    """A rotation, scalar first."""
    return joined_numbers(np.roll(relative_quat(R), 1))


def _pose_attributes(pose: Pose) -> dict[str, str]:
    """Attributes that place something; nothing where it is at the origin."""
    data = {"pos": joined_numbers(pose.p)} if np.any(pose.p) else {}
    return data | ({"quat": _quat(pose.R)} if np.any(np.eye(3) != pose.R) else {})


@dataclass(eq=False)
class _Writer:
    graph: Graph
    parts: list[JointChain]
    names: UniqueNames = field(default_factory=lambda: UniqueNames(()))
    # By the joints of the graph, those of the file.
    joints: dict[str, list[str]] = field(default_factory=dict)
    qpos: list[float] = field(default_factory=list)
    sites: UniqueNames = field(default_factory=lambda: UniqueNames(()))
    elements: dict[str, XmlNode] = field(default_factory=dict)

    def text(self) -> str:
        graph = self.graph
        root = XmlNode("mujoco", {"model": graph.name})
        root.add("compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        root.add("option", timestep=shortest_number(_STEP), gravity=joined_numbers(graph.gravity))
        defaults = root.add("default")
        defaults.add("geom", **_GEOM)
        defaults.add("equality", **_EQUALITY)
        world = root.add("worldbody")
        self.elements[BASE] = world
        self._shapes(world, graph.shapes)
        if graph.floating is not None:
            body = self._body(world, graph.floating, graph.pose)
            body.children.insert(
                0, XmlNode("freejoint", {"name": self.names.new(f"{graph.floating}-free", "free")})
            )
            self.qpos += [*graph.pose.p, *np.roll(relative_quat(graph.pose.R), 1)]
            self._write_branch(graph.floating)
        self._write_branch(BASE)
        tendons, equalities, actuators = XmlNode("tendon"), XmlNode("equality"), XmlNode("actuator")
        for link in graph.closures:
            self._closure(equalities, link)
        for coupling in graph.couplings:
            self._coupling(equalities, tendons, coupling)
        self._struts(tendons)
        for mark in graph.marks:
            site = XmlNode("site", {"name": self.sites.new(mark.name, "tool"), **_pose_attributes(mark.at)})
            self.elements[mark.body].children.append(site)
        for link in sorted(graph.joints, key=lambda link: link.motor.index if link.motor else -1):
            self._write_stops_and_drives(link, tendons, actuators)
        root.children += [node for node in (equalities, tendons, actuators) if node.children]
        if self.qpos:
            root.add("keyframe").add("key", name="home", qpos=joined_numbers(self.qpos))
        return file_text(root, f"{graph.name}, MJCF for MuJoCo; keyframe 'home' is assembled", graph.report)

    def _write_branch(self, body: str) -> None:
        """Write what hangs on a body, branch by branch: so MuJoCo orders coordinates."""
        for part in self.parts:
            if part.parent == body:
                self._write_chain(part)
                self._write_branch(part.body)

    def _write_chain(self, part: JointChain) -> None:
        # Poses of the joints' frames on the parent, and of the body, with all coordinates zero.
        frames: list[Pose] = []
        pose = identity()
        for link in part.links:
            frames.append(pose @ link.at)
            pose = frames[-1] @ link.child_at.inverse()
        body = self._body(self.elements[part.parent], part.body, pose)
        nodes = []
        for link, frame in zip(part.links, frames, strict=True):
            nodes += self._joints(link, pose.inverse() @ frame)
        body.children = [*nodes, *body.children]

    def _body(self, parent: XmlNode, name: str, pose: Pose) -> XmlNode:
        graph = self.graph
        body = parent.add("body", name=name, **_pose_attributes(pose))
        self.elements[name] = body
        solid: Solid = graph.bodies[name]
        if solid.mass:
            moments, axes = principal_axes(solid.inertia)
            rotation = {"quat": _quat(axes)} if np.any(axes != np.eye(3)) else {}
            inertial = {"mass": shortest_number(solid.mass), "pos": joined_numbers(solid.com), **rotation}
            body.add("inertial", **inertial, diaginertia=joined_numbers(moments))
        self._shapes(body, solid.shapes)
        return body

    def _shapes(self, body: XmlNode, shapes: tuple[Shape, ...]) -> None:
        for shape in shapes:
            size = shape.size
            if shape.kind == "cylinder":
                size = (shape.size[0], 0.5 * shape.size[1])
            elif shape.kind == "box":
                size = tuple(0.5 * edge for edge in shape.size)
            body.add("geom", type=shape.kind, size=joined_numbers(size), **_pose_attributes(shape.at))

    def _joints(self, link: Link, frame: Pose) -> list[XmlNode]:
        """The joints of a link, whose frame is given in the body that they move."""
        position = {"pos": joined_numbers(frame.p)} if np.any(frame.p) else {}
        if link.spherical:
            name = self.names.new(link.name, "ball")
            self.joints[link.name] = [name]
            R = frame.R @ rotation_quat(link.quat) @ frame.R.T
            self.qpos += [float(v) for v in np.roll(relative_quat(R), 1)]
            acting = _nonzero_attributes(damping=link.damping, armature=link.armature)
            return [XmlNode("joint", {"name": name, "type": "ball", **position, **acting})]
        nodes = []
        for k, axis in enumerate(link.axes):
            name = self.names.new(link.name if len(link.axes) == 1 else f"{link.name}-{k + 1}", "joint")
            self.joints.setdefault(link.name, []).append(name)
            self.qpos.append(axis.value)
            kind = {"type": "hinge" if axis.turns else "slide"}
            attributes = {"name": name, **kind, **position, "axis": joined_numbers(frame.R @ axis.direction)}
            nodes.append(XmlNode("joint", attributes | _force_attributes(axis)))
        return nodes

    def _site(self, body: str, name: str, point: Array) -> str:
        unique = self.sites.new(name, "site")
        where = {"pos": joined_numbers(point)} if np.any(point) else {}
        self.elements[body].children.append(XmlNode("site", {"name": unique, **where}))
        return unique

    def _closure(self, equalities: XmlNode, link: Link) -> None:
        if link.kind == "fixed":
            relative = link.at @ link.child_at.inverse()
            ends = {"body1": _body_name(link.parent), "body2": _body_name(link.child)}
            pose = f"{joined_numbers(relative.p)} {_quat(relative.R)}"
            equalities.add("weld", name=link.name, **ends, relpose=pose)
            return
        points = [np.zeros(3)]
        if link.kind == "revolute":
            points = [np.zeros(3), self._closure_point_distance() * link.axes[0].direction]
        for k, point in enumerate(points):
            name = link.name if len(points) == 1 else f"{link.name}-{k + 1}"
            sites = [
                self._site(body, f"{name}-{side}", at.R @ point + at.p)
                for body, at, side in ((link.parent, link.at, "a"), (link.child, link.child_at, "b"))
            ]
            equalities.add("connect", name=name, site1=sites[0], site2=sites[1])

    def _closure_point_distance(self) -> float:
        """The distance of points that hold an axis: half the longest link, to one digit."""
        lengths = [
            float(np.linalg.norm(end.p)) for link in self.graph.joints for end in (link.at, link.child_at)
        ]
        return float(f"{0.5 * max(lengths, default=0.0) or 1.0:.0e}")

    def _coupling(self, equalities: XmlNode, tendons: XmlNode, coupling: Coupling) -> None:
        """Joint - sum ratio other = offset: of two joints directly, of more as the length of a tendon."""
        joint = self.joints[coupling.joint][0]
        if len(coupling.follows) == 1:
            (leader, ratio), *_ = coupling.follows.items()
            law = f"{shortest_number(coupling.offset)} {shortest_number(ratio)} 0 0 0"
            equalities.add(
                "joint", name=coupling.name, joint1=joint, joint2=self.joints[leader][0], polycoef=law
            )
            return
        sum_ = tendons.add("fixed", name=coupling.name)
        sum_.add("joint", joint=joint, coef="1")
        for leader, ratio in coupling.follows.items():
            sum_.add("joint", joint=self.joints[leader][0], coef=shortest_number(-ratio))
        law = f"{shortest_number(coupling.offset)} 0 0 0 0"
        equalities.add("tendon", name=coupling.name, tendon1=coupling.name, polycoef=law)

    def _struts(self, tendons: XmlNode) -> None:
        for strut in self.graph.struts:
            ends = zip(strut.bodies, strut.points, "ab", strict=True)
            sites = [self._site(body, f"{strut.name}-{side}", point) for body, point, side in ends]
            forces = {
                "stiffness": shortest_number(strut.stiffness),
                "springlength": shortest_number(strut.length),
            }
            forces |= _nonzero_attributes(damping=strut.damping)
            spatial = tendons.add("spatial", name=strut.name, **forces)
            for site in sites:
                spatial.add("site", site=site)

    def _write_stops_and_drives(self, link: Link, tendons: XmlNode, actuators: XmlNode) -> None:
        """End stops and drives of a joint."""
        for axis, name in zip(link.axes, self.joints.get(link.name, ()), strict=False):
            if axis.stop:
                # A spring that is free between the limits.
                free = joined_numbers(
                    (max(axis.limits.lower, -_UNLIMITED), min(axis.limits.upper, _UNLIMITED))
                )
                stop = tendons.add(
                    "fixed", name=f"{name}-stop", stiffness=shortest_number(axis.stop), springlength=free
                )
                stop.add("joint", joint=name, coef="1")
            motor = axis.motor
            if motor is not None:
                drive = {"name": motor.name, "joint": name, "gear": shortest_number(motor.gear)}
                if math.isfinite(motor.force):
                    most = motor.force / abs(motor.gear)
                    drive["ctrlrange"] = joined_numbers((-most, most))
                actuators.add("motor", **drive)
                if math.isfinite(motor.speed):
                    self.graph.report.add_loss(
                        "largest rates of drives left out, MuJoCo has none", motor.name
                    )


def _body_name(body: str) -> str:
    return _WORLD if body == BASE else body


def _nonzero_attributes(**numbers: float) -> dict[str, str]:
    """Attributes that are numbers, without those that are zero."""
    return {name: shortest_number(value) for name, value in numbers.items() if value}


def _force_attributes(axis: Axis) -> dict[str, str]:
    """What acts along an axis, as attributes of a joint."""
    data = _nonzero_attributes(damping=axis.damping)
    if axis.quadratic or axis.cubic:
        data["damping"] = joined_numbers((axis.damping, axis.quadratic, axis.cubic))
    data |= _nonzero_attributes(frictionloss=axis.coulomb, armature=axis.armature)
    if axis.stiffness:
        data |= {"stiffness": shortest_number(axis.stiffness), "springref": shortest_number(axis.rest)}
    if any(math.isfinite(end) for end in axis.limits) and not axis.stop:
        data["range"] = joined_numbers(
            (max(axis.limits.lower, -_UNLIMITED), min(axis.limits.upper, _UNLIMITED))
        )
    return data
