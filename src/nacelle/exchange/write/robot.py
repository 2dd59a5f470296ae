"""A robot as a graph: a tree from the base to every body, and the joints that close its loops.

The robot's own tree has legs on the base and a platform that moves by itself. Here the platform hangs on
the first leg that holds it: the first closure between the two parts becomes a joint of the tree, and joints
of the part beyond are turned round where they are met from their other end. A part that nothing holds
floats.

Joints of a robot as joints of one kind of motion, one after the other, with what acts along their axes.

A revolute, prismatic, universal, spherical or fixed joint is one link of the graph; a cylindrical joint is a
stroke and a hinge, a spherical joint on a plane two strokes and a ball, with massless bodies between.

A point platform taken away: the joints that meet in it act between the bodies of the legs themselves.

Bodies 1 to k have a common point. Where a joint of the description acts between two of them it becomes a
joint in full (a revolute one there locks the position, too); bodies that are not yet joined so are joined
by spherical ones. The mass m of the point is divided among the k bodies, m / k at the point of each, which
is the same mass at the same place.

Angular dampers between bodies as damping of the joint between the same bodies.

The torque -d (w_2 - w_1) has in a spherical joint and along a hinge between the two bodies the power of the
damping d of that joint; along a slide it has none. Formats have no others: dampers between bodies that no
such joint joins are left out and reported.

Loops cut through a body and not through a joint: so a joint that closes one keeps all that acts in it.

A closure between the bodies A and B becomes a joint of the tree from A to a piece of B, and the piece is
welded to the rest of B. Where k closures cut B its mass and inertia are divided evenly among the k + 1
pieces, all in the frame of B: held together they are B, and every piece can move without a singular mass
matrix.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from nacelle.errors import ExportError
from nacelle.exchange.graph import (
    BASE,
    Axis,
    Coupling,
    ExchangeReport,
    Graph,
    Link,
    Motor,
    NamedFrame,
    RotationDamper,
    Solid,
    Strut,
    UniqueNames,
)
from nacelle.exchange.passes.bodies import without_fixed_joints
from nacelle.exchange.tree import chain_links, massless_bodies, split_axes, with_spanning_tree
from nacelle.exchange.write.inertia import complete_inertias
from nacelle.exchange.write.shapes import body_shapes
from nacelle.kinematics.limits import closure_coordinates
from nacelle.kinematics.mechanism.assembly import Assembly, assemble
from nacelle.model import leg as numbers
from nacelle.model.build.graph import connected_components
from nacelle.model.data import Actuator
from nacelle.model.joint import UNBOUNDED, FrictionTerm, Interval, Joint, JointKind, Primitive
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com, transform_parameters
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array


def with_cut_loops(graph: Graph, keeps: Callable[[Link], bool]) -> Graph:
    """The graph in which all closures are welds or such that a format has.

    Args:
        graph: the graph.
        keeps: whether a closure can stay as it is.
    """
    names = UniqueNames((BASE, *graph.bodies))
    joints, closures = list(graph.joints), []
    cuts: list[tuple[str, str]] = []
    for closure in graph.closures:
        if closure.kind == "fixed" or keeps(closure):
            closures.append(closure)
            continue
        closing = (
            closure
            if _mass_of(graph, closure.child) >= _mass_of(graph, closure.parent)
            else closure.reverse()
        )
        piece = names.new(f"{closing.child}-{closure.name}", "piece")
        cuts.append((closing.child, piece))
        joints.append(replace(closing, child=piece))
        closures.append(Link(f"{closure.name}-weld", closing.child, piece, identity()))
    bodies = dict(graph.bodies)
    pieces = Counter(body for body, _ in cuts)
    for body, piece in cuts:
        whole = graph.bodies.get(body, Solid())
        share = 1.0 / (1 + pieces[body])
        bodies[piece] = _scaled_solid(whole, share)
        if body != BASE:
            bodies[body] = replace(_scaled_solid(whole, share), shapes=whole.shapes)
    for body, count in pieces.items():
        graph.report.add_step(f"loops are cut through {body!r}: {count + 1} equal parts, welded together")
    return replace(graph, bodies=bodies, joints=tuple(joints), closures=tuple(closures))


def is_bare(graph: Graph, closure: Link) -> bool:
    """Whether nothing acts in a closure, and its bodies have mass: only then points alone can hold it."""
    ends = [graph.bodies[body] for body in (closure.parent, closure.child) if body != BASE]
    acts = closure.damping or closure.armature or not all(axis.is_bare for axis in closure.axes)
    return not acts and not any(solid.is_massless for solid in ends)


def _mass_of(graph: Graph, body: str) -> float:
    """The mass that a body has to give; the base has none."""
    return graph.bodies[body].mass if body in graph.bodies else 0.0


def _scaled_solid(whole: Solid, share: float) -> Solid:
    return Solid(share * whole.mass, whole.com, share * whole.inertia)


# ---- a point platform taken away


# What is left of a joint where the point locks the position already.
_AT_POINT = {JointKind.PRISMATIC: JointKind.FIXED, JointKind.CYLINDRICAL: JointKind.REVOLUTE}


@dataclass(frozen=True, eq=False)
class PointFreeClosures:
    """A robot's closures without its point.

    Attributes:
        closures: between bodies of the legs; couplings among them.
        point_inertias: for each body its share of the point's inertia, ten parameters in its frame.
        point_body: a body that has the point, and the point in it: what else is at the point goes there.
    """

    closures: tuple[Joint, ...]
    point_inertias: dict[int, Array]
    point_body: tuple[int, Pose]


def is_one_point(robot: Robot) -> bool:
    """Whether all that acts on a point platform acts in one point; if not it is a body that never turns."""
    meeting = [joint for joint in robot.closures if PLATFORM in _joint_bodies(joint)]
    points = [_point_frame(joint).p for joint in meeting]
    points += [
        np.array(point, dtype=float)
        for spring in robot.springs
        for body, point in zip(spring.bodies, spring.points, strict=True)
        if body == PLATFORM
    ]
    alike = all(np.allclose(point, points[0], rtol=0.0, atol=1e-12 * robot.size) for point in points)
    return alike and not any(PLATFORM in (joint.predecessor, joint.successor) for joint in robot.tree_joints)


def without_point(robot: Robot) -> PointFreeClosures:
    """The closures of a robot whose platform is a point."""
    points = {
        _leg_body(joint): _leg_frame(joint) for joint in robot.closures if PLATFORM in _joint_bodies(joint)
    }
    bodies = list(points)
    closures: list[Joint] = []
    pairs_at_point: list[tuple[int, int]] = []
    for joint in robot.closures:
        if PLATFORM in _joint_bodies(joint):
            continue
        if joint.at_point:
            joint = _with_position_lock(joint, points)
            pairs_at_point.append((joint.predecessor, joint.successor))
        closures.append(joint)
    # Bodies that joints at the point hold to each other are joined to the others by one of them.
    (first, *_), *others = connected_components(bodies, pairs_at_point)
    for leg_body, *_ in others:
        meeting = next(
            j for j in robot.closures if PLATFORM in _joint_bodies(j) and leg_body in _joint_bodies(j)
        )
        closures.append(
            replace(
                meeting,
                kind=JointKind.SPHERICAL,
                predecessor=first,
                successor=leg_body,
                frame_predecessor=points[first],
                frame_successor=points[leg_body],
            )
        )
    # What never turns has a mass alone.
    loads = [load.inertia[0] for load in robot.payload if load.body == PLATFORM]
    mass = (robot.bodies[PLATFORM].mass + sum(loads)) / len(bodies)
    ten = np.array([mass] + [0.0] * 9)
    shares = {body: transform_parameters(np.eye(3), points[body].p, ten) for body in bodies}
    return PointFreeClosures(tuple(closures), shares, (first, points[first]))


def _joint_bodies(joint: Joint) -> Sequence[int]:
    return () if joint.is_coupling else (joint.predecessor, joint.successor)


def _leg_body(joint: Joint) -> int:
    return joint.successor if joint.predecessor == PLATFORM else joint.predecessor


def _leg_frame(joint: Joint) -> Pose:
    """The point in the frame of the leg's body."""
    frame = joint.frame_successor if joint.predecessor == PLATFORM else joint.frame_predecessor
    return Pose(np.eye(3), frame.p)


