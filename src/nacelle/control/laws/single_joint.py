"""Single-joint control, and computed force on top of it ([AGH2005], section V).

Every actuator has a controller of its own on its error e = q_d - q,

    force = f(x_d, v_d, a_d) + K_p e + K_d e' + K_i int e dt

The derivative is that of the error, so the desired velocity is fed forward. f is zero (`sj`), the rigid
model's force along the desired motion (`cf-rb`), or that with friction (`cf-rb-friction`): nothing of it
hangs on what is measured, so there is no forward kinematics in the loop, and f could be computed ahead.

At a limit of a drive the integral is taken back by what was cut off (back-calculation). Of redundant robots
the drives do not work against one another: the feedback is projected on forces that move the robot, and so is
what is integrated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nacelle.control.blocks.admissible import setpoint_memory, setpoint_memory_at_rest
from nacelle.control.blocks.desired import (
    FRICTION_SMOOTHING,
    desired_coordinates,
    desired_rates,
    model_force,
    solve_passive_coordinates,
    without_internal_forces,
)
from nacelle.control.blocks.signals import (
    PATIENCE,
    bridge_missing_readings,
    coordinate_difference,
    error_rate,
    limit_forces,
    replace_infinite_limits,
)
from nacelle.control.kind import (
    SINGLE_JOINT_LABELS,
    ControlLaw,
    ControlStep,
    DesiredMotion,
    Tuning,
    VectorLayout,
)
from nacelle.dynamics.physics import WITHOUT_FRICTION, Physics
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, pack

# Bandwidth of the derivative's filter over that of the loop, and over the crossover of the lightest motion.
FILTER_RATIO, LIGHT_MOTION_RATIO = 10.0, 6.0
# Corner of the integral over the frequency of the heaviest motion.
INTEGRAL_RATIO = 0.12


@dataclass(frozen=True)
class SingleJoint(ControlLaw):
    """Feedback of each actuator, with the model's forces along the desired motion or without.

    Attributes:
        feedforward: "none", "rigid" or "friction".
        smooth: rate over which the friction that is fed forward changes its sign, rad/s or m/s.
    """

    labels: ClassVar[dict[str, str]] = SINGLE_JOINT_LABELS
    feedforward: str = "none"
    smooth: float = FRICTION_SMOOTHING

    @property
    def name(self) -> str:
        """`sj`, `cf-rb` or `cf-rb-friction`."""
        return {"none": "sj", "rigid": "cf-rb", "friction": "cf-rb-friction"}[self.feedforward]

    @property
    def feedback_law(self) -> SingleJoint:
        """Without what is fed forward."""
        return SingleJoint()

    def memory(self, robot: Robot) -> VectorLayout:
        """The desired motion, last error, its rate, the integral's force."""
        m = len(robot.actuators)
        parts = {"error": m, "rate": m, "integral": m, "started": 1, "missed": 1, "stopped": 1}
        return VectorLayout(**setpoint_memory(robot), **parts)

    def gains(self, robot: Robot) -> VectorLayout:
        """Gains of each actuator, and what the sample time makes of the filter."""
        m = len(robot.actuators)
        return VectorLayout(
            stiffness=m, damping=m, integral=m, limit=m, unwinding=1, smoothing=1, period=1, patience=1
        )

    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """Forces (actuators,), N or N m, and the memory of the next sample; as in `ControlLaw.step`."""
        y = solve_passive_coordinates(robot, z["y_d"], motion.x)
        off = coordinate_difference(robot, desired_coordinates(robot, y, motion), q)
        error, missed, stopped = bridge_missing_readings(off, q, z, k)
        rate = error_rate(error, z, k)
        feedforward = np.zeros(len(q))
        if self.feedforward != "none":
            rubs = self.feedforward == "friction"
            physics = Physics(smooth=self.smooth) if rubs else WITHOUT_FRICTION
            feedforward = model_force(robot, y, motion, physics=physics)
        more = without_internal_forces(robot, y, motion.x, k["period"][0] * k["integral"] * error)
        feedback = without_internal_forces(robot, y, motion.x, k["stiffness"] * error + k["damping"] * rate)
        integral = z["integral"] + more
        unlimited_force = feedforward + feedback + integral
        force = limit_forces(unlimited_force, k["limit"])
        # What a drive cannot give is taken out of the integral.
        integral = integral + k["unwinding"][0] * (force - unlimited_force)
        memory = {
            "error": error,
            "rate": rate,
            "integral": integral,
            "started": pack([1.0]),
            "missed": missed,
            "stopped": stopped,
        }
        return ControlStep(force, memory, rate=desired_rates(robot, y, motion) - rate)

    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """Nothing is remembered but the desired pose."""
        others = ("error", "rate", "integral", "started", "missed", "stopped")
        return setpoint_memory_at_rest(robot, x, y) | dict.fromkeys(others, 0.0)

    def tune_gains(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Gains: poles of a mass at w = 2 pi bandwidth with the damping, a slow integral."""
        w = 2.0 * math.pi * tuning.bandwidth
        # The derivative must hold up to the crossover of the lightest motion.
        filtered = max(
            FILTER_RATIO * w, LIGHT_MOTION_RATIO * 2.0 * tuning.damping * w * tuning.masses.lightest
        )
        corner = INTEGRAL_RATIO * w * math.sqrt(tuning.masses.heaviest)
        stiffness = w * w * tuning.masses.held
        return {
            "stiffness": stiffness,
            "damping": 2.0 * tuning.damping * w * tuning.masses.held,
            "integral": corner * stiffness,
            "limit": replace_infinite_limits(tuning.limits),
            "unwinding": min(1.0, 2.0 * corner * tuning.period),
            "smoothing": 1.0 - math.exp(-filtered * tuning.period),
            "period": tuning.period,
            "patience": PATIENCE,
        }
