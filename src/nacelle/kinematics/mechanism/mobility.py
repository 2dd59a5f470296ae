"""Mobility: how a robot can move, by counting and by rank, with its description.

With u the rates of the tree (platform twist and joint rates) and J the Jacobian of the closures, the
motions of the robot are the null space N of J. Counting says dim u - rows of J (Chebyshev, Gruebler,
Kutzbach); the rank, taken at generic poses where all loops are closed, says the truth. With A (actuators,
rates) the rows of the actuators' rates:

    motions               dim N                    overconstrained      rows of J - rank J
    of the platform        rank of N's rows of w    left, all locked     null space of [J; A]
    idle                  null space of J's columns without w

Coordinates whose rows in the null space of [J; A] are a basis are those that nothing drives: held, they and
the actuators determine the motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nacelle.errors import format_count
from nacelle.kinematics.mechanism.assembly import (
    Assembly,
    assemble,
    generic_poses,
    independent_rate_mask,
    platform_rate_indices,
    rate_scale,
    scaled_closures,
)
from nacelle.kinematics.mechanism.internal_freedoms import (
    internal_count,
    internal_freedom_row,
    internal_motions,
    select_internal_freedoms,
)
from nacelle.kinematics.mechanism.rank import null_space, range_of, rank_of, unit_rows
from nacelle.model.joint import JointKind
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_rows
from nacelle.tree.closure import ClosureState, closure_frames
from nacelle.tree.rates import InternalFreedom
from nacelle.tree.spanning_tree import TreeKinematics, coordinate_rate_indices, joint_rate_indices


def _select_spanning_coordinates(N: Array, index_of: dict[str, int]) -> list[str]:
    """The first of some coordinates that determine a motion of N (rates, k): their rows are a basis."""
    chosen: list[str] = []
    for name, index in index_of.items():
        rows = N[[*(index_of[chosen_name] for chosen_name in chosen), index]]
        if np.max(np.abs(N[index]), initial=0.0) > 1e-9 and rank_of(rows.T) > len(chosen):
            chosen.append(name)
        if len(chosen) == N.shape[1]:
            break
    return chosen


def undriven_coordinates(robot: Robot, left: Array) -> tuple[str, ...]:
    """Coordinates of the motion that are free while the actuators are locked, in the motion's order."""
    driven = {robot.joints[actuator.joint].name for actuator in robot.actuators}
    # Rather those that are no joint of an actuator.
    index_of = dict(sorted(coordinate_rate_indices(robot).items(), key=lambda entry: entry[0] in driven))
    chosen = _select_spanning_coordinates(left, index_of) if left.shape[1] else []
    return tuple(name for name in robot.motion.coordinates if name in chosen)


def are_unobserved(robot: Robot, A: Array, N: Array, names: tuple[str, ...]) -> bool:
    """Whether no actuator moves with some coordinates while the others rest; N: the motions of the robot."""
    independent = list(coordinate_rate_indices(robot).values())
    if not names or rank_of(N[independent].T) < len(independent):
        return False
    columns = N @ np.linalg.pinv(N[independent])
    effect = A @ columns[:, [robot.motion.coordinates.index(name) for name in names]]
    return bool(np.max(np.abs(effect), initial=0.0) < 1e-9)


def candidate_coordinates(robot: Robot, N: Array) -> tuple[str, ...]:
    """Joints of a robot without a platform that determine its motion: those declared, active ones, others."""
    driven = {actuator.joint for actuator in robot.actuators}
    index_of = {
        joint.name: robot.platform_nv + robot.v_slices[j].start
        for j, joint in sorted(enumerate(robot.tree_joints), key=lambda entry: entry[0] not in driven)
        if joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
    }
    declared = {name: index_of[name] for name in robot.motion.joint_names}
    chosen = _select_spanning_coordinates(N, declared | index_of)
    return tuple(sorted(chosen, key=list(declared | index_of).index))