def _point_frame(joint: Joint) -> Pose:
    """The frame on the point of a joint that holds it."""
    return joint.frame_predecessor if joint.predecessor == PLATFORM else joint.frame_successor


def _with_position_lock(joint: Joint, points: dict[int, Pose]) -> Joint:
    """A joint at the point that locks the position itself."""
    first_point, second_point = points.get(joint.predecessor), points.get(joint.successor)
    first = joint.frame_predecessor if first_point is None else Pose(joint.frame_predecessor.R, first_point.p)
    second = joint.frame_successor if second_point is None else Pose(joint.frame_successor.R, second_point.p)
    kind = _AT_POINT.get(joint.kind, joint.kind)
    skipped = int(joint.kind is JointKind.CYLINDRICAL)
    return replace(
        joint,
        kind=kind,
        frame_predecessor=first,
        frame_successor=second,
        at_point=False,
        **{what: getattr(joint, what)[skipped:] for what in ("friction", "springs", "stops", "limits")},
    )


# ---- joints of one kind of motion, one after the other


# Basis functions that a graph has, by the names of its numbers.
_FRICTION = {"viscous": "damping", "coulomb": "coulomb", "quadratic": "quadratic", "cubic": "cubic"}
_TURN = 2.0 * math.pi


class JointLinks:
    """Joints as links of a graph; what no link holds is reported."""

    def __init__(
        self,
        drives: Mapping[str, Actuator],
        new_body: Callable[[str], str],
        joint_names: UniqueNames,
        report: ExchangeReport,
    ) -> None:
        """With the actuators by the names of their joints, a function that adds a body, and taken names."""
        self.drives, self.new_body, self.joint_names, self.report = drives, new_body, joint_names, report

    def links(self, joint: Joint, whole: Link, values: list[float]) -> list[Link]:
        """The links of a joint, from its predecessor to its successor.

        Args:
            joint: the joint.
            whole: its name, bodies and frames in the graph.
            values: its coordinates in the assembly.
        """
        parts: list[Link] = []
        first = 0
        for number, primitive in enumerate(joint.primitives):
            value = values[first : first + primitive.nq]
            first += primitive.nq
            if primitive is Primitive.SPHERICAL:
                damping, armature = self._ball_damping_and_rotor(joint)
                quat = np.array(value)
                parts.append(replace(whole, spherical=True, quat=quat, damping=damping, armature=armature))
            elif joint.kind is JointKind.UNIVERSAL and parts:
                second = self._axis(joint, number, primitive, value[0])
                parts[0] = replace(whole, axes=(*parts[0].axes, second))
            else:
                parts.append(replace(whole, axes=(self._axis(joint, number, primitive, value[0]),)))
        if len(parts) < 2:
            return parts or [whole]
        ending = "-carrier{}" if len(parts) > 2 else "-carrier"
        carriers = [self.new_body(whole.name + ending.format(k)) for k in range(1, len(parts))]
        # A joint of the robot may have the name of a part: "fold-2" of "fold".
        in_order = [
            replace(part, name=self.joint_names.new(f"{whole.name}-{k}", whole.name))
            for k, part in enumerate(parts, 1)
        ]
        return chain_links(whole, in_order, carriers)

    def _axis(self, joint: Joint, number: int, primitive: Primitive, value: float) -> Axis:
        """One axis, with the part of what acts in the joint that acts along it."""
        direction = np.eye(3)[primitive.axis]
        turns = primitive.is_rotation
        forces: dict[str, Any] = dict.fromkeys(_FRICTION.values(), 0.0)
        for term in joint.friction[number] if joint.friction else ():
            self._add_friction(joint, term, forces)
        spring = joint.springs[number] if joint.springs else None
        stop = joint.stops[number] if joint.stops else None
        limits = joint.limits[number] if joint.limits else UNBOUNDED
        if stop is not None and stop.damping:
            self.report.add_loss("dampers of end stops left out", joint.name)
        first = number == 0
        return Axis(
            direction=direction,
            turns=turns,
            value=_angle_within(value, limits) if turns else value,
            **forces,
            armature=joint.gear_ratio**2 * joint.rotor_inertia if first else 0.0,
            stiffness=0.0 if spring is None else spring.stiffness,
            rest=0.0 if spring is None else spring.rest,
            limits=limits,
            stop=0.0 if stop is None else stop.stiffness,
            motor=self._motor(joint) if first else None,
        )

    def _add_friction(self, joint: Joint, term: FrictionTerm, forces: dict[str, float]) -> None:
        if term.basis in _FRICTION:
            forces[_FRICTION[term.basis]] += term.coefficient
        elif term.basis == "coulomb-smooth":
            forces["coulomb"] += term.coefficient
            self.report.add_loss("smooth Coulomb friction changes its sign at once", joint.name)
        elif term.coefficient:
            self.report.add_loss(f"{term.basis} friction left out", joint.name)

    def _ball_damping_and_rotor(self, joint: Joint) -> tuple[float, float]:
        """Damping and rotor inertia of the spherical part of a joint."""
        damping = 0.0
        number = joint.primitives.index(Primitive.SPHERICAL)
        for term in joint.friction[number] if joint.friction else ():
            if term.basis == "viscous":
                damping += term.coefficient
            elif term.coefficient:
                message = (
                    f"{term.basis} friction of spherical joints left out, which acts along their angular"
                )
                self.report.add_loss(f"{message} velocity and not axis by axis", joint.name)
        spherical = joint.kind is JointKind.SPHERICAL
        return damping, joint.gear_ratio**2 * joint.rotor_inertia if spherical else 0.0

    def _motor(self, joint: Joint) -> Motor | None:
        drive = self.drives.get(joint.name)
        if drive is None:
            return None
        if joint.drive_stiffness:
            self.report.add_loss("elasticity of drives left out, motor and load move as one", joint.name)
        if drive.torque_constant or drive.encoder_zero or drive.encoder_sign != 1:
            self.report.add_loss("constants of motors and encoders left out")
        index = list(self.drives).index(joint.name)
        return Motor(drive.name, joint.gear_ratio, drive.force, drive.speed, index=index)


