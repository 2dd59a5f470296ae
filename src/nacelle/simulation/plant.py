"""A rigid robot under its actuators' forces, as a plant, and what ends a run of it.

What ends a run are numbers that are positive while all is well, over any scalar. All of them come from one
evaluation of the positions and of J_r^-1, without trigonometry: an angle is given by its cosine and sine, and
compared by them with those of its limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
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
from nacelle.simulation.feedback import RIGID_MODEL, CompiledPlant
from nacelle.simulation.flow import (
    coordinates_from_pose,
    pose_from_coordinates,
    reference_orientation,
    state_samples,
    state_size,
)
from nacelle.simulation.protocol import EventGroup, Labels
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.physics import check_inputs_with, depends_on_form, physics
from nacelle.spatial.scalar import Array, Scalar, divide, dot, pack, where
from nacelle.spatial.solve import solve
from nacelle.tree.actuation import actuator_rows
from nacelle.tree.closure import closure_frames
from nacelle.tree.spanning_tree import CosineSine, JointTransform

# The squared inverse condition below which a run ends near a parallel singularity.
SINGULARITY_THRESHOLD = 1e-6
# How far beyond a limit a joint may be, rad or m: a run may start at a limit.
LIMIT_SLACK = 1e-9
# How near to a full turn from the reference orientation the platform may come, rad.
_FULL_TURN_MARGIN = 0.05


class RigidPlant(CompiledPlant):
    """A rigid robot under its actuators' forces.

    Angles on which springs, end stops or wide limits depend count their turns (`counting`).

    Args:
        robot: the robot.
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign; needed by implicit methods.
        external: constant wrenches [f; n] (6,) on bodies or tools, in base axes, as in `inverse_dynamics`.
        exact_jacobian: whether implicit methods take the exact Jacobian of the traced flow, which saves them
            some steps, but takes seconds to minutes to compile; else they take differences.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        friction: bool = True,
        smooth: float | None = None,
        external: Mapping[str, Any] | None = None,
        exact_jacobian: bool = False,
    ) -> None:
        robot = with_turn_counting(robot)
        self.mechanism = mechanism_of(robot)
        self.physics = Physics(friction, smooth)
        self.external = dict(external or {})
        wrenches = check_wrenches(robot, self.external)
        for k, wrench in wrenches.items():
            if wrench.ndim != 1:
                raise KinematicsError(
                    f"a simulation takes constant wrenches (6,), that on {load_names(robot)[k]} has the "
                    f"shape {wrench.shape}"
                )
        options: dict[str, Any] = {"physics": self.physics}
        if wrenches:
            options["external"] = tuple((k, tuple(w.tolist())) for k, w in wrenches.items())
        self.quat_0 = reference_orientation(self.mechanism)
        super().__init__(
            robot, RIGID_MODEL, tuple(options.items()), self.quat_0, exact_jacobian=exact_jacobian
        )

    @cached_property
    def labels(self) -> Labels:
        """Names and units of pose, twist and forces."""
        layout = layout_of(self.robot.motion)
        units = ["N m" if revolute else "N" for revolute in self.robot.revolute_actuators]
        names = [f"{actuator.name}.force" for actuator in self.robot.actuators]
        rates = [f"{unit}/s" if unit else "" for unit in layout.v_units]
        return Labels(
            tuple(zip(layout.x_names, layout.units, strict=True)),
            tuple(zip(layout.v_names, rates, strict=True)),
            tuple(zip(names, units, strict=True)),
        )

    def state(self, x: Any, v: Any) -> Array:
        """The state [coordinates (n,); v (n,); y (ny,)] at a reduced pose x (nx,) and twist v (n,)."""
        pose = check_poses(self.robot, x)[0]
        twist = check_rates(self.robot, "the twist v", v)
        joints = inverse_kinematics(self.robot, pose, limits=False)
        return np.concatenate([coordinates_from_pose(self.mechanism, pose, self.quat_0), twist, joints.y])

    def split(self, s: Array) -> tuple[Array, Array]:
        """Reduced poses (..., nx) and twists (..., n), base axes, of states (..., size)."""
        n = self.robot.motion.n
        c = s[..., :n]
        if self.mechanism.layout.quaternion is None:
            return c, s[..., n : 2 * n]
        x = to_samples(pose_from_coordinates(self.mechanism, from_samples(c, 1), self.quat_0))
        return np.asarray(x), s[..., n : 2 * n]

    def unknowns(self, s: Array) -> Array:
        """Passive coordinates y (..., ny) in states (..., size)."""
        return np.asarray(s[..., 2 * self.robot.motion.n :])

    def events(self) -> list[EventGroup]:
        """Limits of joints and actuators, legs at full stretch, and the approach to a singularity."""
        return standard_events(self)

    # ---- what results show

    def energies(self, s: Array) -> dict[str, Array]:
        """Kinetic and potential energy (J) and friction's power (W) of states (..., size)."""
        x, v = self.split(s)
        program = compile_native(model_functions.energies, self.robot, physics=self.physics)
        energies = program(x, self.unknowns(s), v)
        return {name: energies[name] for name in ("kinetic", "potential", "dissipation")}

    def power(self, s: Array, u: Array) -> Array:
        """Power of the actuators' forces u (..., actuators) and of wrenches from outside, W.

        At states (..., size).
        """
        x, v = self.split(s)
        J = compile_native(kinematics.inverse_jacobian, self.robot)(x, self.unknowns(s))["J"]
        power = np.einsum("...i,...ij,...j->...", u, J, v)
        if self.external:
            load = external_load(self.robot, x, self.unknowns(s), self.external)
            power = power + np.einsum("...i,...i->...", load, v)
        return np.asarray(power)

    def joints(self, s: Array) -> InverseKinematics:
        """All joints and bodies at states (..., size) (`InverseKinematics`)."""
        x = self.split(s)[0]
        return inverse_kinematics(self.robot, x, guess=SearchStart(x, self.unknowns(s)), limits=False)

    def motion(self, s: Array) -> JointMotion:
        """Rates of all joints at states (..., size) (`JointMotion`), rad/s or m/s."""
        x, v = self.split(s)
        return joint_motion(self.robot, x, v, guess=SearchStart(x, self.unknowns(s)))

    def closure_error(self, s: Array) -> float:
        """What the loops leave open at the worst of states s (..., size), over the robot's size."""
        gaps = compile_native(kinematics.closure_residuals, self.robot)(self.split(s)[0], self.unknowns(s))
        return float(np.max(np.abs(gaps / self.mechanism.row_scale), initial=0.0))


