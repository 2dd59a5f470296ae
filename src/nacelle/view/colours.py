"""Colours of the viewer: Okabe and Ito's, which colour-blind eyes tell apart, and those of verdicts."""

from __future__ import annotations

# Colours of the arrows of forces and of moments, by the kind of load.
ARROW_COLOURS = {"actuator forces": ("#0072B2", "#56B4E9"), "joint reactions": ("#009E73", "#CC79A7")}
TRACE_COLOUR = "#D55E00"
GOOD_COLOUR, NEAR_COLOUR, OUT_COLOUR = "#00785a", "#E69F00", "#c4262e"


def rgb_bytes(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of #rrggbb."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
