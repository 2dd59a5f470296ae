"""Controllers by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nacelle.control.controller import Controller
from nacelle.control.gains import tuned
from nacelle.control.kind import ControllerKind
from nacelle.control.laws.adaptive import Adaptive
from nacelle.control.laws.computed_torque import ComputedTorque
from nacelle.control.laws.impedance import Impedance
from nacelle.control.laws.single_joint import SingleJoint
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.model.robot import Robot

KINDS: dict[str, Callable[..., ControllerKind]] = {
    "sj": lambda **options: SingleJoint("none", **options),
    "cf-rb": lambda **options: SingleJoint("rigid", **options),
    "cf-rb-friction": lambda **options: SingleJoint("friction", **options),
    "ct-cartesian": lambda **options: ComputedTorque("cartesian", **options),
    "ct-actuator": lambda **options: ComputedTorque("actuator", **options),
    "ct-observer": lambda **options: ComputedTorque("cartesian", observer=True, **options),
    "adaptive": Adaptive,
    "impedance": Impedance,
}
CONTROLLERS = tuple(KINDS)
# Sample time if nothing is said, s ([AGH2005], section IV).
PERIOD = 5e-4


def controller(
    robot: Robot,
    name: str,
    *,
    period: float = PERIOD,
    bandwidth: float | None = None,
    damping: float | None = None,
    delay: float = 0.0,
    lag: float = 0.0,
    natural_frequency: float | None = None,
    **options: Any,
) -> Controller:
    """A controller of a robot by its name, with gains for a bandwidth.

    Args:
        robot: the model that it has.
        name: "sj", "cf-rb", "cf-rb-friction", ...
        period: sample time, s.
        bandwidth: of the loop, Hz; chosen if None.
        damping: ratio of its poles; chosen if None.
        delay: from a sample to the time at which its forces act, s.
        lag: time constant of the current loops, s.
        natural_frequency: the first of the real robot, Hz, if there is one: the bandwidth stays below a third
            of it, or is warned of.
        **options: of the kind, which shape the program.

    Raises:
        KinematicsError: if none is called so, or an option cannot be used.
    """
    if name not in KINDS:
        raise KinematicsError(f"no controller is called {name!r}; {did_you_mean(name, CONTROLLERS)}")
    return tuned(
        KINDS[name](**options),
        robot,
        period=period,
        bandwidth=bandwidth,
        damping=damping,
        delay=delay,
        lag=lag,
        natural_frequency=natural_frequency,
    )
