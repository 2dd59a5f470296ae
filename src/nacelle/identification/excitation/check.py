"""The check of a motion: all limits at many times, by other ways than those of the optimiser.

The optimiser sees a motion at few times, with friction that changes its sign smoothly. Here the trajectory
itself is sampled finely; forces come from inverse dynamics with the robot's own parameters and friction, and
flags of reach, limits and singularities from the kinematics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.identification.excitation.problem import Design, MotionSamples
from nacelle.kinematics.along import along
from nacelle.kinematics.flags import Flag, failed
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.trajectory import Trajectory
from nacelle.spatial.scalar import Array

# Times of the check for each time of the optimisation.
FINE = 8
# Scales that are tried between nothing and all of a motion, and how close they may be in the end.
_BISECTIONS = 30
_CLOSE = 1e-3


@dataclass(frozen=True)
class Use:
    """The largest use of a kind of limit over a motion.

    Attributes:
        kind: "speed", "acceleration", "force", "position", "leg margin", "conditioning" or "orientation".
        name: whose limit it is: an actuator, a joint, a leg.
        use: 0 for nothing, 1 at the limit.
        time: at which it is, s.
    """

    kind: str
    name: str
    use: float
    time: float


def uses_along(problem: Design, trajectory: Trajectory, samples: MotionSamples, t: Array) -> Array:
    """Uses of all limits (N, limits) of a trajectory at times (N,); infinite where the robot cannot be.

    Args:
        problem: the limits and the robot.
        trajectory: the motion.
        samples: the same motion in coordinates about the centre, at the times.
        t: the times, s.
    """
    robot = problem.robot
    state = along(robot, trajectory, t)
    guess = samples.motion[3]
    dynamics = inverse_dynamics(robot, state.x, state.v, state.a, guess=guess)
    joints = inverse_kinematics(robot, state.x, guess=guess)
    uses = problem.uses(samples, dynamics.force)
    beyond = int(Flag.OUT_OF_LIMITS | Flag.OTHER_BRANCH)
    wrong = failed(dynamics.flags) | failed(joints.flags) | ((joints.flags & beyond) != 0)
    return np.where(wrong[:, None], np.inf, uses)


def motion_uses(problem: Design, z: Array) -> tuple[Array, Array]:
    """Times (N,) of a fine check of a motion (variables,), and the uses of all limits (N, limits) at them."""
    Z = problem.coefficients(z)
    t = np.linspace(0.0, problem.functions.duration, FINE * problem.count + 1)
    trajectory = problem.functions.trajectory(problem.center, Z, problem.robot.motion)
    return t, uses_along(problem, trajectory, problem.samples(Z, t), t)


def drawn_in(problem: Design, z: Array, also: Callable[[Array], bool] | None = None) -> Array:
    """A motion (variables,), drawn towards the centre until it keeps all limits; as it is where it does.

    Args:
        problem: the problem.
        z: the motion.
        also: what else it has to keep.
    """

    def keeps(scale: float) -> bool:
        kept = bool(np.all(motion_uses(problem, scale * z)[1] <= 1.0))
        return kept and (also is None or also(scale * z))

    if keeps(1.0):
        return z
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if keeps(middle):
            low = middle
        else:
            high = middle
        if high - low < _CLOSE * high:
            break
    return low * z


def largest_uses(problem: Design, t: Array, uses: Array) -> tuple[Use, ...]:
    """The largest use of each kind of limit over times (N,), from the uses of all (N, limits)."""
    largest: dict[str, Use] = {}
    for k, (kind, name) in enumerate(problem.labels()):
        at = int(np.argmax(uses[:, k]))
        use = Use(kind, name, float(uses[at, k]), float(t[at]))
        if kind not in largest or use.use > largest[kind].use:
            largest[kind] = use
    return tuple(largest.values())
