"""A rigid robot under its actuators' forces as a plant, and the events that end a simulation of it.

An event has a margin, a number that is positive before it: to a limit of a joint or an actuator, to a serial
or a parallel singularity. All margins come from one evaluation, over any scalar, of the positions and of
J_r^-1, the Jacobian from the reduced twist to the actuator rates. They need no trigonometric functions of the
state: an angle is given by its cosine and sine, and compared by these with its limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics import model_functions
from nacelle.dynamics.evaluation import external_load
from nacelle.dynamics.external import check_wrenches, load_names
from nacelle.dynamics.physics import Physics
from nacelle.errors import KinematicsError
from nacelle.kinematics import kinematic_model as kinematics
from nacelle.kinematics.branch import branch_determinants, branch_of
from nacelle.kinematics.configuration import Configuration, configuration, rate_map
from nacelle.kinematics.jacobian import conditioning, describe_singularity, nearest_kind, scaled_inverse
from nacelle.kinematics.margins import NEAR_MARGIN, margin_names, margins
from nacelle.kinematics.mechanism.mechanism import mechanism_of, with_turn_counting
from nacelle.kinematics.motion import JointMotion, joint_motion
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_poses, check_rates
from nacelle.kinematics.shapes import jacobian_scales
from nacelle.kinematics.solve.inverse import InverseKinematics, inverse_kinematics
from nacelle.kinematics.solve.unknowns import SearchStart
from nacelle.model.joint import Interval, JointKind, Primitive
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.simulation.flow import (
    RIGID_MODEL,
    coordinates_from_pose,
    pose_from_coordinates,
    reference_orientation,
    state_samples,
    state_size,
)
from nacelle.simulation.plant import Plant
from nacelle.simulation.protocol import EventGroup, Labels
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.physics import check_inputs_with, depends_on_form, physics
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, where
from nacelle.spatial.solve import solve
from nacelle.tree.actuation import actuator_rows
from nacelle.tree.closure import closure_frames
from nacelle.tree.spanning_tree import CosineSine, JointTransform

# A run ends near a parallel singularity when the squared inverse condition number is below this.
SINGULARITY_THRESHOLD = 1e-6
# How far beyond a limit a joint may be, rad or m: a run may start at a limit.
LIMIT_SLACK = 1e-9
# The platform may rotate from the reference orientation until this angle is left to a full turn, rad, where
# the rotation vector of the state is singular.
_FULL_TURN_MARGIN = 0.05


def rigid_plant(
    robot: Robot,
    *,
    friction: bool = True,
    smooth: float | None = None,
    external: Mapping[str, Any] | None = None,
    exact_jacobian: bool = False,
) -> Plant:
    """Make the plant of a rigid robot under its actuators' forces.

    Angles on which springs, end stops or wide limits depend count their turns (`with_turn_counting`). The
    state is s = [coordinates (n,); v (n,); y (ny,)]. The coordinates are those of `flow`: positions, and for
    a free rotation a rotation vector from the reference orientation.

    Args:
        robot: the robot.
        friction: whether friction acts.
        smooth: rate over which Coulomb friction changes its sign; needed by implicit methods.
        external: constant wrenches [f; n] (6,) on bodies or tools, in base axes, as in `inverse_dynamics`.
        exact_jacobian: whether implicit methods take the exact Jacobian of the traced flow, which saves them
            some steps, but takes seconds to minutes to compile; else they take differences.

    Raises:
        KinematicsError: if an option does not fit the robot.
    """
    robot = with_turn_counting(robot)
    mechanism, physics, external = mechanism_of(robot), Physics(friction, smooth), dict(external or {})
    wrenches = check_wrenches(robot, external)
    for k, wrench in wrenches.items():
        if wrench.ndim != 1:
            raise KinematicsError(
                f"a simulation takes constant wrenches (6,), that on {load_names(robot)[k]} has the "
                f"shape {wrench.shape}"
            )
    options: dict[str, Any] = {"physics": physics}
    if wrenches:
        options["external"] = tuple((k, tuple(w.tolist())) for k, w in wrenches.items())
    quat_0 = reference_orientation(mechanism)

    def state(x: Any, v: Any) -> Array:
        pose = check_poses(robot, x)[0]
        twist = check_rates(robot, "the twist v", v)
        joints = inverse_kinematics(robot, pose, limits=False)
        return np.concatenate([coordinates_from_pose(mechanism, pose, quat_0), twist, joints.y])

    def energies(s: Array) -> dict[str, Array]:
        x, v, y = split_rigid(robot, s)
        result = compile_native(model_functions.energies, robot, physics=physics)(x, y, v)
        return {name: result[name] for name in ("kinetic", "potential", "dissipation")}

    def power(s: Array, u: Array) -> Array:
        x, v, y = split_rigid(robot, s)
        J = compile_native(kinematics.inverse_jacobian, robot)(x, y)["J"]
        load = external_load(robot, x, y, external) if external else np.zeros(v.shape)
        return np.asarray(np.einsum("...i,...ij,...j->...", u, J, v) + np.einsum("...i,...i->...", load, v))

    def joints(s: Array) -> InverseKinematics:
        x, _, y = split_rigid(robot, s)
        return inverse_kinematics(robot, x, guess=SearchStart(x, y), limits=False)

    def motion(s: Array) -> JointMotion:
        x, v, y = split_rigid(robot, s)
        return joint_motion(robot, x, v, guess=SearchStart(x, y))

    def closure_error(s: Array) -> float:
        x, _, y = split_rigid(robot, s)
        gaps = compile_native(kinematics.closure_residuals, robot)(x, y)
        return float(np.max(np.abs(gaps / mechanism.row_scale), initial=0.0))

    return Plant(
        robot,
        RIGID_MODEL,
        tuple(options.items()),
        quat_0,
        exact_jacobian=exact_jacobian,
        labels=rigid_labels(robot),
        state=state,
        split=lambda s: split_rigid(robot, s)[:2],
        energies=energies,
        power=power,
        events=lambda: standard_events(robot),
        joints=joints,
        motion=motion,
        closure_error=closure_error,
        external=external,
    )


def rigid_labels(robot: Robot) -> Labels:
    """Names and units of pose, twist and forces."""
    layout = layout_of(robot.motion)
    units = ["N m" if revolute else "N" for revolute in robot.revolute_actuators]
    names = [f"{actuator.name}.force" for actuator in robot.actuators]
    rates = [f"{unit}/s" if unit else "" for unit in layout.v_units]
    return Labels(
        tuple(zip(layout.x_names, layout.units, strict=True)),
        tuple(zip(layout.v_names, rates, strict=True)),
        tuple(zip(names, units, strict=True)),
    )


def split_rigid(robot: Robot, s: Array) -> tuple[Array, Array, Array]:
    """Reduced poses, twists, base axes, and passive coordinates y (..., ny) of states of a rigid robot."""
    mechanism, n = mechanism_of(robot), robot.motion.n
    x, v, y = s[..., :n], s[..., n : 2 * n], s[..., 2 * n : state_size(robot)[0]]
    if mechanism.layout.quaternion is not None:
        pose = pose_from_coordinates(mechanism, from_samples(x, 1), reference_orientation(mechanism))
        x = np.asarray(to_samples(pose))
    return x, v, y


# ---- events that end a run


def standard_events(robot: Robot, *, limits: bool = True) -> list[EventGroup]:
    """The events that end a run of a robot: limits, legs at full stretch, singularities.

    Args:
        robot: the robot of a `rigid_plant`.
        limits: whether limits of joints and actuators end a run.

    Returns:
        One group of events (`event_names`), with margins that are positive before their event
        (`event_margins`).
    """
    names, (size,), quat_0 = event_names(robot), state_size(robot), reference_orientation(mechanism_of(robot))
    count = len(names) if limits else len(names) - len(joint_limits(robot))

    def values(t: Array, s: Array) -> Array:
        numbers = np.asarray(compile_native(event_margins, robot)(s[:, :size], quat_0))[:, :count]
        # The first is a lower bound: the condition number itself is found only where this does not decide.
        near = np.flatnonzero(~(numbers[:, 0] > 0.0))
        if near.size:
            numbers[near, 0] = _singularity_margin(robot, s[near])
        return numbers

    def describe(index: int, s: Array) -> str:
        if index:
            return names[index]
        x, _, y = split_rigid(robot, s)
        return describe_singularity(*nearest_kind(robot, x, y), is_near=True)

    return [EventGroup(tuple(names[:count]), values, describe)]


def _singularity_margin(robot: Robot, s: Array) -> Array:
    """The squared inverse condition number of the scaled J_r^-1, minus its threshold, at states (k, size)."""
    x, _, y = split_rigid(robot, s)
    J = compile_native(kinematics.inverse_jacobian, robot)(x, y)["J"]
    return np.asarray(conditioning(scaled_inverse(robot, J)) ** 2 - SINGULARITY_THRESHOLD)


class Limit(NamedTuple):
    """One limit of one coordinate.

    Attributes:
        name: message when it is reached, "leg1.motor is at its lower limit".
        joint: index of the joint, or of the actuator.
        primitive: which primitive of the joint; None for an actuator.
        pair: both limits of the coordinate, rad or m.
        upper: whether it is the upper one of the pair.
        kind: kind of the coordinate: "prismatic", "revolute" (an angle up to whole turns), "counted" (an
            angle with its turns) or "spherical" (the angle between the z axes of its two frames).
    """

    name: str
    joint: int
    primitive: int | None
    pair: Interval
    upper: bool
    kind: str


def joint_limits(robot: Robot, *, stops: bool = False) -> list[Limit]:
    """All limits of actuators and joints that can be reached.

    Args:
        robot: the robot.
        stops: whether limits with an elastic end stop are included, which a motion may exceed.
    """
    limits: list[Limit] = []
    # Position limits of the actuator by joint: equal limits of the joint are not listed twice.
    driven = {}
    for k, actuator in enumerate(robot.actuators):
        driven[actuator.joint] = actuator.position
        joint = robot.joints[actuator.joint]
        if not stops and any(joint.stops) and actuator.position == joint.limits[0]:
            continue
        limits += _limit_sides(
            actuator.name, k, None, actuator.position, _coordinate_kind(robot, actuator.joint, 0)
        )
    for j, joint in enumerate(robot.joints):
        if joint.kind is JointKind.POINT:
            continue
        for axis, pair in enumerate(joint.limits):
            stopped = joint.stops and joint.stops[axis] is not None
            if driven.get(j) == pair or (stopped and not stops):
                continue
            name = joint.name if len(joint.primitives) == 1 else f"{joint.name} (axis {axis + 1})"
            limits += _limit_sides(f"joint {name}", j, axis, pair, _coordinate_kind(robot, j, axis))
    return limits


def widen_limits(robot: Robot, limits: Sequence[Limit], share: float) -> list[Limit]:
    """Limits moved outwards by a share of their range; of 1 rad or the robot's size if one side is open."""
    wider = []
    for limit in limits:
        low, high = limit.pair
        unit = robot.size if limit.kind == "prismatic" else 1.0
        room = share * (high - low if np.isfinite(high - low) else unit)
        pair = Interval(low - room, high + room)
        sides = _limit_sides(limit.name, limit.joint, limit.primitive, pair, limit.kind)
        # Limits have their messages as names.
        wider += [side._replace(name=limit.name) for side in sides if side.upper == limit.upper]
    return wider


