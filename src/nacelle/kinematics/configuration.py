"""A robot at one reduced pose, by the tree: all positions, and all rates from the reduced twist.

A configuration: everything about position at one reduced pose, over any scalar.

    x (nx,) -> pose (R, p) of the platform        by the chart of the robot's motion
            -> joints of the nacelle              entries of x, or found by iteration in y
            -> each leg on its own                q_i from the pose of its end, W = X_0 M_1(q_1) X_1 ...
            -> all bodies                         T_child = T_parent X_pre M(q) X_suc^-1

Legs with a closed form follow from x; what needs iteration arrives as y (ny,)
(`nacelle.kinematics.mechanism.mechanism`), which is empty for most robots. Poses in the base, m and rad.

All rates from the reduced twist: after positions everything is linear.

    u = U(x) v,    du/dt = U dv/dt + bias(x, v)

u are the rates of the tree, w those of the nacelle among them (`Mechanism`). Each leg l satisfies
M_l u_l + N_l w = 0 (its closures) and idle spins are zero; the dependent entries of w satisfy what the legs
and the nacelle's own loops leave over. Split w = G g + D z into given numbers g and dependent ones z:

    u_l = -M_l^+ N_l (G g + D z),     (1 - M_l M_l^+) N_l (G g + D z) = 0 over all l gives z

The same elimination gives the bias of the accelerations (right-hand side: second derivatives at constant
rates) and the steps of Newton's iteration (right-hand side: what is left open).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.solution import solve_leg
from nacelle.kinematics.mechanism.mechanism import LegPlan, Mechanism, mechanism_of
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array, Scalar, atan2, dot, floor, pack, product, sparse_product
from nacelle.spatial.solve import least_squares, solve
from nacelle.tree.closure import ClosureState, closure_bias, closure_state, closure_step
from nacelle.tree.spanning_tree import (
    TURN,
    CosSin,
    Step,
    TreeMotion,
    TreeVelocity,
    joint_steps,
    motion_of_steps,
    number_tree,
    read_step,
    step_motion,
    tree_axes,
    tree_velocity,
)


@dataclass(frozen=True)
class Configuration:
    """A robot at one pose, with all its positions.

    Attributes:
        robot: the robot; its numbers may be symbols.
        steps: of all primitives of the tree.
        motion: poses of all bodies and the twists of all rates.
        root_margins: margins of the roots of each leg (`subproblem`), legs in order.
        angles: of revolute joints that iteration finds, by joint: there a constant angle can be added to the
            angle itself.
        coordinates: of axes (joint, number) whose coordinates are known themselves, rad or m: entries of x
            and y, and what follows from them by couplings; their angles count turns.
    """

    robot: Robot
    steps: tuple[Step, ...]
    motion: TreeMotion
    root_margins: tuple[tuple[Scalar, ...], ...]
    angles: Mapping[int, Scalar] = field(default_factory=dict)
    coordinates: Mapping[tuple[int, int], Scalar] = field(default_factory=dict)

    @property
    def mechanism(self) -> Mechanism:
        """The robot's analysis."""
        return mechanism_of(self.robot)

    @property
    def q(self) -> Array:
        """Coordinates of the tree (nq,): rad, m, quat_xyzw; angles as `coordinate` says."""
        entries: list[Scalar] = []
        for (j, number), step in zip(tree_axes(self.robot), self.steps, strict=True):
            if self.robot.joints[j].primitives[number] is Primitive.SPHERICAL:
                entries += list(step)
            else:
                entries.append(self.coordinate(j, number))
        return pack(entries)

    def coordinate(self, joint: int, number: int) -> Scalar:
        """Coordinate (rad or m) of an axis of a joint, in the tree or a closure.

        An angle counts its turns where it is an entry of x or y, or follows from them; any other is the one
        nearest to `Joint.centre`, so within the joint's limits if it can be.
        """
        if (joint, number) in self.coordinates:
            return self.coordinates[joint, number]
        return read_step(self.step(joint, number), self.robot.numeric.narrowed_joints[joint], number)

    def step(self, joint: int, number: int) -> Step:
        """Where an axis of a joint is, in the tree or a closure."""
        if joint >= self.robot.tree:
            return closure_step(self.robot.joints[joint], self.motion, number)
        start = sum(len(other.primitives) for other in self.robot.tree_joints[:joint])
        return self.steps[start + number]


