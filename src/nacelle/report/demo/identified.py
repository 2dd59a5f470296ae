"""The step `identified`: base parameters from noisy data of a simulated experiment, beside the true ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.page.markup import folded, number, paragraph, table, text
from nacelle.page.svg import Series, line_chart
from nacelle.spatial.scalar import Array

# Deviations beyond this part of a parameter are said.
_WEAK = 0.1


@dataclass(frozen=True, eq=False)
class Identified:
    """Base parameters (P) estimated from measured motion and forces.

    Attributes:
        names: of the base parameters.
        described: by the description (P,), SI units.
        estimates: from the data (P,).
        deviations: their standard deviations (P,).
        true: of the machine that was measured (P,).
        score: R² of the forces.
        samples: how many were measured.
        noise: deviation of the noise on the measured forces, N.
        left: what is left of the measured forces by the parameters "described", "identified" and "true", rms
            over all actuators, N.
        actuator: name of the actuator whose force is shown.
        time: (N,), s.
        forces: of that actuator (N,), N: "measured", "described", "identified".
        commands: what gives the numbers.
    """

    names: tuple[str, ...]
    described: Array
    estimates: Array
    deviations: Array
    true: Array
    score: float
    samples: int
    noise: float
    left: dict[str, float]
    actuator: str
    time: Array
    forces: dict[str, Array]
    commands: tuple[str, ...]

    @property
    def weak(self) -> Array:
        """Whether a parameter is known to worse than 10 % (P,)."""
        return np.asarray(self.deviations > _WEAK * np.abs(self.estimates))

    @property
    def claim(self) -> str:
        """What the step shows."""
        described, own, true = (self.left[name] for name in ("described", "identified", "true"))
        return (
            f"{len(self.names)} base parameters identified from {self.samples} samples with {self.noise:g} N "
            f"of noise leave {own:.1f} N (rms) of the measured forces; the description leaves "
            f"{described:.1f} N, the true parameters {true:.1f} N."
        )

    def lines(self) -> list[str]:
        """The result on a screen."""
        left = ", ".join(f"{name} {value:.2f} N" for name, value in self.left.items())
        return [
            f"{len(self.names)} base parameters from {self.samples} samples, R^2 {self.score:.4f}",
            f"left of the forces, rms: {left}",
        ]

    def content(self) -> list[str]:
        """The result in a page."""
        series = [Series(name, self.time, values) for name, values in self.forces.items()]
        rows = [
            [
                text(name),
                number(self.described[k]),
                number(self.estimates[k]),
                number(self.deviations[k], 2),
                number(self.true[k]),
                "weak" if self.weak[k] else "",
            ]
            for k, name in enumerate(self.names)
        ]
        return [
            paragraph(
                "A simulated machine moves in closed loop; encoders and currents are noisy, and its drives "
                "stick and cog, which no model here has. That is most of what is left, with the true "
                "parameters too, and it is why friction comes out further from the truth than its deviation "
                f"says. {int(np.sum(self.weak))} of {len(self.names)} parameters are weak: this motion "
                "determines them to worse than 10 %."
            ),
            line_chart(
                series,
                x="time (s)",
                y=f"force of {self.actuator} (N)",
                title="Measured force, and the same force by the model as described and as identified, of "
                "the actuator for which the description is worst.",
            ),
            folded(
                f"All {len(self.names)} base parameters, SI units",
                table(
                    ["base parameter", "described>", "identified>", "deviation>", "true>", "[remark]"], rows
                ),
            ),
        ]

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        columns = {
            "described": self.described,
            "estimate": self.estimates,
            "std": self.deviations,
            "true": self.true,
        }
        return {
            "score": self.score,
            "samples": self.samples,
            "left": self.left,
            "parameters": [
                {"name": name, **{key: float(values[k]) for key, values in columns.items()}}
                for k, name in enumerate(self.names)
            ],
        }
