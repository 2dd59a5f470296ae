"""How a motion is integrated: the method, its steps and tolerances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean

# Methods with fixed steps; "auto" is the one that suits the plant.
FIXED_STEP_METHODS = ("rk4", "irk5")
METHODS = ("auto", *FIXED_STEP_METHODS, "dop853", "radau")
DEFAULT_STEP = 1e-3


@dataclass(frozen=True)
class Integration:
    """How a motion is integrated: the method, its steps and tolerances.

    Attributes:
        method: "rk4" or "irk5" (fixed steps), "dop853" or "radau" (step control), or "auto": "irk5" where the
            plant says that its fastest vibrations do not matter, else "dop853". Default "dop853".
        step: of "rk4" and "irk5", s, if None 0.001, or what suits a plant that vibrates; for the others the
            first step, chosen by the method if None. Default None.
        max_step: the longest step of "dop853" and "radau", s. Default infinite.
        hold: for fixed steps, whether the force is taken at the begin of every step and held over it, as by a
            digital controller; else functions are evaluated at every stage. Default False.
        substeps: for fixed steps and forces that are held over a step, as those of a digital controller, of
            how many steps of the method it is made: a controller may be slower than the integration must be.
            Default 1.
        rtol: relative tolerance of a step ("dop853", "radau"). Default 1e-12.
        atol: absolute tolerance of a step, in the units of the states. Default 1e-14.

    Raises:
        KinematicsError: if an entry cannot be used.
    """

    method: str = "dop853"
    step: float | None = None
    max_step: float = np.inf
    hold: bool = False
    substeps: int = 1
    rtol: float = 1e-12
    atol: float = 1e-14

    def __post_init__(self) -> None:
        """Check."""
        if self.method not in METHODS:
            raise KinematicsError(
                f"no method is called {self.method!r}; {did_you_mean(self.method, METHODS)}"
            )
        for what, value in (("step", self.step), ("longest step", self.max_step)):
            if value is not None and not value > 0.0:
                raise KinematicsError(f"the {what} must be above zero, got {value:g} s")
        if self.step is not None and not np.isfinite(self.step):
            raise KinematicsError("the step must be finite")
        if self.hold and not self.has_fixed_steps:
            raise KinematicsError(
                "hold=True samples the force at fixed steps, so it goes with the methods 'rk4' and 'irk5', "
                f"not {self.method!r}"
            )
        if self.substeps < 1 or (self.substeps > 1 and not self.has_fixed_steps):
            raise KinematicsError(
                "a step of the methods 'rk4' and 'irk5' is made of one substep or more, got "
                f"{self.substeps} with {self.method!r}"
            )

    @property
    def has_fixed_steps(self) -> bool:
        """Whether the method has fixed steps."""
        return self.method in FIXED_STEP_METHODS

    @property
    def fixed_step(self) -> float:
        """Length of fixed steps, s: as given, or 1 ms."""
        return DEFAULT_STEP if self.step is None else self.step


class SuitedSteps(NamedTuple):
    """Fixed steps that suit a plant from a state on, s.

    Attributes:
        explicit: of "rk4".
        implicit: of "irk5".
        longest: of "rk4", beyond which the motion grows without bound.
        fastest: what does so, for messages.
        method: the method for who has chosen none.
    """

    explicit: float = DEFAULT_STEP
    implicit: float = DEFAULT_STEP
    longest: float = np.inf
    fastest: str = ""
    method: str = "dop853"

    def reason_unstable(self, step: float) -> str:
        """Why steps of "rk4" would grow; empty if they do not."""
        if step < self.longest:
            return ""
        return (
            f"steps of {step:g} s are unstable: {self.fastest}; take steps of at most {self.longest:.2g} s "
            "(step=None chooses one), or method='irk5', which is stable with every step"
        )
