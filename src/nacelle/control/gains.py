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
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.kind import ControlLaw, EffectiveMasses, Tuning
from nacelle.control.poles import StateSpaces, inertial_models, poles_of
from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.jacobian import sample_poses
from nacelle.dynamics.reference import require_inertia
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot

# The most that a bandwidth is chosen to be, Hz, and over the rate of the samples; and how it falls.
_MAX_BANDWIDTH, _SAMPLE_RATE_FRACTION, _BANDWIDTH_STEP = 25.0, 1.0 / 60.0, 0.85
# Damping ratio that a chosen bandwidth must have everywhere, and below which one that is given is warned of.
_MIN_DAMPING, POOR_DAMPING = 0.45, 0.4
# Damping ratios of heavy motions, and the largest that gains are made for.
_HEAVY_DAMPING, _MAX_DAMPING = 0.75, 8.0
# Poses over the workspace, and how many of them, the heaviest and the lightest, are looked at in detail.
_POSES, _WORST_POSES = 400, 4
# Motions that are heavier or lighter than those in the reference pose by more than this are left out.
_SINGULARITY_RATIO = 0.05
# A bandwidth beyond this part of a first natural frequency excites it.
NATURAL_FREQUENCY_FRACTION = 1.0 / 3.0


class LoopSpecification(NamedTuple):
    """What a loop is made for.

    Attributes:
        period: sample time, s.
        damping: ratio of its poles; chosen if None.
        delay: from a sample to the time at which its forces act, s.
        lag: time constant of the current loops, s.
    """

    period: float
    damping: float | None
    delay: float
    lag: float


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
    law = controller.kind.feedback_law
    # Gains of what is put around a law come last.
    gains = controller.gains[: law.gains(controller.robot).size]
    alone = Controller(law, controller.robot, controller.period, gains)
    return float(np.min(poles_of(alone, models, delay=delay, lag=lag).damping))


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
    period, _, delay, lag = stated
    bandwidth = initial_bandwidth(period)
    if natural_frequency is not None:
        bandwidth = min(bandwidth, NATURAL_FREQUENCY_FRACTION * natural_frequency)
    for _ in range(40):
        controller = controller_for_bandwidth(kind, robot, bandwidth, stated)
        if smallest_damping_ratio(controller, delay=delay, lag=lag) >= _MIN_DAMPING:
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
    period, damping, delay, _ = stated
    masses, _ = effective_masses(robot)
    if damping is None:
        heavy = 1.0 if kind.uses_mass_matrix else _HEAVY_DAMPING / math.sqrt(masses.heaviest)
        damping = min(max(1.0, heavy), _MAX_DAMPING)
    limits = np.array([actuator.force for actuator in robot.actuators])
    tuning = Tuning(period, bandwidth, damping, delay, masses, limits)
    return Controller(kind, robot, period, kind.gains(robot).join(kind.tune_gains(robot, tuning)))