def configuration(robot: Robot, x: Array, y: Array) -> Configuration:
    """Place all bodies.

    Args:
        robot: the robot; its numbers may be symbols.
        x: reduced pose (nx,).
        y: what was found by iteration (ny,).
    """
    mechanism = mechanism_of(robot)
    platform = mechanism.chart.pose(x, y[: mechanism.chart_size] if mechanism.parasitic else None)
    steps: dict[int, list[Step]] = {}
    angles: dict[int, Scalar] = {}
    given: dict[int, Scalar] = {}
    known: dict[tuple[int, int], Scalar] = {}
    for name in robot.motion.joint_names:
        j = robot.joint(name)
        place = mechanism.layout.x_index(name)
        steps[j], given[j] = joint_steps(robot.joints[j], x[place : place + 1]), x[place]
    start = mechanism.chart_size
    for j in mechanism.iterated_joints:
        joint = robot.joints[j]
        steps[j] = joint_steps(joint, y[start : start + joint.nq])
        if joint.nq == 1:
            given[j] = y[start]
        if joint.kind is JointKind.REVOLUTE:
            angles[j] = y[start]
        for number, primitive in enumerate(joint.primitives):
            if primitive is not Primitive.SPHERICAL:
                known[j, number] = y[start]
            start += primitive.nq
    for j, value in mechanism.followers.coordinates(given).items():
        steps[j], given[j] = joint_steps(robot.joints[j], pack([value])), value
    poses: dict[int, Pose] = {BASE: identity(), PLATFORM: platform}
    for j in robot.nacelle.joints:
        joint = robot.joints[j]
        pose = poses[joint.predecessor] @ joint.frame_predecessor
        for primitive, step in zip(joint.primitives, steps[j], strict=True):
            pose = pose @ step_motion(primitive, step)
        poses[joint.successor] = pose @ joint.frame_successor.inverse()
    root_margins: list[tuple[Scalar, ...]] = []
    for leg, plan in zip(robot.legs, mechanism.legs, strict=True):
        if plan.recipe is None:
            root_margins.append(())
            continue
        solution = solve_leg(robot, leg, plan.recipe, poses)
        steps |= solution.steps
        root_margins.append(tuple(solution.root_margins))
    listed = tuple(step for j in range(robot.tree) for step in steps[j])
    make = number_tree(robot).at_steps if robot.numeric is robot else partial(motion_of_steps, robot)
    motion = make(platform, listed)
    if robot.couplings:
        motion = replace(motion, coordinates={j: given[j] for j in robot.coupled_joints})
    known |= {(j, 0): value for j, value in given.items()}
    now = Configuration(robot, listed, motion, tuple(root_margins), angles, known)
    for place, axis in enumerate(mechanism.counted, start=start):
        known[axis] = _counted(now.step(*axis), y[place])
    return now


def _counted(step: CosSin, near: Scalar) -> Scalar:
    """Angle (rad) of a step with its turns: of those that differ by whole turns the nearest to an angle."""
    q = atan2(step.s, step.c)
    return q + TURN * floor((near - q) * (1.0 / TURN) + 0.5)


# ---- all rates from the reduced twist: after positions everything is linear


@dataclass(frozen=True)
class ClosureEquations:
    """The closure equations of a robot at a configuration.

    Attributes:
        mechanism: the analysis of the robot.
        closures: residual and Jacobian of all closures.
        rows: for each leg, then for the nacelle, further rows over all rates that are zero: idle spins.
    """

    mechanism: Mechanism
    closures: ClosureState
    rows: tuple[tuple[Array, ...], ...]


def rate_equations(robot: Robot, motion: TreeMotion) -> ClosureEquations:
    """Closure equations, and rows that set idle spins to zero: axis . w_body = 0."""
    mechanism = mechanism_of(robot)
    rows = tuple(
        tuple(
            product(motion.jacobian(spin.body)[3:].T, product(motion.poses[spin.body].R, np.array(spin.axis)))
            for spin in spins
        )
        for spins in mechanism.spins
    )
    return ClosureEquations(mechanism, closure_state(robot, motion), rows)


class Response(NamedTuple):
    """What the closure equations say.

    Attributes:
        u: (rates, n) or, with a right-hand side, (rates, n + 1): the rates for unit values of the given
            numbers, and the part that belongs to the right-hand side in the last column.
        dependent: the same for the d unknown numbers.
    """

    u: Array
    dependent: Array


