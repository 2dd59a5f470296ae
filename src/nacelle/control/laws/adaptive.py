"""Adaptive control in the parameters of the linear form (Slotine and Li; [CB1997] (34), (45)).

Along the reduced twist v a robot obeys M v' + C v + g + f(v) = J^T force, f friction, J the actuators'
Jacobian. Its linear form along a reference is J^T Y p = M a_ref + C v_ref + g + f(v_ref), with M' - 2 C
skew-symmetric. With the sliding variable s = v_ref - v (`pieces.sliding`) the law is

    force = Y p^ + J^-T K s            dp^/dt = P Y^T J s

(of redundant robots the smallest forces that do the work of K s). With p~ = p^ - p the loop is

    M s' + C s + K s + (f(v_ref) - f(v)) = - J^T Y p~

and of V = s^T M s / 2 + p~^T P^-1 p~ / 2, since s^T (M' - 2 C) s = 0,

    V' = - s^T K s - s^T (f(v_ref) - f(v)) - s^T J^T Y p~ + p~^T P^-1 dp^/dt  <=  - s^T K s

The term of friction is not negative since friction grows with the rate. J s is the sliding variable of the
actuators. V falls until s is zero.

This is `along="reference"`. Noise of v is then in Y and in s alike, and the mean of their product drives
masses and viscous friction up, without end where the robot rests. By default parameters are therefore adapted
by Y_d, at the pose but with v_d and a_d (`along="desired"`; desired compensation: N. Sadegh, R. Horowitz,
Int. J. of Robotics Research 9(3), 1990), and friction is that at v_d, so that it does not chatter at rest:

    dp^/dt = P Y_d^T J s        V' <= - s^T K s - s^T J^T (Y - Y_d) p~

Y - Y_d is of the order of e and s: a part |p~| / |p| of what K s is, and K prevails while M^ is less than
about twice M. Where friction changes its sign, what v_d and v differ by is a disturbance.

What keeps it in bounds in a real loop:

- projection: parameters stay within bounds, by the projection that lets V not grow (`_within`);
- dead zone: what a count of the encoders makes of J s does not count;
- excitation: the mean square of the forces that each parameter at its scale makes, over those of the robot,
  is followed with a forgetting time; a parameter that is hardly felt is frozen;
- step: the rate of adaptation along s, (J s)^T Y P Y^T J s over s^T K s, is kept below a part of the loop's;
- parameters rest where readings are missing or a drive is at its limit.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.fields import Fields
from nacelle.control.kind import ControllerKind, ControlStep, DesiredMotion, Tuning
from nacelle.control.pieces.adaptation_gain import Felt, adaptation_gain, felt_along, felt_anywhere, gram
from nacelle.control.pieces.adapted import adapted_parameters, bounds, default_payload, parameter_scales
from nacelle.control.pieces.admissible import setpoint_at_rest, setpoint_memory
from nacelle.control.pieces.ahead import Ahead, desired_middle, mid_sample
from nacelle.control.pieces.friction import SMOOTH
from nacelle.control.pieces.pose import (
    FILTER,
    PLATFORM_GAINS,
    at_rest,
    displaced,
    estimated,
    least_forces,
    platform_after,
    platform_gains,
    platform_memory,
)
from nacelle.control.pieces.signals import finite_limits, within_limits
from nacelle.control.pieces.sliding import Sliding, sliding
from nacelle.control.words import ADAPTIVE
from nacelle.dynamics import smallest
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.choice import column_options
from nacelle.dynamics.forward import mass_matrix
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, absolute, divide, dot, maximum, minimum, pack, where

ALONG = ("desired", "reference")
# Rate of adaptation along s over the rate of the loop, at most.
FASTEST = 0.25
# Forgetting time of the excitation over the time constant of adaptation.
FORGETTING = 5.0
# Part of a robot's forces below which a parameter at its scale is not felt.
UNFELT = 1e-3
# Counts of an encoder over a turn, or over the robot's size, if nothing is said.
COUNTS = 2**20
# Sweeps of projections on the bounds in a sample.
SWEEPS = 2
# Divisors are at least this, which single precision still has.
_TINY = 1e-36


@dataclass(frozen=True)
class Adaptive(ControllerKind):
    """Adaptive control in base parameters.

    The first four shape the program; the others are for tuning.

    Attributes:
        shared: legs that share their parameters, as in `base_parameters`; if None as the description says, or
            those that are described alike.
        along: whether parameters are adapted by Y along the "desired" motion or along the "reference".
        smooth: rate over which Coulomb friction changes its sign, rad/s or m/s.
        adapts: whether parameters are adapted; else they stay those of the model.
        time_constant: of adaptation, s.
        resolution: of the encoders, rad or m, or what their noise is if that is more; of it follows the dead
            zone. If None a turn, or the robot's size, has 2^20 counts.
        margin: how far parameters may be from those of the model, in their scales.
        payload: the largest mass that the nacelle takes up, kg; if None as much as its own.
    """

    shared: Any = None
    along: str = "desired"
    smooth: float = SMOOTH
    adapts: bool = True
    time_constant: float = field(default=0.2, repr=False, compare=False)
    resolution: float | None = field(default=None, repr=False, compare=False)
    margin: float = field(default=2.0, repr=False, compare=False)
    payload: float | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            KinematicsError: if one cannot be used.
        """
        if self.along not in ALONG:
            raise KinematicsError(
                f"adaptation goes along {' or '.join(map(repr, ALONG))}; {did_you_mean(self.along, ALONG)}"
            )
        for what in ("smooth", "time_constant", "margin"):
            if not (math.isfinite(getattr(self, what)) and getattr(self, what) > 0.0):
                raise KinematicsError(f"{what} of adaptive control is above zero, got {getattr(self, what)}")
        for what in ("resolution", "payload"):
            value = getattr(self, what)
            if value is not None and not (math.isfinite(value) and value >= 0.0):
                raise KinematicsError(f"{what} of adaptive control is not negative, got {value}")

    @property
    def name(self) -> str:
        """`adaptive`."""
        return "adaptive"

    @property
    def by_masses(self) -> bool:
        """The damping is that of the masses."""
        return True

    @property
    def feedback(self) -> ControllerKind:
        """The same with the parameters of the model and its friction aside: adaptation is slower."""
        return dataclasses.replace(self, adapts=False, along="desired")

    def parameters(self, robot: Robot) -> BaseParameters:
        """The parameters that are adapted."""
        return adapted_parameters(robot, self.shared)

    def memory(self, robot: Robot) -> Fields:
        """The platform, the desired motion, the parameters, and how strongly each was felt."""
        count = len(self.parameters(robot))
        desired = setpoint_memory(robot) | {"a_d": robot.motion.n}
        return Fields(**platform_memory(robot), **desired, parameters=count, excitation=count)

    def gains(self, robot: Robot) -> Fields:
        """Rates, damping, adaptation, bounds, dead zone, what excitation is counted in, limits."""
        count, n, m = len(self.parameters(robot)), robot.motion.n, len(robot.actuators)
        return Fields(
            **PLATFORM_GAINS,
            rate=1,
            decay=1,
            damping=n * n,
            adaptation=count * count,
            lower=count,
            upper=count,
            dead_zone=m,
            scale=count,
            typical=m,
            forgetting=1,
            unfelt=1,
            fastest=1,
            limit=m,
        )

    def step(
        self, robot: Robot, z: dict[str, Array], q: Array, motion: DesiredMotion, k: dict[str, Array]
    ) -> ControlStep:
        """Forces (actuators,), N or N m, and the memory of the next sample; as in `ControllerKind.step`."""
        platform = estimated(robot, z, q, k)
        ahead = mid_sample(robot, platform, z["acceleration"] + platform.unmodelled, k)
        coming = desired_middle(z, motion, k)
        t = k["delay"][0] + 0.5 * k["period"][0]
        x_d = displaced(robot, motion.x, platform.y, t * (motion.v + (0.5 * t) * motion.a))
        slide = sliding(robot, coming._replace(x=x_d), ahead, k["rate"][0])
        n = robot.motion.n
        Y, felt = self._forms(robot, ahead, slide, coming)
        load = k["damping"].reshape(n, n) @ slide.s
        J = np.asarray(inverse_jacobian(robot, ahead.x, ahead.y)["J"])
        asked = Y @ z["parameters"] + least_forces(J, load)
        force = within_limits(asked, k["limit"])
        memory = platform_after(z, platform, slide.a_ref + k["decay"][0] * slide.s)
        memory |= {"a_d": motion.a, "parameters": z["parameters"], "excitation": z["excitation"]}
        if self.adapts:
            excitation = _excitation(felt, z["excitation"], k)
            resting = maximum(platform.missed[0], platform.stopped[0])
            for own, most in zip(asked, k["limit"], strict=True):
                resting = maximum(resting, where(absolute(own) - most, 1.0, 0.0))
            change = _Change(excitation, resting, dot(slide.s, load))
            parameters = _adapted(felt, J @ slide.s, z["parameters"], change, k)
            memory |= {"parameters": parameters, "excitation": excitation}
        return ControlStep(force, memory, ahead)

    def _forms(
        self, robot: Robot, ahead: Ahead, slide: Sliding, desired: DesiredMotion
    ) -> tuple[Array, Array]:
        """Y (actuators, parameters) of the forces, and that by which parameters are adapted."""
        base = self.parameters(robot)
        options = column_options(base)
        at = (robot, ahead.x, ahead.y)
        inertial = smallest.reference_regressor(
            *at, ahead.v, slide.v_ref, slide.a_ref, outputs="Y", friction=False, **options
        )["Y"]
        rates = (desired.v, desired.a)
        if self.along == "reference":
            rates = (slide.v_ref, np.zeros(len(slide.v_ref)))
        other = smallest.regressor(*at, *rates, outputs="Y", smooth=self.smooth, **options)["Y"]
        places = set(base.friction)
        columns = [(other if i in places else inertial)[:, i] for i in range(len(base))]
        Y = np.stack(columns, axis=1)
        return Y, Y if self.along == "reference" else np.asarray(other)

    def start(self, robot: Robot, x: Array, y: Array) -> dict[str, Any]:
        """At rest, with the parameters of the model, each of which counts as felt."""
        return {
            **at_rest(x, y),
            **setpoint_at_rest(robot, x, y),
            "a_d": 0.0,
            "parameters": self.parameters(robot).values,
            "excitation": 1.0,
        }

    def words(self) -> dict[str, str]:
        """What its parts are."""
        return dict(ADAPTIVE)

    def tuned(self, robot: Robot, tuning: Tuning) -> dict[str, Any]:
        """Gains: s and the error decay at w = 2 pi bandwidth, K = w M at the reference pose.

        Raises:
            KinematicsError: if the mass matrix of the model is not positive definite there.
        """
        w = 2.0 * math.pi * tuning.bandwidth
        base = self.parameters(robot)
        scale = parameter_scales(
            robot, base, default_payload(robot) if self.payload is None else self.payload
        )
        lower, upper = bounds(base, scale, self.margin)
        M = mass_matrix(robot, mechanism_of(robot).reference[0])
        if not np.linalg.eigvalsh(M)[0] > 0.0:
            raise KinematicsError(f"the mass matrix of {robot.name} is not positive definite: {M.tolist()}")
        felt = felt_anywhere(robot, base, self.smooth)
        return {
            **platform_gains(tuning, FILTER * tuning.bandwidth),
            "rate": w,
            "decay": w,
            "damping": w * M.ravel(),
            "lower": lower,
            "upper": upper,
            "dead_zone": w * self._resolution(robot),
            "scale": scale,
            "forgetting": 1.0 - math.exp(-tuning.period / (FORGETTING * self.time_constant)),
            "unfelt": UNFELT**2,
            "fastest": FASTEST * w,
            "limit": finite_limits(tuning.limits),
            **self._for(base, felt, w * M, scale),
        }

    def for_motion(self, robot: Robot, k: dict[str, Array], rows: Array) -> dict[str, Any]:
        """The gain of adaptation with which all that a motion feels has the time constant."""
        base, n = self.parameters(robot), robot.motion.n
        felt = felt_along(robot, base, rows, self.smooth)
        return self._for(base, felt, k["damping"].reshape(n, n), k["scale"])

    def _for(self, base: BaseParameters, felt: Felt, K: Array, scale: Array) -> dict[str, Any]:
        """Gains that follow from how parameters are felt."""
        typical = np.sqrt(np.mean(np.square(felt.Y @ base.values), axis=0))
        return {
            "adaptation": adaptation_gain(gram(felt, K), scale, self.time_constant).ravel(),
            # A drive that a motion does not load counts as the others.
            "typical": np.where(typical > 0.0, typical, np.max(typical) or 1.0),
        }

    def _resolution(self, robot: Robot) -> Array:
        """Resolution of the encoders (actuators,), rad or m."""
        if self.resolution is not None:
            return np.full(len(robot.actuators), float(self.resolution))
        return np.where(robot.revolute_actuators, 2.0 * math.pi, robot.size) / COUNTS


