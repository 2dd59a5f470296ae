"""Controllers by their names."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from typing import Any

from nacelle.control.controller import Controller
from nacelle.control.gains import (
    NATURAL_FREQUENCY_FRACTION,
    POOR_DAMPING,
    ControlWarning,
    LoopSpecification,
    best_bandwidth,
    controller_for_bandwidth,
    initial_bandwidth,
    smallest_damping_ratio,
)
from nacelle.control.kind import ControlLaw
from nacelle.control.laws.adaptive import Adaptive
from nacelle.control.laws.computed_torque import ComputedTorque
from nacelle.control.laws.impedance import Impedance
from nacelle.control.laws.safeguarded import Safeguarded
from nacelle.control.laws.single_joint import SingleJoint
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import with_turn_counting
from nacelle.kinematics.underactuated import require_driven
from nacelle.model.robot import Robot

CONTROL_LAWS: dict[str, Callable[..., ControlLaw]] = {
    "sj": lambda **options: SingleJoint("none", **options),
    "cf-rb": lambda **options: SingleJoint("rigid", **options),
    "cf-rb-friction": lambda **options: SingleJoint("friction", **options),
    "ct-cartesian": lambda **options: ComputedTorque("cartesian", **options),
    "ct-actuator": lambda **options: ComputedTorque("actuator", **options),
    "ct-observer": lambda **options: ComputedTorque("cartesian", observer=True, **options),
    "adaptive": Adaptive,
    "impedance": Impedance,
}
CONTROLLERS = tuple(CONTROL_LAWS)
# Sample time if nothing is said, s ([AGH2005], section IV).
DEFAULT_PERIOD = 5e-4


def controller(
    robot: Robot,
    name: str | ControlLaw,
    *,
    period: float = DEFAULT_PERIOD,
    bandwidth: float | None = None,
    damping: float | None = None,
    delay: float = 0.0,
    lag: float = 0.0,
    natural_frequency: float | None = None,
    on_stop: str = "zero",
    on_glitch: str = "stop",
    **options: Any,
) -> Controller:
    """A controller of a robot by its name, with gains for a bandwidth.

    Args:
        robot: the model that it has.
        name: "sj", "cf-rb", "cf-rb-friction", ..., or a kind of controller itself.
        period: sample time, s.
        bandwidth: of the loop, Hz; chosen if None.
        damping: ratio of its poles; chosen if None.
        delay: from a sample to the time at which its forces act, s.
        lag: time constant of the current loops, s.
        natural_frequency: the first of the real robot, Hz, if there is one: the bandwidth stays below a third
            of it, or is warned of.
        on_stop: what a stop does: "zero" (no force), "hold" (gravity and damping), "brake" (the same until at
            rest, then no force).
        on_glitch: what becomes of a reading that jumps further than a described speed allows: "stop", or
            "bridge" (predicted for at most ten samples in a row, then a stop).
        **options: of the kind, which shape the program.

    Warns:
        ControlWarning: if the loop is poorly damped, or is faster than a third of the natural frequency.

    Raises:
        KinematicsError: if none is called so, an option cannot be used, or the sample time, the bandwidth or
            the damping ratio is not above zero.
        UnderactuatedError: if nothing drives some motions.
    """
    if isinstance(name, str) and name not in CONTROL_LAWS:
        raise KinematicsError(f"no controller is called {name!r}; {did_you_mean(name, CONTROLLERS)}")
    untuned: Any = name
    kind = CONTROL_LAWS[name](**options) if isinstance(name, str) else dataclasses.replace(untuned, **options)
    if (on_stop, on_glitch) != ("zero", "stop"):
        kind = Safeguarded(kind, on_stop, on_glitch)
    require_driven(robot, "a controller needs", lambda _: "simulate takes forces of your own law")
    robot = with_turn_counting(robot)
    for what, value in (("sample time", period), ("bandwidth", bandwidth), ("damping ratio", damping)):
        if value is not None and not (math.isfinite(value) and value > 0.0):
            raise KinematicsError(f"the {what} of a controller is above zero, got {value:g}")
    stated = LoopSpecification(period, damping, delay, lag)
    if not kind.has_feedback:
        return controller_for_bandwidth(kind, robot, bandwidth or initial_bandwidth(period), stated)
    if bandwidth is None:
        return best_bandwidth(kind, str(vars(kind)), robot, stated, natural_frequency)
    result = controller_for_bandwidth(kind, robot, bandwidth, stated)
    worst = smallest_damping_ratio(result, delay=delay, lag=lag)
    if worst < POOR_DAMPING:
        warnings.warn(
            f"{kind.name} of {robot.name} with a bandwidth of {bandwidth:g} Hz at samples of "
            f"{1e3 * period:g} ms and a delay of {1e3 * (delay + lag):g} ms is beyond what sampling "
            f"allows: its poles have a damping ratio of {worst:.2f} at the worst pose (0.4 is fair)",
            ControlWarning,
            stacklevel=2,
        )
    if natural_frequency is not None and bandwidth > NATURAL_FREQUENCY_FRACTION * natural_frequency:
        warnings.warn(
            f"a bandwidth of {bandwidth:g} Hz is beyond a third of the first natural frequency of "
            f"{natural_frequency:g} Hz: {kind.name} will excite it",
            ControlWarning,
            stacklevel=2,
        )
    return result
