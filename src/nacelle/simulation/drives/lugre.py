"""LuGre friction: bristles that bend while two surfaces stick, and slip beyond their static friction.

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
violates at high rates; a constant one is passive (v_b infinite) only beside enough viscous friction, sigma_2
>= sigma_1 (F_s - F_c) / F_c (N. Barabanov, R. Ortega, "Necessary and sufficient conditions for passivity of
the LuGre friction model", IEEE Transactions on Automatic Control 45(4), 2000, 830-832). So the damper fades
with the rate, sigma_1(w) = sigma_1 exp(-(w / v_d)^2) (H. Olsson, "Control systems with friction", Lund,
1996). The largest value of |w| exp(-(w / v_d)^2) is v_d / sqrt(2 e), and g >= F_c: the condition holds for
every v_d up to 4 sqrt(2 e) F_c / sigma_1 = 9.3 F_c / sigma_1.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.scalar import Scalar, absolute, exp, sign, sqrt

# v_d sigma_1 / F_c, at most, of a damper that fades by itself; below 4 sqrt(2 e), the bound of passivity.
_FADE = 8.0


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
            given = getattr(self, field.name)
            if field.name == "fade" and given is None:
                continue
            try:
                number = float(given)
            except (TypeError, ValueError):
                raise KinematicsError(f"{field.name} of LuGre friction is a number, got {given!r}") from None
            zero = field.name in ("damping", "viscous")
            finite = np.isfinite(number) or (field.name in ("fade", "blend") and number == np.inf)
            if not finite or number < 0.0 or (number == 0.0 and not zero):
                words = "not negative" if zero else "above zero"
                raise KinematicsError(f"{field.name} of LuGre friction is {words}, got {number:g}")
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
        return self.rate if not self.damping else min(self.rate, _FADE * self.coulomb / self.damping)

    def level(self, w: Scalar) -> Scalar:
        """Friction g(w) of steady sliding at a rate without its viscous part, N m or N."""
        if self.static == self.coulomb:
            return self.coulomb
        return self.coulomb + (self.static - self.coulomb) * _bell(w, self.rate)

    def steady(self, w: Scalar) -> Scalar:
        """Friction F = g(w) sign(w) + sigma_2 w of steady sliding at a rate, N m or N."""
        return self.level(w) * sign(w) + self.viscous * w

    def bristle_part(self, w: Scalar) -> Scalar:
        """Part r(w) of friction that the bristles have at a rate; the others are in steady sliding."""
        if self.blend == np.inf:
            return 1.0
        ratio = w / self.blend
        return 1.0 / sqrt(1.0 + ratio * ratio)

    def relaxation(self, w: Scalar) -> Scalar:
        """How fast the bristles come to steady sliding at a rate, r sigma_0 |w| / g(w), 1/s."""
        return self.bristle_part(w) * self.stiffness * absolute(w) / self.level(w)

    def fastest_relaxation(self, rate: float) -> float:
        """A bound of the relaxation at all rates up to one: sigma_0 min(rate, v_b) / F_c, 1/s."""
        return self.stiffness * min(rate, self.blend) / self.coulomb

    def damper(self, w: Scalar) -> Scalar:
        """Damping sigma_1(w) of the bristles at a rate, N m s/rad or N s/m."""
        if not self.damping or self.fade_rate == np.inf:
            return self.damping
        return self.damping * _bell(w, self.fade_rate)

    def bristle_rate(self, w: Scalar, b: Scalar) -> Scalar:
        """Rate b' of the bristles at a rate of the joint and their deflection, rad/s or m/s."""
        return self.bristle_part(w) * w - self.relaxation(w) * b

    def force(self, w: Scalar, b: Scalar) -> Scalar:
        """Friction F at a rate and a deflection of the bristles, N m or N, against a positive rate."""
        force = self.damper(w) * self.bristle_rate(w, b) + self.viscous * w
        if self.blend == np.inf:
            return self.stiffness * b + force
        part = self.bristle_part(w)
        return part * self.stiffness * b + (1.0 - part) * self.level(w) * sign(w) + force

    def potential(self, b: Scalar) -> Scalar:
        """Energy of the bristles at a deflection b, sigma_0 b^2 / 2, J."""
        return 0.5 * self.stiffness * b * b

    def dissipation(self, w: Scalar, b: Scalar) -> Scalar:
        """Power F w - V' that is lost, V the bristles' energy, W."""
        return self.force(w, b) * w - self.stiffness * b * self.bristle_rate(w, b)


def _bell(w: Scalar, width: float) -> Scalar:
    ratio = w / width
    return exp(-(ratio * ratio))
