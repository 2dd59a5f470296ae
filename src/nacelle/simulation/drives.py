"""Drives between the commands of a controller and the joints: numbers, LuGre friction, stiction.

LuGre friction is that of bristles that bend while two surfaces stick, and slip beyond their static friction.

With w the rate of a joint and b the mean deflection of the bristles (rad or m)

    b' = w - sigma_0 |w| b / g(w)              g(w) = F_c + (F_s - F_c) exp(-(w / v_s)^2)
    F  = sigma_0 b + sigma_1(w) b' + sigma_2 w

F, N m or N, is positive against a positive rate. While the joint sticks it is a spring sigma_0 with a damper
sigma_1; at a constant rate b' = 0 and F = g(w) sign(w) + sigma_2 w. C. Canudas de Wit, H. Olsson, K. J.
Astrom, P. Lischinsky, "A new model for control of systems with friction", IEEE Transactions on Automatic
Control 40(3), 1995, 419-425.

Fast sliding. The bristles relax with sigma_0 |w| / g(w), in a time F_c / (sigma_0 |w|) that falls without
bound: fixed steps cannot follow fast joints. Beyond a rate v_b friction is therefore that of steady sliding,
and the bristles do not relax faster than with sigma_0 v_b / F_c:

    b' = r (w - sigma_0 |w| b / g(w))          r(w) = 1 / sqrt(1 + (w / v_b)^2)
    F  = r sigma_0 b + (1 - r) g(w) sign(w) + sigma_1(w) b' + sigma_2 w

Friction of steady sliding is the same, and for v_b infinite it is the model of 1995. The form, with another
r(w), is that of L. Lu, B. Yao, Q. Wang, Z. Chen, "Adaptive robust control of linear motors with dynamic
friction compensation using modified LuGre model", Automatica 45(12), 2009, 2890-2896.

Passivity. With the energy of the bristles V = sigma_0 b^2 / 2 and a = sigma_0 |w| / g(w), r w = b' + r a b,
the power that is lost is

    F w - V' = r a sigma_0 b^2 + sigma_1 a b b' + sigma_1 b'^2 / r + (1 - r) g |w| + sigma_2 w^2

The first three terms are never negative if and only if sigma_1(w) |w| <= 4 g(w), which a constant sigma_1
violates at high rates; a constant one is passive (v_b infinite) only with enough viscous friction, sigma_2
>= sigma_1 (F_s - F_c) / F_c (N. Barabanov, R. Ortega, "Necessary and sufficient conditions for passivity of
the LuGre friction model", IEEE Transactions on Automatic Control 45(4), 2000, 830-832). So the damper fades
with the rate, sigma_1(w) = sigma_1 exp(-(w / v_d)^2) (H. Olsson, "Control systems with friction", Lund,
1996). The largest value of |w| exp(-(w / v_d)^2) is v_d / sqrt(2 e), and g >= F_c: the condition holds for
every v_d up to 4 sqrt(2 e) F_c / sigma_1 = 9.3 F_c / sigma_1.

From a description, Coulomb friction of the actuated joints becomes LuGre friction. The numbers that it does
not have are those of the paper's example by default: static friction 1.5
times Coulomb friction, a Stribeck rate of 1 mm/s and bristles that bend by 10 um under Coulomb friction; at
revolute joints the same at a lever of 100 mm, 0.01 rad/s and 100 urad. The bristles' damper is
sigma_1 = 2 zeta sqrt(sigma_0 m) with zeta = 0.5 and m the mass that the joint moves at the reference pose,
1 / W_ii, W = J M^-1 J^T, J = J_r^-1 (the paper's sqrt(sigma_0) for 1 kg). Beyond ten times the Stribeck rate
friction is that of steady sliding, so that fixed steps of about a millisecond follow fast joints, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.physics import check_positive
from nacelle.errors import KinematicsError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import FrictionTerm
from nacelle.model.robot import Robot
from nacelle.results import html
from nacelle.spatial.scalar import Array, Scalar, absolute, exp, sign, sin, sqrt

# v_d sigma_1 / F_c, at most, of a damper that fades by itself; below 4 sqrt(2 e), the bound of passivity.
_FADE_RATIO = 8.0


@dataclass(frozen=True)
class LuGre:
    """LuGre friction of one joint; its methods take any scalars, or arrays entry by entry.

    Attributes:
        coulomb: friction F_c of fast sliding, N m or N.
        static: friction F_s at which the joint breaks away, N m or N.
        rate: v_s over which friction falls from static to Coulomb friction, rad/s or m/s.
        stiffness: sigma_0 of the bristles, N m/rad or N/m.
        damping: sigma_1 of the bristles at rest, N m s/rad or N s/m.
        viscous: sigma_2, N m s/rad or N s/m.
        fade: rate v_d over which the damper fades, rad/s or m/s; if None the smaller one of v_s and
            8 F_c / sigma_1, with which friction is passive. `math.inf` for a constant damper, as in 1995.
        blend: rate v_b beyond which friction is that of steady sliding, rad/s or m/s; infinite, as in 1995,
            by default.

    Raises:
        KinematicsError: if a number cannot be used.
    """

    coulomb: float
    static: float
    rate: float
    stiffness: float
    damping: float = 0.0
    viscous: float = 0.0
    fade: float | None = None
    blend: float = np.inf

    def __post_init__(self) -> None:
        """Check and normalise."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "fade" and value is None:
                continue
            try:
                number = float(value)
            except (TypeError, ValueError):
                raise KinematicsError(f"{field.name} of LuGre friction is a number, got {value!r}") from None
            zero = field.name in ("damping", "viscous")
            finite = np.isfinite(number) or (field.name in ("fade", "blend") and number == np.inf)
            if not finite or number < 0.0 or (number == 0.0 and not zero):
                requirement = "not negative" if zero else "above zero"
                raise KinematicsError(f"{field.name} of LuGre friction is {requirement}, got {number:g}")
            object.__setattr__(self, field.name, number)
        if self.static < self.coulomb:
            raise KinematicsError(
                f"static friction is at least Coulomb friction, got {self.static:g} and {self.coulomb:g}"
            )

    @property
    def fade_rate(self) -> float:
        """Rate v_d over which the damper fades, rad/s or m/s."""
        if self.fade is not None:
            return self.fade
        return self.rate if not self.damping else min(self.rate, _FADE_RATIO * self.coulomb / self.damping)

    def level(self, w: Scalar) -> Scalar:
        """Friction g(w) of steady sliding at a rate without its viscous part, N m or N."""
        if self.static == self.coulomb:
            return self.coulomb
        return self.coulomb + (self.static - self.coulomb) * _gaussian(w, self.rate)

    def steady(self, w: Scalar) -> Scalar:
        """Friction F = g(w) sign(w) + sigma_2 w of steady sliding at a rate, N m or N."""
        return self.level(w) * sign(w) + self.viscous * w

    def bristle_fraction(self, w: Scalar) -> Scalar:
        """Part r(w) of friction that the bristles have at a rate; the others are in steady sliding."""
        if self.blend == np.inf:
            return 1.0
        ratio = w / self.blend
        return 1.0 / sqrt(1.0 + ratio * ratio)

    def relaxation(self, w: Scalar) -> Scalar:
        """How fast the bristles come to steady sliding at a rate, r sigma_0 |w| / g(w), 1/s."""
        return self.bristle_fraction(w) * self.stiffness * absolute(w) / self.level(w)

    def fastest_relaxation(self, rate: float) -> float:
        """A bound of the relaxation at all rates up to one: sigma_0 min(rate, v_b) / F_c, 1/s."""
        return self.stiffness * min(rate, self.blend) / self.coulomb

    def damper(self, w: Scalar) -> Scalar:
        """Damping sigma_1(w) of the bristles at a rate, N m s/rad or N s/m."""
        if not self.damping or self.fade_rate == np.inf:
            return self.damping
        return self.damping * _gaussian(w, self.fade_rate)

    def bristle_rate(self, w: Scalar, b: Scalar) -> Scalar:
        """Rate b' of the bristles at a rate of the joint and their deflection, rad/s or m/s."""
        return self.bristle_fraction(w) * w - self.relaxation(w) * b

    def force(self, w: Scalar, b: Scalar) -> Scalar:
        """Friction F at a rate and a deflection of the bristles, N m or N, against a positive rate."""
        force = self.damper(w) * self.bristle_rate(w, b) + self.viscous * w
        if self.blend == np.inf:
            return self.stiffness * b + force
        part = self.bristle_fraction(w)
        return part * self.stiffness * b + (1.0 - part) * self.level(w) * sign(w) + force

    def potential(self, b: Scalar) -> Scalar:
        """Energy of the bristles at a deflection b, sigma_0 b^2 / 2, J."""
        return 0.5 * self.stiffness * b * b

    def dissipation(self, w: Scalar, b: Scalar) -> Scalar:
        """Power F w - V' that is lost, V the bristles' energy, W."""
        return self.force(w, b) * w - self.stiffness * b * self.bristle_rate(w, b)


