"""Impedance of the platform: springs and dampers between the desired pose and the true one.

    force = inverse dynamics(x, v, a_d) + J^-T (K (x_d - x) + D (v_d - v))

so that under a wrench that does the work w . v along the twist v

    M(x) (a - a_d) + D (v - v_d) + K (x - x_d) = w

M is the robot's own mass matrix: no force needs to be measured. K and D (n, n) are along the reduced twist:
N/m, N, N m/rad; a rotation by t counts as 2 sin(t/2) about its axis. Under a constant load the stiffness is
K, whatever the sample time, the delay and the damping are. Redundant robots do it with the smallest forces.

D is that of the damping ratios zeta (n,) at the reference pose: with S = (M^-1/2 K M^-1/2)^1/2

    D = M^1/2 (Z S + S Z) M^1/2        Z = diag(zeta)

which of equal ratios damps every mode of M and K by that ratio, and is 2 zeta_i (K_i M_i)^1/2 where both are
diagonal. It is a gain: elsewhere in the workspace ratios change with M(x).

Forces act from a delay on: errors are predicted to then, as in computed torque. Friction is compensated for
along the desired motion, if at all: with friction there is a dead band of the friction over the stiffness.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from nacelle.control.blocks.admissible import setpoint_memory, setpoint_memory_at_rest
from nacelle.control.blocks.desired import FRICTION_SMOOTHING, friction_along_twist, model_force
from nacelle.control.blocks.pose import (
    OBSERVER_FILTER_RATIO,
    PLATFORM_GAINS,
    TrackingErrors,
    desired_mid_sample,
    estimate_platform,
    inertial_response,
    platform_gains,
    platform_memory,
    platform_memory_after,
    platform_memory_at_rest,
    platform_mid_sample,
    pose_difference,
)
from nacelle.control.blocks.signals import limit_forces, replace_infinite_limits
from nacelle.control.kind import (
    IMPEDANCE_LABELS,
    ControlLaw,
    ControlStep,
    DesiredMotion,
    Tuning,
    VectorLayout,
)
from nacelle.dynamics.physics import WITHOUT_FRICTION, Physics
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class Impedance(ControlLaw):
    """Springs and dampers between the desired and the true pose of the platform.

    Attributes:
        friction: whether the model's friction along the desired motion is added.
        smooth: rate over which that friction changes its sign, rad/s or m/s.
        stiffness: K (n,) or row by row (n n,), N/m, N and N m/rad; if None that of the bandwidth,
            (2 pi bandwidth)^2 M_ii at the reference pose.
        ratios: damping ratios (n,); if None that of the tuning for all.
    """

    uses_mass_matrix: ClassVar[bool] = True
    labels: ClassVar[dict[str, str]] = IMPEDANCE_LABELS
    friction: bool = False
    smooth: float = FRICTION_SMOOTHING
    # Numbers of the tuning, which shape no program.
    stiffness: tuple[float, ...] | None = field(default=None, repr=False, compare=False)
    ratios: tuple[float, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            KinematicsError: if one cannot be used.
        """
        Physics(self.friction, self.smooth)

    @property
    def name(self) -> str:
        """`impedance`."""
        return "impedance"

    @property
    def has_feedback(self) -> bool:
        """Whether the stiffness is that of a bandwidth: one that is stated is not changed."""
        return self.stiffness is None

    @property
    def feedback_law(self) -> ControlLaw:
        """The same without friction."""
        return dataclasses.replace(self, friction=False)

    def memory(self, robot: Robot) -> VectorLayout:
        """The platform, and the desired motion."""
        return VectorLayout(**platform_memory(robot), **setpoint_memory(robot), a_d=robot.motion.n)

    def gains(self, robot: Robot) -> VectorLayout:
        """K and D row by row, limits of the drives, and those of the observer."""
        n = robot.motion.n
        return VectorLayout(stiffness=n * n, damping=n * n, limit=len(robot.actuators), **PLATFORM_GAINS)

    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """Forces (actuators,), N or N m, and the memory of the next sample; as in `ControlLaw.step`."""
        platform = estimate_platform(robot, z, q, k)
        before = z["acceleration"] + platform.unmodelled
        predicted_state, desired = (
            platform_mid_sample(robot, platform, before, k),
            desired_mid_sample(z, motion, k),
        )
        e = pose_difference(robot, motion.x, platform.x, platform.y)
        load = TrackingErrors(e, motion.v - platform.v, motion.a - before).after(k["delay"], k)
        opposed = load
        if self.friction:
            opposed = load + friction_along_twist(
                robot, predicted_state.x, predicted_state.y, desired.v, self.smooth
            )
        at = DesiredMotion(predicted_state.x, predicted_state.v, desired.a)
        unlimited_force = model_force(robot, predicted_state.y, at, load=-opposed, physics=WITHOUT_FRICTION)
        force = limit_forces(unlimited_force, k["limit"])
        a = desired.a + inertial_response(robot, predicted_state, load, force - unlimited_force).acceleration
        return ControlStep(force, platform_memory_after(z, platform, a) | {"a_d": motion.a}, predicted_state)

    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """At rest."""
        return platform_memory_at_rest(x, y) | setpoint_memory_at_rest(robot, x, y) | {"a_d": 0.0}

    def tune_gains(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """K as stated or of the bandwidth, D of the damping ratios.

        Raises:
            KinematicsError: if the stiffness is not positive definite, or the dampers would drive.
        """
        from nacelle.dynamics.forward import mass_matrix

        n = robot.motion.n
        M = np.asarray(mass_matrix(robot, mechanism_of(robot).reference[0]))
        w = 2.0 * math.pi * tuning.bandwidth
        stated = np.diagonal(w * w * M) if self.stiffness is None else np.asarray(self.stiffness, dtype=float)
        if stated.shape not in ((n,), (n * n,)):
            raise KinematicsError(
                f"the stiffness of {robot.name} has {n} numbers, or {n * n} row by row, got {stated.shape}"
            )
        K = np.diag(stated) if stated.shape == (n,) else stated.reshape(n, n)
        ratio = tuning.damping if self.ratios is None else self.ratios
        return {
            "stiffness": K.ravel(),
            "damping": impedance_damping(M, K, np.asarray(ratio, dtype=float)).ravel(),
            "limit": replace_infinite_limits(tuning.limits),
            **platform_gains(tuning, OBSERVER_FILTER_RATIO * highest_frequency(M, K) / (2.0 * math.pi)),
        }


def highest_frequency(M: Array, K: Array) -> float:
    """The highest natural frequency of a mass (n, n) on a spring (n, n), rad/s."""
    return float(np.sqrt(np.max(np.linalg.eigvals(np.linalg.solve(M, K)).real)))


def impedance_damping(M: Array, K: Array, ratio: Array) -> Array:
    """D (n, n) of damping ratios (n,), or one for all, for a mass and a stiffness (n, n).

    Raises:
        KinematicsError: if the stiffness is not symmetric and positive definite, or D is not.
    """
    if ratio.shape not in ((), (len(M),)):
        raise KinematicsError(f"there is one damping ratio or {len(M)}, got {ratio.shape}")
    if not np.allclose(K, K.T, rtol=1e-9) or np.min(np.linalg.eigvalsh(K)) <= 0.0:
        raise KinematicsError(f"the stiffness is symmetric and positive definite, got {K.tolist()}")
    root = _symmetric_root(M)
    back = np.linalg.inv(root)
    S = _symmetric_root(back @ K @ back)
    Z = np.broadcast_to(ratio, len(M))
    D = np.asarray(root @ (Z[:, None] * S + S * Z) @ root)
    if np.min(np.linalg.eigvalsh(D)) <= 0.0:
        raise KinematicsError(
            f"damping ratios {ratio.tolist()} give dampers that drive: take more alike ones"
        )
    return D


def _symmetric_root(A: Array) -> Array:
    """The symmetric root of a symmetric positive definite matrix."""
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