# Ratio of singular values below which a leg counts as stretched or folded.
_STRETCHED = 1e-5

_AXIS_LABELS = {
    "x": "translation along x",
    "y": "translation along y",
    "z": "translation along z",
    "rx": "rotation about x",
    "ry": "rotation about y",
    "rz": "rotation about z",
}


@dataclass(frozen=True)
class Mobility(HasTable):
    """What a robot can do.

    Attributes:
        counted: by Chebyshev-Gruebler-Kutzbach in space.
        counted_planar: the same in the plane, for a planar mechanism; None otherwise.
        true: dimension of all motions at a generic pose.
        platform: dimension of the motions of the platform.
        internal_motions: descriptions of the motions that leave the platform at rest.
        internal_count: their number.
        free: axes along which the platform moves independently.
        inside: motions inside an articulated platform in addition to those of its platform frame.
        tools: for each tool, the axes along which it moves independently.
        locked: axes along which it cannot move.
        coupled: axes along which it moves only together with others (parasitic motion).
        overconstrained: closure equations beyond those needed.
        redundant: messages that say where the superfluous equations are.
        actuators: number of actuators.
        controlled: dimension of the platform's motions that the actuators control.
        uncontrolled: descriptions of the motions left with all actuators locked.
        still: joints that never move.
        singular_reference: whether the reference pose is singular where generic poses are not.
        fits: whether the declared motion type fits the platform's motions.
        fits_reference: whether it also fits in the reference pose itself.
        reference_left: descriptions of those left with all actuators locked in a singular reference pose.
        declared: the declared motion type.
        internal_freedoms: bodies that spin idly, with their axes.
        stretched: legs that are stretched or folded in the reference pose (serial singularities there).
        moving_part: what moves, in a word: platform, or mechanism for a robot without one.
        undriven: coordinates of the declared motion that nothing drives.
        is_unobserved: whether no actuator moves with them, so that they are free by design and not by a
            singularity.
        joints: joints that could be the coordinates of a robot without a platform, active ones first.
    """

    counted: int
    counted_planar: int | None
    true: int
    platform: int
    internal_motions: tuple[str, ...]
    internal_count: int
    free: tuple[str, ...]
    inside: int
    tools: tuple[tuple[str, tuple[str, ...]], ...]
    locked: tuple[str, ...]
    coupled: tuple[str, ...]
    overconstrained: int
    redundant: tuple[str, ...]
    actuators: int
    controlled: int
    uncontrolled: tuple[str, ...]
    still: tuple[str, ...]
    singular_reference: bool
    fits: bool
    fits_reference: bool = True
    reference_left: tuple[str, ...] = ()
    declared: str = ""
    internal_freedoms: tuple[InternalFreedom, ...] = ()
    stretched: tuple[str, ...] = ()
    moving_part: str = "platform"
    undriven: tuple[str, ...] = ()
    is_unobserved: bool = False
    joints: tuple[str, ...] = ()

    @property
    def actuation(self) -> int:
        """Number of actuators beyond the platform's motions; negative if they are too few."""
        return self.actuators - self.platform

    @property
    def is_underactuated(self) -> bool:
        """Whether nothing drives some motions, by design: not because the actuators are singular."""
        return bool(self.undriven) and (self.is_unobserved or self.actuators < self.platform)

    def _describe_motions(self) -> str:
        """The independent motions as text; those that couple several axes together at the end."""
        if self.moving_part != "platform":
            return ", ".join(self.joints) or "none"
        moves = [_AXIS_LABELS[a] for a in self.free]
        mixed = self.platform - self.inside - len(self.free)
        if mixed:
            axes = " ".join(self.coupled)
            moves.append(
                f"{format_count(mixed, 'motion')} that {'couples' if mixed == 1 else 'couple'} {axes}"
            )
        if self.inside:
            moves.append(f"{format_count(self.inside, 'motion')} inside the platform")
        return ", ".join(moves) or "none"

    def describe_motion(self) -> str:
        """What the platform can do, as part of a sentence."""
        has_locked = self.locked and self.moving_part == "platform"
        locked = f"; locked: {', '.join([_AXIS_LABELS[a] for a in self.locked])}" if has_locked else ""
        return (
            f"the {self.moving_part} has {format_count(self.platform, 'motion')}: "
            f"{self._describe_motions()}{locked}"
        )

    def describe(self) -> list[str]:
        """The mobility as lines of text."""
        lines = [
            f"The {self.moving_part} has {format_count(self.platform, 'independent motion')}: "
            f"{self._describe_motions()}."
        ]
        for name, axes in self.tools if self.inside else ():
            moves = ", ".join([_AXIS_LABELS[a] for a in axes]) or "motions that couple axes"
            lines.append(f"Tool {name} moves by {moves}.")
        if self.locked and self.moving_part == "platform":
            lines.append(f"Locked: {', '.join([_AXIS_LABELS[a] for a in self.locked])}.")
        if self.internal_count:
            verb = "leaves" if self.internal_count == 1 else "leave"
            count = format_count(self.internal_count, "internal freedom")
            lines.append(
                f"{count} {verb} the {self.moving_part} at rest: {', '.join(self.internal_motions)}."
            )
        if self.overconstrained:
            lines.append(
                f"The loops are overconstrained {_describe_times(self.overconstrained)}: "
                f"{', '.join(self.redundant)}."
            )
        if self.actuation > 0:
            lines.append(f"The actuation is redundant: {format_count(self.actuation, 'actuator')} to spare.")
        elif self.actuation < 0:
            lines.append(
                f"The robot is underactuated: {format_count(self.actuators, 'actuator')} for "
                f"{format_count(self.platform, 'motion')}."
            )
        if self.undriven:
            lines.append(f"Nothing drives {', '.join(self.undriven)}.")
        if self.uncontrolled:
            lines.append(f"With the actuators locked there remains: {', '.join(self.uncontrolled)}.")
        elif self.actuation >= 0:
            lines.append(f"The actuators control every motion of the {self.moving_part}.")
        if self.still:
            lines.append(f"Joints that never move: {', '.join(self.still)}.")
        if self.singular_reference:
            lines.append("The reference pose is singular.")
        return lines


