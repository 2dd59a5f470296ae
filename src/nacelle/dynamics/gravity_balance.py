"""Gravity balancing: springs and counterweights that take the weight off the actuators.

A spring along an axis of a joint with coordinate q requires k (q - q_0), N m or N; any revolute or prismatic
axis may have one, a spherical joint has no coordinate for it. A counterweight is a point mass (kg) at a place
(3,), m, in the frame of a body. At rest the forces that hold a robot along the reduced twist (n,) are linear
in what is added:

    F = F_0 + sum over axes of c_i^T k_i (q_i - q_0i) + sum over places of m_j w_j

F_0 is the robot as it is, gravity and its own springs. q_i is the coordinate of an axis (rad or m) and c_i
(n,) its rate over the reduced twist, q_i' = c_i v, so a spring k_i (q_i - q_0i) requires c_i^T times it by
equal power. A mass of 1 kg at a place t of a body requires w_j = -(J_b U)^T [g; (R t) x g], g (3,) gravity in
base axes, J_b U (6, n) the twist of the body's origin over v. J_r^-1 = A (actuators, n) takes F to the
actuators: A^T Gamma = F. With the rest position between two ends,

    k (q - rest) = a (q - low) + b (q - high),   a, b >= 0,   k = a + b,   rest = (a low + b high) / k,

so the springs and weights that leave the least sum of squares of the actuator forces over a set of poses
are non-negative least squares (scipy.optimize.nnls).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import compile_function
from nacelle.dynamics.derivatives.derivatives import force_derivatives
from nacelle.dynamics.evaluation import external_load
from nacelle.dynamics.external import project_wrenches
from nacelle.dynamics.jacobian import jacobian, sample_poses
from nacelle.dynamics.physics import WITHOUT_FRICTION
from nacelle.dynamics.state import state_at_rest
from nacelle.dynamics.tree_form import generalised_force
from nacelle.errors import KinematicsError, UnreachableError, did_you_mean
from nacelle.kinematics.flags import has_failed
from nacelle.kinematics.motion import solve_loops
from nacelle.kinematics.shapes import pose_shape, unknowns_shape
from nacelle.kinematics.underactuated import require_driven
from nacelle.model.joint import Interval, Primitive, Spring
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.inertia import parameters_from_com
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, cross, pack
from nacelle.tree.actuation import rate_rows


def select_axes(
    robot: Robot, names: Any, counterweights: Mapping[str, Any] | None
) -> tuple[tuple[int, int], ...]:
    """Axes (joint, number) that get springs: all of the named joints, or the actuated ones."""
    if names is None:
        return () if counterweights else tuple((actuator.joint, 0) for actuator in robot.actuators)
    if isinstance(names, str):
        names = (names,)
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise KinematicsError(
            f"springs are named by their joints, such as {robot.joints[0].name!r}, got {names!r}"
        )
    all_names = [joint.name for joint in robot.joints]
    axes: list[tuple[int, int]] = []
    for name in names:
        if name not in all_names:
            raise KinematicsError(f"{robot.name} has no joint {name!r}; {did_you_mean(name, all_names)}")
        j = all_names.index(name)
        joint = robot.joints[j]
        # A spring may act along all axes but those of spherical joints.
        free_axes = [(j, k) for k, axis in enumerate(joint.primitives) if axis is not Primitive.SPHERICAL]
        if not free_axes:
            raise KinematicsError(f"the joint {name} is {joint.kind} and has no axis for a spring")
        axes += free_axes
    if len(set(axes)) < len(axes):
        raise KinematicsError(f"a joint is named twice in springs: {', '.join(names)}")
    return tuple(axes)


def select_counterweight_positions(
    robot: Robot, counterweights: Mapping[str, Any] | None
) -> tuple[tuple[int, float, float, float], ...]:
    """Where counterweights may sit: body, and place in its frame."""
    all_names = [body.name for body in robot.bodies]
    positions = []
    if counterweights is not None and not isinstance(counterweights, Mapping):
        raise KinematicsError(
            f"counterweights are a mapping of bodies to places, such as {{{all_names[-1]!r}: (0, 0, 0.1)}}, "
            f"got {counterweights!r}"
        )
    for name, value in (counterweights or {}).items():
        if not isinstance(name, str):
            raise KinematicsError(f"counterweights are named by their bodies, got {name!r}")
        if name not in all_names[1:]:
            raise KinematicsError(f"{robot.name} has no body {name!r}; {did_you_mean(name, all_names[1:])}")
        try:
            position = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            position = np.empty(0)
        if position.shape != (3,) or not np.all(np.isfinite(position)):
            raise KinematicsError(f"the place of the counterweight on {name} is three lengths, got {value}")
        px, py, pz = position.tolist()
        positions.append((all_names.index(name), px, py, pz))
    return tuple(positions)


# ---- what springs along chosen axes and counterweights at chosen places do to a robot at rest


@physics(x=pose_shape, y=unknowns_shape)
def balance_columns(
    robot: Robot,
    x: Array,
    y: Array,
    *,
    axes: tuple[tuple[int, int], ...] = (),
    positions: tuple[tuple[int, float, float, float], ...] = (),
) -> dict[str, Array]:
    """Coordinates of the axes (k,), their rates over the reduced twist (k, n), and what has to be held.

    Held along the reduced twist are the robot as it is (n,), and a kilogram at each of the places
    (places, n), given by body and point in its frame. J_r^-1 (actuators, n) comes with them.
    """
    state = state_at_rest(robot, x, y)
    motion, n = state.now.motion, robot.motion.n
    rates = [rate_rows(robot, motion, joint)[number][0] @ state.moving.U for joint, number in axes]
    g = np.asarray(robot.gravity)
    weights = []
    for body, *position in positions:
        arm = motion.poses[body].R @ np.array(position)
        weights.append(-project_wrenches(state, {body: pack([*g, *cross(arm, g)])}))
    return {
        "q": pack([state.now.coordinate(joint, number) for joint, number in axes]),
        "rate": np.stack(rates) if rates else np.zeros((0, n)),
        "held": generalised_force(state, np.zeros(n), WITHOUT_FRICTION),
        "weight": np.stack(weights) if weights else np.zeros((0, n)),
        "A": state.inverse_jacobian,
    }


# Above this condition number the poses do not tell the unknowns apart.
_ILL_CONDITIONED = 1e6
# Forces below this part of the robot's weight are taken as zero.
_NO_LOAD = 1e-12
# Half a turn, less than rounding could make of it.
_HALF_TURN = np.pi * (1.0 - 1e-6)


class BalanceSpring(NamedTuple):
    """A spring that balances: N/m and m, or, on a revolute axis, N m/rad and rad."""

    joint: str
    axis: int
    revolute: bool
    stiffness: float
    rest: float


class Counterweight(NamedTuple):
    """A point mass (kg) at a place (m) in the frame of a body."""

    body: str
    position: tuple[float, float, float]
    mass: float


@dataclass(frozen=True, eq=False)
class GravityBalance(Plottable):
    """A robot that is balanced as well as its springs and counterweights can.

    Attributes:
        robot: with the springs and counterweights in it.
        x: the poses over which it is balanced (N, nx).
        springs: those that were put in; none where the best stiffness is zero.
        counterweights: those that were put in; none where the best mass is zero.
        before: forces of the actuators (N, actuators) that hold the poses without them.
        after: forces that hold them with them.
        condition: condition number of the least squares; infinite where the poses do not tell the unknowns
            apart, as of a spring in a joint that does not move.
    """

    robot: Robot
    x: Array
    springs: tuple[BalanceSpring, ...]
    counterweights: tuple[Counterweight, ...]
    before: Array
    after: Array
    condition: float

    @property
    def ill_conditioned(self) -> bool:
        """Whether other springs and weights would balance these poses as well."""
        return not self.condition < _ILL_CONDITIONED

    @property
    def rms_before(self) -> Array:
        """Root of the mean square of every actuator's force (actuators,) before, N or N m."""
        return np.asarray(np.sqrt(np.mean(self.before**2, axis=0)))

    @property
    def rms_after(self) -> Array:
        """Root of the mean square of every actuator's force (actuators,) after, N or N m."""
        return np.asarray(np.sqrt(np.mean(self.after**2, axis=0)))

    @property
    def max_before(self) -> Array:
        """Largest force of every actuator (actuators,) before, absolute, N or N m."""
        return np.asarray(np.max(np.abs(self.before), axis=0))

    @property
    def max_after(self) -> Array:
        """Largest force of every actuator (actuators,) after, absolute, N or N m."""
        return np.asarray(np.max(np.abs(self.after), axis=0))

    def __repr__(self) -> str:
        """Give robot, what was put in, and the largest rms force before and after."""
        return (
            f"<GravityBalance {self.robot.name}: {len(self.springs)} springs, "
            f"{len(self.counterweights)} counterweights, rms force {np.max(self.rms_before):.4g} -> "
            f"{np.max(self.rms_after):.4g}>"
        )


