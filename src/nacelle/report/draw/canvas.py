"""Figures, axes and files of pictures. The one home of matplotlib, which the extra `plot` brings."""

from __future__ import annotations

import functools
import importlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.distribution import install_command
from nacelle.errors import NacelleError
from nacelle.report.draw.style import INK, PALE, axes_title, figure_title
from nacelle.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
ELEVATION, AZIMUTH = 22.0, -60.0
# From behind the viewer's left shoulder.
_LIGHT = np.array([-0.25, -0.55, 0.8]) / np.linalg.norm([-0.25, -0.55, 0.8])
# Where a colour bar is next to axes in space, as a part of the width.
COLOUR_BAR_LEFT = 0.88


def import_matplotlib(name: str) -> Any:
    """A module of matplotlib, or of what it needs.

    Raises:
        NacelleError: if matplotlib is missing.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NacelleError(f"pictures need matplotlib: {install_command('plot')}") from error


class Paper:
    """What a picture is drawn on: one pair of axes, which the user may give, or a figure of several.

    Attributes:
        result: the axes or the figure that was asked for.
        when_finished: called when everything has its final place.
    """

    def __init__(self, ax: Axes | None = None, *, shown: bool = True) -> None:
        """Keep the axes that the user gives, and whether pyplot keeps a new figure."""
        self._user_axes, self._shown = ax, shown
        self.result: Any = ax
        self.when_finished: Callable[[], None] = lambda: None

    def axes(self, *, flat: bool = True, height: float = 5.2) -> Axes:
        """The axes to draw on: the given ones, or new ones as in `new_axes`."""
        axes = self._user_axes or new_axes(flat=flat, height=height, shown=self._shown)
        self.result = axes
        return axes

    def figure(self, width: float, height: float) -> Figure:
        """A figure of its own as in `new_figure`.

        Raises:
            NacelleError: if axes are given.
        """
        if self._user_axes is not None:
            raise NacelleError("this picture has several panels, and a figure of its own: leave ax out")
        figure = new_figure(width, height, shown=self._shown)
        self.result = figure
        return figure

    def finish(self, title: str) -> None:
        """Write the title, and let new axes fill their figure."""
        if not hasattr(self.result, "set_title"):
            figure_title(self.result, title)
            return
        axes_title(self.result, title)
        if self._user_axes is None:
            fit_to_figure(self.result)


def picture(draw: Callable[..., str]) -> Callable[..., Any]:
    """Make a picture of a function that draws something on paper and gives its usual title.

    The picture is called with what is drawn and the function's own options, and with

        ax      axes to draw on, of pictures on one pair of axes; new ones if None
        title   above the picture; the usual one if None
        shown   whether pyplot keeps a new figure, for `pyplot.show`

    It gives the axes, or the figure of several panels, and raises `NacelleError` if matplotlib is missing.
    """

    @functools.wraps(draw)
    def plot(
        result: Any,
        *arguments: Any,
        ax: Axes | None = None,
        title: str | None = None,
        shown: bool = True,
        **options: Any,
    ) -> Any:
        paper = Paper(ax, shown=shown)
        usual = draw(paper, result, *arguments, **options)
        paper.finish(usual if title is None else title)
        paper.when_finished()
        return paper.result

    return plot


def new_axes(*, flat: bool, width: float = 6.4, height: float = 5.2, shown: bool = True) -> Axes:
    """New axes, flat or in space, that fill a figure of their own.

    Args:
        flat: whether they are flat.
        width: of the figure in inches.
        height: of the figure in inches.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if matplotlib is missing.
    """
    figure = new_figure(width, height, shown=shown)
    import_matplotlib("mpl_toolkits.mplot3d")
    axes: Axes = figure.add_subplot() if flat else figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")
    return axes


def new_figure(width: float, height: float, *, shown: bool = True) -> Figure:
    """A new figure without axes; the arguments are as in `new_axes`.

    Raises:
        NacelleError: if matplotlib is missing.
    """
    if shown:
        figure: Figure = import_matplotlib("matplotlib.pyplot").figure(figsize=(width, height))
        return figure
    plain: Figure = import_matplotlib("matplotlib.figure").Figure(figsize=(width, height))
    return plain


def fit_to_figure(ax: Any) -> None:
    """Enlarge what axes in space show until it fills their figure, labels included; flat ones fit already.

    mplot3d knows the place of its labels only after drawing them, so this draws twice.
    """
    figure = ax.figure
    if not hasattr(ax, "get_zlim"):
        figure.set_layout_engine("tight")
        return
    title, others = ax.title, [neighbour for neighbour in figure.axes if neighbour is not ax]
    room = np.array([COLOUR_BAR_LEFT if others else 1.0, 0.94 if title.get_text() else 1.0])
    for artist in (title, *others):
        artist.set_visible(False)
    ax.set_position((0.0, 0.0, 1.0, 1.0))
    size = figure.get_size_inches()
    box, zoom = tuple(ax.get_box_aspect()), 1.0
    for _ in range(3):
        figure.draw_without_rendering()
        box_shown = figure.get_tightbbox()
        zoom *= 0.97 * float(np.min(room * size / [box_shown.width, box_shown.height]))
        ax.set_box_aspect(box, zoom=zoom)
    figure.draw_without_rendering()
    box_shown = figure.get_tightbbox()
    left, below = 0.5 * room - 0.5 * (box_shown.p0 + box_shown.p1) / size
    ax.set_position((left, below, 1.0, 1.0))
    for artist in (title, *others):
        artist.set_visible(True)
    ax.set_title(title.get_text(), fontsize=9, color=INK, x=0.5 - left, y=0.965 - below, va="center")


def _plain_axis(axis: Any, ticks: int) -> None:
    ticker = import_matplotlib("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(ticks, steps=[1, 2, 4, 5, 10]))
    axis.set_pane_color((0.975, 0.978, 0.982, 1.0))
    axis.line.set_color(PALE)
    axis._axinfo["grid"].update(color=PALE, linewidth=0.5)
    axis.label.set_fontsize(8)
    axis.label.set_color(INK)


def set_view(
    ax: Any, low: Array, high: Array, elevation: float, azimuth: float, *, equal: bool = True
) -> None:
    """Look at a box from an elevation and an azimuth in degrees; without equal scales it is a cube."""
    ax.set_proj_type("ortho")
    ax.view_init(elev=elevation, azim=azimuth)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_zlim(low[2], high[2])
    size = high - low if equal else np.ones(3)
    ax.set_box_aspect(size)
    e, a = np.radians([elevation, azimuth])
    projection = np.array(
        [[-np.sin(a), np.cos(a), 0.0], [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]]
    )
    lengths = size * np.linalg.norm(projection, axis=0) / np.max(np.abs(projection) @ size)
    for axis, length in zip((ax.xaxis, ax.yaxis, ax.zaxis), lengths, strict=True):
        _plain_axis(axis, max(2, round(8.0 * float(length))))
    ax.tick_params(labelsize=7, colors=INK, pad=0)


def add_faces(ax: Any, faces: Array, colours: Array, gid: str) -> None:
    """Put faces (faces, 4, 3) with colours on axes in space; their edges close the seams."""
    art3d = import_matplotlib("mpl_toolkits.mplot3d.art3d")
    collection = art3d.Poly3DCollection(
        faces, facecolors=colours, edgecolors=colours, linewidths=0.4, zsort="average"
    )
    collection.set_gid(gid)
    ax.add_collection3d(collection, autolim=False)


def shade_faces(fill: Array, normals: Array) -> Array:
    """Colours (faces, 3) of a fill under one light and the sky."""
    lit = 0.58 + 0.34 * np.maximum(normals @ _LIGHT, 0.0) + 0.12 * normals[:, 2]
    return np.asarray(np.clip(fill * lit[:, None] + 0.08, 0.0, 1.0))


def save_figure(figure: Figure, path: str | os.PathLike[str], *, tight: bool = True, step: int = 1) -> Path:
    """Write a figure to a file; the same figure gives the same bytes.

    Args:
        figure: the figure.
        path: the file; its ending says the kind: png, svg, pdf.
        tight: whether to cut the margins off.
        step: for a PNG, a divisor of 255 whose multiples its colours are rounded to: 5 cannot be seen and
            makes it a third smaller.

    Returns:
        The path.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    without: dict[str, list[str]] = {
        "png": ["Software"],
        "svg": ["Date", "Creator"],
        "pdf": ["CreationDate", "Creator", "Producer"],
    }
    options: dict[str, Any] = {"dpi": DPI, "metadata": dict.fromkeys(without.get(kind, []))}
    if tight:
        options |= {"bbox_inches": "tight", "pad_inches": 0.06}
    matplotlib = import_matplotlib("matplotlib")
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "nacelle"}):
        if kind == "png" and step > 1:
            image = import_matplotlib("PIL.Image")
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", **options)
            levels = np.asarray(image.open(buffer).convert("RGB"), dtype=int)
            rounded = (levels + step // 2) // step * step
            image.fromarray(rounded.astype(np.uint8)).save(path, format="png", optimize=True)
        else:
            figure.savefig(path, **options)
    return path
