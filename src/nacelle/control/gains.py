"""Gains from a bandwidth: what every actuator feels as its mass, and how far that holds over the workspace.

M_a = J^+T M J^+ is the mass matrix at the actuators, J^+ the left inverse of their Jacobian J; at the
reference pose its diagonal is the mass m that each actuator feels while the others are held. Feedback of each
actuator alone with gains proportional to m acts on the robot as a whole, by the motions of
M^-1 J^T diag(m) J. Their eigenvalues k are between k_1 (heavy motions, slower by sqrt(k) and less damped) and
k_2 (light ones, whose crossover 2 zeta w k comes near to the sampling). So the damping ratio grows to
0.75 / sqrt(k_1), and the bandwidth, if none is given, is the largest of a falling row at which all poles of
the sampled loop (`nacelle.control.poles`), delay included, have a damping ratio of 0.45 at the poses of the
workspace where k is smallest and largest. There the robot counts with its masses alone, s'' = M^-1 J^T u:
gravity's stiffness is far below that of the loop. Poses near a singularity, where k is twenty times smaller
or larger than in the reference pose, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.kind import ControlLaw, EffectiveMasses, LoopSpecification, TunedLoop, Tuning
from nacelle.control.poles import StateSpaces, count_ripple, delay_margin, inertial_models, poles_of
from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.jacobian import sample_poses
from nacelle.dynamics.reference import require_inertia
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# The most that a bandwidth is chosen to be, Hz, and over the rate of the samples; and how it falls.
_MAX_BANDWIDTH, _SAMPLE_RATE_FRACTION, _BANDWIDTH_STEP = 25.0, 1.0 / 60.0, 0.85
# Damping ratio that a chosen bandwidth must have everywhere, and below which one that is given is warned of,
# and refused: at 0.1 a resonance is amplified 1 / (2 zeta) = 5 times, and a step overshoots by 73 %.
_MIN_DAMPING, POOR_DAMPING, REFUSED_DAMPING = 0.45, 0.4, 0.1
# Damping ratios of heavy motions, and the largest that gains are made for.
_HEAVY_DAMPING, _MAX_DAMPING = 0.75, 8.0
# Poses over the workspace, and how many of them, the heaviest and the lightest, are looked at in detail.
_POSES, _WORST_POSES = 400, 4
# Motions that are heavier or lighter than those in the reference pose by more than this are left out.
_SINGULARITY_RATIO = 0.05
# Halvings of a bandwidth in which one that suits is sought.
_HALVINGS = 20
# A bandwidth beyond this part of a first natural frequency excites it.
NATURAL_FREQUENCY_FRACTION = 1.0 / 3.0


class ControlWarning(UserWarning):
    """A controller that works badly, or hardly."""


@lru_cache(maxsize=64)
def effective_masses(robot: Robot) -> tuple[EffectiveMasses, StateSpaces]:
    """What the actuators of a robot feel over its workspace.

    With it the linear models at the reference pose and where k is smallest and largest.
    """
    require_inertia(robot)
    x = np.asarray(mechanism_of(robot).reference[0])[None]
    try:
        poses = np.vstack([x, sample_poses(robot, _POSES)])
    except UnreachableError:
        poses = x
    joints = inverse_kinematics(robot, poses, limits=False)
    J = compile_native(inverse_jacobian, robot)(poses, joints.y)["J"]
    M = mass_matrix(robot, poses, guess=joints)
    left = np.linalg.solve(J[0].T @ J[0], J[0].T)
    held = np.diagonal(left.T @ M[0] @ left)
    k = np.linalg.eigvals(np.linalg.solve(M, np.swapaxes(J, -1, -2) @ (held[:, None] * J))).real
    low, high = np.min(k, axis=-1), np.max(k, axis=-1)
    # Near singularities single motions are as heavy as can be, and no gains suit them and the rest.
    fair = np.flatnonzero((low >= _SINGULARITY_RATIO * low[0]) & (high <= high[0] / _SINGULARITY_RATIO))
    poses, M, J, low, high = poses[fair], M[fair], J[fair], low[fair], high[fair]
    picked = np.unique([0, *np.argsort(low)[:_WORST_POSES], *np.argsort(high)[-_WORST_POSES:]])
    models = inertial_models(poses[picked], M[picked], J[picked])
    return EffectiveMasses(np.array(held), float(np.max(high)), float(np.min(low))), models


def smallest_damping_ratio(controller: Controller, *, delay: float = 0.0, lag: float = 0.0) -> float:
    """The smallest damping ratio -Re s / |s| of the poles s of the loop, over poses of the workspace.

    Args:
        controller: its feedback alone counts.
        delay: from a sample to the time at which its forces act, s.
        lag: time constant of the drives, s.
    """
    _, models = effective_masses(controller.robot)
    return float(np.min(poles_of(_feedback_alone(controller), models, delay=delay, lag=lag).damping))


def tolerates_late_sample(controller: Controller, stated: LoopSpecification) -> bool:
    """Whether the loop is still stable if all forces act one sample later than stated.

    Drivers that write what a sample computed at the next one make it so, and a bridged reading nearly.
    """
    _, models = effective_masses(controller.robot)
    later = stated.delay + stated.period
    return bool(poles_of(_feedback_alone(controller), models, delay=later, lag=stated.lag).stable.all())


def _feedback_alone(controller: Controller) -> Controller:
    """A controller with the same feedback, whose program is the smallest."""
    law = controller.kind.feedback_law
    # Gains of what is put around a law come last.
    return Controller(
        law, controller.robot, controller.period, controller.gains[: law.gains(controller.robot).size]
    )


def largest_ripple(controller: Controller, resolution: Sequence[float]) -> float:
    """The largest force that a count of an encoder makes, over the limit of its drive.

    Args:
        controller: its feedback alone counts.
        resolution: counts of the encoders (actuators,), rad or m.
    """
    _, models = effective_masses(controller.robot)
    ripple = count_ripple(_feedback_alone(controller), models.x, np.asarray(resolution))
    return float(np.max(ripple / np.array([actuator.force for actuator in controller.robot.actuators])))


@dataclass(frozen=True)
class LoopQuality:
    """How good the loop of a tuned controller is, at the worst of poses over the workspace.

    Attributes:
        damping: smallest damping ratio of its poles; below zero if it is unstable.
        delay_margin: the further delay with which it is stable, s; 0 if it is not.
        ripple: largest force of each actuator that one count of an encoder makes (actuators,), N or N m.
        ripple_of_position: the same with the gain `damping` at zero (actuators,).
    """

    damping: float
    delay_margin: float
    ripple: Array
    ripple_of_position: Array


@lru_cache(maxsize=8)
def loop_quality(controller: Controller, tuned: TunedLoop) -> LoopQuality:
    """The quality of a controller's loop, with delay, lag and encoders as it was tuned for."""
    _, models = effective_masses(controller.robot)
    alone, (_, _, delay, lag, resolution, _) = _feedback_alone(controller), tuned.specification
    counts = np.asarray(resolution)
    return LoopQuality(
        smallest_damping_ratio(controller, delay=delay, lag=lag),
        delay_margin(alone, models, delay=delay, lag=lag),
        count_ripple(alone, models.x, counts),
        count_ripple(alone.with_gains(damping=0.0), models.x, counts),
    )


