"""How all pictures look: series, axes with their units, legends, names as users wrote them.

Series have the colours of Okabe and Ito, which colour-blind readers tell apart, and each its own dash; after
seven of them markers change, too. So curves differ in black and white, too.
"""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.page.svg import SERIES_COLOURS
from nacelle.scene.colours import ACTIVE_COLOUR
from nacelle.spatial.scalar import Array

INK = "#30353c"
PALE = "#d9dde2"
QUIET = "#8d959f"
# Okabe and Ito, "Color Universal Design", 2008: blue, vermilion, green, purple, orange, sky blue, black.
COLOURS = SERIES_COLOURS
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5.0, 1.6)),
    (0, (6.0, 1.6, 1.2, 1.6)),
    (0, (1.2, 1.4)),
    (0, (9.0, 2.0)),
    (0, (6.0, 1.4, 1.2, 1.4, 1.2, 1.4)),
    (0, (2.6, 1.2)),
)
MARKERS = ("", "o", "s", "^", "D", "v", "X")
LINE_COLOUR = COLOURS[0]
# What cannot be reached, and what is worth a word.
FAILED_COLOUR, WARNING_COLOUR = ACTIVE_COLOUR, COLOURS[4]
LIMIT_STYLE = {"color": QUIET, "linewidth": 0.8, "linestyle": (0, (4, 3))}
TITLE, LABEL, SMALL = 10.0, 8.0, 7.0


def series_style(k: int) -> dict[str, Any]:
    """Colour, dash and marker of the k-th series of a picture, as options of matplotlib."""
    cycle = k // len(COLOURS)
    options: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)]}
    marker = MARKERS[cycle % len(MARKERS)]
    if marker:
        # At equal distances along the curve, not at the same places as others.
        options |= {"marker": marker, "markersize": 3.2, "markevery": (0.02 + 0.013 * (k % 7), 0.12)}
    return options


def printable_name(name: str, max_length: int = 26) -> str:
    """A name as it is written in a picture: short, on one line, no mathematics, not hidden from legends."""
    shown_name = " ".join(_printable(name).split())
    if len(shown_name) > max_length:
        left = (max_length - 1) // 2
        shown_name = f"{shown_name[:left]}…{shown_name[len(shown_name) - (max_length - 1 - left) :]}"
    shown_name = shown_name.replace("$", r"\$")
    return f"\u2009{shown_name}" if shown_name.startswith("_") else shown_name


def wrap_title(title: str, width: int = 72) -> str:
    """A title in lines, at most three of them."""
    printable = _printable(title).replace("$", r"\$")
    return "\n".join(textwrap.wrap(printable, width, max_lines=3, placeholder=" …"))


def _printable(text: str) -> str:
    """Words with a space for each sign that cannot be drawn; spaces that do not break stay."""
    return "".join(sign if sign.isprintable() or sign == "\u00a0" else " " for sign in str(text))


def plain_axes(ax: Any) -> None:
    """Quiet flat axes."""
    ax.set_axisbelow(True)
    ax.grid(color=PALE, linewidth=0.5)
    ax.tick_params(which="both", labelsize=SMALL, colors=INK, length=2.5)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(LABEL)
        label.set_color(INK)
    for spine in ax.spines.values():
        spine.set_color(PALE)


def draw_curve(ax: Any, x: Array, y: Array, k: int, name: str, **options: Any) -> None:
    """Draw the k-th curve of axes; samples alone between missing ones are dots."""
    y = np.asarray(y, dtype=float)
    y = np.where(np.isfinite(y), y, np.nan)
    style = series_style(k) | {"linewidth": 1.2, "label": printable_name(name)} | options
    ax.plot(x, y, **style)
    finite = np.isfinite(y)
    alone = finite & ~np.pad(finite, 1)[:-2] & ~np.pad(finite, 1)[2:]
    if np.any(alone):
        ax.plot(x[alone], y[alone], MARKERS[1 + k % 6], color=style["color"], markersize=3.5)


def side_legend(ax: Any) -> None:
    """A legend next to axes, where it hides nothing."""
    _legend(ax, _legend_handles(ax), loc="center left", bbox_to_anchor=(1.0, 0.5))


def legend_below(ax: Any, columns: int = 4, handles: Sequence[Any] | None = None) -> None:
    """A legend below axes and their label, where it hides nothing; of their own curves if None."""
    # Below the numbers and the label of the axis, whatever the size of the axes.
    below = importlib.import_module("matplotlib.transforms").offset_copy(
        ax.transAxes, ax.figure, y=-27.0, units="points"
    )
    anchor = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
    _legend(ax, _legend_handles(ax) if handles is None else list(handles), columns, **anchor)


def shared_legend(figure: Any, axes: Any) -> None:
    """One legend below all axes of a figure, from the curves of some of them, and the layout above it."""
    handles, columns = _legend_handles(axes), 4
    _legend(figure, handles, columns, loc="lower center", fontsize=LABEL)
    lines = -(-len(handles) // max(1, min(columns, len(handles))))
    height = float(figure.get_size_inches()[1])
    figure.set_layout_engine("tight", rect=(0.0, (0.1 + 0.19 * lines) / height, 1.0, 1.0))


def _legend(target: Any, handles: list[Any], columns: int = 1, **options: Any) -> None:
    """The legend of axes or of a figure, quietly; none where nothing has a name."""
    style: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "labelcolor": INK, "handlelength": 3.2}
    if handles:
        target.legend(handles=handles, ncols=min(columns, len(handles)), **(style | options))


def _legend_handles(ax: Any) -> list[Any]:
    return list(ax.get_legend_handles_labels()[0])


def figure_title(figure: Any, title: str) -> None:
    """The title of a figure of several axes."""
    if title:
        figure.suptitle(wrap_title(title), fontsize=TITLE, color=INK)


def axes_title(ax: Any, title: str) -> None:
    """The title of axes."""
    ax.set_title(wrap_title(title, 64), fontsize=9, color=INK)
