"""A robot with flexible links as a tree of frames: the ends of its beams move on joints of their own.

The floating frame of a beam is that of its body. Between it and the sections at its ends, where joints sit,
the beam's deformation is a chain of small translations along and rotations about the beam's axes,

    start  <- rotations -  frame  - translations, rotations ->  end

whose coordinates are those of the beam's shape functions at its ends, [d; theta] = Phi(end) q ([BK2013] (10),
(12)). So recursion, Jacobians and closures of a tree of rigid frames hold as they are ([BK2013] (12)-(21));
only what a beam's own motion requires differs. Where an end carries no moment about an axis the joint there
rotates about it
freely: the frame follows the chord, and no rotation of the section is needed.

A planar robot (all of it moves in one plane) deforms in that plane only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import NamedTuple, TypeVar, TypeVarTuple

import numpy as np

from nacelle.elastic.beam.shapes import ALL_DEFLECTIONS, AXIAL, TORSION, BeamDeflections, Shapes, beam_shapes
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.flexible import Beam, robot_beams
from nacelle.model.joint import UNBOUNDED, Joint, JointKind, Primitive
from nacelle.model.leg import Body
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.tree.spanning_tree import tree_kinematics

T = TypeVar("T")
Options = TypeVarTuple("Options")
# Axes x, y, z made the joint axis z, exactly.
_AXIS_ROTATIONS = (
    np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    np.eye(3),
)


class ElasticJoint(NamedTuple):
    """A joint of the extended tree that moves with a beam: its index, the beam, and Phi's row (n,)."""

    joint: int
    beam: int
    row: Array


class DriveSpring(NamedTuple):
    """A spring between motor and load of a drive.

    Joint of the robot, N m/rad or N/m, and its parallel damping.
    """

    joint: int
    stiffness: float
    damping: float


