"""The analysis of a robot before any pose: how each leg is solved, and which rates depend on which.

It is made once from the robot's numbers and holds for every pose, every scalar and every target. The rates of
the tree are u = [w; leg rates], w (nw,) = [platform twist; rates of the platform's joints], base axes, m/s
and rad/s. The closures demand J u = 0, row by row; those of leg l have the form

    M_l u_l + N_l w = 0          so u_l follows from w where M_l has full column rank

The reduced twist v (n,) gives n of the entries of w; the others depend on them: they are zero, follow from
the platform's own loops, or, with parasitic motion, from the closures of all legs. Rows of J that are zero at
generic poses are left out; idle spins, which M_l does not see, are set to zero.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.legs.solution import ClosedFormSolution, closed_form_solutions, solve_leg
from nacelle.kinematics.mechanism.assembly import (
    Assembly,
    generic_poses,
    rate_scale,
    require_assembly,
    row_scale,
)
from nacelle.kinematics.mechanism.chart import Chart
from nacelle.kinematics.mechanism.coupled import CoupledFollowers, coupled_followers, rate_amplification
from nacelle.kinematics.mechanism.internal_freedoms import internal_freedom_row, select_internal_freedoms
from nacelle.kinematics.mechanism.mobility import Mobility, mobility
from nacelle.kinematics.mechanism.rank import rank_of
from nacelle.model.joint import Primitive
from nacelle.model.leg import Leg
from nacelle.model.reduced import ReducedLayout, layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.tree.rates import InternalFreedom, LegRates, RateStructure
from nacelle.tree.spanning_tree import CosineSine, joint_rate_indices, joint_transforms

# A closed form belongs to the branch of the reference if it gives the assembled joints this closely.
_SAME_BRANCH = 1e-6


@dataclass(frozen=True)
class LegAnalysis(LegRates):
    """How one leg is solved: its rates, and its closed form; None if it is solved numerically."""

    closed_form: ClosedFormSolution | None


class IteratedAxis(NamedTuple):
    """An axis of a joint whose coordinate is solved numerically.

    Attributes:
        joint: index of the joint.
        number: of the axis in the joint.
        primitive: what it is.
        y: the place of its coordinate in y: four numbers for a spherical joint, one for all others.
        u: the place of its rate in u: three numbers for a spherical joint, one for all others.
    """

    joint: int
    number: int
    primitive: Primitive
    y: slice
    u: slice


@dataclass(frozen=True, eq=False)
class Mechanism(RateStructure):
    """The analysis of a robot: which rates follow from which, and how positions are found.

    Attributes:
        legs: how each leg is solved.
        assembly: its closed configuration in the reference pose.
        mobility: its mobility.
    """

    legs: tuple[LegAnalysis, ...]
    assembly: Assembly
    mobility: Mobility

    @cached_property
    def chart(self) -> Chart:
        """How x places the platform."""
        return Chart(self.robot)

    @property
    def layout(self) -> ReducedLayout:
        """Places of the coordinates in x and v."""
        return layout_of(self.robot.motion)

    @cached_property
    def iterated_legs(self) -> tuple[int, ...]:
        """Legs that are solved numerically."""
        return tuple(k for k, plan in enumerate(self.legs) if plan.closed_form is None)

    @cached_property
    def iterated_joints(self) -> tuple[int, ...]:
        """Tree joints whose coordinates are solved numerically."""
        legs = [j for k in self.iterated_legs for j in self.robot.legs[k].joints]
        return tuple(j for j in (*self.dependent_joints, *legs) if j not in self.followers.joints)

    @cached_property
    def iterated_axes(self) -> tuple[IteratedAxis, ...]:
        """Axes of these joints, in the order of y."""
        axes, y = [], self.dependent_count
        for j in self.iterated_joints:
            u = self.robot.platform_nv + self.robot.v_slices[j].start
            for number, primitive in enumerate(self.robot.joints[j].primitives):
                slices = slice(y, y + primitive.nq), slice(u, u + primitive.nv)
                axes.append(IteratedAxis(j, number, primitive, *slices))
                y, u = y + primitive.nq, u + primitive.nv
        return tuple(axes)

    @cached_property
    def centred_angles(self) -> tuple[tuple[int, float], ...]:
        """Places in y of angles that a single pose has within half a turn of centres, and these, rad.

        Turns of coupled joints follow from the couplings.
        """
        joints, coupled = self.robot.joints_within_drive_limits, self.robot.coupled_joints
        angles = [
            (axis.y.start, (axis.joint, axis.number))
            for axis in self.iterated_axes
            if axis.primitive.is_rotation and axis.primitive.nq == 1 and axis.joint not in coupled
        ]
        angles += enumerate(self.counted, start=self.iterated_count)
        return tuple((index, joints[j].centre(k)) for index, (j, k) in angles)

    @cached_property
    def iterated_rows(self) -> tuple[int, ...]:
        """Closure equations that iteration solves: of the platform's own loops, then of these legs."""
        return (*self.platform_rows, *(row for k in self.iterated_legs for row in self.legs[k].rows))

    @cached_property
    def followers(self) -> CoupledFollowers:
        """Joints whose coordinates follow from others by couplings."""
        return coupled_followers(self.robot)

    @cached_property
    def axes_with_coordinates(self) -> frozenset[tuple[int, int]]:
        """Axes (joint, number) whose coordinates x and y give, or that follow: angles have their turns."""
        axes = [
            (j, k) for j in self._joints_with_coordinates for k in range(len(self.robot.joints[j].primitives))
        ]
        return frozenset([*axes, *self.counted])

    @property
    def _joints_with_coordinates(self) -> set[int]:
        coordinates = map(self.robot.joint, self.robot.motion.joint_names)
        return {*coordinates, *self.iterated_joints, *self.followers.joints}

    @cached_property
    def counted(self) -> tuple[tuple[int, int], ...]:
        """Axes (joint, number) whose angles, with their turns, are the last entries of y (`counting`)."""
        return tuple(
            (j, number)
            for j, joint in enumerate(self.robot.joints_within_drive_limits)
            for number in range(len(joint.primitives))
            if self.robot.counts_turns
            and j not in self._joints_with_coordinates
            and joint.counts_turns(number)
        )

    @property
    def dependent_count(self) -> int:
        """How many dependent numbers of the platform's pose are solved numerically."""
        return self.chart.dependent if self.parasitic else 0

    @property
    def unknown_count(self) -> int:
        """Number of unknowns y: dependent numbers of the pose, joints, and angles that count turns."""
        return self.iterated_count + len(self.counted)

    @property
    def iterated_count(self) -> int:
        """How many of the unknowns y are solved numerically: all but the angles that count turns."""
        return self.dependent_count + sum(self.robot.joints[j].nq for j in self.iterated_joints)

    @cached_property
    def reference(self) -> tuple[Array, Array]:
        """The reference pose as (x, y)."""
        return self.coordinates(self.assembly.platform, self.assembly.q_tree)

    def coordinates(self, platform: Pose, q: Array) -> tuple[Array, Array]:
        """(x, y) (..., nx), (..., ny) of poses of the platform and coordinates of the tree (..., nq)."""
        x, r = self.chart.coordinates(platform)
        for name in self.robot.motion.joint_names:
            index = self.robot.q_slices[self.robot.joint(name)].start
            x[..., self.layout.x_index(name)] = q[..., index]
        return x, self.unknowns(r, q)

    def unknowns(self, r: Array, q: Array) -> Array:
        """Collect y (..., ny) from the dependent numbers r of poses and the tree's coordinates (..., nq).

        Angles that count turns start at the centres about which they are read (`Joint.centre`).
        """
        parts = [r] if self.parasitic else []
        parts += [q[..., self.robot.q_slices[j]] for j in self.iterated_joints]
        centres = np.array(
            [self.robot.joints_within_drive_limits[j].centre(number) for j, number in self.counted]
        )
        parts.append(np.broadcast_to(centres, (*q.shape[:-1], len(self.counted))))
        return np.concatenate(parts, axis=-1)

    @cached_property
    def scales(self) -> tuple[Array, Array]:
        """Scales of closure equations (rows,) and rates (rates,) at which all of them count alike.

        Those of lengths and angles; for joints that couplings make fast, as much more (`coupled`).
        """
        robot, rates = self.robot, rate_scale(self.robot)
        if not robot.couplings:
            return self.row_scale, rates
        J = self.assembly.closures.jacobian / self.row_scale[:, None] * rates
        fast = rate_amplification(J, self.independent)
        return self.row_scale * np.maximum(1.0, np.max(np.abs(J) * fast, axis=1)), rates * fast

    @property
    def has_closed_form(self) -> bool:
        """Whether everything follows from x without iteration."""
        return self.iterated_count == 0


