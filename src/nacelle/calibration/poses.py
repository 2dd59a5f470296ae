"""Poses: those in reach, which parameters they show, the loads there, and the poses that show them best.

With the encoders held, the platform follows the parameters by L (6, P): of the motions m that loops leave,
A_q m + B_q z = 0 of the encoders, so z moves the platform's twist by B_p z - A_p A_q^+ B_q z. Two sets of
parameters that give the same L at all poses are the same to everybody who measures the platform; the
default parameters are a largest set without such, found in order of preference by orthogonalisation (Gram
and Schmidt).

Poses are planned by exchange: with the information I = sum_s J_s^T J_s + tolerance^-2 of N poses of a large
set of candidates, a pose is exchanged for another as long as the largest deviation, of the platform over the
workspace, falls (the largest of L_w I^-1 L_w^T), after a start that adds the best pose again and again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.calibration.camera_edges import Edges
from nacelle.calibration.devices import Device, Places, Tracker
from nacelle.calibration.fit import Campaign, Point, System
from nacelle.calibration.loops import Linearised, Loops, States, states_at, velocity_maps
from nacelle.calibration.parameters import (
    Encoder,
    Geometry,
    Parameter,
    body_direction,
    encoders_of,
    known_parameters,
    length_bodies,
)
from nacelle.dynamics.forward import gravity_forces
from nacelle.dynamics.jacobian import jacobian, sample_poses
from nacelle.dynamics.reactions import joint_reactions
from nacelle.elastic.linear.statics import static_deflection
from nacelle.errors import CalibrationError
from nacelle.kinematics.forward import forward_kinematics
from nacelle.kinematics.pose_input import displace_pose, reference_pose
from nacelle.kinematics.solve.inverse import BodyPoses, inverse_kinematics
from nacelle.model.leg import PLATFORM
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.one_thread import one_blas_thread
from nacelle.spatial.rotation import quat_conjugate, quat_log, quat_multiply
from nacelle.spatial.scalar import Array

# Half the width of the box from which poses are drawn, over the robot's size and in rad.
_REACH = 0.5
# Weight of orientations against positions where a base is fitted to both.
_ORIENTATION = 1e-3
# A parameter shows if this part of its effect is none of those before it.
_SHOWS = 1e-6
# What opens loops by more, in robot sizes or rad for each unit of the parameter, is none of the robot's.
_OPENS = 1e-8


def drawn_poses(robot: Robot, count: int, seed: int = 0) -> Array:
    """Poses (count, nx) at random within limits, as far apart as these and singularities allow.

    Raises:
        UnreachableError: if there are hardly any around the reference pose.
    """
    return sample_poses(robot, count, seed=seed, reach=_REACH)


def loads_at(robot: Robot, x: Array) -> tuple[Array, Array]:
    """What holds the robot at rest at poses x (S, nx): forces of drives, pulls (S, bodies); N, N m."""
    forces = np.nan_to_num(gravity_forces(robot, x, coordinates="actuators"))
    wrench = np.nan_to_num(joint_reactions(robot, x).wrench)
    R = inverse_kinematics(robot, x, limits=False).bodies.R
    pulls = np.zeros((len(x), len(robot.bodies)))
    for body, ends in length_bodies(robot).items():
        direction = R[:, body] @ body_direction(robot, body)
        # Half of what each end is pulled away from the other; wrenches act on the successor.
        for frame, outward in zip(ends, (-0.5, 0.5), strict=True):
            j, side = divmod(frame, 2)
            joint = robot.joints[j]
            force = (R[:, joint.predecessor] @ joint.frame_predecessor.R @ wrench[:, j, :3, None])[:, :, 0]
            pulls[:, body] += (1.0 if side else -1.0) * outward * np.sum(force * direction, axis=1)
    return forces, pulls


def sag_of(robot: Robot, x: Array) -> Array:
    """Displacement (S, 6) of the platform by flexible links under gravity and payload; zero without such.

    That by flexible drives is in their coordinates (`Geometry.coordinates`): here they are rigid.
    """
    if not any(body.section for body in robot.bodies):
        return np.zeros((len(x), 6))
    rigid = tuple(dataclasses.replace(joint, drive_stiffness=0.0) for joint in robot.joints)
    links = dataclasses.replace(robot, joints=rigid)
    return np.asarray(static_deflection(links, x, nonlinear=False).displacement())


def with_loads(campaign: Campaign, parameters: Sequence[Parameter] | None = None) -> Campaign:
    """The campaign with static loads and sag at its samples.

    Only where the description or `parameters` depend on them, or wherever the robot has mass if None.
    """
    robot = campaign.robot
    drives = campaign.readings[:, : len(robot.actuators)]
    if campaign.forces is not None or all(body.massless for body in robot.bodies):
        return campaign
    if parameters is not None and not (
        depends_on_load(robot, parameters) or any(body.section for body in robot.bodies)
    ):
        return campaign
    x = forward_kinematics(robot, drives, campaign.guess).x
    if not np.all(np.isfinite(x)):
        return campaign
    forces, pulls = loads_at(robot, x)
    return replace(campaign, forces=forces, pulls=pulls, sag=sag_of(robot, x))


def depends_on_load(robot: Robot, parameters: Sequence[Parameter]) -> bool:
    """Whether coordinates or lengths follow the static load: flexible drives, compliance, stretch."""
    return any(item.kind in ("compliance", "stretch") for item in parameters) or any(
        joint.drive_stiffness for joint in robot.joints
    )


def platform_rates(
    robot: Robot,
    x: Array,
    parameters: Sequence[Parameter],
    encoders: Sequence[Encoder],
    values: Array | None = None,
) -> Array:
    """L (S, 6, P): twist [v; w] of the platform frame, base axes, by the parameters, with encoders held."""
    inverse = inverse_kinematics(robot, x, limits=False)
    drives = encoders[: len(robot.actuators)]
    forces, pulls = loads_if_needed(robot, x, parameters)
    geometry = Geometry(robot, tuple(parameters), tuple(drives), forces, pulls)
    loops = Loops(robot)
    z = np.zeros(len(parameters)) if values is None else values
    states, _ = loops.close(geometry.vector(z), states_at(inverse))
    now = loops.linearise(geometry.vector(z), states, geometry.frame_rates(z))
    _, rates = geometry.coordinates(inverse.q, z)
    return held_rates(now, states, drives, rates)


def held_rates(now: Linearised, states: States, drives: Sequence[Encoder], rates: Array) -> Array:
    """The same at states that are linearised already; `rates` (S, drives, P) of the drives' coordinates."""
    A, B = (
        np.concatenate(part, axis=1)
        for part in zip(*(now.joint(item.axis, states)[1] for item in drives), strict=True)
    )
    _, response = now.point(PLATFORM, np.zeros(3))
    twist = now.body(PLATFORM)
    by_motion = np.concatenate([response.by_motion, twist.by_motion[:, 3:]], axis=1)
    by_parameters = np.concatenate([response.by_parameters, twist.by_parameters[:, 3:]], axis=1)
    # Idle motions move neither drives nor platform.
    return np.asarray(by_parameters - by_motion @ (np.linalg.pinv(A, rcond=1e-9) @ (B - rates)))