@dataclass(frozen=True, eq=False)
class FlexibleTree:
    """A robot with flexible links, as a tree of frames.

    Attributes:
        robot: the robot as described.
        tree: the tree of frames; its first bodies are those of the robot, its massless ones are sections.
        shapes: the shape functions of every beam.
        elastic: the joints that move with beams.
        joint_of: for every joint of the robot its index in the tree.
        springs: drives with a spring between motor and load; their coordinates come after those of the beams.
        sections: bodies of the tree that are the sections at the "start" and "end" of a flexible body.
    """

    robot: Robot
    tree: Robot
    shapes: tuple[Shapes, ...]
    elastic: tuple[ElasticJoint, ...]
    joint_of: tuple[int, ...]
    springs: tuple[DriveSpring, ...]
    sections: Mapping[tuple[int, str], int]

    def section_of(self, body: int, end: str) -> int:
        """The body of the tree that carries what sits at an end of a body.

        Its section, or itself if rigid.
        """
        return self.sections.get((body, end), body)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the coordinates of each beam, then of each drive, are among all elastic coordinates."""
        ends = np.cumsum([0, *(shapes.n for shapes in self.shapes), *(1 for _ in self.springs)]).tolist()
        return tuple(map(slice, ends, ends[1:]))

    @cached_property
    def rate_slices(self) -> tuple[slice, ...]:
        """Where the rates of each beam, then of each drive, are among all rates r = [z; e]."""
        nz = len(self.rigid_rates)
        return tuple(slice(nz + part.start, nz + part.stop) for part in self.slices)

    def elastic_matrix(self, beams: Sequence[Array], drives: Sequence[float]) -> Array:
        """The matrix (r, r) with one (n, n) for each beam and a number for each drive on its diagonal."""
        size = len(self.rigid_rates) + self.ne
        result = np.zeros((size, size))
        blocks: list[Array | float] = [*beams, *drives]
        for part, block in zip(self.rate_slices, blocks, strict=True):
            result[part, part] = block
        return result

    @property
    def in_plane(self) -> bool:
        """Whether all beams deform in one plane only, and do not twist."""
        kinds = [{c.kind for c in shapes.coordinates} - {AXIAL} for shapes in self.shapes]
        return all(len(kind) <= 1 and TORSION not in kind for kind in kinds)

    @property
    def ne(self) -> int:
        """Number of elastic coordinates."""
        return sum(shapes.n for shapes in self.shapes) + len(self.springs)

    @cached_property
    def scales(self) -> Array:
        """What displaces a beam by its length, the load of a drive by the robot's size (ne,); m, rad."""
        parts = [shapes.scales for shapes in self.shapes]
        turns = [self.robot.joints[s.joint].primitives[0].is_rotation for s in self.springs]
        return np.concatenate([*parts, np.where(turns, 1.0, self.robot.size)])

    @cached_property
    def rigid_rates(self) -> tuple[int, ...]:
        """Places in the tree's rates of the platform's twist and the robot's own joints, in its order."""
        m = self.tree.platform_nv
        indices = list(range(m))
        for j in self.joint_of[: self.robot.tree]:
            part = self.tree.v_slices[j]
            indices += range(m + part.start, m + part.stop)
        return tuple(indices)

    @cached_property
    def embedding(self) -> Array:
        """B (rates, z + ne): rates of the tree from those of the robot z and of the elastic coordinates."""
        m = self.tree.platform_nv
        B = np.zeros((m + self.tree.nv, len(self.rigid_rates) + self.ne))
        B[list(self.rigid_rates), range(len(self.rigid_rates))] = 1.0
        for joint in self.elastic:
            B[m + self.tree.v_slices[joint.joint].start, self.rate_slices[joint.beam]] = joint.row
        return B

    def coordinates(self, q: Array, qe: Array) -> Array:
        """Coordinates of the tree from those of the robot's tree (nq,) and the elastic ones (ne,)."""
        result = np.zeros(self.tree.nq, dtype=object if object in (q.dtype, qe.dtype) else float)
        for k, j in enumerate(self.joint_of[: self.robot.tree]):
            result[self.tree.q_slices[j]] = q[self.robot.q_slices[k]]
        for joint in self.elastic:
            part = qe[self.slices[joint.beam]]
            terms = [joint.row[i] * part[i] for i in range(len(part)) if joint.row[i]]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            result[self.tree.q_slices[joint.joint].start] = total
        return result

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the elastic coordinates: "leg1.rod.axial", "leg1.rod.bend-y-1", ..."""
        kinds = ("axial", "bend-y", "bend-z", "torsion")
        result = []
        for shapes in self.shapes:
            counts = [0, 0, 0, 0]
            for c in shapes.coordinates:
                counts[c.kind] += 1
                result.append(f"{shapes.beam.name}.{kinds[c.kind]}-{counts[c.kind]}")
        result += [f"{self.robot.joints[spring.joint].name}.drive" for spring in self.springs]
        return tuple(result)


def cache_by_numbers(function: Callable[[Robot, *Options], T]) -> Callable[[Robot, *Options], T]:
    """A function of a robot's numbers that keeps its last results, by these, the names and the options.

    Robots that differ in names alone are equal, so names are part of the key.
    """

    @lru_cache(maxsize=64)
    def cache(robot: Robot, names: tuple[str, ...], *options: *Options) -> T:
        return function(robot, *options)

    @wraps(function)
    def call(robot: Robot, *options: *Options) -> T:
        result: T = cache(robot.numeric, robot.all_names, *options)
        return result

    return call


def flexible_tree(robot: Robot, *, planar: bool | None = None) -> FlexibleTree:
    """The tree of frames of a robot with flexible links.

    Args:
        robot: the robot.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Raises:
        BeamError: if a flexible link cannot be a beam.
        KinematicsError: if no link is flexible.
    """
    return _flexible_tree(robot, planar)


@cache_by_numbers
def _flexible_tree(robot: Robot, planar: bool | None) -> FlexibleTree:
    flexible_links = robot_beams(robot)
    if not flexible_links and not any(joint.drive_stiffness for joint in robot.joints):
        raise KinematicsError(
            f"{robot.name} has no flexible link: give bodies a 'section' and a 'material', or drives a "
            "'stiffness' (docs: format)"
        )
    if robot.couplings:
        name = robot.joints[robot.couplings[0]].name
        raise KinematicsError(
            f"flexible links are not computed together with coupled joints, and {name!r} couples some of "
            f"{robot.name}; take the links as rigid (remove 'section'), or lock the coupled joints"
        )
    reason = _unsupported_reason(robot)
    if reason:
        raise KinematicsError(f"models with flexible links or drives do not support {robot.name}: {reason}")
    normal = plane_normal(robot)
    if planar and normal is None:
        raise KinematicsError(f"{robot.name} does not move in one plane")
    poses = reference_poses(robot)
    shapes = []
    for beam in flexible_links:
        axes = poses[beam.body].R @ beam.frame.R
        deflections = ALL_DEFLECTIONS
        if normal is not None and planar is not False:
            along = np.abs(axes.T @ normal)
            if along[0] > 1e-6 or min(along[1], along[2]) > 1e-6:
                raise KinematicsError(
                    f"body {beam.name!r} does not lie in the plane of {robot.name} with an axis of its "
                    "section; give the section's direction 'y' along or across the plane, or deform in space "
                    "(planar=False)"
                )
            # Bending in y turns about z.
            deflections = BeamDeflections(bool(along[2] > 0.5), bool(along[1] > 0.5), torsion=False)
        shapes.append(beam_shapes(robot, beam, deflections))
    return build_flexible_tree(robot, tuple(shapes))


def _unsupported_reason(robot: Robot) -> str:
    """Message about the parts of a robot that these models would leave out; empty if they model all of it."""
    if robot.dampers:
        return f"it has dampers between bodies ({robot.dampers[0].name}); friction in a joint is supported"
    if robot.springs:
        return f"it has springs between bodies ({robot.springs[0].name}); a spring in a joint is supported"
    if robot.torsion_springs:
        name = robot.torsion_springs[0].name
        return f"it has torsion springs between bodies ({name}); a spring in a joint is supported"
    for joint in robot.joints:
        if any(joint.stops):
            return f"joint {joint.name} has an end stop; remove it, the limits stay"
        if joint.rotor_inertia and joint.kind is JointKind.SPHERICAL:
            return f"spherical joint {joint.name} has a rotor; give the inertia to its bodies"
    return ""


def build_flexible_tree(robot: Robot, shapes: tuple[Shapes, ...]) -> FlexibleTree:
    """The tree of frames of a robot with given shape functions of its beams."""
    builder = _FlexibleTreeBuilder(robot)
    for k, beam in enumerate(shapes):
        builder.add(k, beam)
    return builder.finish()


def reference_poses(robot: Robot) -> tuple[Pose, ...]:
    """Poses of all bodies at the reference, nothing deformed."""
    assembly = mechanism_of(robot).assembly
    return tree_kinematics(robot, assembly.platform, assembly.q_tree).poses


def plane_normal(robot: Robot) -> Array | None:
    """Unit normal (3,), base axes, of the plane in which all of a robot moves; None if it moves in space."""
    assembly = mechanism_of(robot).assembly
    motion = tree_kinematics(robot, assembly.platform, assembly.q_tree)
    rotations = motion.columns[3:, robot.platform_nv :].astype(float)
    turning = rotations[:, np.linalg.norm(rotations, axis=0) > 0.5]
    if not turning.size:
        return None
    normal = turning[:, 0]
    if np.max(np.abs(np.cross(turning.T, normal))) > 1e-9:
        return None
    for k, joint in enumerate(robot.tree_joints):
        for number, primitive in enumerate(joint.primitives):
            column = motion.columns[:, robot.platform_nv + robot.v_slices[k].start + number].astype(float)
            if primitive.nv == 3 or (not primitive.is_rotation and abs(float(column[:3] @ normal)) > 1e-9):
                return None
    if any(joint.kind in (JointKind.SPHERICAL, JointKind.UNIVERSAL) for joint in robot.closures):
        return None
    axis = int(np.argmax(np.abs(normal)))
    exact = np.eye(3)[axis] * np.sign(normal[axis])
    return exact if float(np.linalg.norm(exact - normal)) < 1e-12 else normal


class _FlexibleTreeBuilder:
    """Adds the sections of beams to a robot."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.bodies = [
            dataclasses.replace(body, section=None, material=None, beam=None) for body in robot.bodies
        ]
        self.shapes: list[Shapes] = []
        # Where a joint of the robot sits on a beam: body in its place.
        self.sits: dict[tuple[int, int], int] = {}
        self.sections: dict[tuple[int, str], int] = {}
        # Chains of joints of a beam, from a body on: before or after it in the tree.
        self.before: dict[int, list[tuple[Joint, int, Array]]] = {}
        self.after: dict[int, list[tuple[Joint, int, Array]]] = {}

    def add(self, number: int, shapes: Shapes) -> None:
        """Add the sections of a beam."""
        beam = shapes.beam
        self.shapes.append(shapes)
        # What is left of the body's inertia are its tips: at the start it is the body itself or its section.
        self.bodies[beam.body] = dataclasses.replace(self.bodies[beam.body], inertia=(0.0,) * 10)
        start, end = shapes.section_motion(0.0), shapes.section_motion(1.0)
        # The section at the start carries the frame: the frame turns back by what the section turns.
        rows = [(axis, -start[axis]) for axis in (4, 5) if beam.pinned and shapes.ends[0][axis - 3]]
        first = self._add_chain(beam, number, rows, "start", Pose(beam.frame.R, beam.frame.p), reverse=True)
        rows = [(axis, end[axis]) for axis in range(3)]
        rows += [(axis, end[axis]) for axis in (3, 4, 5) if not beam.pinned or shapes.ends[1][axis - 3]]
        tip = beam.frame.p + beam.frame.R[:, 0] * beam.length
        last = self._add_chain(beam, number, rows, "end", Pose(beam.frame.R, tip), reverse=False)
        self.sections[beam.body, "start"], self.sections[beam.body, "end"] = first, last
        for joint in beam.start:
            self.sits[joint, beam.body] = first
        for joint in beam.end:
            self.sits[joint, beam.body] = last
        for body, ten in zip((first, last), beam.tips, strict=True):
            if ten is not None:
                self._add_tip_mass(body, beam, ten)

    def _add_tip_mass(self, body: int, beam: Beam, ten: Array) -> None:
        """Put a rigid mass on a section; its frame is the body's where nothing is deformed."""
        from nacelle.spatial.inertia import transform_parameters

        tip_ten = transform_parameters(beam.frame.R, beam.frame.p, ten)
        total = np.array(self.bodies[body].inertia) + tip_ten
        self.bodies[body] = dataclasses.replace(self.bodies[body], inertia=tuple(total.tolist()))

    def _add_chain(
        self, beam: Beam, number: int, rows: list[tuple[int, Array]], word: str, pose: Pose, *, reverse: bool
    ) -> int:
        """A chain of single joints along the beam's axes at a place; the body at its far end."""
        moving = [(axis, row) for axis, row in rows if np.any(row)]
        if not moving:
            return beam.body
        chain = []
        bodies = [beam.body]
        for axis, row in moving:
            self.bodies.append(Body(f"{beam.name}.{word}-{axis}"))
            bodies.append(len(self.bodies) - 1)
            kind = JointKind.PRISMATIC if axis < 3 else JointKind.REVOLUTE
            frame = pose @ Pose(_AXIS_ROTATIONS[axis % 3], np.zeros(3))
            name = f"{beam.name}.{word}-{'xyz'[axis % 3]}-{'turn' if axis >= 3 else 'shift'}"
            ends = (bodies[-1], bodies[-2]) if reverse else (bodies[-2], bodies[-1])
            limits = (UNBOUNDED,)
            joint = Joint(name, kind, *ends, frame, frame, limits=limits, guess=(0.0,))
            chain.append((joint, number, row))
        (self.before if reverse else self.after)[beam.body] = list(reversed(chain)) if reverse else chain
        return bodies[-1]

    def _reattached_joint(self, index: int) -> Joint:
        joint = self.robot.joints[index]
        return dataclasses.replace(
            joint,
            predecessor=self.sits.get((index, joint.predecessor), joint.predecessor),
            successor=self.sits.get((index, joint.successor), joint.successor),
        )

    def _sprung_joints(self, index: int) -> list[Joint]:
        """A joint with a spring behind its motor: the motor's joint to a massless body, and the spring's."""
        joint = self._reattached_joint(index)
        self.bodies.append(Body(f"{joint.name}.motor"))
        motor = len(self.bodies) - 1
        frame = joint.frame_successor
        limits = (UNBOUNDED,)
        return [
            dataclasses.replace(joint, successor=motor),
            Joint(
                f"{joint.name}.drive",
                joint.kind,
                motor,
                joint.successor,
                frame,
                frame,
                limits=limits,
                guess=(0.0,),
            ),
        ]

    def finish(self) -> FlexibleTree:
        """The tree with all sections."""
        joints: list[Joint] = []
        elastic: list[ElasticJoint] = []
        joint_of: list[int] = []
        springs: list[DriveSpring] = []

        def append(chain: list[tuple[Joint, int, Array]]) -> None:
            for joint, number, row in chain:
                elastic.append(ElasticJoint(len(joints), number, row))
                joints.append(joint)

        for index, joint in enumerate(self.robot.tree_joints):
            joint_of.append(len(joints))
            if joint.drive_stiffness:
                springs.append(DriveSpring(index, joint.drive_stiffness, joint.drive_damping))
                number = len(self.shapes) + len(springs) - 1
                joints += self._sprung_joints(index)
                elastic.append(ElasticJoint(len(joints) - 1, number, np.ones(1)))
            else:
                joints.append(self._reattached_joint(index))
            append(self.before.get(joint.successor, []))
            append(self.after.get(joint.successor, []))
        tree = len(joints)
        for index in range(self.robot.tree, len(self.robot.joints)):
            joint_of.append(len(joints))
            joints.append(self._reattached_joint(index))
        actuators = tuple(dataclasses.replace(a, joint=joint_of[a.joint]) for a in self.robot.actuators)
        robot = dataclasses.replace(
            self.robot, bodies=tuple(self.bodies), joints=tuple(joints), tree=tree, actuators=actuators
        )
        return FlexibleTree(
            self.robot,
            robot,
            tuple(self.shapes),
            tuple(elastic),
            tuple(joint_of),
            tuple(springs),
            self.sections,
        )


def joint_offsets(robot: Robot) -> Iterator[tuple[Primitive, int, int]]:
    """The primitives of the tree's joints, where their coordinates are in q (nq,) and their rates in r."""
    for joint, q, v in zip(robot.tree_joints, robot.q_slices, robot.v_slices, strict=True):
        coordinate, rate = q.start, robot.platform_nv + v.start
        for primitive in joint.primitives:
            yield primitive, coordinate, rate
            coordinate, rate = coordinate + primitive.nq, rate + primitive.nv