def balance_gravity(
    robot: Robot,
    x: Any = None,
    *,
    springs: Sequence[str] | None = None,
    counterweights: Mapping[str, Any] | None = None,
    rest: Sequence[float] | None = None,
    alike: bool = False,
    external: Mapping[str, Any] | None = None,
) -> GravityBalance:
    """Find the springs and counterweights that balance gravity best over a set of poses.

    Args:
        robot: the robot. Springs that it has in the chosen joints are replaced; others stay and count.
        x: poses (N, nx), m and quat_xyzw or rad, in the base frame; 200 around the reference pose, within
            reach and limits, if None.
        springs: joints that get springs, by name; the actuated ones if None and there are no counterweights.
        counterweights: where a counterweight may sit, by name of the body: a place (3,) in its frame, m.
        rest: between which coordinates (low, high) springs may rest, rad or m; if None the joint's range
            over the poses, and half a turn or the robot's size beyond it on both sides; of joints that may
            turn freely within half a turn of all poses.
        alike: whether all springs that turn are to be the same, all that slide, and all counterweights.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.

    Returns:
        Springs and counterweights, and actuator forces (N, actuators) before and after, N or N m.

    Raises:
        KinematicsError: if names, shapes or ranges are wrong, or the actuators hold nothing.
        UnreachableError: if poses are out of reach or singular.
    """
    require_driven(robot, "a balance of gravity needs")
    axes = select_axes(robot, springs, counterweights)
    positions = select_counterweight_positions(robot, counterweights)
    if not axes and not positions:
        raise KinematicsError(
            f"there is nothing to balance {robot.name} with: name joints in springs, or places in "
            "counterweights"
        )
    poses = _check_pose_set(robot, x)
    bare = _with_springs(robot, dict.fromkeys(axes))
    at_rest = _static_forces(bare, poses, axes, positions, external)
    # Forces of the actuators (N, actuators): what they hold, per unit of effort in each spring, per kilogram.
    load = at_rest.held[..., 0]
    arms = np.where(robot.revolute_actuators, robot.size, 1.0)
    if not np.max(np.abs(load) / arms) > _NO_LOAD * _weight(robot):
        raise KinematicsError(
            f"the actuators of {robot.name} hold nothing in these poses: gravity is zero or perpendicular to "
            "the motion"
        )
    q, pull, heavy = at_rest.q, at_rest.pull, at_rest.heavy
    between = None if rest is None else Interval(float(rest[0]), float(rest[1]))
    groups = _spring_groups(robot, axes, q, between, alike)
    masses = [list(range(len(positions)))] if alike and positions else [[k] for k in range(len(positions))]
    scale = _scales(robot, load)
    stiffness, weights = _minimise_forces(at_rest, groups, masses, scale)
    stiff: dict[tuple[int, int], Spring | None] = dict.fromkeys(axes)
    for group, (a, b) in zip(groups, stiffness, strict=True):
        if a + b > 0.0:
            spring = Spring(float(a + b), float((a * group.low + b * group.high) / (a + b)))
            stiff |= {axes[k]: spring for k in group.members}
    added = {k: float(m) for m, ks in zip(weights, masses, strict=True) for k in ks}
    balanced = _with_weights(_with_springs(robot, stiff), positions, added)
    present = {(j, k): robot.joints[j].springs[k] for j, k in axes if robot.joints[j].springs}
    before = load + _spring_forces([present.get(axis) for axis in axes], q, pull)
    after = load + _spring_forces([stiff[axis] for axis in axes], q, pull)
    after = after + heavy @ np.array([added[k] for k in range(len(positions))])
    names = robot.joints
    return GravityBalance(
        balanced,
        poses,
        tuple(
            BalanceSpring(names[j].name, k, names[j].primitives[k].is_rotation, spring.stiffness, spring.rest)
            for (j, k), spring in stiff.items()
            if spring is not None
        ),
        tuple(
            Counterweight(robot.bodies[body].name, (px, py, pz), added[k])
            for k, (body, px, py, pz) in enumerate(positions)
            if added[k] > 0.0
        ),
        before,
        after,
        _condition(q, pull / scale[:, None], heavy / scale[:, None], groups, masses),
    )