def _gaussian(w: Scalar, width: float) -> Scalar:
    ratio = w / width
    return exp(-(ratio * ratio))


# ---- what drives of a robot do between the commands of a controller and its joints, as numbers


Numbers = float | Sequence[float]
DESCRIBED_LIMITS = "described"


class Cogging(NamedTuple):
    """Cogging A sin(k q + phase) of a drive at its joint's coordinate q, a force that no current shows.

    Attributes:
        amplitude: A, N m or N.
        cycles: k, rad per rad or rad per m.
        phase: rad.
    """

    amplitude: float
    cycles: float
    phase: float

    def potential(self, q: Array) -> Array:
        """Energy of which the force is the negative derivative, J."""
        if not self.cycles:
            return np.asarray(-self.amplitude * np.sin(self.phase) * q)
        return np.asarray(self.amplitude / self.cycles * np.cos(self.cycles * q + self.phase))


class DriveNumbers(NamedTuple):
    """Numbers of the drives of a robot, one for each actuator.

    Attributes:
        lag: time constants of the current loops, s; 0 without a lag.
        limit: largest forces of the motors, N m or N; infinite where there is no limit.
        cogging: of each drive; empty if no drive has any.
        stiction: friction with bristles; None for drives without.
    """

    lag: tuple[float, ...]
    limit: tuple[float, ...]
    cogging: tuple[Cogging, ...]
    stiction: tuple[LuGre | None, ...]

    def cogging_forces(self, q: Array) -> Array:
        """Forces of cogging (..., actuators) at coordinates (..., actuators), N m or N; any scalar."""
        if not self.cogging:
            return np.zeros(q.shape)
        amplitude, cycles, phase = np.array(self.cogging).T
        return np.asarray(amplitude * sin(cycles * q + phase))

    @property
    def lagged_actuators(self) -> list[int]:
        """Actuators whose current loops have a lag: their forces are states."""
        return [i for i, lag in enumerate(self.lag) if lag]

    @property
    def stiction_actuators(self) -> list[tuple[int, LuGre]]:
        """Actuators with stiction, whose bristles are states, and their friction."""
        return [(i, model) for i, model in enumerate(self.stiction) if model is not None]

    @property
    def states(self) -> int:
        """Number of states: forces of motors and bristles."""
        return len(self.lagged_actuators) + len(self.stiction_actuators)


