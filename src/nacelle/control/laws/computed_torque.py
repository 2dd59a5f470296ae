"""Computed torque: feedback linearisation turns the robot into double integrators ([KI2007], after (20)).

Let x, v, a be the platform's reduced pose, twist and acceleration, q the actuators' coordinates, and J (m, n)
the actuators' Jacobian, q' = J v, so that q'' = J a + J' v. Index d marks the desired motion. The law
commands an acceleration, of the platform in Cartesian space, of the actuators in actuator space,

    a = a_d + K_d (v_d - v) + K_p (x_d - x)            force = inverse dynamics(x, v, a)
    q'' = q_d'' + K_d (q_d' - q') + K_p (q_d - q)      a from J a + J' v = q''

so that errors e follow e'' + K_d e' + K_p e = 0 at every pose and speed. With redundant actuators (m > n)
J a + J' v = q'' holds in the sense of least squares, and the forces are those of least norm.

Pose and twist come from the encoders (`blocks.pose`). The forces of a sample begin to act after the delay and
are held for one sample time T. Errors are predicted to the begin of this interval, and the model is evaluated
at its middle, so that neither hold nor delay shifts the poles.

With the observer, the acceleration u that the model lacks is subtracted,

    force = inverse dynamics(x, v, a - u)              d = M u, the disturbance along the twist, M mass matrix

The observer is given the acceleration that the forces produce after the limits of the drives, so that a load
that the drives cannot hold does not wind it up. By the separation of observer and feedback, the poles of the
whole are those of the loop and those of the observer. The observer takes the place of an integral of the
error.

Friction is that of the desired rates: at measured ones it would chatter where the robot rests, and where the
true friction is smaller than the model's it would drive the robot.

K_p and K_d are those of the sampled loop (`gains_from_poles`): for one error x with x'' = a, an acceleration
a = -k_p x - k_d x' that is held over the sample time T gives the characteristic polynomial

    z^2 + (T k_d + T^2 k_p / 2 - 2) z + 1 - T k_d + T^2 k_p / 2

The gains make it (z - e^(T s_1)) (z - e^(T s_2)), with s_1, s_2 the roots of s^2 + 2 zeta w s + w^2. The
samples are then those of the continuous system with these poles. For T -> 0, k_p = w^2 and k_d = 2 zeta w.
"""

from __future__ import annotations

import cmath
import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from nacelle.control.blocks.admissible import setpoint_memory, setpoint_memory_at_rest
from nacelle.control.blocks.desired import (
    FRICTION_SMOOTHING,
    friction_along_twist,
    model_force,
    solve_passive_coordinates,
)
from nacelle.control.blocks.pose import (
    OBSERVER_FILTER_RATIO,
    PLATFORM_GAINS,
    PlatformEstimate,
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
    twist_from_rates,
)
from nacelle.control.blocks.signals import coordinate_difference, limit_forces, replace_infinite_limits
from nacelle.control.kind import (
    COMPUTED_TORQUE_LABELS,
    ControlLaw,
    ControlStep,
    DesiredMotion,
    Tuning,
    VectorLayout,
)
from nacelle.dynamics import model_functions
from nacelle.dynamics.physics import WITHOUT_FRICTION, Physics, check_positive
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def gains_from_poles(bandwidth: float, damping: float, period: float) -> tuple[float, float]:
    """k_p (1/s^2) and k_d (1/s) of a sampled loop with the poles of s^2 + 2 zeta w s + w^2 (see the module).

    Args:
        bandwidth: w / (2 pi), Hz.
        damping: zeta.
        period: sample time, s.
    """
    w = 2.0 * math.pi * bandwidth
    root = cmath.sqrt(damping * damping - 1.0)
    first, second = (cmath.exp(period * w * (-damping + sign * root)) for sign in (1.0, -1.0))
    total, product = (first + second).real, (first * second).real
    return (1.0 - total + product) / period**2, (3.0 - total - product) / (2.0 * period)


# ---- computed torque


