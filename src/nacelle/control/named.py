"""Controllers by their names."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.gains import (
    NATURAL_FREQUENCY_FRACTION,
    POOR_DAMPING,
    REFUSED_DAMPING,
    ControlWarning,
    best_bandwidth,
    controller_for_bandwidth,
    initial_bandwidth,
    is_acceptable,
    largest_bandwidth,
    largest_ripple,
    loop_quality,
    smallest_damping_ratio,
    tolerates_late_sample,
)
from nacelle.control.kind import ControlLaw, LoopSpecification, TunedLoop
from nacelle.control.laws.adaptive import Adaptive
from nacelle.control.laws.computed_torque import ComputedTorque
from nacelle.control.laws.impedance import Impedance
from nacelle.control.laws.safeguarded import Safeguarded, Safeguards
from nacelle.control.laws.single_joint import SingleJoint
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import with_turn_counting
from nacelle.kinematics.underactuated import require_driven
from nacelle.model.robot import Robot
from nacelle.simulation.sensors import Numbers, Sensors

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
# The largest force of a count over that of the drive, where the resolution of the encoders is stated.
RIPPLE = 0.05
# Sample time if nothing is said, s ([AGH2005], section IV).
DEFAULT_PERIOD = 5e-4


def controller(
    robot: Robot,
    name: str | ControlLaw,
    period: float = DEFAULT_PERIOD,
    *,
    bandwidth: float | None = None,
    damping: float | None = None,
    delay: float = 0.0,
    lag: float = 0.0,
    natural_frequency: float | None = None,
    resolution: Numbers | None = None,
    ripple: float | None = None,
    force_gains: bool = False,
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
        resolution: counts of the encoders at the joints, rad or m, one for all or one for each; 0 for none;
            if None those of `Sensors()`. Adaptive control takes the coarsest for its dead zone.
        ripple: the largest force that one count may make, over that of the drive; if None `RIPPLE` with a
            resolution, else any.
        force_gains: whether a stated bandwidth is taken though its loop is unstable or nearly so, or a count
            makes more ripple.
        **options: of the kind, which shape the program, and of `Safeguards`: `on_stop`, `on_glitch`,
            `singularity`, `following`.

    Warns:
        ControlWarning: if the loop is poorly damped, is faster than a third of the natural frequency, or was
            forced.

    Raises:
        KinematicsError: if none is called so, an option cannot be used, the sample time, the bandwidth or the
            damping ratio is not above zero, or the loop of a stated bandwidth has a damping ratio below 0.1,
            is unstable if forces are one sample late, or ripples.
        UnderactuatedError: if nothing drives some motions.
    """
    if isinstance(name, str) and name not in CONTROL_LAWS:
        raise KinematicsError(f"no controller is called {name!r}; {did_you_mean(name, CONTROLLERS)}")
    counts = Sensors(resolution).resolutions(robot)
    if name == "adaptive" and resolution is not None:
        options["resolution"] = float(np.max(counts))
    guards = Safeguards(**{key: options.pop(key) for key in Safeguards._fields if key in options})
    untuned: Any = name
    try:
        kind = (
            CONTROL_LAWS[name](**options)
            if isinstance(name, str)
            else dataclasses.replace(untuned, **options)
        )
    except (TypeError, ValueError) as error:
        raise KinematicsError(_reason_unknown(name, options) or f"{name}: {error}") from None
    if guards != Safeguards():
        kind = Safeguarded(kind, guards)
    require_driven(robot, "a controller needs", lambda _: "simulate takes forces of your own law")
    robot = with_turn_counting(robot)
    for what, value in (("sample time", period), ("bandwidth", bandwidth), ("damping ratio", damping)):
        if value is not None and not (math.isfinite(value) and value > 0.0):
            raise KinematicsError(f"the {what} of a controller is above zero, got {value:g}")
    if ripple is None and resolution is not None:
        ripple = RIPPLE
    if ripple is not None and not (math.isfinite(ripple) and ripple > 0.0):
        raise KinematicsError(f"the ripple of a count is above zero, got {ripple:g}")
    stated = LoopSpecification(period, damping, delay, lag, tuple(counts.tolist()), ripple)
    if not kind.has_feedback:
        return controller_for_bandwidth(kind, robot, bandwidth or initial_bandwidth(period), stated)
    if bandwidth is None:
        return best_bandwidth(kind, str(vars(kind)), robot, stated, natural_frequency)
    result = controller_for_bandwidth(kind, robot, bandwidth, stated)
    worst = smallest_damping_ratio(result, delay=delay, lag=lag)
    reason = _reason_refused(result, stated, worst)
    if reason and not force_gains:
        raise KinematicsError(f"{reason}; force_gains=True (--force-gains) takes it as it is")
    if reason:
        warnings.warn(f"forced: {reason}", ControlWarning, stacklevel=2)
        result = dataclasses.replace(result, tuned=TunedLoop(stated, bandwidth, forced=True))
    elif worst < POOR_DAMPING:
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