def _angle_within(angle: float, limits: Interval) -> float:
    """The angle, by whole turns, that is within the limits; as it is where none is."""
    for candidate in (angle, angle + _TURN, angle - _TURN):
        if limits.lower <= candidate <= limits.upper:
            return candidate
    return angle


def relative_pose(joint: Joint, poses: tuple[Pose, ...]) -> Pose:
    """The pose of a joint's second frame in its first, from those of all bodies."""
    first = poses[joint.predecessor] @ joint.frame_predecessor
    return first.inverse() @ poses[joint.successor] @ joint.frame_successor


# ---- angular dampers as damping of joints


def with_dampers_in_joints(graph: Graph) -> Graph:
    """The graph without dampers between bodies."""
    links = {link.name: link for link in graph.links}
    for damper in graph.dampers:
        between = [link for link in links.values() if {link.parent, link.child} == set(damper.bodies)]
        single = next((link for link in between if len(link.axes) < 2), None)
        if single is None:
            what = "angular dampers between bodies that no single joint joins left out"
            graph.report.add_loss(what, damper.name)
        else:
            links[single.name] = _add_damping(single, damper.damping)
    return replace(
        graph,
        joints=tuple(links[joint.name] for joint in graph.joints),
        closures=tuple(links[closure.name] for closure in graph.closures),
        dampers=(),
    )