SPACES = ("cartesian", "actuator")
# Bandwidth of a disturbance observer over that of the loop, if `observer_bandwidth` is None.
OBSERVER_RATIO = 3.0


@dataclass(frozen=True)
class ComputedTorque(ControlLaw):
    """Feedback linearisation in Cartesian or in actuator space.

    Attributes:
        space: "cartesian" or "actuator".
        observer: whether disturbances are estimated and compensated for.
        friction: whether the model's friction along the desired motion is added.
        smooth: rate over which that friction changes its sign, rad/s or m/s.
        observer_bandwidth: bandwidth of the observer, Hz; if None, `OBSERVER_RATIO` times the loop's, and
            without observer `OBSERVER_FILTER_RATIO` times, for the estimate of pose and twist alone.
    """

    uses_mass_matrix: ClassVar[bool] = True
    labels: ClassVar[dict[str, str]] = COMPUTED_TORQUE_LABELS
    space: str = "cartesian"
    observer: bool = False
    friction: bool = False
    smooth: float = FRICTION_SMOOTHING
    # It enters the gains alone: laws that differ in it share one compiled program.
    observer_bandwidth: float | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            KinematicsError: if the space is unknown, or a rate or bandwidth is not positive.
        """
        if self.space not in SPACES:
            raise KinematicsError(f"no space is called {self.space!r}; {did_you_mean(self.space, SPACES)}")
        Physics(self.friction, self.smooth)
        if self.observer_bandwidth is not None:
            check_positive(self.observer_bandwidth, "the bandwidth of an observer")

    @property
    def name(self) -> str:
        """`ct-cartesian`, `ct-actuator`, `ct-observer` or `ct-actuator-observer`."""
        if not self.observer:
            return f"ct-{self.space}"
        return "ct-observer" if self.space == "cartesian" else "ct-actuator-observer"

    @property
    def feedback_law(self) -> ControlLaw:
        """This law without friction compensation, which is feedforward."""
        return dataclasses.replace(self, friction=False)

    def _error_count(self, robot: Robot) -> int:
        """Number of controlled coordinates: of the platform (n) or of the actuators."""
        return robot.motion.n if self.space == "cartesian" else len(robot.actuators)

    def memory(self, robot: Robot) -> VectorLayout:
        """The estimated platform, the desired motion; with the observer d (n,) along the twist, N or N m."""
        desired = setpoint_memory(robot) | {"a_d": robot.motion.n}
        observed = {"disturbance": robot.motion.n} if self.observer else {}
        return VectorLayout(**platform_memory(robot), **desired, **observed)

    def gains(self, robot: Robot) -> VectorLayout:
        """K_p (1/s^2) and K_d (1/s) of each error, limits of the drives (N or N m), and `PLATFORM_GAINS`."""
        size = self._error_count(robot)
        return VectorLayout(stiffness=size, damping=size, limit=len(robot.actuators), **PLATFORM_GAINS)

    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """Forces (actuators,), N or N m, and the memory of the next sample; as in `ControlLaw.step`."""
        return self.command(robot, z, estimate_platform(robot, z, q, k), motion, k)

    def command(
        self,
        robot: Robot,
        z: dict[str, Array],
        platform: PlatformEstimate,
        motion: DesiredMotion,
        k: dict[str, Array],
    ) -> ControlStep:
        """A sample at a platform that is already estimated, by any sensors; other arguments as in `step`."""
        # Acceleration of the platform until the forces of this sample act.
        before = z["acceleration"] + platform.unmodelled
        predicted_state, desired = (
            platform_mid_sample(robot, platform, before, k),
            desired_mid_sample(z, motion, k),
        )
        parts: dict[str, Any] = {"a_d": motion.a}
        if self.space == "cartesian":
            errors = _platform_errors(robot, platform, motion, before)
            a = desired.a + errors.after(k["delay"], k)
        else:
            y_d = solve_passive_coordinates(robot, z["y_d"], motion.x)
            errors = _actuator_errors(robot, platform, y_d, motion, before)
            desired_acceleration = _actuator_motion(robot, desired, y_d)[1]
            at = model_functions.bias(
                robot, *predicted_state, outputs="A actuator_bias", physics=WITHOUT_FRICTION
            )
            a = twist_from_rates(
                at["A"], desired_acceleration + errors.after(k["delay"], k) - at["actuator_bias"]
            )
        modelled = a - platform.unmodelled if self.observer else a
        load = None
        if self.friction:
            load = -friction_along_twist(robot, predicted_state.x, predicted_state.y, desired.v, self.smooth)
        # The new acceleration replaces the old one after the delay: half a sample of it until mid-sample.
        v = predicted_state.v + (0.5 * k["period"][0]) * (a - before)
        unlimited_force = model_force(
            robot,
            predicted_state.y,
            DesiredMotion(predicted_state.x, v, modelled),
            load=load,
            physics=WITHOUT_FRICTION,
        )
        force = limit_forces(unlimited_force, k["limit"])
        if self.observer:
            # The limits cut force and, by M^-1 J^T, acceleration: the observer must know it (wind-up).
            cut = inertial_response(robot, predicted_state, np.zeros(robot.motion.n), force - unlimited_force)
            modelled = modelled + cut.acceleration
            parts["disturbance"] = cut.M @ platform.unmodelled
        return ControlStep(force, platform_memory_after(z, platform, modelled) | parts, predicted_state)

    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """The memory at rest at a pose x (nx,) with passive coordinates y (ny,), without disturbance."""
        desired = setpoint_memory_at_rest(robot, x, y) | {"a_d": 0.0}
        return platform_memory_at_rest(x, y) | desired | ({"disturbance": 0.0} if self.observer else {})

    def tune_gains(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Gains that give every error the bandwidth and the damping of the tuning."""
        stiffness, damping = gains_from_poles(tuning.bandwidth, tuning.damping, tuning.period)
        bandwidth = self.observer_bandwidth
        if bandwidth is None:
            bandwidth = (OBSERVER_RATIO if self.observer else OBSERVER_FILTER_RATIO) * tuning.bandwidth
        return {
            "stiffness": stiffness,
            "damping": damping,
            "limit": replace_infinite_limits(tuning.limits),
            **platform_gains(tuning, bandwidth),
        }