def _describe_times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def mobility(robot: Robot, start: Assembly | None = None) -> Mobility:
    """Analyse the mobility of a robot around its reference pose: ranks of the closures' Jacobian.

    Args:
        robot: the robot.
        start: its closed configuration in the reference pose; found here if None.

    Returns:
        Freedoms of the robot and its platform, idle motions and superfluous closure equations, with the count
        of Chebyshev, Gruebler and Kutzbach next to it.
    """
    return _mobility(robot, robot.all_names, assemble(robot) if start is None else start)


@lru_cache(maxsize=64)
def _mobility(robot: Robot, names: tuple[str, ...], start: Assembly) -> Mobility:
    """The same, found once for a closed configuration."""
    del names  # robots that differ in them alone are equal, but their motions are named
    at_reference = (start.motion, start.closures)
    poses = generic_poses(robot, start) or [at_reference]
    ranks = [rank_of(scaled_closures(robot, state)) for _, state in poses]
    motion, state = poses[int(np.argmax(ranks))]
    J = scaled_closures(robot, state)
    internal_text, internal_freedoms = internal_motions(robot, J, motion)
    # Idle spins of the platform's own bodies are held; those of legs do not move it.
    platform_spins = [spin for spin in internal_freedoms if spin.body in robot.platform.bodies]

    def hold_spins(J: Array, motion: TreeKinematics) -> Array:
        rows = [(spin, internal_freedom_row(motion, spin) * rate_scale(robot)) for spin in platform_spins]
        return select_internal_freedoms(J, rows)[1]

    rounding = 64.0 * robot.coordinate_rounding

    def freedoms(J: Array, motion: TreeKinematics) -> tuple[Array, Array, Array, Array]:
        """Closures with idle spins held, motions, rows of the actuators, what is left with these locked."""
        J_held, A = hold_spins(J, motion), actuator_rows(robot, motion) * rate_scale(robot)
        left = null_space(np.vstack([J_held, unit_rows(A)]), rounding)
        return J_held, null_space(J_held, rounding), A, left

    J_held, N, A, left = freedoms(J, motion)
    own_spins = len(J_held) - len(J)
    top = platform_rate_indices(robot)
    platform_rank = rank_of(N[top].T)
    F = range_of(N[: robot.platform_nv])
    free, locked, coupled = _classify_axes(F)

    def remains(left: Array) -> int:
        return rank_of(left[top].T) if left.shape[1] else 0

    left_rank = remains(left)
    independent = np.flatnonzero(independent_rate_mask(robot))
    reference_J = scaled_closures(robot, at_reference[1])
    reference_held, reference_N, _, reference_left = freedoms(reference_J, at_reference[0])
    undriven = undriven_coordinates(robot, left)
    return Mobility(
        counted=J.shape[1] - J.shape[0],
        counted_planar=_planar_count(robot, motion),
        true=N.shape[1] + own_spins,
        platform=platform_rank,
        internal_motions=internal_text,
        internal_count=internal_count(J, top) + own_spins,
        free=free,
        inside=platform_rank - F.shape[1],
        tools=_tool_axes(robot, motion, N),
        locked=locked,
        coupled=coupled,
        overconstrained=J.shape[0] - rank_of(J),
        redundant=_describe_redundancy(robot, J, state),
        actuators=len(robot.actuators),
        controlled=platform_rank - left_rank,
        uncontrolled=_describe_motions(robot, left, top),
        still=_fixed_joints(robot, N),
        singular_reference=(rank_of(reference_held), remains(reference_left)) != (rank_of(J_held), left_rank),
        fits=platform_rank == robot.motion.n and rank_of(N[independent].T) == robot.motion.n,
        fits_reference=rank_of(reference_N[independent].T) >= robot.motion.n,
        reference_left=_describe_motions(robot, reference_left, top),
        declared=robot.motion.name,
        internal_freedoms=internal_freedoms,
        stretched=_stretched_legs(robot, reference_J, J),
        moving_part=robot.moving_part,
        undriven=undriven,
        is_unobserved=are_unobserved(robot, A, N, undriven),
        joints=() if robot.has_platform else candidate_coordinates(robot, N),
    )