def limit_margins(robot: Robot, now: Configuration, limits: Sequence[Limit]) -> list[Scalar]:
    """The margin to each of some limits at a configuration: positive before it, zero at it."""
    return [_limit_margin(limit, limited_coordinate(now, limit)) for limit in limits]


def _coordinate_kind(robot: Robot, joint: int, number: int) -> str:
    """The kind (`Limit`) of the coordinate of a joint's primitive."""
    primitive = robot.joints[joint].primitives[number]
    if primitive is Primitive.SPHERICAL:
        return "spherical"
    if not primitive.is_rotation:
        return "prismatic"
    return "counted" if (joint, number) in mechanism_of(robot).axes_with_coordinates else "revolute"


def _limit_sides(name: str, joint: int, axis: int | None, pair: Interval, kind: str) -> Iterator[Limit]:
    """The lower and the upper limit of a coordinate, as far as it can reach them."""
    low, high = pair
    # An angle up to whole turns does not leave a range of a turn.
    if kind == "revolute" and high - low >= 2.0 * (np.pi - LIMIT_SLACK) and np.isfinite(high - low):
        return
    if low > (0.0 if kind == "spherical" else -np.inf):
        yield Limit(f"{name} is at its lower limit", joint, axis, pair, False, kind)
    if high < (np.pi - LIMIT_SLACK if kind == "spherical" else np.inf):
        yield Limit(f"{name} is at its upper limit", joint, axis, pair, True, kind)


