"""A robot as data: bodies, joints, legs, platform and drives, frozen and hashed."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, Protocol, Self

import numpy as np

from nacelle.errors import did_you_mean
from nacelle.model.joint import UNBOUNDED, Interval, Joint
from nacelle.model.leg import BASE, PLATFORM, Body, Damper, Leg, LineSpring, MovingPlatform, TorsionSpring
from nacelle.model.platform import Mode, Motion, Payload, Tool
from nacelle.program.program import Program
from nacelle.spatial.pose import Pose, identity

SEED = 20_110


def perturb(values: Any, seed: int = SEED) -> Any:
    """Random numbers near some others, 1 to 3 % away; zeros stay."""
    rng = np.random.default_rng(seed)
    values = np.asarray(values, dtype=float)
    return values * (1.0 + rng.uniform(0.01, 0.03, values.shape) * rng.choice([-1.0, 1.0], values.shape))


@dataclass(frozen=True, eq=False)
class Record:
    """The free numbers that a description declares, and how all numbers of the robot follow from them.

    Attributes:
        names: of the free numbers.
        groups: the group of each: the first of `GROUPS` that it has a part in.
        values: in SI units, as described.
        entries: names of the robot's own numbers (`Robot.parameter_names`).
        program: from the free numbers to the robot's own.
        quantities: what each is, such as "length" (`model.units.QUANTITIES`); "" where nobody wrote it.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    values: tuple[float, ...]
    entries: tuple[str, ...]
    program: Program
    quantities: tuple[str, ...]

    @property
    def record(self) -> Record:
        """The record itself: a robot with other numbers needs its description no more."""
        return self


class Declaration(Protocol):
    """What knows the free numbers of a robot, perhaps only when they are first needed."""

    @property
    def record(self) -> Record:
        """The free numbers, and how the robot's follow from them."""
        ...


# ---- the robot


@dataclass(frozen=True)
class Actuator:
    """The drive of one active joint, in the order of the vector of actuator forces.

    Attributes:
        name: its name.
        joint: index of the joint that it drives.
        torque_constant: N m or N per ampere on the motor's side; 0 if not given.
        encoder_zero: joint coordinate where the encoder reads 0, rad or m.
        encoder_sign: +1 or -1.
        position: (lower, upper) limits, infinite where there is no limit.
        speed: limit of the joint rate, infinite if there is no limit.
        force: limit of the joint force or torque, infinite if there is no limit.
    """

    name: str
    joint: int
    torque_constant: float = 0.0
    encoder_zero: float = 0.0
    encoder_sign: int = 1
    position: Interval = UNBOUNDED
    speed: float = np.inf
    force: float = np.inf