def _stretched_legs(robot: Robot, reference: Array, generic: Array) -> tuple[str, ...]:
    """Names of legs whose own closures lose rank in the reference pose and keep it at a generic one.

    With M the columns of the leg's own joints, its rates follow from the platform's where M has full column
    rank but for the leg's idle motions. At full stretch a closure that holds to 1e-15 leaves a singular value
    of 1e-7 to 1e-8.
    """
    names = []
    for leg in robot.legs:
        columns = list(joint_rate_indices(robot, leg.joints))
        rank = len(columns) - (null_space(generic[:, columns]).shape[1] if columns else 0)
        if not rank:
            continue
        s = np.linalg.svd(reference[:, columns], compute_uv=False)
        if s[rank - 1] < _STRETCHED * s[0]:
            names.append(leg.name)
    return tuple(names)


def _classify_axes(F: Array) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Sort the axes of the platform's twist into free, locked and coupled ones."""
    free, locked, coupled = [], [], []
    for k in range(F.shape[0]):
        share = float(np.linalg.norm(F[k]))
        if share > 1.0 - 1e-6:
            free.append(AXES[k])
        elif share < 1e-6:
            locked.append(AXES[k])
        else:
            coupled.append(AXES[k])
    return tuple(free), tuple(locked), tuple(coupled)