def _minimise_forces(
    at_rest: _StaticForces, groups: Sequence[_SpringGroup], masses: list[list[int]], scale: Array
) -> tuple[Array, Array]:
    """Stiffnesses (groups, 2) at the ends of each range, and masses >= 0, for the least forces.

    A spring that rests between both ends is the sum of two that rest at them, so forces are linear in all.
    """
    from scipy.optimize import nnls

    q, load = at_rest.q, at_rest.held[..., 0]
    columns = [
        np.sum(at_rest.pull[..., group.members] * (q[:, None, group.members] - end), axis=-1)
        for group in groups
        for end in (group.low, group.high)
    ] + [np.sum(at_rest.heavy[..., members], axis=-1) for members in masses]
    C = (np.stack(columns, axis=-1) / scale[:, None]).reshape(-1, len(columns))
    size = np.linalg.norm(C, axis=0)
    size[size == 0.0] = 1.0
    solution = nnls(C / size, -(load / scale).ravel())[0] / size
    return solution[: 2 * len(groups)].reshape(-1, 2), solution[2 * len(groups) :]


def _check_pose_set(robot: Robot, x: Any) -> Array:
    if x is None:
        return sample_poses(robot)
    poses = np.atleast_2d(np.asarray(x, dtype=float))
    if poses.ndim != 2:
        raise KinematicsError(f"the poses have the shape (N, nx), got {poses.shape}")
    return poses