def _excitation(Y: Array, before: Array, k: dict[str, Array]) -> Array:
    """Mean squares (parameters,) of the forces of each parameter at its scale, over the robot's own."""
    parts = Y * k["scale"] / k["typical"][:, None]
    return pack(
        [
            own + k["forgetting"][0] * (dot(part, part) - own)
            for own, part in zip(before, parts.T, strict=True)
        ]
    )


class _Change(NamedTuple):
    """What decides how far parameters go in a sample.

    Attributes:
        excitation: of the parameters (parameters,).
        resting: above zero where they rest.
        power: s^T K s.
    """

    excitation: Array
    resting: Scalar
    power: Scalar


def _adapted(Y: Array, rates: Array, before: Array, change: _Change, k: dict[str, Array]) -> Array:
    """The parameters (parameters,) after a sample.

    Args:
        Y: the linear form (actuators, parameters).
        rates: the actuators' sliding variable J s (actuators,).
        before: the parameters before it.
        change: what decides how far they go.
        k: gains.
    """
    counted = pack(
        [r - minimum(maximum(r, -zone), zone) for r, zone in zip(rates, k["dead_zone"], strict=True)]
    )
    mask = pack([where(felt - k["unfelt"][0], 1.0, 0.0) for felt in change.excitation])
    P = k["adaptation"].reshape(len(before), len(before))
    gradient = mask * (Y.T @ counted)
    step = mask * (P @ gradient)
    speed = dot(gradient, step)
    part = minimum(1.0, divide(k["fastest"][0] * change.power, maximum(speed, _TINY)))
    part = where(change.resting, 0.0, part)
    return _within(before + (k["period"][0] * part) * step, mask, P, k)


def _within(p: Array, mask: Array, P: Array, k: dict[str, Array]) -> Array:
    """Parameters within their bounds (parameters,): projected on one bound after the other.

    A projection on p_i <= upper_i that is the shortest in the metric P^-1 goes along the column P e_i,

        p - P e_i (p_i - upper_i) / P_ii

    and brings p nearer to every point that meets the bound, the true parameters among them: V does not grow.
    What is left after some sweeps over all bounds is cut off.
    """
    lengths = [divide(1.0, maximum(P[i, i], _TINY)) for i in range(len(p))]
    for _ in range(SWEEPS):
        for i, (low, high) in enumerate(zip(k["lower"], k["upper"], strict=True)):
            over = maximum(p[i] - high, 0.0) + minimum(p[i] - low, 0.0)
            p = p - (over * lengths[i]) * (mask * P[:, i])
    limits = zip(p, k["lower"], k["upper"], strict=True)
    return pack([minimum(maximum(own, low), high) for own, low, high in limits])