def _add_damping(link: Link, damping: float) -> Link:
    if link.spherical:
        return replace(link, damping=link.damping + damping)
    turning = tuple(
        replace(axis, damping=axis.damping + damping) if axis.turns else axis for axis in link.axes
    )
    return replace(link, axes=turning)


# ---- the graph


def assembled_graph(robot: Robot) -> Graph:
    """The graph of a robot in its reference pose, assembled.

    Raises:
        ExportError: if its loops do not close, or a body has a first moment but no mass.
    """
    assembly = assemble(robot)
    if assembly.open:
        gaps = ", ".join(f"{name} {gap}" for name, gap in assembly.open.items())
        raise ExportError(f"the loops of {robot.name} do not close at its reference pose: {gaps}")
    builder = _Builder(robot, assembly)
    graph = with_dampers_in_joints(without_fixed_joints(builder.graph()))
    return replace(graph, marks=builder.marks(graph))


class _Builder:
    def __init__(self, robot: Robot, assembly: Assembly) -> None:
        self.robot, self.assembly, self.report = robot, assembly, ExchangeReport()
        is_point = robot.platform.kind == "point"
        self.point: PointFreeClosures | None = (
            without_point(robot) if is_point and is_one_point(robot) else None
        )
        self.is_translating = is_point and self.point is None
        self.closures = robot.closures if self.point is None else self.point.closures
        body_names = self.body_names = UniqueNames((BASE,))
        self.bodies = {numbers.BASE: BASE}
        for index in range(1, len(robot.bodies)):
            if index != numbers.PLATFORM or self.point is None:
                self.bodies[index] = body_names.new(robot.bodies[index].name, f"body{index}")
        names = self.joint_names = UniqueNames(())
        self.joints = [names.new(joint.name, f"joint{k}") for k, joint in enumerate(robot.tree_joints)]
        self.cuts = [names.new(joint.name, f"closure{k}") for k, joint in enumerate(self.closures)]
        self.solids: dict[str, Solid] = {}
        names = UniqueNames(())
        drives = {
            robot.joints[drive.joint].name: replace(drive, name=names.new(drive.name, f"drive{k}"))
            for k, drive in enumerate(robot.actuators)
        }

        def carrier(name: str) -> str:
            unique = body_names.new(name, name)
            self.solids[unique] = Solid()
            return unique

        self.joint_links = JointLinks(drives, carrier, self.joint_names, self.report)

    def graph(self) -> Graph:
        robot = self.robot
        solids = [self._solid(body) for body in range(len(robot.bodies))]
        solids = complete_inertias(robot, self.assembly, solids, self.report)
        links = self._strokes() if self.is_translating else []
        for joint, name, entries in zip(robot.tree_joints, self.joints, robot.q_slices, strict=True):
            links += self._links(joint, name, self.assembly.q_tree[entries])
        for joint, name in zip(self.closures, self.cuts, strict=True):
            if not joint.is_coupling:
                between = relative_pose(joint, self.assembly.motion.poses)
                links += self._links(joint, name, closure_coordinates(joint, between.R, between.p))
        bodies = {name: solids[index] for index, name in self.bodies.items() if index} | self.solids
        floating = None
        if self.bodies.get(numbers.PLATFORM) in set(bodies) - _reachable_bodies(links):
            floating = self.bodies[numbers.PLATFORM]
        self._note_losses()
        return with_spanning_tree(
            Graph(
                name=UniqueNames(()).new(robot.name, "robot"),
                file=robot.name,
                gravity=np.array(robot.gravity, dtype=float),
                bodies=bodies,
                joints=tuple(links),
                couplings=tuple(
                    self._coupling(k) for k, joint in enumerate(self.closures) if joint.is_coupling
                ),
                struts=self._struts(),
                dampers=self._dampers(),
                floating=floating,
                pose=self.assembly.platform if floating else identity(),
                shapes=solids[numbers.BASE].shapes,
                report=self.report,
            )
        )

    def _strokes(self) -> list[Link]:
        """A platform that never turns, on three strokes along the axes of the base."""
        name = self.bodies[numbers.PLATFORM]
        if any(joint.at_point for joint in self.closures):
            raise ExportError(
                f"{self.robot.name} has joints between legs at a platform that is no single point, which no "
                "other format holds"
            )
        axes = [Axis(np.eye(3)[k], turns=False, value=float(self.assembly.platform.p[k])) for k in range(3)]
        link = Link(name, BASE, name, identity(), Pose(self.assembly.platform.R.T, np.zeros(3)))
        links, carriers = split_axes(
            link, axes, [self.joint_names.new(f"{name}-{axis}", name) for axis in "xyz"], self.body_names
        )
        self.solids |= massless_bodies(carriers)
        return links

    def marks(self, graph: Graph) -> tuple[NamedFrame, ...]:
        """The tools on the bodies of a graph."""
        names = UniqueNames((*graph.bodies, *self.joints, *self.cuts))
        marks = []
        for tool in self.robot.tools:
            body = self.bodies.get(tool.body, "")
            if body in graph.bodies:
                marks.append(NamedFrame(names.new(tool.name, "tool"), body, tool.frame))
            else:
                self.report.add_loss(f"the tool {tool.name!r} left out: its body is not in the file")
        return tuple(marks)

    def _links(self, joint: Joint, name: str, values: Array) -> list[Link]:
        ends = self.bodies[joint.predecessor], self.bodies[joint.successor]
        whole = Link(name, *ends, joint.frame_predecessor, joint.frame_successor)
        return self.joint_links.links(joint, whole, [float(value) for value in values])

    def _solid(self, body: int) -> Solid:
        robot = self.robot
        loads = [load.inertia for load in robot.payload if load.body == body]
        ten = np.sum([robot.bodies[body].inertia, *loads], axis=0)
        if self.point is not None and body in self.point.point_inertias:
            ten = ten + self.point.point_inertias[body]
        mass, moment = float(ten[0]), ten[1:4]
        if mass == 0.0 and np.any(moment):
            raise ExportError(
                f"body {robot.bodies[body].name!r} of {robot.name} has a first moment but no mass, as base "
                "parameters may; other engines take a mass and its centre alone"
            )
        com = moment / mass if mass else np.zeros(3)
        about = np.array(inertia_about_com(ten), dtype=float)
        # A point mass away from the origin has rounding for an inertia about its centre.
        about[np.abs(about) < 1e-15 * np.max(np.abs(ten[4:]), initial=0.0)] = 0.0
        return Solid(
            mass, np.array(com, dtype=float), about, body_shapes(robot, self.assembly.motion.poses, body)
        )

    def _coupling(self, k: int) -> Coupling:
        joint = self.closures[k]
        (first, _), *others = joint.terms
        follows = {self.joints[j]: -float(factor) for j, factor in others}
        return Coupling(self.cuts[k], self.joints[first], follows, float(joint.offset))

    def _struts(self) -> tuple[Strut, ...]:
        names = UniqueNames(())
        struts = []
        for k, spring in enumerate(self.robot.springs):
            ends = zip(spring.bodies, spring.points, strict=True)
            (first, first_point), (second, second_point) = (
                self._point_on_body(b, np.array(p, dtype=float)) for b, p in ends
            )
            forces = (float(number) for number in (spring.stiffness, spring.length, spring.damping))
            name = names.new(spring.name, f"spring{k}")
            struts.append(Strut(name, (first, second), (first_point, second_point), *forces))
        return tuple(struts)

    def _dampers(self) -> tuple[RotationDamper, ...]:
        names = UniqueNames(())
        return tuple(
            RotationDamper(
                names.new(damper.name, f"damper{k}"),
                (self.bodies[damper.bodies[0]], self.bodies[damper.bodies[1]]),
                float(damper.damping),
            )
            for k, damper in enumerate(self.robot.dampers)
        )

    def _point_on_body(self, body: int, point: Array) -> tuple[str, Array]:
        """A point of a body of the robot in the graph."""
        if body == numbers.PLATFORM and self.point is not None:
            holder, frame = self.point.point_body
            return self.bodies[holder], frame.p
        return self.bodies[body], point

    def _note_losses(self) -> None:
        robot, lost = self.robot, self.report.add_loss
        if self.point is not None:
            self.report.add_step(
                f"the point {robot.bodies[numbers.PLATFORM].name!r} is where the legs meet, no body"
            )
        if any(body.section is not None for body in robot.bodies):
            lost("flexible links are rigid")
        if any("mesh" in shape for body in robot.bodies for shape in body.display):
            lost("meshes are not drawn")
        if robot.torsion_springs:
            lost("torsion springs between bodies left out: the formats have none")
        if robot.modes:
            lost("modes left out: the file has the robot as it is given")


def _reachable_bodies(links: Sequence[Link]) -> set[str]:
    """The bodies that joints lead to from the base."""
    ends = [(link.parent, link.child) for link in links]
    return set(connected_components(list(dict.fromkeys([BASE, *chain.from_iterable(ends)])), ends)[0])