@dataclass(frozen=True)
class Drives:
    """Drives of a robot; one number for all actuators, or one for each.

    Attributes:
        lag: time constant of the current loops, s: the motor's force g follows the command u with
            g' = (u - g) / lag; 0 for none.
        bandwidth: of the current loops instead of their lag, Hz: lag = 1 / (2 pi bandwidth).
        limits: largest force of the motors, at which commands end, N m or N; those of the description
            (`actuator.force`) by default, None or infinite for none.
        cogging: amplitude (N m or N), cycles (rad per rad, rad per m) and phase (rad) of the force
            A sin(k q + phase): one triple for all, or one for each; None for none.
        stiction: friction with bristles in the actuated joints (`LuGre`), besides the friction that the robot
            has: one for all, or for each actuator one or None (`stiction_of`).

    Raises:
        KinematicsError: if something cannot be used.
    """

    lag: Any = 0.0
    bandwidth: Any = None
    limits: Any = DESCRIBED_LIMITS
    cogging: Any = None
    stiction: Any = None

    def __post_init__(self) -> None:
        """Check and normalise."""
        checked: dict[str, Any] = {"lag": _number_or_tuple(self.lag, "lag of the current loops")}
        if np.any(np.less(checked["lag"], 0.0)) or not np.all(np.isfinite(checked["lag"])):
            raise KinematicsError(f"the lag of the current loops is not negative, got {self.lag!r}")
        if self.bandwidth is not None:
            checked["bandwidth"] = _number_or_tuple(self.bandwidth, "bandwidth of the current loops")
            if not np.all(np.greater(checked["bandwidth"], 0.0)):
                raise KinematicsError(
                    f"the bandwidth of the current loops is above 0 Hz, got {self.bandwidth!r}"
                )
            if np.any(checked["lag"]):
                raise KinematicsError("current loops have a lag or a bandwidth: give one of them")
        if self.limits != DESCRIBED_LIMITS if isinstance(self.limits, str) else self.limits is not None:
            checked["limits"] = _number_or_tuple(self.limits, "force limit")
            if not np.all(np.greater(checked["limits"], 0.0)):
                raise KinematicsError(f"force limits are above zero, or None for none, got {self.limits!r}")
        if self.cogging is not None:
            checked["cogging"] = _cogging_terms(self.cogging)
        if self.stiction is not None and not isinstance(self.stiction, LuGre):
            checked["stiction"] = _friction_models(self.stiction)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def numbers(self, robot: Robot) -> DriveNumbers:
        """Numbers for each actuator of a robot.

        Raises:
            KinematicsError: if there are not as many as actuators.
        """
        lag = _per_actuator(robot, "lag", self.lag)
        if self.bandwidth is not None:
            lag = tuple(1.0 / (2.0 * np.pi * f) for f in _per_actuator(robot, "bandwidth", self.bandwidth))
        limits = tuple(actuator.force for actuator in robot.actuators)
        if self.limits != DESCRIBED_LIMITS:
            limits = _per_actuator(robot, "limits", np.inf if self.limits is None else self.limits)
        cogging = () if self.cogging is None else _per_actuator(robot, "cogging", self.cogging)
        if not any(term.amplitude for term in cogging):
            cogging = ()
        return DriveNumbers(lag, limits, cogging, _per_actuator(robot, "stiction", self.stiction))


