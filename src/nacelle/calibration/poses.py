"""Poses: those within reach, which parameters they show, the loads there, and the poses that show them best.

With the encoders held, the platform follows the parameters by L (6, P): of the motions m that the loops leave,
A_q m + B_q z = 0 of the encoders, so z moves the platform's twist by B_p z - A_p A_q^+ B_q z. Two sets of
parameters that give the same L at all poses are the same to everybody who measures the platform; the default
parameters are a largest set without such, found in order of preference by orthogonalisation (Gram and Schmidt).

Poses are planned by exchange: with the information I = sum_s J_s^T J_s + tolerance^-2 of N poses of a large
set of candidates, a pose is exchanged for another as long as the largest deviation, of the platform over the
workspace, falls (the largest of L_w I^-1 L_w^T), after a start that adds the best pose again and again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.calibration.loops import Linearised, Loops, States, states_at
from nacelle.calibration.parameters import (
    Encoder,
    Geometry,
    Parameter,
    encoders_of,
    known_parameters,
    length_bodies,
)
from nacelle.dynamics.forward import gravity_forces
from nacelle.dynamics.jacobian import sample_poses
from nacelle.dynamics.reactions import joint_reactions
from nacelle.elastic.linear.statics import static_deflection
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Half the width of the box from which poses are drawn, over the robot's size and in rad.
_REACH = 0.5
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


def static_loads(robot: Robot, x: Array) -> tuple[Array, Array]:
    """What holds the robot at rest at poses x (S, nx): forces of drives (S, actuators), pulls (S, bodies); N, N m."""
    forces = np.nan_to_num(gravity_forces(robot, x, coordinates="actuators"))
    pulls = np.zeros((len(x), len(robot.bodies)))
    reactions = joint_reactions(robot, x).wrench
    for body, (first, second) in length_bodies(robot).items():
        pulls[:, body] = np.nan_to_num(_pull(robot, reactions, body, (first, second)))
    return forces, pulls


def _pull(robot: Robot, wrench: Array, body: int, frames: tuple[int, int]) -> Array:
    """Tension (S,) along a body: the mean of what its two joints pull, each away from the other."""
    from nacelle.calibration.parameters import body_direction, frame_in_body

    direction, total = body_direction(robot, body), np.zeros(len(wrench))
    for frame, outward in zip(frames, (-direction, direction), strict=True):
        j, side = divmod(frame, 2)
        # The wrench is from predecessor to successor, in the frame on the predecessor; directions of a joint
        # that moves between its frames are taken from the frame of the body itself where that is the successor.
        R, _ = frame_in_body(robot, frame)
        force = wrench[:, j, :3]
        if side == 1:
            return_force = force  # acts on the successor
            total += 0.5 * (return_force @ R.T @ outward)
        else:
            total += 0.5 * (-force @ R.T @ outward)
    return total


def sag_of(robot: Robot, x: Array) -> Array:
    """Displacement (S, 6) of the platform by flexible links under gravity and payload; zero without such."""
    if not any(body.section for body in robot.bodies):
        return np.zeros((len(x), 6))
    return np.asarray(static_deflection(robot, x, nonlinear=False).displacement())


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
        for part in zip(*(now.joint(one.axis, states)[1] for one in drives), strict=True)
    )
    _, response = now.point(PLATFORM, np.zeros(3))
    twist = now.body(PLATFORM)
    by_motion = np.concatenate([response.by_motion, twist.by_motion[:, 3:]], axis=1)
    by_parameters = np.concatenate([response.by_parameters, twist.by_parameters[:, 3:]], axis=1)
    # Idle motions move neither drives nor platform.
    return np.asarray(by_parameters - by_motion @ (np.linalg.pinv(A, rcond=1e-9) @ (B - rates)))


def loads_if_needed(robot: Robot, x: Array, parameters: Sequence[Parameter]) -> tuple[Array, Array]:
    """Static loads where parameters or the description depend on them; else none."""
    needed = any(one.kind in ("compliance", "stretch") for one in parameters)
    if needed or any(joint.drive_stiffness for joint in robot.joints):
        return static_loads(robot, x)
    return np.zeros((len(x), 0)), np.zeros((len(x), 0))


def opening_parameters(robot: Robot, parameters: Sequence[Parameter]) -> set[str]:
    """Names of those that alone open loops which are overconstrained, such as an axis of a plane mechanism."""
    x = drawn_poses(robot, 4, seed=1)
    geometry = Geometry(robot, tuple(parameters), (), np.zeros((4, 0)), np.ones((4, len(robot.bodies))))
    loops, zero = Loops(robot), np.zeros(len(parameters))
    states = states_at(inverse_kinematics(robot, x, limits=False))
    now = loops.linearise(geometry.vector(zero), states, geometry.frame_rates(zero))
    opened = np.max(np.abs(now.opened), axis=(0, 1), initial=0.0)
    units = np.array([robot.size if one.unit == "m" else 1.0 for one in parameters])
    return {one.name for one, gap in zip(parameters, opened * units, strict=True) if gap > _OPENS}


def default_parameters(robot: Robot, encoders: Sequence[Encoder] | None = None) -> tuple[Parameter, ...]:
    """A largest set of frames and zeros that the platform's pose shows one by one, with drives held.

    In order of preference: zeros of encoders, places of joints on base and platform, other lengths, axes.
    """
    encoders = encoders_of(robot) if encoders is None else encoders
    known = [one for one in known_parameters(robot, encoders) if one.kind in ("zero", "frame")]
    opening = opening_parameters(robot, known)
    known = [one for one in known if one.name not in opening]

    def preference(one: Parameter) -> int:
        if one.kind == "zero":
            return 0
        joint, (frame, axis) = robot.joints[one.target[0] // 2], one.target
        body = (joint.predecessor, joint.successor)[frame % 2]
        return (3 if axis >= 3 else 1) + (body > PLATFORM)

    order = sorted(range(len(known)), key=lambda k: (preference(known[k]), k))
    x = drawn_poses(robot, 2 * len(known) // 6 + 12, seed=2)
    L = platform_rates(robot, x, known, encoders)
    L = L / np.array([robot.size] * 3 + [1.0] * 3)[:, None] * np.array([one.tolerance for one in known])
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
    return tuple(known[k] for k in sorted(chosen))
