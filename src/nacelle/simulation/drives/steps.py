"""Fixed steps that suit drives: their fastest rates from the mass that each actuated joint moves.

At a state forces tau of the actuators accelerate their joints by W tau, W (actuators, actuators) the mobility
there. Sticking joints, b' = w, have to first order

    w' = -W ((sigma_1 + sigma_2) w + sigma_0 b)           b' = w

and the bristles of a joint that slides at a rate w relax with at most sigma_0 min(|w|, v_b) / F_c.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nacelle.model.robot import Robot
from nacelle.simulation.drives.drives import DriveNumbers
from nacelle.simulation.protocol import Derivative
from nacelle.spatial.scalar import Array

# Steps of the Runge-Kutta method are stable below this many time constants, or radians of a vibration.
_STABLE = 2.7
# Part of the time constant of lags and sticking bristles that a step is by default; of sliding bristles,
# which need not be followed but must not grow.
_FOLLOWED, _SLIDING = 0.25, 0.5


def mobility(f: Derivative, rates: Callable[[Array], Array], s: Array, count: int) -> Array:
    """Accelerations W (actuators, actuators) of the actuated joints per force, rad/s^2 or m/s^2 per N m or N.

    Args:
        f: flow of the plant; it is linear in the forces, which change rates alone.
        rates: rates of the actuated joints (..., actuators) at states; linear in the rates of the plant.
        s: state of the plant (size,).
        count: number of actuators.
    """
    zero = f(s, np.zeros(count))
    moved = np.array([s, *(s + f(s, force) - zero for force in np.eye(count))])
    w = rates(moved)
    return np.asarray((w[1:] - w[0]).T)


def sticking_rate(drives: DriveNumbers, W: Array) -> float:
    """The fastest rate of joints that stick, 1/s or rad/s; 0 if none has stiction."""
    if not drives.bristled:
        return 0.0
    places = [i for i, _ in drives.bristled]
    stiffness = np.array([model.stiffness for _, model in drives.bristled])
    damping = np.array([model.damping + model.viscous for _, model in drives.bristled])
    own, n = W[np.ix_(places, places)], len(places)
    A = np.block([[-own * damping, -own * stiffness], [np.eye(n), np.zeros((n, n))]])
    return float(np.max(np.abs(np.linalg.eigvals(A))))


def sliding_rate(drives: DriveNumbers, w: Array) -> float:
    """The fastest relaxation of bristles at rates of the joints up to w (actuators,), 1/s."""
    return max((model.fastest_relaxation(abs(float(w[i]))) for i, model in drives.bristled), default=0.0)


def default_step(robot: Robot, drives: DriveNumbers, w: Array, W: Array) -> float:
    """A fixed step (s) at rates w and those up to the described speed limits; infinite if nothing limits it.

    A quarter of the lags and of what sticking bristles do, half of what sliding ones do.
    """
    speeds = np.array([a.speed if np.isfinite(a.speed) else 0.0 for a in robot.actuators])
    steps = [_FOLLOWED * drives.lag[i] for i in drives.lagged]
    sticking, sliding = sticking_rate(drives, W), sliding_rate(drives, np.maximum(np.abs(w), speeds))
    steps += [_FOLLOWED / sticking] if sticking else []
    steps += [_SLIDING / sliding] if sliding else []
    return min(steps, default=np.inf)


def reason_unstable(robot: Robot, drives: DriveNumbers, w: Array, W: Array, step: float) -> str:
    """Why fixed steps would grow without bound at rates w; empty if they do not."""
    rates = {
        "current loops": max((1.0 / drives.lag[i] for i in drives.lagged), default=0.0),
        "bristles of joints that stick": sticking_rate(drives, W),
        "bristles of joints that slide": sliding_rate(drives, w),
    }
    what = max(rates, key=lambda name: rates[name])
    if step * rates[what] < _STABLE:
        return ""
    return (
        f"steps of {step:g} s are unstable: the {what} of {robot.name} have a time constant of "
        f"{1.0 / rates[what]:.2g} s; take steps of at most {_STABLE / rates[what]:.2g} s (step=None chooses "
        "one), or method='radau'"
    )