# ---- what ends a run


def standard_events(plant: RigidPlant, *, limits: bool = True) -> list[EventGroup]:
    """What ends a run of a robot: limits of joints and actuators, legs at full stretch, singularities.

    Args:
        plant: the robot.
        limits: whether limits count.

    Returns:
        Groups of events; each number is positive before its event: what is left to a limit (rad, m, rad/s,
        m/s), squared margins of legs, and the squared inverse condition less what counts as near a
        singularity.
    """
    robot = plant.robot
    names = event_names(robot)
    count = len(names) if limits else len(names) - len(joint_limits(robot))

    def values(t: Array, s: Array) -> Array:
        numbers = np.asarray(compile_native(event_margins, robot)(s, plant.quat_0))[:, :count]
        near = np.flatnonzero(~(numbers[:, 0] > 0.0))
        if near.size:
            numbers[near, 0] = _singularity_margin(plant, s[near])
        return numbers

    def describe(index: int, s: Array) -> str:
        if index:
            return names[index]
        return describe_singularity(*nearest_kind(robot, plant.split(s)[0], plant.unknowns(s)), is_near=True)

    return [EventGroup(tuple(names[:count]), values, describe)]


def _singularity_margin(plant: RigidPlant, s: Array) -> Array:
    """The squared inverse condition of the scaled Jacobian, over what a run may come near to."""
    J = compile_native(kinematics.inverse_jacobian, plant.robot)(plant.split(s)[0], plant.unknowns(s))["J"]
    return np.asarray(conditioning(scaled_inverse(plant.robot, J)) ** 2 - SINGULARITY_THRESHOLD)


class Limit(NamedTuple):
    """One limit of one coordinate.

    Attributes:
        name: what is said at it.
        joint: index of the joint, or of the actuator.
        place: which primitive of the joint; None for an actuator.
        pair: both limits of the coordinate.
        upper: whether it is the upper one.
        kind: of the coordinate: "prismatic", "revolute", "spherical", or "counted", an angle with its turns.
    """

    name: str
    joint: int
    primitive: int | None
    pair: Interval
    upper: bool
    kind: str


def joint_limits(robot: Robot, *, stops: bool = False) -> list[Limit]:
    """All limits of actuators and joints that can be met; where there is an end stop only if `stops`."""
    limits: list[Limit] = []
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
    """Limits with room beyond: a share of the range, of 1 rad or the robot's size if one side is open."""
    wider = []
    for limit in limits:
        low, high = limit.pair
        unit = robot.size if limit.kind == "prismatic" else 1.0
        room = share * (high - low if np.isfinite(high - low) else unit)
        pair = Interval(low - room, high + room)
        sides = _limit_sides(limit.name, limit.joint, limit.primitive, pair, limit.kind)
        wider += [side for side in sides if side.upper == limit.upper]
    return wider