class _StaticForces(NamedTuple):
    """Coordinates of the axes (N, k), and forces of the actuators (N, actuators, ...) at rest."""

    q: Array
    held: Array
    pull: Array
    heavy: Array


def _static_forces(
    robot: Robot,
    x: Array,
    axes: tuple[tuple[int, int], ...],
    positions: tuple[tuple[int, float, float, float], ...],
    external: Mapping[str, Any] | None,
) -> _StaticForces:
    """What the actuators hold in poses, for a unit of effort in every spring and for a kilogram."""
    bad = np.flatnonzero(has_failed(jacobian(robot, x).flags))
    if bad.size:
        raise UnreachableError(
            f"{bad.size} of {len(x)} poses are out of reach, singular or without numbers, the first of them "
            f"pose {bad[0] + 1}; balancing needs poses that can be held"
        )
    poses, y, _ = solve_loops(robot, x)
    load = external_load(robot, poses, y, external)
    if load.ndim > 1 and load.shape != (len(poses), robot.motion.n):
        raise KinematicsError(f"an external wrench has the shape (6,), or ({len(poses)}, 6): one a pose")
    # A program that runs once: minimising it takes longer than it saves.
    program = compile_function(
        balance_columns, robot, options={"axes": axes, "positions": positions}, minimise=False
    )
    at_rest = program(poses, y)
    columns = [
        (at_rest["held"] - load)[..., None],
        *(np.swapaxes(at_rest[key], -1, -2) for key in ("rate", "weight")),
    ]
    return _StaticForces(at_rest["q"], *(force_derivatives(at_rest["A"], column, None) for column in columns))


def _spring_forces(springs: Sequence[Spring | None], q: Array, pull: Array) -> Array:
    """Forces of the actuators (N, actuators) that springs along the axes require."""
    efforts = [
        np.zeros(len(q)) if spring is None else spring.holding_force(q[:, k])
        for k, spring in enumerate(springs)
    ]
    return np.asarray(np.einsum("nak,kn->na", pull, np.reshape(efforts, (-1, len(q)))))


def _weight(robot: Robot) -> float:
    """The weight of the robot, N."""
    mass = sum(body.mass for body in robot.bodies) + sum(load.inertia[0] for load in robot.payload)
    return float(mass * np.linalg.norm(robot.gravity))


