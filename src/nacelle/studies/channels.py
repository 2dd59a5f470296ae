"""What a study needs of states: all variants at all states, by one program for the structure.

A variant is a robot of one structure with its own numbers p (k,), `robot.numbers`; a state is a pose x with
twist v and acceleration a, the same for all variants. With N variants and S states

    prepared = prologue(p)                      once for a variant
    y        = Newton(x, prepared)              where legs have no closed form
    channels = body(prepared, x, y, v, a)       (N, S, ...), part by part of the states

so that what is kept is what quantities make of the parts (`nacelle.studies.quantities`). Legs that are solved
by iteration start from the solution of the nominal robot at the same state, and where that fails from its
continuation in the numbers, p(t) = p_0 + t (p - p_0).

Every state of every variant has flags (`nacelle.Flag`). States where fixed pivots lose digits are evaluated
again by the tree, with numbers as inputs like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.compile import BatchNewton, Compiled, Parametric, compile_function
from nacelle.dynamics import model_functions, reference
from nacelle.dynamics.evaluation import parallel_margin
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.reactions import reaction_terms
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.branch import branch_of, pose_units, unknown_units
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.flags import Flag, fold_columns, has_failed
from nacelle.kinematics.jacobian import MEASURED_MATRICES
from nacelle.kinematics.limits import (
    BatchLimits,
    closure_coordinates,
    has_limit,
    is_beyond_actuator_limits,
    is_beyond_limits,
)
from nacelle.kinematics.margins import NEAR_MARGIN, SINGULAR_MARGIN, TRUSTED_MARGIN, margin_flags
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import pose_sampler
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.shapes import pose_shape, twist_shape, unknowns_shape
from nacelle.kinematics.solve.continuation import closed_tolerance
from nacelle.kinematics.solve.ill_conditioned import ILL_CONDITIONED_PIVOT
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.spatial.physics import draw_inputs_with, physics, with_conventions
from nacelle.spatial.scalar import Array, Scalar, pack, sign

MARGINS, BRANCH, Q, TREE, LOOPS = "margins", "branch", "q", "q_tree", "loops"
FORCE, RATE, JACOBIAN, CLOSURES, REACTIONS, MASS = "force", "rate", "J", "closures", "reactions", "mass"
TANGENT = "tangent"
"""Channels: what a quantity may need at states; forces come with a pivot."""

# Rows (variants times states) that are evaluated at a time, and numbers that they may hold.
_ROWS, _NUMBERS = 65536, 1 << 22
# Newton's iteration: steps, the longest one (rad, robot sizes), parts of the way of a continuation.
_STEPS, _LONGEST, _PARTS = 20, 0.25, 8


@with_conventions
@draw_inputs_with(input_samples)
@physics(x=pose_shape, y=unknowns_shape, v=twist_shape, a=twist_shape)
def channels_at(
    robot: Robot,
    x: Array,
    y: Array,
    v: Array,
    a: Array,
    *,
    channels: str,
    physics: Physics,
    by_tree: bool = False,
) -> dict[str, Array]:
    """What is asked for at a state, by name: see the constants of this module; always the margins.

    Args:
        robot: the robot.
        x: reduced pose (nx,).
        y: passive coordinates, solved numerically (ny,).
        v: reduced twist (n,).
        a: its derivative (n,).
        channels: names of what is asked for.
        physics: what forces include.
        by_tree: whether forces and margins come from solves that choose their pivots.
    """
    names = channels.split()
    result: dict[str, Array] = {}
    if FORCE in names or REACTIONS in names:
        if by_tree:
            inverse = reference.inverse(robot, x, y, v, a, np.zeros(robot.motion.n), physics=physics)
            result = {"force": inverse["force"], "parallel": inverse["parallel_margin"]}
        else:
            outputs = "force pivot margins"
            result = dict(model_functions.inverse(robot, x, y, v, a, outputs=outputs, physics=physics))
    if by_tree or "margins" not in result:
        margins = kinematic_model.dense_margins if by_tree else kinematic_model.actuator_positions
        result["margins"] = margins(robot, x, y)["margins"]
    if BRANCH in names:
        # Their sizes follow from the sample of the numbers, their signs do not.
        result["branch"] = pack(
            [sign(value) for value in kinematic_model.branch_signs(robot, x, y)["branch"]]
        )
    if RATE in names:
        motion = kinematic_model.joint_motions(robot, x, y, v, a)
        result |= {"q": motion["active"], "rate": motion["active_rate"]}
    if JACOBIAN in names:
        result["J"] = kinematic_model.inverse_jacobian(robot, x, y)["J"]
    if TREE in names:
        q_tree = kinematic_model.joint_positions(robot, x, y)["q"]
        result |= {f"q_{j}": q_tree[robot.q_slices[j]] for j in limited_tree_joints(robot.numeric)}
    if Q in names and "q" not in result:
        result["q"] = kinematic_model.actuator_positions(robot, x, y)["q"]
    if LOOPS in names:
        result |= _closure_poses(robot, x, y)
    if CLOSURES in names:
        equations = kinematic_model.closure_equations(robot, x, y)
        result |= {f"closures_{name}": equations[name] for name in MEASURED_MATRICES}
    if REACTIONS in names:
        none = np.zeros((len(robot.bodies), 6))
        terms = reaction_terms(robot, none, x, y, v, a, result["force"], physics=physics)
        result |= {f"reactions_{name}": value for name, value in terms.items()}
    if TANGENT in names:
        result["tangent"] = kinematic_model.pose_tangent(robot, x, y)["x"]
    if MASS in names:
        result["mass"] = moving_mass(robot)
    return result


def moving_mass(robot: Robot) -> Array:
    """The mass of all bodies but the base, and of what they carry (1,), kg."""
    total: Scalar = 0.0
    for inertia in (*(b.inertia for b in robot.bodies[1:]), *(load.inertia for load in robot.payload)):
        total = total + inertia[0]
    return pack([total])


def _closure_poses(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Poses of the second frames of closures with limits in their first ones."""
    poses = configuration(robot, x, y).motion.poses
    result: dict[str, Array] = {}
    for j in limited_closures(robot.numeric):
        joint = robot.joints[j]
        first = poses[joint.predecessor] @ joint.frame_predecessor
        second = poses[joint.successor] @ joint.frame_successor
        result |= {f"R_{j}": first.R.T @ second.R, f"p_{j}": first.R.T @ (second.p - first.p)}
    return result