def _reason_unknown(name: str | ControlLaw, options: dict[str, Any]) -> str:
    """Why a law takes none of some options; empty if it takes all of them."""
    law: Any = CONTROL_LAWS[name]() if isinstance(name, str) else name
    known = [entry.name for entry in dataclasses.fields(law) if entry.name not in ("feedforward", "space")]
    known += Safeguards._fields
    for option in options:
        if option not in known:
            return f"{law.name} has no option {option!r}; {did_you_mean(option, known)}"
    return ""


def _reason_refused(tuned: Controller, stated: LoopSpecification, damping: float) -> str:
    """Why a loop of a stated bandwidth is refused, with one that is not; empty if it is taken.

    Args:
        tuned: the controller.
        stated: what it is made for.
        damping: the smallest damping ratio of its poles.
    """
    assert tuned.tuned is not None
    what = (
        f"{tuned.name} of {tuned.robot.name} with a bandwidth of {tuned.tuned.bandwidth:g} Hz at samples of "
        f"{1e3 * stated.period:g} ms and a delay of {1e3 * (stated.delay + stated.lag):g} ms"
    )
    reason = ""
    if damping <= 0.0:
        reason = f"{what} is unstable: the smallest damping ratio of its poles is {damping:.2f}"
        stable = largest_bandwidth(
            tuned, lambda tried: smallest_damping_ratio(tried, delay=stated.delay, lag=stated.lag) > 0.0
        )
        if stable is not None and stable.tuned is not None:
            reason += f"; up to {stable.tuned.bandwidth:.3g} Hz it is stable"
    elif damping < REFUSED_DAMPING:
        reason = (
            f"{what} is poorly damped: the smallest damping ratio of its poles is {damping:.2f}, "
            f"below {REFUSED_DAMPING:g}"
        )
    elif not tolerates_late_sample(tuned, stated):
        margin = loop_quality(tuned, tuned.tuned).delay_margin
        reason = (
            f"{what} is unstable if forces are one sample late: its delay margin is {1e3 * margin:.3g} ms"
        )
    elif stated.ripple is not None:
        ripple = largest_ripple(tuned, stated.resolution)
        if ripple > stated.ripple:
            reason = (
                f"{what} ripples: one count of an encoder makes {100.0 * ripple:.3g} % of the largest force "
                f"of a drive, more than {100.0 * stated.ripple:.3g} %"
            )
    if not reason:
        return ""
    best = largest_bandwidth(tuned, lambda tried: is_acceptable(tried, stated))
    if best is None or best.tuned is None:
        return f"{reason}; no bandwidth is acceptable: make samples shorter, or encoders finer"
    quality = loop_quality(best, best.tuned)
    return (
        f"{reason}; {best.tuned.bandwidth:.3g} Hz is acceptable, with a damping ratio of "
        f"{quality.damping:.2f} and a delay margin of {1e3 * quality.delay_margin:.3g} ms"
    )