def _number_or_tuple(value: Any, what: str) -> float | tuple[float, ...]:
    """A number, or one for each actuator, as plain floats."""
    try:
        values = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise KinematicsError(f"the {what} is a number, or one for each actuator, got {value!r}") from None
    if values.ndim > 1 or np.isnan(values).any():
        raise KinematicsError(f"the {what} is a number, or one for each actuator, got {value!r}")
    return float(values) if values.ndim == 0 else tuple(values.tolist())


def _cogging_terms(value: Any) -> Cogging | tuple[Cogging, ...]:
    message = "cogging is (amplitude, cycles, phase), or one such triple for each actuator"
    try:
        values = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise KinematicsError(f"{message}, got {value!r}") from None
    if values.ndim not in (1, 2) or values.shape[-1] != 3 or not np.isfinite(values).all():
        raise KinematicsError(f"{message}, got {value!r}")
    return Cogging(*values.tolist()) if values.ndim == 1 else tuple(Cogging(*row) for row in values.tolist())


def _friction_models(value: Any) -> tuple[LuGre | None, ...]:
    models = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    for model in models:
        if model is not None and not isinstance(model, LuGre):
            raise KinematicsError(
                f"stiction is a LuGre(coulomb, static, rate, stiffness), or for each actuator one or None, "
                f"got {model!r}"
            )
    return models


def _per_actuator(robot: Robot, what: str, value: Any) -> tuple[Any, ...]:
    """What is given for all actuators or, as a tuple, for each, for each."""
    count = len(robot.actuators)
    if not isinstance(value, tuple) or isinstance(value, Cogging):
        return (value,) * count
    if len(value) != count:
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise KinematicsError(
            f"{what} of the drives is one, or one for each of the {count} actuators of {robot.name} "
            f"({names}), got {len(value)}"
        )
    return tuple(value)


# ---- stiction from a description: Coulomb friction of the actuated joints as LuGre friction


# Of prismatic joints, m/s and m; of revolute ones the same at a lever.
_STRIBECK_RATE, _PRESLIDING_DISPLACEMENT, _LEVER = 1e-3, 1e-5, 0.1
# Rate of steady sliding over that at which friction falls.
_BLEND_RATIO = 10.0
_COULOMB_BASES, _STRIBECK_BASES = ("coulomb", "coulomb-smooth"), ("stribeck",)