def _tool_axes(robot: Robot, motion: TreeKinematics, N: Array) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Free axes of each tool, with lengths in units of the robot's size."""
    result = []
    for tool in robot.tools:
        J = motion.point_jacobian(tool.body, (motion.poses[tool.body] @ tool.frame).p)
        scale = np.array([robot.size] * 3 + [1.0] * 3)
        result.append((tool.name, _classify_axes(range_of(J / scale[:, None] * rate_scale(robot) @ N))[0]))
    return tuple(result)


def _describe_redundancy(robot: Robot, J: Array, state: ClosureState) -> tuple[str, ...]:
    """Say where superfluous closure equations are: inside single legs, or between legs."""
    total = J.shape[0] - rank_of(J)

    def excess(closures: tuple[int, ...]) -> int:
        rows = state.rows_of(robot, closures)
        return len(rows) - rank_of(J[rows])

    counts = {}
    for leg in robot.legs:
        inside = excess(leg.closures) if leg.closures else 0
        if inside:
            counts[f"leg {leg.name}"] = inside
    if robot.platform.closures and robot.platform.joints:
        inside = excess(robot.platform.closures)
        if inside:
            counts[f"the {robot.moving_part}"] = inside
    messages = [f"{count} in the loops of {name}" for name, count in counts.items()]
    if total > sum(counts.values()):
        messages.append(f"{total - sum(counts.values())} between the legs")
    return tuple(messages)


def _describe_motions(robot: Robot, left: Array, top: Array) -> tuple[str, ...]:
    """Name the motions of the platform that are left with all actuators locked."""
    if not robot.has_platform:
        return undriven_coordinates(robot, left)
    if left.shape[1] == 0 or rank_of(left[top].T) == 0:
        return ()
    F = range_of(left[: robot.platform_nv])
    free, _, coupled = _classify_axes(F)
    messages = [_AXIS_LABELS[a] for a in free]
    if coupled:
        messages.append("a motion that couples " + " ".join(coupled))
    internal = rank_of(left[top].T) - F.shape[1]
    if internal > 0:
        messages.append(format_count(internal, "motion") + f" inside the {robot.moving_part}")
    return tuple(messages)


def _fixed_joints(robot: Robot, N: Array) -> tuple[str, ...]:
    """Tree joints that take part in no motion."""
    names = []
    for j, joint in enumerate(robot.tree_joints):
        rows = N[list(joint_rate_indices(robot, (j,)))]
        if rows.size and float(np.max(np.abs(rows), initial=0.0)) < 1e-7:
            names.append(joint.name)
    return tuple(names)


_PLANAR_LOCKS = {
    JointKind.REVOLUTE: 2,
    JointKind.PRISMATIC: 2,
    JointKind.FIXED: 3,
    JointKind.POINT: 2,
    JointKind.SPHERICAL: 2,
    JointKind.COUPLING: 1,
}


def _planar_count(robot: Robot, motion: TreeKinematics) -> int | None:
    """Chebyshev-Gruebler-Kutzbach in the plane, if all joints move in one plane."""
    normal: Array | None = None
    columns = motion.columns[:, robot.platform_nv :]
    for column in columns.T:
        direction = column[3:]
        if np.linalg.norm(direction) > 0.5:
            normal = direction if normal is None else normal
            if np.linalg.norm(np.cross(normal, direction)) > 1e-9:
                return None
    if normal is None:
        return None
    for column in columns.T:
        if np.linalg.norm(column[3:]) < 0.5 and abs(float(normal @ column[:3])) > 1e-9:
            return None
    rows = 0
    for joint in robot.closures:
        if joint.kind not in _PLANAR_LOCKS:
            return None
        z = closure_frames(joint, motion)[0].R[:, 2]
        along = abs(float(normal @ z))
        if (joint.kind is JointKind.REVOLUTE and along < 1.0 - 1e-9) or (
            joint.kind is JointKind.PRISMATIC and along > 1e-9
        ):
            return None
        rows += 0 if joint.at_point else _PLANAR_LOCKS[joint.kind]
    platform = 2 if robot.platform.kind == "point" else 3
    return platform + robot.nv - rows