def mechanism_of(robot: Robot) -> Mechanism:
    """The analysis of a robot, found once.

    Raises:
        AssemblyError: if its loops do not close in the reference pose.
        KinematicsError: if its motion does not fit, or leaves joints undetermined.
    """
    numeric = robot.numeric
    # Robots that differ in their names alone are equal, but are not to get each other's.
    return _mechanism(numeric, numeric.all_names)


def with_turn_counting(robot: Robot) -> Robot:
    """The robot as it is along a motion: angles that are neither in x nor in y count their turns.

    A spring, an end stop or limits more than a turn apart depend on the turns of such an angle, which a pose
    alone does not tell. Each is a further entry of y: near it, within half a turn, the angle is read. A
    simulation integrates it, a path takes it from one pose to the next. A robot without them stays itself.
    """
    if robot.counts_turns or not any(
        joint.counts_turns(number)
        for joint in robot.joints_within_drive_limits
        for number in range(len(joint.primitives))
    ):
        return robot
    counted = dataclasses.replace(robot, counts_turns=True)
    return counted if mechanism_of(counted).counted else robot


@lru_cache(maxsize=64)
def _mechanism(robot: Robot, names: tuple[str, ...]) -> Mechanism:
    del names  # only tells robots apart
    with np.errstate(all="ignore"):
        assembly = require_assembly(robot)
        moves = mobility(robot, assembly)
        if not moves.fits:
            raise KinematicsError(
                f"the motion {robot.motion.name} of {robot.name} does not fit: it has {robot.motion.n} "
                f"coordinates, {moves.describe_motion()}"
            )
        return _analyse_mechanism(robot, assembly, moves)