class Stiction(NamedTuple):
    """A robot without Coulomb friction in its actuated joints, and that friction with stiction.

    Attributes:
        robot: the robot; friction of its passive joints, and viscous friction of all, are as they were.
        friction: LuGre friction of each actuator, for `Drives(stiction=...)`; None where there is no Coulomb
            friction.
    """

    robot: Robot
    friction: tuple[LuGre | None, ...]

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)


def stiction_of(
    robot: Robot,
    *,
    static: float = 1.5,
    rate: float | None = None,
    stiffness: float | None = None,
    damping_ratio: float = 0.5,
) -> Stiction:
    """Move the Coulomb friction of the actuated joints to LuGre friction, so that the joints can stick.

    Described Stribeck friction moves with it: then static friction is the sum of both, and its rate that of
    the description. Other friction (viscous, constant, ...) stays in the robot.

    Args:
        robot: the robot.
        static: static friction over Coulomb friction, where the description has no Stribeck friction.
        rate: over which friction falls from static to Coulomb friction, rad/s or m/s, there; 0.001 m/s, or
            0.01 rad/s, if None.
        stiffness: of the bristles, N m/rad or N/m; if None such that Coulomb friction bends them by 10 um, or
            100 urad.
        damping_ratio: of a joint that sticks, with what it moves at the reference pose.

    Raises:
        KinematicsError: if a number cannot be used.
    """
    if not static >= 1.0:
        raise KinematicsError(f"static friction is at least Coulomb friction: static >= 1, got {static!r}")
    if rate is not None:
        check_positive(rate, "rate")
    if stiffness is not None:
        check_positive(stiffness, "stiffness")
    joints, masses = list(robot.joints), _effective_masses(robot)
    models: list[LuGre | None] = []
    for actuator, revolute, mass in zip(robot.actuators, robot.revolute_actuators, masses, strict=True):
        joint, per = joints[actuator.joint], _LEVER if revolute else 1.0
        axes = list(joint.friction)
        coulomb, stribeck = (
            _friction_coefficient(axes, bases) for bases in (_COULOMB_BASES, _STRIBECK_BASES)
        )
        if coulomb < 0.0 or stribeck < 0.0 or (stribeck and not coulomb):
            raise KinematicsError(
                f"stiction of {actuator.name} needs Coulomb friction that is not negative, and above zero "
                f"together with Stribeck friction; described are {coulomb:g} and {stribeck:g}"
            )
        if not coulomb:
            models.append(None)
            continue
        bend = rate if rate is not None else _STRIBECK_RATE / per
        bend = max(_stribeck_rates(axes)) if stribeck else bend
        sigma = stiffness if stiffness is not None else coulomb / (_PRESLIDING_DISPLACEMENT / per)
        models.append(
            LuGre(
                coulomb,
                coulomb + stribeck if stribeck else static * coulomb,
                bend,
                sigma,
                2.0 * damping_ratio * float(np.sqrt(sigma * mass)),
                blend=_BLEND_RATIO * bend,
            )
        )
        axes[0] = tuple(term for term in axes[0] if term.basis not in (*_COULOMB_BASES, *_STRIBECK_BASES))
        joints[actuator.joint] = dataclasses.replace(joint, friction=tuple(axes))
    return Stiction(dataclasses.replace(robot, joints=tuple(joints)), tuple(models))


def _friction_coefficient(axes: list[tuple[FrictionTerm, ...]], bases: tuple[str, ...]) -> float:
    """Friction of some bases along the actuated axis, which is the first."""
    return float(sum(term.coefficient for term in (axes[0] if axes else ()) if term.basis in bases))


def _stribeck_rates(axes: list[tuple[FrictionTerm, ...]]) -> list[float]:
    return [term.scale for term in axes[0] if term.basis in _STRIBECK_BASES]


def _effective_masses(robot: Robot) -> Array:
    """Mass that each actuated joint moves while the others are free, kg m^2 or kg, at the reference pose."""
    x = reference_pose(robot)
    J = jacobian(robot, x).inverse
    W: Any = J @ np.linalg.solve(mass_matrix(robot, x), J.T)
    return np.asarray(1.0 / np.diag(W))