def respond(
    system: ClosureEquations,
    given: Array,
    dependent: Array,
    *,
    right: Array | None = None,
    rows_right: tuple[tuple[Scalar, ...], ...] | None = None,
    frozen: frozenset[int] = frozenset(),
    legs: Sequence[int] | None = None,
    hold: bool = False,
) -> Response:
    """Solve all closure equations J u + right = 0 for the rates.

    Args:
        system: the equations of the robot.
        given: (nw, n): the nacelle's rates w for unit values of n given numbers.
        dependent: (nw, d): w for unit values of d unknown ones.
        right: one number a closure equation; none if None.
        rows_right: the same for the further rows of each leg, then of the nacelle.
        frozen: rates of legs that are zero.
        hold: whether actuators are held, so that the legs decide all dependent numbers.
        legs: the legs to solve; all of them if None. The rates of the others stay zero.
    """
    mechanism, J = system.mechanism, system.closures.jacobian
    scale = mechanism.row_scale
    w = list(mechanism.w_rates)
    n, d = given.shape[1], dependent.shape[1]
    extra = 0 if right is None else 1
    basis = np.concatenate([dependent, given], axis=1)

    def block(rows: tuple[int, ...]) -> Array:
        """What a set of closure rows says: [dependent | given | right], rows scaled."""
        N = _times(J[list(rows)][:, w], basis)
        if right is not None:
            N = np.concatenate([N, right[list(rows)].reshape(-1, 1)], axis=1)
        return np.asarray(N / scale[list(rows)].reshape(-1, 1))

    def further(k: int) -> Array:
        """The same of the further rows of a leg, or of the nacelle (-1)."""
        S = _times(np.stack(system.rows[k])[:, w], basis)
        if not extra:
            return np.asarray(S)
        values: Sequence[Scalar] = (0.0,) * len(S) if rows_right is None else rows_right[k]
        return np.concatenate([S, np.array(values).reshape(-1, 1)], axis=1)

    legs_decide = d > 0 and (mechanism.parasitic or hold)
    left: list[Array] = [block(mechanism.nacelle_rows)] if d and mechanism.nacelle_rows else []
    if d and system.rows[-1]:
        left.append(further(-1))
    solved: list[tuple[LegPlan, Array]] = []
    for k in range(len(mechanism.legs)) if legs is None else legs:
        plan = mechanism.legs[k]
        rates = [rate for rate in plan.rates if rate not in frozen]
        M = J[list(plan.rows)][:, rates] / scale[list(plan.rows)].reshape(-1, 1)
        N = block(plan.rows)
        more = system.rows[k]
        if plan.square and not hold and not more:
            solved.append((plan, solve(np.asarray(M), N)))
            continue
        if more:
            M = np.concatenate([M, np.stack(more)[:, rates]])
            N = np.concatenate([N, further(k)])
        X, remaining = least_squares(np.asarray(M), N) if rates else (np.zeros((0, N.shape[1])), N)
        solved.append((plan, X))
        if legs_decide:
            left.append(remaining)
    columns = n + extra
    if d:
        stacked = np.concatenate(left)
        Z = -least_squares(stacked[:, :d], stacked[:, d:]).X
    else:
        Z = np.zeros((0, columns))
    result: list[Array | None] = [None] * J.shape[1]
    head = np.concatenate([given, np.zeros((len(w), extra))], axis=1) if extra else given
    w_values = head + _times(dependent, Z) if d else head
    for place, row in zip(w, w_values, strict=True):
        result[place] = row
    for plan, X in solved:
        rates = [rate for rate in plan.rates if rate not in frozen]
        own = -(X[:, d:] + _times(X[:, :d], Z)) if d else -X
        for place, row in zip(rates, own, strict=True):
            result[place] = row
    zero = np.zeros(columns)
    return Response(np.stack([zero if row is None else row for row in result]), Z)


def _times(A: Array, B: Array) -> Array:
    """The product A B; of traced ones most entries are zero and leave no trace."""
    return sparse_product(A, B) if A.dtype == object or B.dtype == object else np.asarray(A @ B)


def remaining_rows(system: ClosureEquations, dependent: Array) -> Array:
    """What the closures say of d unknown numbers of the nacelle (rows, d) without the legs' rates.

    Args:
        system: the equations of the robot.
        dependent: (nw, d): the nacelle's rates w for unit values of the numbers.
    """
    mechanism, J = system.mechanism, system.closures.jacobian
    scale, w = mechanism.row_scale, list(mechanism.w_rates)

    def block(rows: Sequence[int]) -> Array:
        return np.asarray(_times(J[list(rows)][:, w], dependent) / scale[list(rows)].reshape(-1, 1))

    left = [block(mechanism.nacelle_rows)] if mechanism.nacelle_rows else []
    if system.rows[-1]:
        left.append(_times(np.stack(system.rows[-1])[:, w], dependent))
    for plan, more in zip(mechanism.legs, system.rows[:-1], strict=True) if mechanism.parasitic else ():
        if plan.square and not more:
            continue
        M = J[list(plan.rows)][:, list(plan.rates)] / scale[list(plan.rows)].reshape(-1, 1)
        N = block(plan.rows)
        if more:
            M = np.concatenate([M, np.stack(more)[:, list(plan.rates)]])
            N = np.concatenate([N, _times(np.stack(more)[:, w], dependent)])
        left.append(least_squares(np.asarray(M), N).left if plan.rates else N)
    return np.concatenate(left)