def event_names(robot: Robot) -> list[str]:
    """The message of each event, in the order of `event_margins`."""
    names = ["a singularity is near"]
    names += [f"{owner} is near a serial singularity" for owner in margin_names(mechanism_of(robot))]
    branch = branch_of(robot)
    names += [f"a loop is at a singularity ({loop})" for loop in branch.names[: branch.signs]]
    if mechanism_of(robot).layout.angular is not None:
        names.append("the platform has turned round from its reference orientation")
    return names + [limit.name for limit in joint_limits(robot)]


@depends_on_form(lambda robot: True)
@check_inputs_with(state_samples)
@physics(s=state_size, quat_0=(4,))
def event_margins(robot: Robot, s: Array, quat_0: Array) -> Array:
    """The margins of all events at a state s (size,), positive before each; named by `event_names`.

    In their order: parallel singularity (without unit), serial singularities (without unit), determinants of
    loops, a full turn of the platform (rad^2), limits (m or rad; of uncounted angles a difference of cosines,
    or a sine). The first is a lower bound: if positive, no parallel singularity is near; else the condition
    number itself decides (`standard_events`).
    """
    mechanism, n = mechanism_of(robot), robot.motion.n
    c, y = s[:n], s[2 * n :]
    now = configuration(robot, pose_from_coordinates(mechanism, c, quat_0), y)
    values: list[Scalar] = [_condition_bound(now) - SINGULARITY_THRESHOLD]
    values += [margin - NEAR_MARGIN for margin in margins(now)]
    # The margin of a loop touches zero at its singularity, and a step may pass over that unnoticed. These
    # determinants change sign there.
    values += list(branch_determinants(now, y)[: branch_of(robot).signs])
    if mechanism.layout.angular is not None:
        rotation = c[mechanism.layout.angular]
        values.append((2.0 * np.pi - _FULL_TURN_MARGIN) ** 2 - dot(rotation, rotation))
    return pack(values + limit_margins(robot, now, joint_limits(robot)))