def is_acceptable(controller: Controller, stated: LoopSpecification) -> bool:
    """Whether a loop is well damped, tolerates a late sample, and ripples no more than is stated."""
    if smallest_damping_ratio(controller, delay=stated.delay, lag=stated.lag) < _MIN_DAMPING:
        return False
    if not tolerates_late_sample(controller, stated):
        return False
    return stated.ripple is None or largest_ripple(controller, stated.resolution) <= stated.ripple


def largest_bandwidth(refused: Controller, suits: Callable[[Controller], bool]) -> Controller | None:
    """The controller of the largest bandwidth below that of one that is refused, to 3 %, or None.

    Args:
        refused: a tuned controller.
        suits: whether a controller does; it is taken to do so below a bandwidth and nowhere above.
    """
    assert refused.tuned is not None
    stated, bandwidth = refused.tuned.specification, refused.tuned.bandwidth
    best, low, high = None, bandwidth, bandwidth
    for _ in range(_HALVINGS):
        low, high = 0.5 * low, low
        tried = controller_for_bandwidth(refused.kind, refused.robot, low, stated)
        if suits(tried):
            best = tried
            break
    while best is not None and high > 1.03 * low:
        middle = math.sqrt(low * high)
        tried = controller_for_bandwidth(refused.kind, refused.robot, middle, stated)
        best, low, high = (tried, middle, high) if suits(tried) else (best, low, middle)
    return best


def initial_bandwidth(period: float) -> float:
    """The bandwidth that is tried first at a sample time (s), Hz."""
    return min(_MAX_BANDWIDTH, _SAMPLE_RATE_FRACTION / period)


@lru_cache(maxsize=256)
def best_bandwidth(
    kind: ControlLaw, numbers: str, robot: Robot, stated: LoopSpecification, natural_frequency: float | None
) -> Controller:
    """A controller with the largest bandwidth of a falling row at which its loop is well damped everywhere.

    `numbers` tells kinds apart that differ in what shapes no program.

    Raises:
        KinematicsError: if no such bandwidth is found.
    """
    period, delay, lag = stated.period, stated.delay, stated.lag
    bandwidth = initial_bandwidth(period)
    if natural_frequency is not None:
        bandwidth = min(bandwidth, NATURAL_FREQUENCY_FRACTION * natural_frequency)
    for _ in range(40):
        controller = controller_for_bandwidth(kind, robot, bandwidth, stated)
        if is_acceptable(controller, stated):
            return controller
        bandwidth *= _BANDWIDTH_STEP
    raise KinematicsError(
        f"no bandwidth down to {bandwidth:.3g} Hz gives {kind.name} of {robot.name} a well damped loop at "
        f"samples of {1e3 * period:g} ms and a delay of {1e3 * (delay + lag):g} ms: state one"
    )


def controller_for_bandwidth(
    kind: ControlLaw, robot: Robot, bandwidth: float, stated: LoopSpecification
) -> Controller:
    """A controller of a bandwidth."""
    period, damping, delay, _, resolution, _ = stated
    masses, _ = effective_masses(robot)
    if damping is None:
        heavy = 1.0 if kind.uses_mass_matrix else _HEAVY_DAMPING / math.sqrt(masses.heaviest)
        damping = min(max(1.0, heavy), _MAX_DAMPING)
    limits = np.array([actuator.force for actuator in robot.actuators])
    tuning = Tuning(period, bandwidth, damping, delay, masses, limits, np.asarray(resolution))
    gains = kind.gains(robot).join(kind.tune_gains(robot, tuning))
    return Controller(kind, robot, period, gains, tuned=TunedLoop(stated, bandwidth))