def limited_tree_joints(robot: Robot) -> list[int]:
    """Joints of the tree whose coordinates have limits."""
    return [j for j, joint in enumerate(robot.tree_joints) if has_limit(joint)]


def limited_closures(robot: Robot) -> list[int]:
    """Closures whose coordinates have limits."""
    return [
        j
        for j, joint in enumerate(robot.joints)
        if j >= robot.tree and has_limit(joint) and joint.kind.value != "point"
    ]


@dataclass(frozen=True, eq=False)
class States:
    """States that all variants are evaluated at.

    Attributes:
        x: reduced poses (S, nx), or of each variant its own (N, S, nx).
        v: reduced twists (S, n).
        a: their derivatives (S, n).
        y: passive coordinates (S, ny) that iterations start from: those of the nominal robot there, and where
            it does not reach those of the nearest pose where it does.
        reached: whether the nominal robot reaches each pose (S,).
    """

    x: Array
    v: Array
    a: Array
    y: Array
    reached: Array

    @staticmethod
    def of(robot: Robot, x: Array, v: Array | None = None, a: Array | None = None) -> States:
        """States of the nominal robot at poses (S, nx), at rest if there are no twists."""
        rest = np.zeros((len(x), robot.motion.n))
        y = inverse_kinematics(robot, x, limits=False).y
        reached = np.all(np.isfinite(y), axis=1)
        if np.any(reached) and not np.all(reached):
            from scipy.spatial import cKDTree

            units = pose_units(mechanism_of(robot))
            y[~reached] = y[reached][cKDTree(x[reached] / units).query(x[~reached] / units)[1]]
        return States(x, rest if v is None else v, rest if a is None else a, y, reached)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.v)


@dataclass(frozen=True, eq=False)
class Part:
    """What is known of all variants at some of the states.

    Attributes:
        states: which of them.
        flags: of every variant and state (N, S), sums of `nacelle.Flag`.
        failed: where there is nothing to know (N, S).
        values: channels by name, (N, S, ...); anything where it has failed.
    """

    states: slice
    flags: Array
    failed: Array
    values: dict[str, Array]