def limit_margins(robot: Robot, now: Configuration, limits: Sequence[Limit]) -> list[Scalar]:
    """Numbers that are positive before each of some limits, at a configuration."""
    return [_limit_margin(limit, limited_coordinate(now, limit)) for limit in limits]


def _coordinate_kind(robot: Robot, joint: int, number: int) -> str:
    primitive = robot.joints[joint].primitives[number]
    if primitive is Primitive.SPHERICAL:
        return "spherical"
    if not primitive.is_rotation:
        return "prismatic"
    return "counted" if (joint, number) in mechanism_of(robot).axes_with_coordinates else "revolute"


def _limit_sides(name: str, joint: int, axis: int | None, pair: Interval, kind: str) -> Iterator[Limit]:
    low, high = pair
    if kind == "revolute" and high - low >= 2.0 * (np.pi - LIMIT_SLACK) and np.isfinite(high - low):
        return
    if low > (0.0 if kind == "spherical" else -np.inf):
        yield Limit(f"{name} is at its lower limit", joint, axis, pair, False, kind)
    if high < (np.pi - LIMIT_SLACK if kind == "spherical" else np.inf):
        yield Limit(f"{name} is at its upper limit", joint, axis, pair, True, kind)


def event_names(robot: Robot) -> list[str]:
    """What is said at each of the numbers of `watched`."""
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
    """Numbers that are positive while all is well.

    The first is a bound: where it is positive no singularity is near; else the condition itself must say.
    """
    mechanism, n = mechanism_of(robot), robot.motion.n
    c, y = s[:n], s[2 * n :]
    now = configuration(robot, pose_from_coordinates(mechanism, c, quat_0), y)
    values: list[Scalar] = [_condition_bound(now) - SINGULARITY_THRESHOLD]
    values += [margin - NEAR_MARGIN for margin in margins(now)]
    # A step may pass a singularity of a loop, where its margin touches zero; there these change their sign.
    values += list(branch_determinants(now, y)[: branch_of(robot).signs])
    if mechanism.layout.angular is not None:
        rotation = c[mechanism.layout.angular]
        values.append((2.0 * np.pi - _FULL_TURN_MARGIN) ** 2 - dot(rotation, rotation))
    return pack(values + limit_margins(robot, now, joint_limits(robot)))


def _condition_bound(now: Configuration) -> Scalar:
    """A lower bound of the squared inverse condition of the scaled J_r^-1: 1 / (tr B tr B^-1), B = A^T A.

    It is above the squared inverse condition over n^2.
    """
    rows, columns = jacobian_scales(now.robot)
    A = actuator_rows(now.robot, now.motion) @ rate_map(now) / rows[:, None] * columns
    B = A.T @ A if A.shape[0] >= A.shape[1] else A @ A.T
    opposite = solve(B, np.eye(len(B)), "spd")
    return divide(1.0, np.trace(B) * np.trace(opposite))


def limited_coordinate(now: Configuration, limit: Limit) -> JointTransform:
    """Where a limited coordinate is: m, an angle with its turns or by (cos, sin), the cosine of a tilt."""
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
    quat = now.step(j, number)
    return 1.0 - 2.0 * (quat[0] * quat[0] + quat[1] * quat[1])


def _limit_margin(limit: Limit, step: Any) -> Scalar:
    """A number that is positive before a limit."""
    low, high = limit.pair
    if limit.kind in ("prismatic", "counted"):
        return high + LIMIT_SLACK - step if limit.upper else step - low + LIMIT_SLACK
    if limit.kind == "spherical":
        return step - np.cos(high + LIMIT_SLACK) if limit.upper else np.cos(low - LIMIT_SLACK) - step
    assert isinstance(step, CosineSine)
    both = np.isfinite(low) and np.isfinite(high)
    middle = 0.5 * (low + high) if both else low if np.isfinite(low) else high
    # Angles count modulo a turn, around the middle of the limits, or around the only one.
    c = step.c * np.cos(middle) + step.s * np.sin(middle)
    s = step.s * np.cos(middle) - step.c * np.sin(middle)
    side = s if limit.upper else -s
    if not both:
        return LIMIT_SLACK - side
    return where(side, c - np.cos(0.5 * (high - low) + LIMIT_SLACK), 1.0)