def loads_if_needed(robot: Robot, x: Array, parameters: Sequence[Parameter]) -> tuple[Array, Array]:
    """Static loads where parameters or the description depend on them; else none."""
    if depends_on_load(robot, parameters):
        return loads_at(robot, x)
    return np.zeros((len(x), 0)), np.zeros((len(x), 0))


def opening_parameters(robot: Robot, parameters: Sequence[Parameter]) -> set[str]:
    """Names of those that alone open overconstrained loops, such as an axis of a plane mechanism."""
    x = drawn_poses(robot, 4, seed=1)
    geometry = Geometry(robot, tuple(parameters), (), np.zeros((4, 0)), np.ones((4, len(robot.bodies))))
    loops, zero = Loops(robot), np.zeros(len(parameters))
    states = states_at(inverse_kinematics(robot, x, limits=False))
    now = loops.linearise(geometry.vector(zero), states, geometry.frame_rates(zero))
    opened = np.max(np.abs(now.opened), axis=(0, 1), initial=0.0)
    units = np.array([robot.size if item.unit == "m" else 1.0 for item in parameters])
    return {item.name for item, gap in zip(parameters, opened * units, strict=True) if gap > _OPENS}


@one_blas_thread
def default_parameters(robot: Robot, encoders: Sequence[Encoder] | None = None) -> tuple[Parameter, ...]:
    """A largest set of frames and zeros that the platform's pose shows one by one, with drives held.

    In order of preference: zeros of encoders, places of joints on base and platform, other lengths, axes. The
    zeros of further encoders are added.
    """
    encoders = encoders_of(robot) if encoders is None else encoders
    drives = encoders[: len(robot.actuators)]
    known = [item for item in known_parameters(robot, encoders) if item.kind in ("zero", "frame")]
    opening = opening_parameters(robot, known)
    known = [item for item in known if item.name not in opening]

    def preference(item: Parameter) -> int:
        if item.kind == "zero":
            return 0
        joint, (frame, axis) = robot.joints[item.target[0] // 2], item.target
        body = (joint.predecessor, joint.successor)[frame % 2]
        return (3 if axis >= 3 else 1) + (body > PLATFORM)

    order = sorted(range(len(known)), key=lambda k: (preference(known[k]), k))
    x = drawn_poses(robot, 2 * len(known) // 6 + 12, seed=2)
    L = platform_rates(robot, x, known, encoders)
    L = L / np.array([robot.size] * 3 + [1.0] * 3)[:, None] * np.array([item.tolerance for item in known])
    columns = L.reshape(-1, len(known))
    size = np.linalg.norm(columns, axis=0)
    basis = np.zeros((len(columns), 0))
    chosen = []
    for k in order:
        if size[k] < 1e-9 * float(np.max(size)):
            continue
        column = columns[:, k] / size[k]
        for _ in range(2):
            column = column - basis @ (basis.T @ column)
        rest = float(np.linalg.norm(column))
        if rest > _SHOWS:
            basis = np.column_stack([basis, column / rest])
            chosen.append(k)
    # The platform does not follow zeros of further encoders, but what these read does.
    chosen += [k for k, item in enumerate(known) if item.kind == "zero" and item.target[0] >= len(drives)]
    return tuple(known[k] for k in sorted({*chosen}))


# ---- where to measure


# Candidates for each pose that is planned, at least so many; exchanges at most; poses of the workspace.
_CANDIDATES, _FEWEST, _EXCHANGES, _WORKSPACE = 8, 300, 60, 40
# The power of the mean over the workspace that stands for the largest.
_POWER = 4.0


@dataclass(frozen=True, eq=False)
class Plan:
    """Poses to measure at.

    Attributes:
        x: the poses (N, nx), in an order that needs little travel.
        deviation: largest deviation of the platform's position over the workspace that they leave, m.
        random: the same of as many poses at random (median of some draws), m.
        by_count: numbers of poses, and the largest deviation that the best of that number leave, m.
        enough: the fewest poses beyond which as many again would not halve the variance's excess over noise.
    """

    x: Array
    deviation: float
    random: float
    by_count: tuple[tuple[int, float], ...]
    enough: int


@one_blas_thread
def plan_poses(
    campaign: Campaign,
    count: int,
    parameters: Sequence[Parameter] | None = None,
    *,
    allowed: Callable[[Array], Array] | None = None,
    seed: int = 0,
) -> Plan:
    """The poses that determine the parameters best, of those that robot and device allow.

    Args:
        campaign: robot, encoders and devices; what they hold as measured does not count.
        count: how many poses.
        parameters: what is to be estimated; `default_parameters` if None.
        allowed: which of some poses (M, nx) may be taken (M,), in addition to the devices' range and sight.
        seed: of the candidates.

    Raises:
        CalibrationError: if fewer poses than wanted are allowed.
    """
    robot = campaign.robot
    estimated = tuple(default_parameters(robot, campaign.encoders) if parameters is None else parameters)
    total = max(_FEWEST, _CANDIDATES * count)
    x = pushed_out(robot, drawn_poses(robot, total, seed))
    x = _visible_poses(campaign, x, allowed)
    if len(x) < count:
        raise CalibrationError(
            f"{robot.name}: {len(x)} of {total} poses are within what the devices see: {count} are wanted"
        )
    system = System(with_loads(blank_campaign(campaign, x), estimated), estimated)
    informations = _informations(system, x)
    at = drawn_poses(robot, _WORKSPACE, seed=3)
    L = (
        platform_rates(robot, at, estimated, campaign.encoders)[:, :3]
        * system.tolerance[: system.robot_count]
    )
    L = np.concatenate([L, np.zeros((*L.shape[:2], system.count - system.robot_count))], axis=2)
    L = without_rigid_motion(robot, at, L, campaign)

    def spread(information: Array) -> tuple[float, float]:
        """A smooth largest deviation, and the largest one, m."""
        half = np.linalg.solve(
            np.linalg.cholesky(information + np.eye(system.count)), L.reshape(-1, system.count).T
        )
        squares = np.sum(half.reshape(system.count, len(at), 3) ** 2, axis=(0, 2))
        return float(np.mean(squares ** (_POWER / 2)) ** (1 / _POWER)), float(np.sqrt(squares.max()))

    chosen: list[int] = []
    information = np.zeros((system.count, system.count))
    curve = []
    for number in range(1, count + 1):
        best = min(
            (k for k in range(len(x)) if k not in chosen),
            key=lambda k: spread(information + informations[k])[0],
        )
        chosen.append(best)
        information = information + informations[best]
        if number % 5 == 0 or number == count:
            curve.append((number, spread(information)[1]))
    for _ in range(_EXCHANGES):
        out = min(chosen, key=lambda k: spread(information - informations[k])[0])
        less = information - informations[out]
        best = min(
            (k for k in range(len(x)) if k not in chosen or k == out),
            key=lambda k: spread(less + informations[k])[0],
        )
        if best == out:
            break
        chosen[chosen.index(out)] = best
        information = less + informations[best]
    others = [_random_information(campaign, estimated, count, seed + 1 + k, allowed) for k in range(5)]
    draws = [spread(value)[1] for value in others if value is not None]
    last = spread(information)[1]
    # Noise alone falls with the root of the number: what falls faster is still being determined.
    enough = next(
        (n for n, value in curve if value * np.sqrt(n) < 1.15 * curve[-1][1] * np.sqrt(count)), count
    )
    return Plan(
        _short_path(robot, x[chosen]), last, float(np.median(draws or [np.nan])), tuple(curve), enough
    )


def _random_information(
    campaign: Campaign,
    estimated: Sequence[Parameter],
    count: int,
    seed: int,
    allowed: Callable[[Array], Array] | None,
) -> Array | None:
    """What as many poses at random say (P, P); None if too few of them are allowed."""
    x = _visible_poses(campaign, drawn_poses(campaign.robot, 4 * count, seed), allowed)[:count]
    if len(x) < count:
        return None
    system = System(with_loads(blank_campaign(campaign, x), estimated), estimated)
    return np.asarray(_informations(system, x).sum(axis=0))


def _visible_poses(campaign: Campaign, x: Array, allowed: Callable[[Array], Array] | None) -> Array:
    """Those of some poses that are allowed, and that a device sees where there are devices."""
    if allowed is not None:
        x = x[np.asarray(allowed(x), dtype=bool)]
    devices = blank_campaign(campaign, x).devices
    return x[np.any([np.any(item.present, axis=1) for item in devices], axis=0)] if devices else x


def _informations(system: System, x: Array) -> Array:
    """What each of some poses says of the parameters, J^T J in tolerances (M, P, P)."""
    inverse = inverse_kinematics(system.campaign.robot, x, limits=False)
    reduced = system.reduce(Point(np.zeros(system.count), states_at(inverse)), np.ones(system.present.shape))
    J = (reduced.J * system.tolerance).reshape(len(x), -1, system.count)
    return np.asarray(np.swapaxes(J, 1, 2) @ J)


def pushed_out(robot: Robot, x: Array) -> Array:
    """Three of four poses moved away from the reference pose as far as limits and singularities allow.

    What shows parameters best lies at the border, where few poses at random are.
    """
    x, reference = x.copy(), reference_pose(robot)
    fair = 0.2 * float(jacobian(robot, reference).conditioning)
    layout = layout_of(robot.motion)
    (linear, quat), (start, first) = layout.split_x(x), layout.split_x(reference)
    tilt_vector = (
        None if quat is None or first is None else quat_log(quat_multiply(quat, quat_conjugate(first)))
    )
    steps = layout.join_v(linear - start, tilt_vector)
    for factor in (1.25, 1.5, 2.0, 3.0):
        trial = displace_pose(robot, np.broadcast_to(reference, x.shape), factor * steps)
        good = np.asarray(inverse_kinematics(robot, trial).ok)
        good[good] = jacobian(robot, trial[good]).conditioning > fair
        good[::4] = False
        x[good] = trial[good]
    return x


def blank_campaign(campaign: Campaign, x: Array) -> Campaign:
    """A campaign at other poses (S, nx), with nothing measured yet: zeros where a device sees the pose."""
    inverse = inverse_kinematics(campaign.robot, x, limits=False)
    extra = np.zeros((len(x), len(campaign.encoders) - inverse.q.shape[1]))
    devices = []
    for device in campaign.devices:
        seen = device.sees(campaign.robot, inverse.bodies)
        blank = device.blank(len(x))
        if not np.all(seen):
            blank = blank.with_values(np.where(seen[:, None], blank.measured, np.nan))
        devices.append(placed_device(blank, campaign.robot, inverse.bodies))
    readings = np.concatenate([inverse.q, extra], axis=1)
    return Campaign(campaign.robot, readings, campaign.encoders, tuple(devices), guess=x)


def placed_device(device: Device, robot: Robot, bodies: BodyPoses) -> Device:
    """A device whose place nobody knows, known to the robot's size; edges where they would be seen.

    The bodies are those at its samples.
    """
    if isinstance(device, Tracker):
        return device.within(robot.size)
    if isinstance(device, Edges):
        return device.at_bodies(bodies)
    if isinstance(device, Places) and device.near is None:
        points = bodies.p[:, device.tool.body] + bodies.R[:, device.tool.body] @ device.tool.point
        return device.near_points(points, robot.size)
    return device


def is_placed(campaign: Campaign) -> bool:
    """Whether the place of a device in the base is known."""
    return any(
        not any(
            item.name.startswith(f"{device.name}.") and ".tool." not in item.name
            for item in device.parameters
        )
        for device in campaign.devices
    )


def without_rigid_motion(robot: Robot, x: Array, L: Array, campaign: Campaign) -> Array:
    """Rates (S, 3 or 6, P) of the platform at poses x less those of a rigid motion of the base.

    Where no device knows its place in the base, nobody can tell where the base is: what counts is the pose in
    the base that fits the workspace best, M (M^T M)^-1 M^T L taken away, M the rigid motions: that which fits
    positions best, and orientations where these leave a choice.
    """
    if is_placed(campaign):
        return L
    p = inverse_kinematics(robot, x, limits=False).bodies.p[:, PLATFORM]
    M = np.zeros((len(x), 6, 6))
    M[:, :3], M[:, 3:, 3:] = velocity_maps(p), np.eye(3)
    weigh = np.array([1.0 / robot.size] * 3 + [_ORIENTATION * float(robot.platform_nv == 6)] * 3)[:, None]
    M, weigh = M[:, : L.shape[1]], weigh[: L.shape[1]]
    fitted = np.linalg.pinv((weigh * M).reshape(-1, 6)) @ (weigh * L).reshape(-1, L.shape[2])
    return np.asarray(L - M @ fitted)


def _short_path(robot: Robot, x: Array) -> Array:
    """The poses in an order in which each is the nearest of those left, from the reference pose."""
    q = inverse_kinematics(robot, x, limits=False).q / np.where(robot.revolute_actuators, 1.0, robot.size)
    order = [int(np.argmin(np.linalg.norm(q - q.mean(axis=0), axis=1)))]
    while len(order) < len(x):
        left = [k for k in range(len(x)) if k not in order]
        order.append(left[int(np.argmin(np.linalg.norm(q[left] - q[order[-1]], axis=1)))])
    return x[order]
