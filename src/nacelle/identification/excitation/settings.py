"""Settings of an excitation: what limits the motion, of what form it is, how it is searched for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nacelle.errors import IdentificationError, did_you_mean

STRATEGIES = ("combined", "separate")
KINDS = ("fourier", "bspline")
CRITERIA = ("condition", "log-det")


def require_positive(value: Any, name: str, unit: str) -> float:
    """A number above zero.

    Raises:
        IdentificationError: if it is not.
    """
    number = float(value)
    if not (math.isfinite(number) and number > 0.0):
        raise IdentificationError(f"the {name} must be above zero, got {number:g} {unit}")
    return number


def check_kind(kind: str, harmonics: int) -> None:
    """Check the kind of a motion and the number of its harmonics.

    Raises:
        IdentificationError: if there is no such kind, or too few harmonics.
    """
    if kind not in KINDS:
        raise IdentificationError(f"no kind of motion is called {kind!r}; {did_you_mean(kind, KINDS)}")
    least = 2 if kind == "fourier" else 3
    if harmonics < least:
        raise IdentificationError(
            f"a {kind} motion that starts at rest has {least} harmonics or more, got {harmonics}"
        )


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """What a motion must keep to; the limits of a motion that was found are its `limits`.

    Attributes:
        speed: of the actuators, one number or (actuators,), rad/s or m/s; as described, or derived, if None.
            Default None.
        acceleration: the same, rad/s^2 or m/s^2; the described force over the inertia if None. Default None.
        force: the same, N m or N; as described, or derived, if None. Default None.
        margin: part of the range of actuators and joints that is kept free at each end, below 1/2.
            Default 0.02.
        reserve: part of described speed and force limits, below 1, that is kept free for what the controller
            adds; limits that are given here are taken as they are. Default 0.2.
        conditioning: smallest inverse condition 1 / (|A| |A^-1|) of the scaled J_r^-1 (Frobenius norm); a
            quarter of that at the centre if None. Default None.

    Raises:
        IdentificationError: if the margin, the reserve or the conditioning cannot be used.
    """

    speed: Any = None
    acceleration: Any = None
    force: Any = None
    margin: float = 0.02
    reserve: float = 0.2
    conditioning: float | None = None

    def __post_init__(self) -> None:
        """Check what can be checked without a robot."""
        if not 0.0 <= self.margin < 0.5:
            raise IdentificationError(
                f"the margin is a fraction of a joint's range, 0 to 0.5, got {self.margin:g}"
            )
        if not 0.0 <= self.reserve < 1.0:
            raise IdentificationError(f"the reserve is a fraction of a limit, 0 to 1, got {self.reserve:g}")
        if self.conditioning is not None and not self.conditioning > 0.0:
            raise IdentificationError(f"the conditioning limit must be above zero, got {self.conditioning:g}")


@dataclass(frozen=True)
class MotionShape:
    """Of what form a motion is; it begins and ends at rest.

    Attributes:
        strategy: "combined" (one motion for all parameters), or "separate" ([AGH2005]: strokes of constant
            speed and rests for friction and gravity, then a motion for inertia). Default "combined".
        kind: "fourier" (periodic, band-limited) or "bspline". Default "fourier".
        harmonics: H; the highest frequency is H over the duration. A B-spline has 2 H control points.
            Default 10.
        duration: s; if None such that the middle harmonic uses range and acceleration, or range and speed, of
            the actuators alike, and the highest is at most 10 Hz. Default None.

    Raises:
        IdentificationError: if an entry cannot be used.
    """

    strategy: str = "combined"
    kind: str = "fourier"
    harmonics: int = 10
    duration: float | None = None

    def __post_init__(self) -> None:
        """Check."""
        if self.strategy not in STRATEGIES:
            raise IdentificationError(
                f"no strategy is called {self.strategy!r}; {did_you_mean(self.strategy, STRATEGIES)}"
            )
        check_kind(self.kind, self.harmonics)
        if self.duration is not None:
            require_positive(self.duration, "duration", "s")


@dataclass(frozen=True)
class MotionSearch:
    """How a motion is searched for.

    Attributes:
        criterion: what is minimised: "condition", or "log-det" for -log det(R^T R). Default "condition".
        starts: how many of the random motions, the best ones, are improved; 8 to 24 if None, more where there
            are fewer coefficients and parameters. Default None.
        iterations: of the optimiser from each of them, at most. Default 100.
        seed: of the random motions; the same seed gives the same motion. Default 0.

    Raises:
        IdentificationError: if an entry cannot be used.
    """

    criterion: str = "condition"
    starts: int | None = None
    iterations: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        """Check."""
        if self.criterion not in CRITERIA:
            raise IdentificationError(
                f"no criterion is called {self.criterion!r}; {did_you_mean(self.criterion, CRITERIA)}"
            )
        for name, number in (("starts", self.starts), ("iterations", self.iterations)):
            if number is not None and number < 1:
                raise IdentificationError(f"the number of {name} must be above zero, got {number}")