def _condition_bound(now: Configuration) -> Scalar:
    """A lower bound of 1 / cond(A)^2 of the scaled J_r^-1 A (m, n): 1 / (tr B tr B^-1), B = A^T A or A A^T.

    Of the two B is the smaller one, (k, k). The bound is at most k^2 times too small.
    """
    rows, columns = jacobian_scales(now.robot)
    A = actuator_rows(now.robot, now.motion) @ rate_map(now) / rows[:, None] * columns
    B = A.T @ A if A.shape[0] >= A.shape[1] else A @ A.T
    inverse = solve(B, np.eye(len(B)), "spd")
    return divide(1.0, np.trace(B) * np.trace(inverse))


def limited_coordinate(now: Configuration, limit: Limit) -> JointTransform:
    """The value of a limited coordinate, by its kind.

    "prismatic": m; "counted": rad; "revolute": its cosine and sine; "spherical": the cosine of the angle
    between the z axes of the two frames.
    """
    robot = now.robot
    j = limit.joint if limit.primitive is not None else robot.actuators[limit.joint].joint
    number = limit.primitive or 0
    if limit.kind == "counted":
        return now.coordinates[j, number]
    if limit.kind != "spherical":
        return now.step(j, number)
    if j >= robot.tree:
        first, second = closure_frames(robot.joints[j], now.motion)
        return dot(first.R[:, 2], second.R[:, 2])
    # R_zz of the rotation with this quaternion.
    quat = now.step(j, number)
    return 1.0 - 2.0 * (quat[0] * quat[0] + quat[1] * quat[1])


def _limit_margin(limit: Limit, step: Any) -> Scalar:
    """The margin to a limit at the value `step` of its coordinate (`limited_coordinate`)."""
    low, high = limit.pair
    if limit.kind in ("prismatic", "counted"):
        return high + LIMIT_SLACK - step if limit.upper else step - low + LIMIT_SLACK
    if limit.kind == "spherical":
        return step - np.cos(high + LIMIT_SLACK) if limit.upper else np.cos(low - LIMIT_SLACK) - step
    assert isinstance(step, CosineSine)
    both = np.isfinite(low) and np.isfinite(high)
    middle = 0.5 * (low + high) if both else low if np.isfinite(low) else high
    # The angle is taken from the middle of the limits, or from the only one, by its cosine c and sine s: it
    # counts up to whole turns. Towards this limit (side > 0) it may go as far as half the range.
    c = step.c * np.cos(middle) + step.s * np.sin(middle)
    s = step.s * np.cos(middle) - step.c * np.sin(middle)
    side = s if limit.upper else -s
    if not both:
        return LIMIT_SLACK - side
    return where(side, c - np.cos(0.5 * (high - low) + LIMIT_SLACK), 1.0)