@dataclass(frozen=True, eq=False)
class RobotData:
    """What a robot is: a graph of bodies and joints, its legs and its platform.

    Body 0 is the base and body 1 the platform body, placed by the platform coordinates. The joints
    of the spanning tree come first, each after the joint that places its predecessor; the closures
    follow.

    Attributes:
        name: name of the robot.
        bodies: all bodies.
        joints: all joints, tree joints first.
        tree: number of tree joints.
        legs: the legs.
        platform: the moving platform.
        motion: its independent motion.
        actuators: the drives, in order.
        gravity: acceleration of gravity in base axes, m/s^2.
        reference: reference pose of the platform frame in the base.
        tools: named frames on the platform.
        payload: what the robot carries.
        springs: springs between two bodies.
        dampers: angular dampers between two bodies.
        torsion_springs: springs about an axis between two bodies.
        modes: named modes of operation.
        title: one line about the robot.
        notes: more about it.
        sources: where its numbers come from.
        folder: where its description is, for the meshes next to it; "" for a text; no part of the hash.
        counts_turns: whether its unknowns y hold angles that count their turns along a motion
            (`nacelle.kinematics.mechanism.mechanism.counting`); no part of its text.
        shared: legs that share their parameters (`nacelle.model.shared`); no part of the hash.
        declaration: what its description says about its numbers; no part of the hash.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    tree: int
    legs: tuple[Leg, ...]
    platform: MovingPlatform
    motion: Motion
    actuators: tuple[Actuator, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    reference: Pose = field(default_factory=identity)
    tools: tuple[Tool, ...] = ()
    payload: tuple[Payload, ...] = ()
    springs: tuple[LineSpring, ...] = ()
    dampers: tuple[Damper, ...] = ()
    torsion_springs: tuple[TorsionSpring, ...] = ()
    modes: tuple[Mode, ...] = ()
    title: str = ""
    notes: str = ""
    sources: tuple[str, ...] = ()
    folder: str = ""
    counts_turns: bool = False
    shared: str | tuple[tuple[str, ...], ...] | None = None
    declaration: Declaration | None = None

    @property
    def has_platform(self) -> bool:
        """Whether it has a platform; otherwise `motion` names joints, and the platform body is the ground."""
        return self.platform.kind != "none"

    @property
    def moving_part(self) -> str:
        """What `motion` moves, in a word: the platform, or the mechanism of a robot without one."""
        return "platform" if self.has_platform else "mechanism"

    @property
    def tree_joints(self) -> tuple[Joint, ...]:
        """The joints of the spanning tree."""
        return self.joints[: self.tree]

    @property
    def closures(self) -> tuple[Joint, ...]:
        """The joints where the loops are cut."""
        return self.joints[self.tree :]

    @cached_property
    def couplings(self) -> tuple[int, ...]:
        """Closures that couple coordinates of the tree."""
        return tuple(k for k, joint in enumerate(self.joints) if joint.is_coupling)

    @cached_property
    def coupled_joints(self) -> tuple[int, ...]:
        """Tree joints whose coordinates are coupled."""
        return tuple(sorted({j for k in self.couplings for j, _ in self.joints[k].terms}))

    @property
    def described_bodies(self) -> range:
        """Bodies that a description has apart from the base: not the ground of a robot without a platform."""
        return range(PLATFORM if self.has_platform else PLATFORM + 1, len(self.bodies))

    @cached_property
    def described_joints(self) -> tuple[int, ...]:
        """Joints that a description has as such: not couplings, nor what fixes a ground to the base."""
        return tuple(
            k
            for k, joint in enumerate(self.joints)
            if not joint.is_coupling
            and (self.has_platform or (joint.predecessor, joint.successor) != (BASE, PLATFORM))
        )

    def joints_at(self, body: int) -> list[int]:
        """Joints with a frame on a body, tree joints first."""
        return [
            k
            for k, joint in enumerate(self.joints)
            if body in (joint.predecessor, joint.successor) and not joint.is_coupling
        ]

    @cached_property
    def revolute_actuators(self) -> tuple[bool, ...]:
        """For each actuator whether its joint is revolute (rad, N m), not prismatic (m, N)."""
        return tuple(self.joints[actuator.joint].primitives[0].is_rotation for actuator in self.actuators)

    @property
    def as_described(self) -> Self:
        """The robot of the description, which counts no turns."""
        return dataclasses.replace(self, counts_turns=False) if self.counts_turns else self

    @cached_property
    def joints_within_drive_limits(self) -> tuple[Joint, ...]:
        """All joints, those of actuators with limits that are also within their drives'."""
        joints = list(self.joints)
        for actuator in self.actuators:
            joint = joints[actuator.joint]
            pairs = (actuator.position, *joint.limits[:1])
            lower, upper = max(low for low, _ in pairs), min(high for _, high in pairs)
            if lower <= upper:
                limits = (Interval(lower, upper), *joint.limits[1:])
                joints[actuator.joint] = dataclasses.replace(joint, limits=limits)
        return tuple(joints)

    @cached_property
    def q_slices(self) -> tuple[slice, ...]:
        """Where the coordinates of each tree joint are in q, the coordinates of the tree."""
        return _slices([joint.nq for joint in self.tree_joints])

    @cached_property
    def v_slices(self) -> tuple[slice, ...]:
        """Where the rates of each tree joint are in the rates of the tree."""
        return _slices([joint.nv for joint in self.tree_joints])

    @property
    def nq(self) -> int:
        """Number of coordinates of the tree's joints."""
        return sum(joint.nq for joint in self.tree_joints)

    @property
    def nv(self) -> int:
        """Number of rates of the tree's joints."""
        return sum(joint.nv for joint in self.tree_joints)

    @property
    def platform_nv(self) -> int:
        """Number of rates of the platform body on its own: 6, or 3 for a point."""
        return 3 if self.platform.kind == "point" else 6

    def body(self, name: str) -> int:
        """Index of a body by name."""
        return self._index("body", name, [body.name for body in self.bodies])

    def joint(self, name: str) -> int:
        """Index of a joint by name."""
        return self._index("joint", name, [joint.name for joint in self.joints])

    def _index(self, what: str, name: str, names: list[str]) -> int:
        if name not in names:
            raise KeyError(f"{self.name} has no {what} {name!r}; {did_you_mean(name, names)}")
        return names.index(name)

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        """Names of the robot and of its bodies, joints, legs and actuators, which its hash leaves out."""
        parts = (self.bodies, self.joints, self.legs, self.actuators)
        return (self.name, *(part.name for group in parts for part in group))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of structure and numbers; names, texts and display are left out."""
        return hashlib.sha256(self._canonical()).hexdigest()

    def __eq__(self, other: object) -> bool:
        """Compare structure and numbers; names and display do not count."""
        return isinstance(other, RobotData) and self.hash == other.hash

    def __hash__(self) -> int:
        """Hash by structure and numbers."""
        return self._short_hash

    @cached_property
    def _short_hash(self) -> int:
        return int(self.hash[:16], 16)

    def _canonical(self) -> bytes:
        joint_index = {joint.name: k for k, joint in enumerate(self.joints)}

        def motion(value: Motion) -> list[Any]:
            return [joint_index.get(c, c) for c in value.coordinates]

        data = {
            "bodies": [
                [b.inertia, b.section, b.material, *([b.beam] if b.beam else [])] for b in self.bodies
            ],
            "joints": [
                [
                    str(j.kind),
                    j.predecessor,
                    j.successor,
                    j.frame_predecessor,
                    j.frame_successor,
                    [[[t.basis, t.coefficient, t.scale] for t in axis] for axis in j.friction],
                    [s and [s.stiffness, s.rest] for s in j.springs],
                    j.rotor_inertia,
                    j.gear_ratio,
                    j.limits,
                    j.guess,
                    j.at_point,
                    *([j.drive_stiffness, j.drive_damping] if j.drive_stiffness else []),
                    *([j.terms, j.offset] if j.terms else []),
                    *([["stops", [s and [s.stiffness, s.damping] for s in j.stops]]] if any(j.stops) else []),
                ]
                for j in self.joints
            ],
            "tree": self.tree,
            "legs": [[leg.bodies, leg.joints, leg.closures, leg.branch] for leg in self.legs],
            # The key's older name: what was hashed before keeps its hash.
            "nacelle": dataclasses.astuple(self.platform),
            "motion": motion(self.motion),
            "actuators": [dataclasses.astuple(a)[1:] for a in self.actuators],
            "gravity": self.gravity,
            "reference": self.reference,
            "tools": [[tool.body, tool.frame] for tool in self.tools],
            "payload": [[load.body, load.inertia] for load in self.payload],
            "modes": [[motion(m.motion), m.reference, m.branch, m.guess] for m in self.modes],
        }
        if self.springs:
            data["springs"] = [[s.bodies, s.points, s.stiffness, s.length, s.damping] for s in self.springs]
        if self.counts_turns:
            data["counting"] = True
        if self.dampers:
            data["dampers"] = [[d.bodies, d.damping] for d in self.dampers]
        if self.torsion_springs:
            data["torsion_springs"] = [
                [t.bodies, t.rotations, t.stiffness, t.rest] for t in self.torsion_springs
            ]
        return json.dumps(_canonical_value(data), sort_keys=True, separators=(",", ":")).encode()


def _slices(sizes: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *sizes]).tolist()
    return tuple(slice(a, b) for a, b in itertools.pairwise(ends))


def _canonical_value(value: Any) -> Any:
    """Write floats as hexadecimal texts (with 0.0 for -0.0), arrays and tuples as lists."""
    if isinstance(value, dict):
        return {str(key): _canonical_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _canonical_value(value.tolist())
    if isinstance(value, list | tuple):
        return [_canonical_value(item) for item in value]
    if isinstance(value, float):
        return (float(value) + 0.0).hex()
    return value


# ---- chains of the platform's mechanism: written as legs, they hang on it alone, or on the base alone

# All chains of a robot without a platform are such. Their bodies and joints have the names of legs
# ("arm.hip"), and are bodies and joints of `robot.nacelle`.


def chain_name(name: str) -> str:
    """The chain in which a body or joint of the platform is written: "arm" of "arm.hip"; "" if in none."""
    return name.partition(".")[0] if "." in name else ""


def platform_branches(robot: RobotData) -> tuple[Leg, ...]:
    """The chains of the platform's mechanism, in an order that gives the same tree when they are read.

    The tree is read layer by layer (`nacelle.model.build.graph`), in each layer in the order of the chains:
    the chains come in the order that they have in every layer.
    """
    platform = robot.platform
    if platform.kind not in ("articulated", "none"):
        return ()
    names = {b: chain_name(robot.bodies[b].name) for b in platform.bodies}
    depth = dict.fromkeys(range(len(robot.bodies)), 0)
    order: dict[str, dict[str, None]] = {name: {} for name in names.values() if name}
    last: dict[int, str] = {}
    for j in platform.joints:
        joint = robot.joints[j]
        depth[joint.successor] = layer = depth[joint.predecessor] + 1
        name = names[joint.successor]
        if name and layer in last and last[layer] != name:
            order[name][last[layer]] = None
        if name:
            last[layer] = name
    return tuple(_platform_branch(robot, name) for name in TopologicalSorter(order).static_order())


def _platform_branch(robot: RobotData, name: str) -> Leg:
    platform = robot.platform
    return Leg(
        name,
        tuple(b for b in platform.bodies if chain_name(robot.bodies[b].name) == name),
        tuple(j for j in platform.joints if chain_name(robot.joints[j].name) == name),
        tuple(c for c in platform.closures if chain_name(robot.joints[c].name) == name),
    )