def _analyse_mechanism(robot: Robot, assembly: Assembly, moves: Mobility) -> Mechanism:
    scale = row_scale(robot)
    poses = [(assembly.motion, assembly.closures), *generic_poses(robot, assembly)]
    J = np.stack([state.jacobian / scale[:, None] for _, state in poses])
    zero = 1e-11 + 64.0 * robot.coordinate_rounding

    names = robot.motion.joint_names
    dependent = joint_rate_indices(
        robot, tuple(j for j in robot.platform.joints if robot.joints[j].name not in names)
    )
    coupled = [axis for axis in moves.coupled if axis not in robot.motion.coordinates]
    platform_closures = tuple(c for c in robot.platform.closures if not robot.joints[c].at_point)
    all_own = assembly.closures.rows_of(robot, platform_closures)
    # Joints of the platform that its own loops do not determine are left to the legs.
    own_spins = [spin for spin in moves.internal_freedoms if spin.body in robot.platform.bodies]
    rows_of_spins = [(spin, internal_freedom_row(poses[-1][0], spin)[list(dependent)]) for spin in own_spins]
    platform_spins, held = select_internal_freedoms(J[-1][all_own][:, list(dependent)], rows_of_spins)
    loose = len(dependent) > 0 and rank_of(held) < len(dependent)
    parasitic = bool(coupled) or loose
    # Rates of the platform that are always zero do not count: equations across the plane of a planar
    # leg have nothing else.
    is_moved = np.ones(J.shape[2], dtype=bool)
    if not parasitic:
        is_moved[: robot.platform_nv] = False
        is_moved[list(robot.motion.twist_axes)] = True
    used = np.max(np.abs(J[:, :, is_moved]), axis=(0, 2), initial=0.0) > zero

    def rows_of(closures: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(k for k in assembly.closures.rows_of(robot, closures) if used[k])

    platform_rows = rows_of(platform_closures)
    legs = []
    for leg in robot.legs:
        rates = joint_rate_indices(robot, leg.joints)
        rows = rows_of(leg.closures)
        spins = _leg_internal_freedoms(robot, leg, moves, J[-1][list(rows)][:, list(rates)], assembly)
        geared = any(robot.joints[c].is_coupling for c in leg.closures)
        closed_form = None if parasitic or geared else _closed_form_on_branch(robot, leg, assembly)
        # Rates that few equations feel are eliminated first, which keeps the others sparse.
        excited = np.count_nonzero(np.max(np.abs(J[:, list(rows)][:, :, list(rates)]), axis=0) > zero, axis=0)
        rates = tuple(rates[k] for k in np.argsort(excited, kind="stable"))
        legs.append(LegAnalysis(rates, rows, spins, closed_form))
    return Mechanism(
        robot, tuple(legs), parasitic, platform_rows, tuple(platform_spins), scale, assembly, moves
    )


def _leg_internal_freedoms(
    robot: Robot, leg: Leg, moves: Mobility, M: Array, assembly: Assembly
) -> tuple[InternalFreedom, ...]:
    """Idle spins of a leg's bodies, as many as its closures leave rates undetermined."""
    rates = list(joint_rate_indices(robot, leg.joints))
    spins = [spin for spin in moves.internal_freedoms if spin.body in leg.bodies]
    chosen, held = select_internal_freedoms(
        M, ((spin, internal_freedom_row(assembly.motion, spin)[rates]) for spin in spins)
    )
    if rank_of(held) < M.shape[1]:
        raise KinematicsError(
            f"the motion of the platform of {robot.name} does not determine the joints of leg {leg.name!r}: "
            f"{', '.join(moves.internal_motions) or 'its joints'} can move while the platform rests; "
            "lock a joint, or make one active"
        )
    return tuple(chosen)


def _closed_form_on_branch(robot: Robot, leg: Leg, assembly: Assembly) -> ClosedFormSolution | None:
    """The closed form of a leg on the branch of the reference, if it has one."""
    poses = dict(enumerate(assembly.motion.poses))
    for closed_form in closed_form_solutions(robot, leg, assembly.q_tree):
        error = 0.0
        for j, steps in solve_leg(robot, leg, closed_form, poses).steps.items():
            references = joint_transforms(robot.joints[j], assembly.q_tree[robot.q_slices[j]])
            for step, reference in zip(steps, references, strict=True):
                if isinstance(step, CosineSine):
                    error = max(error, abs(step.c - reference.c), abs(step.s - reference.s))
                elif not np.ndim(step):
                    # Spherical joints are aimed from their references.
                    error = max(error, abs(float(step) - reference) / robot.size)
        if error < _SAME_BRANCH:
            return closed_form
    return None
