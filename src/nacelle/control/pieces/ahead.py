"""The platform ahead of a sample: its forces act from a delay D on, over a sample T.

Until then it moves on under the forces of the sample before; what these give is remembered. Errors are taken
to the begin of the time over which the new forces act, the model to its middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.control.kind import DesiredMotion
from nacelle.control.pieces.desired import closed_unknowns
from nacelle.control.pieces.pose import Platform, displaced
from nacelle.dynamics import smallest
from nacelle.dynamics.formulations.mass_rank import require_inertia
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, pack, where
from nacelle.spatial.solve import solve

# Steps of Newton's iteration that close the loops at the pose half a sample away.
_STEPS = 2


class Errors(NamedTuple):
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
        return _times(k["stiffness"], e) + _times(k["damping"], rate)


def _times(gains: Array, e: Array) -> Array:
    return np.asarray(gains * e if len(gains) == len(e) else gains.reshape(len(e), -1) @ e)


class Ahead(NamedTuple):
    """Pose (nx,), what iteration finds at it (ny,), and twist (n,)."""

    x: Array
    y: Array
    v: Array


def mid_sample(robot: Robot, platform: Platform, acceleration: Array, k: dict[str, Array]) -> Ahead:
    """The platform at D + T/2 after a sample, at an acceleration (n,); k has the parts period and delay."""
    t = k["delay"][0] + 0.5 * k["period"][0]
    v = platform.v + t * acceleration
    x = displaced(robot, platform.x, platform.y, t * (platform.v + (0.5 * t) * acceleration))
    return Ahead(x, closed_unknowns(robot, platform.y, x, _STEPS), v)


def desired_middle(z: dict[str, Array], motion: DesiredMotion, k: dict[str, Array]) -> DesiredMotion:
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


class Inertial(NamedTuple):
    """What forces give to the platform.

    Attributes:
        M: mass matrix along the twist (n, n).
        acceleration: derivative of the twist that they add (n,).
    """

    M: Array
    acceleration: Array


def inertial_response(robot: Robot, ahead: Ahead, load: Array, force: Array) -> Inertial:
    """M, and M^-1 (load + J^T force) of a force along the twist (n,) and forces of actuators (actuators,)."""
    require_inertia(robot)
    at = smallest.inertia(robot, ahead.x, ahead.y, outputs="M A")
    return Inertial(at["M"], solve(at["M"], load + at["A"].T @ force, "spd"))