def selections(mechanism: Mechanism) -> tuple[Array, Array]:
    """The bases of `respond` for velocities: v (nw, n) and dependent rates (nw, d) as entries of w."""
    place = {rate: k for k, rate in enumerate(mechanism.w_rates)}
    given = np.zeros((mechanism.nw, len(mechanism.independent)))
    for column, rate in enumerate(mechanism.independent):
        given[place[rate], column] = 1.0
    dependent = np.zeros((mechanism.nw, len(mechanism.dependent)))
    for column, rate in enumerate(mechanism.dependent):
        dependent[place[rate], column] = 1.0
    return given, dependent


def chart_basis(mechanism: Mechanism, x: Array, r: Array) -> Array:
    """(nw, d): w for unit rates of the dependent numbers r of the pose and of dependent joints."""
    dependent = selections(mechanism)[1]
    if not mechanism.parasitic:
        return dependent
    m = mechanism.robot.platform_nv
    twists = mechanism.chart.dependent_twists(x, r)
    joints = [k for k, rate in enumerate(mechanism.dependent) if rate >= m]
    tail = np.zeros((mechanism.nw - m, twists.shape[1]))
    return np.concatenate([np.concatenate([twists, tail]), dependent[:, joints]], axis=1)


def coordinate_selections(mechanism: Mechanism, x: Array, r: Array) -> tuple[Array, Array]:
    """The bases of `respond` for rates of the coordinates in x, and of what depends on them.

    For a quaternion the rates are the angular velocity. They differ from `selections` with parasitic motion,
    where V_p = B x' + D r' (`nacelle.kinematics.mechanism.chart`).
    """
    given, dependent = selections(mechanism)[0], chart_basis(mechanism, x, r)
    if mechanism.parasitic:
        given = np.concatenate([mechanism.chart.twists(x, r), given[mechanism.robot.platform_nv :]])
    return given, dependent


def rate_map(now: Configuration) -> Array:
    """U (rates, n): all rates of the tree from the reduced twist. Its first rows are S(x) ([KI2007] (9))."""
    return respond(rate_equations(now.robot, now.motion), *selections(now.mechanism)).u


@dataclass(frozen=True)
class MovingConfiguration:
    """A configuration in motion.

    Attributes:
        U: rates of the tree from the reduced twist (rates, n).
        u: rates of the tree (rates,), u = U v; m/s and rad/s.
        bias: their derivatives where dv/dt = 0 (rates,).
        velocity: twists of all bodies and their derivatives at constant rates.
    """

    U: Array
    u: Array
    bias: Array
    velocity: TreeVelocity


def moving(now: Configuration, v: Array) -> MovingConfiguration:
    """All rates at the reduced twist v, and their derivatives where dv/dt = 0."""
    robot, mechanism = now.robot, now.mechanism
    given, dependent = selections(mechanism)
    system = rate_equations(robot, now.motion)
    U = respond(system, given, dependent).u
    u = U @ v
    velocity = tree_velocity(robot, now.motion, u)
    right = closure_bias(robot, now.motion, velocity)
    rows_right = spin_biases(mechanism, now.motion, velocity)
    extended = respond(system, given, dependent, right=right, rows_right=rows_right).u
    return MovingConfiguration(U, u, extended[:, -1], velocity)


def resting(now: Configuration) -> MovingConfiguration:
    """All rates from the reduced twist, at rest: rates and biases are 0."""
    U = rate_map(now)
    still = np.zeros(len(U))
    return MovingConfiguration(U, still, still, tree_velocity(now.robot, now.motion, still))


def spin_biases(
    mechanism: Mechanism, motion: TreeMotion, velocity: TreeVelocity
) -> tuple[tuple[Scalar, ...], ...]:
    """Derivatives of the idle spins of each leg, then of the nacelle, at constant rates: axis . dw/dt."""
    return tuple(
        tuple(
            dot(product(motion.poses[spin.body].R, np.array(spin.axis)), velocity.biases[spin.body][3:])
            for spin in spins
        )
        for spins in mechanism.spins
    )