def _platform_errors(
    robot: Robot, platform: PlatformEstimate, motion: DesiredMotion, before: Array
) -> TrackingErrors:
    """Errors of the platform (n,) along the twist; `before` (n,) its acceleration until new forces act."""
    e = pose_difference(robot, motion.x, platform.x, platform.y)
    return TrackingErrors(e, motion.v - platform.v, motion.a - before)


def _actuator_errors(
    robot: Robot, platform: PlatformEstimate, y_d: Array, motion: DesiredMotion, before: Array
) -> TrackingErrors:
    """Errors of the actuators (actuators,), rad or m; y_d (ny,) passive coordinates at the desired pose."""
    q_d = np.asarray(actuator_positions(robot, motion.x, y_d)["q"])
    q = np.asarray(actuator_positions(robot, platform.x, platform.y)["q"])
    rate_d, second_d = _actuator_motion(robot, motion, y_d)
    rate, second = _actuator_motion(robot, DesiredMotion(platform.x, platform.v, before), platform.y)
    return TrackingErrors(coordinate_difference(robot, q_d, q), rate_d - rate, second_d - second)


def _actuator_motion(robot: Robot, motion: DesiredMotion, y: Array) -> tuple[Array, Array]:
    """Rates q' = J v and accelerations q'' = J a + J' v of the actuators (actuators,)."""
    at = model_functions.bias(
        robot, motion.x, y, motion.v, outputs="A actuator_bias", physics=WITHOUT_FRICTION
    )
    return np.asarray(at["A"] @ motion.v), np.asarray(at["A"] @ motion.a + at["actuator_bias"])
