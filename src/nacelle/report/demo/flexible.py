"""The step `flexible`: natural frequencies of the PRRRP of [BK2013], printed and computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.page import svg
from nacelle.page.markup import number, table, text
from nacelle.report.demo.parts import figure
from nacelle.spatial.scalar import Array

# Digits behind the point that the paper prints.
_DIGITS = 3


@dataclass(frozen=True, eq=False)
class Flexible:
    """Natural frequencies over the position of a slider.

    Attributes:
        sliders: positions of the second slider (R,), m.
        printed: what is published (R, modes), Hz.
        computed: with the paper's own beams (R, modes), Hz.
        converged: with the default beams (R, modes), Hz.
        curve: positions of the second slider (C,), m.
        curves: frequencies there with the paper's beams (C, modes), Hz.
        commands: what gives the numbers.
    """

    sliders: Array
    printed: Array
    computed: Array
    converged: Array
    curve: Array
    curves: Array
    commands: tuple[str, ...]

    @property
    def same(self) -> int:
        """How many of the printed numbers are reproduced to their last digit."""
        return int(np.sum(np.abs(np.round(self.computed, _DIGITS) - self.printed) < 0.5 * 10.0**-_DIGITS))

    @property
    def above(self) -> float:
        """How far the printed numbers are above the converged ones at most, as a part of these."""
        return float(np.max(self.printed / self.converged - 1.0))

    @property
    def claim(self) -> str:
        """What the step shows."""
        return (
            f"{self.same} of the {self.printed.size} frequencies that [BK2013] prints are reproduced to the "
            f"last digit; one element a beam, the paper's choice, is up to {100.0 * self.above:.0f} % above "
            "the converged values."
        )

    def lines(self) -> list[str]:
        """The result on a screen."""
        middle = int(np.argmin(np.abs(self.sliders)))
        listed = [
            ("printed", self.printed),
            ("nacelle, same beams", self.computed),
            ("converged", self.converged),
        ]
        lines = [
            f"{f'{name}, Hz':<26}" + "".join(f"{value:>9.3f}" for value in rows[middle])
            for name, rows in listed
        ]
        return [
            *lines,
            f"{self.same} of {self.printed.size} frequencies at {len(self.sliders)} positions as printed",
        ]

    def content(self) -> list[str]:
        """The result in a page."""
        modes = self.printed.shape[1]
        rows = []
        for k, slider in enumerate(self.sliders.tolist()):
            for name, values in (
                ("printed", self.printed),
                ("nacelle, one element", self.computed),
                ("nacelle, converged", self.converged),
            ):
                shown = [f"{value:.{_DIGITS}f}" for value in values[k].tolist()]
                rows.append([number(slider) if name == "printed" else "", text(name), *shown])
        heads = ["q₄ (m)", "", *(f"f{chr(0x2081 + k)}>" for k in range(modes))]
        return [self._chart(), table(heads, rows)]

    def _chart(self) -> str:
        """Frequencies over the slider as curves, what is printed as dots."""
        panel = svg.ChartPanel(
            60.0,
            46.0,
            640.0,
            260.0,
            (float(self.curve[0]), float(self.curve[-1])),
            svg.span(self.curves, self.printed, np.zeros(1)),
        )
        parts = [
            svg.line(64.0, 12.0, 92.0, 12.0, "curve s0"),
            svg.words_at(98.0, 16.0, "nacelle, one element a beam"),
            svg.marker(292.0, 12.0, 1),
            svg.words_at(302.0, 16.0, "printed in [BK2013], Table II"),
            panel.axes(x_label="position q₄ of the second slider (m)", y_label="natural frequency (Hz)"),
        ]
        whole = [slice(0, len(self.curve))]
        parts += [panel.curve(self.curve, values, whole, "s0") for values in self.curves.T]
        for slider, values in zip(self.sliders.tolist(), self.printed.tolist(), strict=True):
            parts += [
                svg.marker(float(panel.across(slider)), float(panel.down(value)), 1) for value in values
            ]
        title = "The six lowest natural frequencies of the PRRRP, sliders locked, without gravity."
        return figure(svg.drawing(720.0, 344.0, title, *parts, kind="chart"), title)

    def data(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {
            "sliders": self.sliders.tolist(),
            "printed": self.printed.tolist(),
            "computed": self.computed.tolist(),
            "converged": self.converged.tolist(),
            "same": self.same,
        }
