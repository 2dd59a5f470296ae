"""Names beside bodies in pictures of robots, none over another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nacelle.report.draw.canvas import mpl
from nacelle.report.draw.style import INK, picture_name
from nacelle.scene.placed import Part
from nacelle.spatial.scalar import Array

# Pixels between names, and how often they are moved apart at most.
_GAP, _ROUNDS = 1.0, 400


def write_names(ax: Any, parts: Iterable[Part], flat: tuple[int, int] | None) -> list[Any]:
    """Write the name of each part at its middle.

    Args:
        ax: axes, flat or in space.
        parts: the parts.
        flat: which coordinates flat axes show; None in space.
    """
    paper = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
    texts = []
    for part in parts:
        middle = 0.5 * (part.points.min(axis=0) + part.points.max(axis=0))
        texts.append(
            ax.text(
                *(middle if flat is None else middle[list(flat)]),
                picture_name(part.name),
                fontsize=6,
                color=INK,
                ha="center",
                va="center",
                bbox=paper,
                zorder=10.0,
            )
        )
    return texts


def spread_names(ax: Any, texts: list[Any]) -> None:
    """Move names apart that lie over each other, by inches of the picture, whatever it is scaled to."""
    figure = ax.figure
    # Layouts and the places of texts in space are known after drawing.
    figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in texts]
    if not boxes:
        return
    centres = np.array([[0.5 * (box.x0 + box.x1), 0.5 * (box.y0 + box.y1)] for box in boxes])
    sizes = np.array([[box.width, box.height] for box in boxes])
    shifts = (apart(centres, sizes + _GAP) - centres) / figure.dpi
    translation = mpl("matplotlib.transforms").ScaledTranslation
    for text, shift in zip(texts, shifts.tolist(), strict=True):
        if any(shift):
            text.set_transform(text.get_transform() + translation(*shift, figure.dpi_scale_trans))


def apart(centres: Array, sizes: Array) -> Array:
    """Centres (n, 2) of boxes of some sizes (n, 2), moved until none lies over another.

    Two that overlap are moved by half of it each, the shorter way, again and again; many boxes in little room
    may need more rounds than there are, and then still touch.
    """
    places = centres.copy()
    for _ in range(_ROUNDS):
        moved = False
        for i in range(len(places)):
            for j in range(i):
                between = places[i] - places[j]
                over = 0.5 * (sizes[i] + sizes[j]) - np.abs(between)
                if over.min() <= 1e-6:
                    continue
                axis = int(np.argmin(over))
                step = 0.5 * over[axis] * (1.0 if between[axis] >= 0.0 else -1.0)
                places[i, axis] += step
                places[j, axis] -= step
                moved = True
        if not moved:
            break
    return places