def _scales(robot: Robot, load: Array) -> Array:
    """What makes forces and torques alike (actuators,): the rms over all actuators of the kind."""
    revolute = np.array(robot.revolute_actuators)
    scale = np.ones(len(revolute))
    for kind in (revolute, ~revolute):
        if np.any(kind) and not np.all(kind):
            scale[kind] = np.sqrt(np.mean(load[:, kind] ** 2)) or 1.0
    return scale


class _SpringGroup(NamedTuple):
    """Springs that are the same: which, and between which coordinates they may rest."""

    members: list[int]
    low: float
    high: float
    unit: float


def _spring_groups(
    robot: Robot, axes: tuple[tuple[int, int], ...], q: Array, rest: Interval | None, alike: bool
) -> list[_SpringGroup]:
    revolute = [robot.joints[joint].primitives[number].is_rotation for joint, number in axes]
    for k, (joint, _) in enumerate(axes):
        values = np.sort(q[:, k])
        if revolute[k] and np.max(np.diff(values), initial=0.0) > np.pi:
            raise KinematicsError(
                f"the joint {robot.joints[joint].name} passes 180 degrees between these poses, where its "
                "coordinate jumps; a spring needs poses on one side of it"
            )
    members = [[k] for k in range(len(axes))]
    if alike:
        members = [[k for k in range(len(axes)) if revolute[k] is kind] for kind in (True, False)]
    groups = []
    for group in members:
        if not group:
            continue
        unit = np.pi if revolute[group[0]] else robot.size
        least, most = float(np.min(q[:, group])), float(np.max(q[:, group]))
        low, high = least - unit, most + unit
        joints = [(robot.joints[axes[k][0]], axes[k][1]) for k in group]
        if revolute[group[0]] and any(joint.may_turn(number) for joint, number in joints):
            # The angle of such a joint is read within half a turn of where its spring rests.
            low, high = most - _HALF_TURN, max(least, most - 2.0 * _HALF_TURN) + _HALF_TURN
        if rest is not None:
            low, high = rest
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                raise KinematicsError(f"rest is a range (low, high), got ({low:g}, {high:g})")
        groups.append(_SpringGroup(group, low, high, unit))
    return groups


def _condition(
    q: Array, pull: Array, heavy: Array, groups: list[_SpringGroup], masses: list[list[int]]
) -> float:
    """Condition number of the unknowns: stretch and preload of springs, and masses, each of unit size.

    Stretches count in half turns or the robot's size, so that a joint which hardly moves shows.
    """
    columns = []
    for group in groups:
        efforts, stretch = pull[..., group.members], q[:, None, group.members]
        preload = np.sum(efforts, axis=-1).ravel()
        stretched = np.sum(efforts * (stretch - np.mean(stretch)), axis=-1).ravel() / group.unit
        size = np.linalg.norm(preload) or 1.0
        columns += [preload / size, stretched / size]
    for members in masses:
        column = np.sum(heavy[..., members], axis=-1).ravel()
        columns.append(column / (np.linalg.norm(column) or 1.0))
    matrix = np.stack(columns, axis=-1)
    if matrix.shape[0] < matrix.shape[1]:
        return float("inf")
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else float("inf")


def _with_springs(robot: Robot, springs: Mapping[tuple[int, int], Spring | None]) -> Robot:
    """The robot with other springs along some axes."""
    joints = list(robot.joints)
    for (index, number), spring in springs.items():
        joint = joints[index]
        axis_springs = list(joint.springs) or [None] * len(joint.primitives)
        axis_springs[number] = spring
        joints[index] = dataclasses.replace(joint, springs=tuple(axis_springs) if any(axis_springs) else ())
    return dataclasses.replace(robot, joints=tuple(joints))


def _with_weights(
    robot: Robot, positions: tuple[tuple[int, float, float, float], ...], masses: Mapping[int, float]
) -> Robot:
    """The robot with point masses on some bodies."""
    bodies = list(robot.bodies)
    for k, mass in masses.items():
        body, *position = positions[k]
        more = parameters_from_com(mass, np.array(position), np.zeros((3, 3)))
        ten = tuple((np.asarray(bodies[body].inertia) + more).tolist())
        bodies[body] = dataclasses.replace(bodies[body], inertia=ten)
    return dataclasses.replace(robot, bodies=tuple(bodies))