class ChannelProgram:
    """Channels of all variants of a robot, compiled once for its structure.

    Args:
        robot: the nominal robot.
        groups: groups of its numbers that variants have their own of.
        channels: names of what is asked for.
        physics: what forces include.
        limits: whether limits of joints and actuators are checked.
        limits_at: limits of variants from their numbers (N, k); None if they are the nominal robot's.
    """

    def __init__(
        self,
        robot: Robot,
        groups: tuple[str, ...],
        channels: frozenset[str],
        *,
        physics: Physics,
        limits: bool = True,
        limits_at: Callable[[Array], BatchLimits | None] | None = None,
    ) -> None:
        self.robot, self.groups, self.mechanism = robot, groups, mechanism_of(robot)
        self._count, self._limits_at = len(robot.numbers.names(*groups)), limits_at
        names = set(channels) | {MARGINS}
        self._limits = limits
        if limits:
            names |= {Q} | ({TREE} if limited_tree_joints(robot) else set())
            names |= {LOOPS} if limited_closures(robot) else set()
        if not self.mechanism.has_closed_form and branch_of(robot).size:
            names |= {BRANCH}
        self._options = {"channels": " ".join(sorted(names)), "physics": physics}
        self.program = self._compile()
        self._newton = None
        if self.mechanism.unknown_count:
            sampler = pose_sampler(loop_closing_step)
            self._newton = BatchNewton(loop_closing_step, robot, groups, sampler)

    def _compile(self, **options: Any) -> Parametric:
        options = {**self._options, **options}
        compiled = compile_function(channels_at, self.robot, parameters=self.groups, options=options)
        assert isinstance(compiled, Parametric)
        return compiled

    @cached_property
    def _by_tree(self) -> Parametric:
        return self._compile(by_tree=True)

    @cached_property
    def _row_size(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.program.outputs.values())

    def parts(self, numbers: Array, states: States) -> Iterator[Part]:
        """Evaluate variants, numbers (N, k) with those of the groups first, at all states, part by part."""
        count = len(numbers)
        rows = max(1, min(_ROWS, _NUMBERS // max(1, self._row_size)))
        step = max(1, rows // max(1, count))
        variants = _Variants(self, numbers)
        for start in range(0, len(states), step):
            part = slice(start, min(start + step, len(states)))
            yield self._part(variants, states, part)

    def _part(self, variants: _Variants, states: States, part: slice) -> Part:
        x, v, a = (array[..., part, :] for array in (states.x, states.v, states.a))
        length = len(v)
        closed_loops = None
        if self._newton is None:
            y = np.zeros((length, self.mechanism.unknown_count))
        else:
            y, closed_loops = variants.solve(x, states.y[part], states.reached[part])
        if length == 1:
            rows = [array[..., 0, :] for array in (x, y, v, a)]
            outputs = self.program.body(variants.prepared, *rows, threads=1)
            values = {name: array[:, None] for name, array in _by_name(self.program, outputs).items()}
        else:
            outputs = self.program.body(variants.prepared[:, None], x, y, v, a, threads=1)
            values = dict(_by_name(self.program, outputs))
        return self._flag_part(variants, (x, y, v, a), part, values, closed_loops)

    def _flag_part(
        self,
        variants: _Variants,
        inputs: tuple[Array, ...],
        part: slice,
        values: dict[str, Any],
        closed_loops: Array | None,
    ) -> Part:
        self._reevaluate(variants, inputs, values, closed_loops)
        margins = values["margins"]
        shape = margins.shape[:-1]
        flags = np.zeros(shape, dtype=np.int64)
        if closed_loops is not None:
            flags[~closed_loops] = int(Flag.UNREACHABLE)
        flags |= margin_flags(margins, flags)
        if "pivot" in values:
            figure = parallel_margin(values["pivot"])
            near = np.where(figure < NEAR_MARGIN, int(Flag.NEAR_SINGULAR), 0)
            singular = np.where(figure >= SINGULAR_MARGIN, near, int(Flag.SINGULAR))
            flags |= np.where(has_failed(flags), 0, singular)
        for name, value in values.items():
            if name in ("margins", "pivot", "branch"):
                continue
            finite = fold_columns(np.logical_and, np.isfinite(value).reshape(*shape, -1), True)
            # Near a singularity, too, numbers that are not finite are a failure.
            flags[~(finite | has_failed(flags))] |= int(Flag.SINGULAR)
        failed = has_failed(flags)
        if "branch" in values:
            flags = flags | np.where(
                ~failed & fold_columns(np.logical_or, values["branch"] < 0.0, False),
                int(Flag.OTHER_BRANCH),
                0,
            )
        if self._limits:
            beyond = self._beyond(values, variants.limits)
            flags = flags | np.where(beyond & ~failed, int(Flag.OUT_OF_LIMITS), 0)
        if variants.limits is not None:
            values["force limit"] = variants.limits.force[:, None]
            values["speed limit"] = variants.limits.speed[:, None]
        return Part(part, flags, failed, values)

    def _reevaluate(
        self,
        variants: _Variants,
        inputs: tuple[Array, ...],
        values: dict[str, Any],
        closed_loops: Array | None,
    ) -> None:
        """States where fixed pivots or margins are weak, by the tree."""
        margins = values["margins"]
        iterated = [*self.mechanism.iterated_legs, *range(len(self.mechanism.legs), margins.shape[-1])]
        closed = [k for k in range(margins.shape[-1]) if k not in iterated]
        with np.errstate(invalid="ignore"):
            trusted = margins[..., iterated] >= TRUSTED_MARGIN
            ill_conditioned = ~fold_columns(np.logical_and, trusted, True)
            if "pivot" in values:
                ill_conditioned |= ~(values["pivot"] >= ILL_CONDITIONED_PIVOT)
            ill_conditioned &= fold_columns(np.logical_and, margins[..., closed] >= 0.0, True)
        if closed_loops is not None:
            ill_conditioned &= closed_loops
        if not np.any(ill_conditioned):
            return
        k = np.nonzero(ill_conditioned)[0]
        rows = [
            np.broadcast_to(array, (*margins.shape[:-1], array.shape[-1]))[ill_conditioned]
            for array in inputs
        ]
        again = _by_name(self._by_tree, self._by_tree(variants.numbers[k], *rows))
        if "parallel" in again:
            again["pivot"] = np.sqrt(again.pop("parallel"))
        for name, value in again.items():
            values[name] = np.array(values[name])
            values[name][ill_conditioned] = value

    def _beyond(self, values: dict[str, Array], limits: BatchLimits | None) -> Array:
        robot = self.robot
        coordinates = {j: values[f"q_{j}"] for j in limited_tree_joints(robot)}
        for j in limited_closures(robot):
            joint = robot.joints_within_drive_limits[j]
            coordinates[j] = closure_coordinates(joint, values[f"R_{j}"], values[f"p_{j}"])
        with np.errstate(invalid="ignore"):
            if limits is not None:
                return limits.are_exceeded(values["q"], coordinates)
            beyond = is_beyond_actuator_limits(robot, values["q"])
            for j, q in coordinates.items():
                beyond |= is_beyond_limits(robot.joints[j], q)
        return beyond


def _by_name(program: Compiled, outputs: Any) -> dict[str, Array]:
    """Results by name, also where there is only one."""
    return outputs if isinstance(outputs, dict) else {next(iter(program.outputs)): outputs}


class _Variants:
    """The numbers of variants, prepared for the programs.

    Attributes:
        numbers: of the groups (N, k).
        limits: their own; None if they are the nominal robot's.
        prepared: what the program of the channels needs of them (N, p).
        count: how many there are.
    """

    def __init__(self, of: ChannelProgram, numbers: Any) -> None:
        self._of, self.numbers, self.count = of, numbers[:, : of._count], len(numbers)
        self.limits = None if of._limits_at is None else of._limits_at(numbers)
        self.prepared = of.program.prologue(self.numbers)
        newton = of._newton
        self._newton = newton
        self._prepared = None if newton is None else newton.prologue(self.numbers)

    def solve(self, x: Array, nominal: Array, reached: Array) -> tuple[Array, Array]:
        """Passive coordinates y (N, S, ny) at poses (S, nx), and where they were found (N, S).

        Args:
            x: poses, or of each variant its own (N, S, nx).
            nominal: where the iteration starts (S, ny).
            reached: whether that is the solution of the nominal robot (S,).
        """
        of, newton = self._of, self._newton
        assert newton is not None
        assert self._prepared is not None
        count, (length, size) = self.count, nominal.shape
        rows = {
            "x": np.broadcast_to(x, (count, length, x.shape[-1])).reshape(-1, x.shape[-1]),
            "prepared": np.repeat(self._prepared, length, axis=0),
        }
        start = np.broadcast_to(nominal, (count, length, size)).reshape(-1, size)
        rules = {
            "tolerance": closed_tolerance(of.robot),
            "max_iterations": _STEPS,
            "max_step": _LONGEST * unknown_units(of.mechanism),
            "polish": True,
        }
        solution = newton.solve(start, rows["x"], rows["prepared"], **rules)
        y, good = solution.y.copy(), solution.status == 0
        left = np.flatnonzero(~good & np.tile(reached, count))
        if left.size:
            base = of.robot.numbers.vector(*of.groups)
            numbers, near = self.numbers[left // length], start[left]
            for k in range(1, _PARTS + 1):
                t = k / _PARTS
                prepared = newton.prologue((1.0 - t) * base + t * numbers)
                step = newton.solve(near, rows["x"][left], prepared, **rules)
                kept = step.status == 0
                left, near, numbers = left[kept], step.y[kept], numbers[kept]
            y[left], good[left] = near, True
        y[~good] = np.nan
        return y.reshape(count, length, size), good.reshape(count, length)
