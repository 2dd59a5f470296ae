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


def accelerations_per_force(f: Derivative, rates: Callable[[Array], Array], s: Array, forces: Array) -> Array:
    """Accelerations W (actuators, actuators) of the actuated joints per force, rad/s^2 or m/s^2 per N m or N.

    Args:
        f: derivative of a plant's state at forces; it is linear in them, and they change rates alone.
        rates: rates of the actuated joints (..., actuators) at states; linear in the rates of the plant.
        s: state of the plant (size,).
        forces: of each actuator one that its drive can give (actuators,), N m or N.
    """
    still = f(s, np.zeros(len(forces)))
    moved = np.array([s, *(s + f(s, row) - still for row in np.diag(forces))])
    w = rates(moved)
    return np.asarray((w[1:] - w[0]).T / forces)


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


def sliding_rate(robot: Robot, drives: DriveNumbers, w: Array, *, limits: bool) -> float:
    """The fastest relaxation of bristles, 1/s, at rates w (actuators,) of the joints and those to come.

    With v_b finite these are all up to the described speed limits, infinite where there is none. With v_b
    infinite they are so only if `limits` count: a run may never come near them.
    """
    fastest = 0.0
    for i, model in drives.bristled:
        speed = robot.actuators[i].speed
        coming = min(speed, model.blend) if limits or np.isfinite(model.blend) else 0.0
        rate = max(abs(float(w[i])), coming if np.isfinite(coming) else 0.0)
        fastest = max(fastest, model.fastest_relaxation(rate))
    return fastest


def default_step(robot: Robot, drives: DriveNumbers, w: Array, W: Array) -> float:
    """A fixed step (s) from rates w on; infinite if nothing limits it.

    A quarter of the lags and of what sticking bristles do, half of what sliding ones do.
    """
    steps = [_FOLLOWED * drives.lag[i] for i in drives.lagged]
    sticking, sliding = sticking_rate(drives, W), sliding_rate(robot, drives, w, limits=True)
    steps += [_FOLLOWED / sticking] if sticking else []
    steps += [_SLIDING / sliding] if sliding else []
    return min(steps, default=np.inf)


def implicit_step(drives: DriveNumbers) -> float:
    """A fixed step (s) of an implicit method, a quarter of the lags; infinite without any.

    Bristles, which are far faster, follow quasi-statically.
    """
    return min((_FOLLOWED * drives.lag[i] for i in drives.lagged), default=np.inf)


def reason_unstable(robot: Robot, drives: DriveNumbers, w: Array, W: Array, step: float) -> str:
    """Why fixed steps would grow without bound; empty if they do not.

    Args:
        robot: the robot.
        drives: numbers of its drives.
        w: rates of the joints with bristles (joints,), rad/s or m/s.
        W: their mobility (joints, joints): accelerations for unit forces.
        step: s.
    """
    rates = {
        "current loops": max((1.0 / drives.lag[i] for i in drives.lagged), default=0.0),
        "bristles of joints that stick": sticking_rate(drives, W),
        "bristles of joints that slide": sliding_rate(robot, drives, w, limits=False),
    }
    what = max(rates, key=lambda name: rates[name])
    if step * rates[what] < _STABLE:
        return ""
    return (
        f"steps of {step:g} s are unstable: the {what} of {robot.name} have a time constant of "
        f"{1.0 / rates[what]:.2g} s; take steps of at most {_STABLE / rates[what]:.2g} s (step=None chooses "
        "one), or method='irk5', which is stable with every step"
    )
