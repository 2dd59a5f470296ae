"""The platform of a law, from the encoders at a sample and ahead of it: pose, twist, what the model lacks.

A sample predicts pose and twist from those of the sample before, from the acceleration a that the forces give
by the model, and from an acceleration u that the model lacks (a load, friction, a wrong mass). Forces act
from a delay D after their sample on, so that those of the sample before that, a0, act first:

    x- = x + T v + (T - D)^2 a / 2 + (T D - D^2 / 2) a0 + T^2 u / 2
    v- = v + (T - D) a + D a0 + T u

The pose at the readings follows by Newton's steps from there, w = J^+ (q - q(x)), J^+ the left inverse of the
actuators' Jacobian. Their sum e is what the prediction missed, and corrects

    v = v- + b e / T        u = u- + c e / T^2

Where the model is exact there is no lag at any b and c. The errors of v and u have the double pole p of
z^2 - (2 - b - c/2) z + 1 - b + c/2 with

    b = (1 - p) (3 + p) / 2        c = (1 - p)^2        p = exp(-T w)

w the bandwidth of this observer: of a constant acceleration that the model lacks it finds all, and the twist
has no error at rest under a constant load. A force is found by d = M u. Where a reading is missing, or where
no pose has those that there are, the prediction takes their place.

Ahead of a sample: its forces act from a delay D on, over a sample T. Until then it moves on under the forces
of the sample before; what these give is remembered. Errors are taken to the begin of the time over which the
new forces act, the model to its middle.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.blocks.desired import solve_passive_coordinates
from nacelle.control.blocks.signals import (
    PATIENCE,
    coordinate_difference,
    count_missed,
    presence_sign,
    select,
    smallest_sign,
)
from nacelle.control.kind import DesiredMotion, Tuning
from nacelle.dynamics import model_functions
from nacelle.dynamics.reference import require_inertia
from nacelle.kinematics.configuration import configuration, rate_map
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.simulation.flow import coordinate_rates_from_twist
from nacelle.spatial.rotation import quat_from_rotation_vector, quat_product
from nacelle.spatial.scalar import Array, dot, minimum, pack, where
from nacelle.spatial.solve import least_squares, solve

# Steps of Newton's iteration that close the loops: of the predicted pose, and after each step of the pose
# itself. What the prediction misses is small, and each step squares it.
_PREDICTION_STEPS, _CORRECTION_STEPS = 2, (2, 1)


class PlatformEstimate(NamedTuple):
    """The platform at a sample.

    Attributes:
        x: reduced pose (nx,).
        y: passive coordinates at it (ny,).
        v: reduced twist (n,).
        unmodelled: what the derivative of the twist has in addition to that of the model (n,).
        missed: samples in a row without all readings, (1,).
        stopped: above zero once there were too many, (1,).
    """

    x: Array
    y: Array
    v: Array
    unmodelled: Array
    missed: Array
    stopped: Array


# ---- small displacements of the platform


def displace_pose(robot: Robot, x: Array, y: Array, w: Array) -> Array:
    """The pose (nx,) that is a small displacement w (n,) along the twist from x, rotations in base axes.

    Args:
        robot: the robot.
        x: pose (nx,).
        y: passive coordinates at it (ny,).
        w: displacement (n,), a twist times a time.
    """
    layout = mechanism_of(robot).layout
    if layout.quaternion is None or layout.angular is None:
        N = _coordinate_rate_map(robot, x, y)
        return np.asarray(x + w if N is None else x + N @ w)
    quat = quat_product(quat_from_rotation_vector(w[layout.angular]), x[layout.quaternion])
    # Rounding would add up over millions of samples: a step towards unit length.
    quat = (1.5 - 0.5 * dot(quat, quat)) * quat
    first = layout.angular.start
    return pack([*(x[:first] + w[:first]), *quat, *(x[layout.quaternion.stop :] + w[layout.angular.stop :])])


def pose_difference(robot: Robot, a: Array, b: Array, y: Array) -> Array:
    """The displacement (n,) along the twist from a pose b to a pose a nearby.

    Of a rotation by t about an axis it is 2 sin(t/2) of it.

    Args:
        robot: the robot.
        a: pose (nx,).
        b: pose (nx,).
        y: passive coordinates at b (ny,).
    """
    layout = mechanism_of(robot).layout
    if layout.quaternion is None or layout.angular is None:
        N = _coordinate_rate_map(robot, b, y)
        return np.asarray(a - b if N is None else solve(N, a - b))
    back = b[layout.quaternion] * np.array([-1.0, -1.0, -1.0, 1.0])
    rotation = quat_product(a[layout.quaternion], back)
    side = where(rotation[3], 2.0, -2.0)
    first = layout.angular.start
    return pack(
        [
            *(a[:first] - b[:first]),
            *(side * rotation[:3]),
            *(a[layout.quaternion.stop :] - b[layout.quaternion.stop :]),
        ]
    )


def _coordinate_rate_map(robot: Robot, x: Array, y: Array) -> Array | None:
    """Rates of the coordinates in x from the twist (n, n); None where they are the same."""
    mechanism, n = mechanism_of(robot), robot.motion.n
    if not mechanism.parasitic:
        return None
    U = rate_map(configuration(robot, x, y))[: robot.platform_nv]
    columns, numbers = coordinate_rates_from_twist(robot, x, y, U)
    rows = [np.eye(n)[k] for k in range(n)]
    for row, k in enumerate(columns):
        rows[k] = numbers[row]
    return np.stack(rows)


# ---- between actuators and twist


def twist_from_rates(J: Array, rates: Array) -> Array:
    """The twist (n,) at rates of the actuators (actuators,): J v = rates, in the mean square if redundant."""
    right = rates.reshape(-1, 1)
    return np.asarray((solve(J, right) if J.shape[0] == J.shape[1] else least_squares(J, right).X)[:, 0])


def least_forces(J: Array, load: Array) -> Array:
    """The smallest forces (actuators,) that do the work of a force along the twist (n,): J^T force = load."""
    if J.shape[0] == J.shape[1]:
        return np.asarray(solve(J.T, load.reshape(-1, 1))[:, 0])
    return np.asarray(J @ solve(J.T @ J, load.reshape(-1, 1))[:, 0])


# ---- what a controller remembers of the platform, and its gains


def platform_memory(robot: Robot) -> dict[str, int]:
    """Parts of the memory that `estimated` takes, with their sizes."""
    mechanism, n = mechanism_of(robot), robot.motion.n
    sizes = {"x": mechanism.layout.nx, "y": mechanism.unknown_count, "v": n, "unmodelled": n}
    return sizes | {"acceleration": n, "earlier": n, "started": 1, "missed": 1, "stopped": 1}


def platform_memory_at_rest(x: Array, y: Array) -> dict[str, Any]:
    """These parts at a start at rest, at a pose x (nx,) with y (ny,)."""
    others = ("v", "unmodelled", "acceleration", "earlier", "started", "missed", "stopped")
    return {"x": x, "y": y, **dict.fromkeys(others, 0.0)}


def platform_memory_after(
    z: dict[str, Array], platform: PlatformEstimate, acceleration: Array
) -> dict[str, Any]:
    """These parts after a sample.

    Args:
        z: those before it.
        platform: the platform at the sample.
        acceleration: derivative of the twist (n,) that the forces of the sample give by the model.
    """
    return {
        "x": platform.x,
        "y": platform.y,
        "v": platform.v,
        "unmodelled": platform.unmodelled,
        "acceleration": acceleration,
        "earlier": z["acceleration"],
        "started": pack([minimum(z["started"][0] + 1.0, 2.0)]),
        "missed": platform.missed,
        "stopped": platform.stopped,
    }


PLATFORM_GAINS = {"period": 1, "delay": 1, "correction": 1, "learning": 1, "patience": 1}
# Bandwidth of the observer over that of the loop.
OBSERVER_FILTER_RATIO = 5.0


def platform_gains(tuning: Tuning, bandwidth: float) -> dict[str, Any]:
    """The parts PLATFORM_GAINS for a bandwidth of the observer, Hz."""
    p = math.exp(-2.0 * math.pi * bandwidth * tuning.period)
    return {
        "period": tuning.period,
        "delay": tuning.delay,
        "correction": 0.5 * (1.0 - p) * (3.0 + p),
        "learning": (1.0 - p) ** 2,
        "patience": PATIENCE,
    }


def estimate_platform(robot: Robot, z: dict[str, Array], q: Array, k: dict[str, Array]) -> PlatformEstimate:
    """The platform at a sample, from readings q (actuators,).

    Args:
        robot: the model.
        z: memory with the parts `platform_memory`.
        q: readings (actuators,), rad or m; NaN for a missing one.
        k: gains with the parts PLATFORM_GAINS.
    """
    T, D = k["period"][0], k["delay"][0]
    a, a0, u = z["acceleration"], z["earlier"], z["unmodelled"]
    rest = T - D
    predicted_state = T * z["v"] + (0.5 * rest * rest) * a + (T * D - 0.5 * D * D) * a0 + (0.5 * T * T) * u
    faster = z["v"] + rest * a + D * a0 + T * u
    arrived = [presence_sign(value) for value in q]
    predicted = displace_pose(robot, z["x"], z["y"], predicted_state)
    x, y = predicted, solve_passive_coordinates(robot, z["y"], predicted, _PREDICTION_STEPS)
    missed_by = np.zeros(robot.motion.n)
    for closing in _CORRECTION_STEPS:
        at = inverse_jacobian(robot, x, y)
        off = coordinate_difference(robot, q, np.asarray(at["q"]))
        gap = pack([where(ok, deviation, 0.0) for ok, deviation in zip(arrived, off, strict=True)])
        step = twist_from_rates(np.asarray(at["J"]), gap)
        x, missed_by = displace_pose(robot, x, y, step), missed_by + step
        y = solve_passive_coordinates(robot, y, x, closing)
    # Readings that no pose has lead nowhere: the prediction counts, as if they were missing.
    sound = smallest_sign([presence_sign(value) for value in (*x, *y, *missed_by)])
    x, y = select(sound, x, predicted), select(sound, y, z["y"])
    # The first sample finds where the platform is, the second mends what Newton's steps have left of that;
    # neither says anything of the twist.
    moving = minimum(sound, z["started"][0] - 1.5)
    counted = select(moving, missed_by, np.zeros(len(missed_by)))
    v = faster + (k["correction"][0] / T) * counted
    unmodelled = u + (k["learning"][0] / (T * T)) * counted
    return PlatformEstimate(x, y, v, unmodelled, *count_missed([*arrived, sound], z, k))


# ---- the platform ahead of a sample: its forces act from a delay D on, over a sample T


# Steps of Newton's iteration that close the loops at the pose half a sample away.
_MID_SAMPLE_STEPS = 2


class TrackingErrors(NamedTuple):
    """Errors, their rates, and their second derivatives until new forces act."""

    e: Array
    rate: Array
    second: Array

    def after(self, delay: Array, k: dict[str, Array]) -> Array:
        """K_p e + K_d e' of the errors after a delay (1,); k has the parts stiffness and damping.

        Gains are one for each error, or matrices row by row.
        """
        D = delay[0]
        e = self.e + D * self.rate + (0.5 * D * D) * self.second
        rate = self.rate + D * self.second
        return _apply_gains(k["stiffness"], e) + _apply_gains(k["damping"], rate)


def _apply_gains(gains: Array, e: Array) -> Array:
    return np.asarray(gains * e if len(gains) == len(e) else gains.reshape(len(e), -1) @ e)


class PredictedPlatform(NamedTuple):
    """Pose (nx,), passive coordinates at it (ny,), and twist (n,)."""

    x: Array
    y: Array
    v: Array


def platform_mid_sample(
    robot: Robot, platform: PlatformEstimate, acceleration: Array, k: dict[str, Array]
) -> PredictedPlatform:
    """The platform at D + T/2 after a sample, at an acceleration (n,); k has the parts period and delay."""
    t = k["delay"][0] + 0.5 * k["period"][0]
    v = platform.v + t * acceleration
    x = displace_pose(robot, platform.x, platform.y, t * (platform.v + (0.5 * t) * acceleration))
    return PredictedPlatform(x, solve_passive_coordinates(robot, platform.y, x, _MID_SAMPLE_STEPS), v)


def desired_mid_sample(z: dict[str, Array], motion: DesiredMotion, k: dict[str, Array]) -> DesiredMotion:
    """The desired motion at D + T/2 after a sample, but for its pose, which is that of the sample.

    Its acceleration goes on as since the sample before.

    Args:
        z: memory with the parts a_d (n,), the desired acceleration of the sample before, and started.
        motion: that of the sample.
        k: gains with the parts period and delay.
    """
    T = k["period"][0]
    t = k["delay"][0] + 0.5 * T
    change = pack([where(z["started"][0], a - last, 0.0) for a, last in zip(motion.a, z["a_d"], strict=True)])
    return DesiredMotion(motion.x, motion.v + t * motion.a, motion.a + (t / T) * change)


class InertialResponse(NamedTuple):
    """What forces give to the platform.

    Attributes:
        M: mass matrix along the twist (n, n).
        acceleration: derivative of the twist that they add (n,).
    """

    M: Array
    acceleration: Array


def inertial_response(
    robot: Robot, predicted_state: PredictedPlatform, load: Array, force: Array
) -> InertialResponse:
    """M, and M^-1 (load + J^T force) of a force along the twist (n,) and forces of actuators (actuators,)."""
    require_inertia(robot)
    at = model_functions.inertia(robot, predicted_state.x, predicted_state.y, outputs="M A")
    return InertialResponse(at["M"], solve(at["M"], load + at["A"].T @ force, "spd"))
