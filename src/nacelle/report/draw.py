"""Pictures: a robot at a pose, a workspace. The one home of matplotlib, which the extra `plot` brings."""

from __future__ import annotations

import importlib
import io
import itertools
import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nacelle.errors import NacelleError, did_you_mean
from nacelle.kinematics.pose_input import is_angle
from nacelle.model.robot import Robot
from nacelle.report.scene import Part, Scene, scene
from nacelle.report.solids import face_normals, outward
from nacelle.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
_INK = "#30353c"
_PALE = "#d9dde2"
LINE_COLOUR = "#2f6ea3"
_ELEVATION, _AZIMUTH = 22.0, -60.0
# From behind the viewer's left shoulder.
_LIGHT = np.array([-0.25, -0.55, 0.8]) / np.linalg.norm([-0.25, -0.55, 0.8])
# Where a colour bar stands beside axes in space, as a part of the width.
_BAR = 0.88
_FLAT_AXES = {0: (1, 2), 1: (0, 2), 2: (0, 1)}


class Workspace(Protocol):
    """What a picture of a workspace needs; `volume` is read as well where it is there."""

    @property
    def robot(self) -> Robot:
        """The robot."""

    @property
    def names(self) -> tuple[str, ...]:
        """The one to three coordinates that were varied."""

    @property
    def values(self) -> tuple[Array, ...]:
        """Their values, one array each."""

    @property
    def reachable(self) -> Array:
        """For every point of the grid whether the robot reaches it."""

    @property
    def inside_limits(self) -> Array:
        """Whether its joints are within their limits there, on the branch of the reference pose."""

    @property
    def conditioning(self) -> Array:
        """Inverse condition number, 0 to 1; NaN where it is not reached."""

    @property
    def title(self) -> str:
        """What the workspace is of."""


def _load(name: str) -> Any:
    """A module of matplotlib, or of what it needs.

    Raises:
        NacelleError: if matplotlib is missing.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NacelleError('pictures need matplotlib: pip install "nacelle[plot]"') from error


def new_axes(*, flat: bool, size: tuple[float, float] = (6.4, 5.2), shown: bool = True) -> Axes:
    """New axes, flat or in space, that fill a figure of their own.

    Args:
        flat: whether they are flat.
        size: width and height of the figure in inches.
        shown: whether pyplot keeps the figure, for `pyplot.show`.

    Raises:
        NacelleError: if matplotlib is missing.
    """
    figure = new_figure(size, shown=shown)
    _load("mpl_toolkits.mplot3d")
    axes: Axes = figure.add_subplot() if flat else figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")
    return axes


def new_figure(size: tuple[float, float], *, shown: bool = True) -> Figure:
    """A new figure without axes; size and `shown` as in `new_axes`.

    Raises:
        NacelleError: if matplotlib is missing.
    """
    if shown:
        figure: Figure = _load("matplotlib.pyplot").figure(figsize=size)
        return figure
    plain: Figure = _load("matplotlib.figure").Figure(figsize=size)
    return plain


def fit(ax: Any) -> None:
    """Enlarge what axes in space show until it fills their figure, labels included; flat ones fit already.

    mplot3d knows the place of its labels only after drawing them, so this draws twice.
    """
    figure = ax.figure
    if not hasattr(ax, "get_zlim"):
        figure.set_layout_engine("tight")
        return
    title, others = ax.title, [other for other in figure.axes if other is not ax]
    room = np.array([_BAR if others else 1.0, 0.94 if title.get_text() else 1.0])
    for artist in (title, *others):
        artist.set_visible(False)
    ax.set_position((0.0, 0.0, 1.0, 1.0))
    size = figure.get_size_inches()
    box, zoom = tuple(ax.get_box_aspect()), 1.0
    for _ in range(3):
        figure.draw_without_rendering()
        shown = figure.get_tightbbox()
        zoom *= 0.97 * float(np.min(room * size / [shown.width, shown.height]))
        ax.set_box_aspect(box, zoom=zoom)
    figure.draw_without_rendering()
    shown = figure.get_tightbbox()
    left, below = 0.5 * room - 0.5 * (shown.p0 + shown.p1) / size
    ax.set_position((left, below, 1.0, 1.0))
    for artist in (title, *others):
        artist.set_visible(True)
    ax.set_title(title.get_text(), fontsize=9, color=_INK, x=0.5 - left, y=0.965 - below, va="center")


# ------------------------------------------------------------------------------ robots


def plot_robot(
    robot: Robot,
    x: Any = None,
    *,
    ax: Axes | None = None,
    frames: bool = False,
    names: bool = False,
    title: str | None = None,
) -> Axes:
    """Draw a robot: its bodies, its joints (those with drives in red), its base and the base's axes.

    A robot that moves in a plane of two base axes is drawn flat, any other in space.

    Args:
        robot: the robot.
        x: reduced pose (nx,); the reference pose if None.
        ax: axes to draw on, in space for a robot that moves in space; new ones if None.
        frames: whether to draw the frames of all bodies.
        names: whether to write the names of the moving bodies.
        title: the title; that of the robot if None.

    Returns:
        The axes.

    Raises:
        NacelleError: if matplotlib is missing, the axes are flat and the robot is not, or the description
            names a colour that does not exist.
        UnreachableError: if the pose is out of reach.
    """
    view = scene(robot, x, frames=frames)
    own = ax is None
    ax = ax or new_axes(flat=view.across is not None)
    plot_scene(view, ax, names=names)
    ax.set_title(_wrapped(robot.title if title is None else title), fontsize=9, color=_INK)
    if own:
        fit(ax)
    return ax


def plot_scene(view: Scene, ax: Axes, *, names: bool = False) -> None:
    """Draw a scene on axes, flat or in space.

    Raises:
        NacelleError: if the axes are flat and the robot is not, or a colour does not exist.
    """
    if hasattr(ax, "get_zlim"):
        _draw_in_space(ax, view, names)
    elif view.across is not None:
        _draw_flat(ax, view, view.across, names)
    else:
        raise NacelleError('the robot moves in space: it needs axes with projection="3d"')


def _draw_flat(ax: Axes, view: Scene, across: int, names: bool) -> None:
    """Outlines on the plane, the base below, then the legs, the nacelle, the joints."""
    patches = _load("matplotlib.patches")
    right, up = _FLAT_AXES[across]
    for level, part in enumerate(view.parts):
        for solid, colour in zip(part.solids, part.colours, strict=True):
            outline = _outline(solid.reshape(-1, 3)[:, (right, up)])
            if len(outline) < 3:
                continue  # an axis that looks at the viewer
            fill = _rgb(colour)
            ax.add_patch(
                patches.Polygon(
                    outline,
                    closed=True,
                    facecolor=fill,
                    edgecolor=0.7 * fill,
                    linewidth=0.7,
                    joinstyle="round",
                    zorder=2.0 + 0.01 * level,
                    gid=f"{part.kind}:{part.name}",
                )
            )
    low, high = view.box
    pad = 0.05 * float(np.max((high - low)[[right, up]]))
    ax.set_xlim(low[right] - pad, high[right] + pad)
    ax.set_ylim(low[up] - pad, high[up] + pad)
    ax.set_aspect("equal")
    ax.set_xlabel(f"{'xyz'[right]} (m)")
    ax.set_ylabel(f"{'xyz'[up]} (m)")
    plain_axes(ax)
    if names:
        for part in view.bodies:
            centre = _middle(part)
            ax.text(centre[right], centre[up], part.name, zorder=4.0, **_label())


def _draw_in_space(ax: Any, view: Scene, names: bool) -> None:
    """All faces in one collection, so that they hide each other as they should."""
    solids = [solid for part in view.parts for solid in part.solids]
    fills = [_rgb(colour) for part in view.parts for colour in part.colours]
    faces = np.concatenate(solids)
    colours = np.concatenate(
        [_shaded(fill, outward(solid)) for solid, fill in zip(solids, fills, strict=True)]
    )
    _add_faces(ax, faces, colours, "robot")
    low, high = view.box
    pad = 0.03 * float(np.max(high - low))
    if view.across is None:
        _set_view(ax, low - pad, high + pad, _ELEVATION, _AZIMUTH)
    else:
        looks = {0: (0.0, 0.0), 1: (0.0, -90.0), 2: (90.0, -90.0)}
        _set_view(ax, low - pad, high + pad, *looks[view.across])
    for k, axis in enumerate((ax.xaxis, ax.yaxis, ax.zaxis)):
        axis.set_label_text("" if k == view.across else f"{'xyz'[k]} (m)")
        if k == view.across:
            axis.set_ticks([])
    if names:
        for part in view.bodies:
            ax.text(*_middle(part), part.name, zorder=10.0, **_label())


def _add_faces(ax: Any, faces: Array, colours: Array, gid: str) -> None:
    """Put faces (faces, 4, 3) with colours on axes in space; their edges close the seams."""
    art3d = _load("mpl_toolkits.mplot3d.art3d")
    collection = art3d.Poly3DCollection(
        faces, facecolors=colours, edgecolors=colours, linewidths=0.4, zsort="average"
    )
    collection.set_gid(gid)
    ax.add_collection3d(collection, autolim=False)


def _set_view(
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
    seen = np.array(
        [[-np.sin(a), np.cos(a), 0.0], [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]]
    )
    lengths = size * np.linalg.norm(seen, axis=0) / np.max(np.abs(seen) @ size)
    for axis, length in zip((ax.xaxis, ax.yaxis, ax.zaxis), lengths, strict=True):
        _plain_axis(axis, max(2, round(8.0 * float(length))))
    ax.tick_params(labelsize=7, colors=_INK, pad=0)


def _wrapped(title: str) -> str:
    return "\n".join(textwrap.wrap(title, 64))


def _plain_axis(axis: Any, ticks: int) -> None:
    ticker = _load("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(ticks, steps=[1, 2, 4, 5, 10]))
    axis.set_pane_color((0.975, 0.978, 0.982, 1.0))
    axis.line.set_color(_PALE)
    axis._axinfo["grid"].update(color=_PALE, linewidth=0.5)
    axis.label.set_fontsize(8)
    axis.label.set_color(_INK)


def plain_axes(ax: Any) -> None:
    """Quiet flat axes."""
    ax.set_axisbelow(True)
    ax.grid(color=_PALE, linewidth=0.5)
    ax.tick_params(labelsize=7, colors=_INK, length=2.5)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(8)
        label.set_color(_INK)
    for spine in ax.spines.values():
        spine.set_color(_PALE)


def _label() -> dict[str, Any]:
    """How a name is written beside a body."""
    paper = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
    return {"fontsize": 6, "color": _INK, "ha": "center", "va": "center", "bbox": paper}


def _middle(part: Part) -> Array:
    points = part.points
    return np.asarray(0.5 * (points.min(axis=0) + points.max(axis=0)))


def _outline(points: Array) -> Array:
    """Corners of the convex hull of points (points, 2), anticlockwise; fewer than 3 if it has no area."""
    order = sorted({(float(a), float(b)) for a, b in np.round(points, 12)})
    chains = []
    for run in (order, order[::-1]):
        chain: list[tuple[float, float]] = []
        for p in run:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], p) <= 1e-14:
                chain.pop()
            chain.append(p)
        chains += chain[:-1]
    return np.array(chains)


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _rgb(colour: str) -> Array:
    try:
        return np.array(_load("matplotlib.colors").to_rgb(colour))
    except ValueError as error:
        raise NacelleError(f"{colour!r} is no colour; write a name such as orange, or #rrggbb") from error


def _shaded(fill: Array, normals: Array) -> Array:
    """Colours (faces, 3) of a fill under one light and the sky."""
    lit = 0.58 + 0.34 * np.maximum(normals @ _LIGHT, 0.0) + 0.12 * normals[:, 2]
    return np.asarray(np.clip(fill * lit[:, None] + 0.08, 0.0, 1.0))


# ------------------------------------------------------------------------------ workspaces


def plot_workspace(workspace: Workspace, quantity: str = "conditioning", *, ax: Axes | None = None) -> Axes:
    """Draw where a robot can go, over one to three coordinates of its pose; angles are in degrees.

    One coordinate gives a curve over what is reached, shaded within the limits and hatched beyond them. Two
    give a map with the boundary of what is reached, hatched where a joint is beyond its limits; three give
    the boundary of what is reached within the limits, as a surface in space.

    Args:
        workspace: the robot on a grid of poses.
        quantity: what the colours say: an attribute with one number for each point of the grid.
        ax: axes to draw on, in space for three coordinates; new ones if None.

    Returns:
        The axes.

    Raises:
        NacelleError: if matplotlib is missing, there are more than three coordinates, the arrays do not fit
            them, or the workspace has no such quantity.
    """
    count = len(workspace.names)
    if count not in (1, 2, 3) or len(workspace.values) != count:
        raise NacelleError(f"a workspace is drawn over 1, 2 or 3 coordinates, not over {count}")
    shape = tuple(len(values) for values in workspace.values)
    known = ("conditioning", "reachable", "inside_limits")
    found = getattr(workspace, quantity, None)
    if found is None:
        raise NacelleError(f"the workspace has no {quantity!r}; {did_you_mean(quantity, known)}")
    reachable = np.asarray(workspace.reachable, dtype=bool)
    inside = np.asarray(workspace.inside_limits, dtype=bool)
    numbers = np.asarray(found, dtype=float)
    if not reachable.shape == inside.shape == numbers.shape == shape:
        raise NacelleError(
            f"the values of the workspace make a grid {shape}, its arrays do not have this shape"
        )
    own = ax is None
    ax = ax or new_axes(flat=count < 3, size=(6.4, 3.6) if count == 1 else (6.4, 5.2))
    if hasattr(ax, "get_zlim") != (count == 3):
        raise NacelleError(
            'a workspace over 3 coordinates needs axes with projection="3d", over 1 or 2 flat ones'
        )
    draw = (_draw_line, _draw_map, _draw_voxels)[count - 1]
    draw(ax, workspace, reachable, inside, numbers, quantity)
    ax.set_title(_wrapped(_workspace_title(workspace)), fontsize=9, color=_INK)
    if own:
        fit(ax)
    return ax


def _workspace_title(workspace: Workspace) -> str:
    volume = getattr(workspace, "volume", None)
    if volume is None or len(workspace.names) != 3:
        return workspace.title
    unit = getattr(workspace, "unit", "m^3").replace("^2", "²").replace("^3", "³")
    return f"{workspace.title}, {volume:.3g} {unit}"


def _units(workspace: Workspace) -> list[str]:
    """Units in which the varied coordinates are drawn: "m" or "deg"."""
    return ["deg" if is_angle(workspace.robot, name) else "m" for name in workspace.names]


def _shown_values(workspace: Workspace) -> list[Array]:
    """The values of the varied coordinates in the units in which they are drawn."""
    return [
        np.degrees(values) if unit == "deg" else np.asarray(values, dtype=float)
        for values, unit in zip(workspace.values, _units(workspace), strict=True)
    ]


def _labels(workspace: Workspace) -> list[str]:
    return [f"{name} ({unit})" for name, unit in zip(workspace.names, _units(workspace), strict=True)]


def _edges(values: Array) -> Array:
    """Edges of the cells around values, half way between them."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return np.asarray(values[0] + np.array([-0.5, 0.5]))
    middle = 0.5 * (values[1:] + values[:-1])
    ends = 2.0 * values[[0, -1]] - middle[[0, -1]]
    return np.concatenate([ends[:1], middle, ends[1:]])


def _scale(numbers: Array) -> tuple[Any, Any]:
    """Colours for numbers, from 0 (or less) to the largest."""
    finite = numbers[np.isfinite(numbers)]
    low, high = (min(float(finite.min()), 0.0), float(finite.max())) if finite.size else (0.0, 1.0)
    norm = _load("matplotlib.colors").Normalize(low, high if high > low else low + 1.0)
    return _load("matplotlib").colormaps["viridis"], norm


def _colour_bar(ax: Any, colours: Any, norm: Any, quantity: str) -> None:
    mappable = _load("matplotlib.cm").ScalarMappable(norm, colours)
    if hasattr(ax, "get_zlim") and ax.figure.axes == [ax]:
        bar = ax.figure.colorbar(mappable, cax=ax.figure.add_axes((_BAR, 0.2, 0.02, 0.6)))
    elif hasattr(ax, "get_zlim"):
        bar = ax.figure.colorbar(mappable, ax=ax, shrink=0.6, pad=0.1, aspect=28)
    else:
        bar = ax.figure.colorbar(mappable, cax=ax.inset_axes((1.03, 0.0, 0.03, 1.0)))
    bar.set_label(_quantity_label(quantity), fontsize=8, color=_INK)
    bar.ax.tick_params(labelsize=7, colors=_INK, length=2.5)
    bar.outline.set_edgecolor(_PALE)


def _quantity_label(quantity: str) -> str:
    return {"conditioning": "inverse condition number"}.get(quantity, quantity.replace("_", " "))


def _draw_line(
    ax: Any, workspace: Workspace, reachable: Array, inside: Array, numbers: Array, quantity: str
) -> None:
    """One coordinate: the curve of a quantity, shaded where it is within the limits, hatched beyond them."""
    (across,) = _shown_values(workspace)
    edges = np.clip(_edges(across), across[0], across[-1])
    finite = numbers[reachable & np.isfinite(numbers)]
    top = 1.08 * float(finite.max()) if finite.size and finite.max() > 0.0 else 1.0
    bottom = min(0.0, float(finite.min())) if finite.size else 0.0
    kinds = [
        (reachable & inside, "within limits", {"facecolor": "#dcebdf", "edgecolor": "none"}),
        *(
            (chosen, label, {"facecolor": "white", "edgecolor": _INK, "hatch": hatch})
            for chosen, label, hatch in _hatched(workspace, reachable, inside)
        ),
        (~reachable, "out of reach", {"facecolor": _PALE, "edgecolor": "none"}),
    ]
    for chosen, label, look in kinds:
        for k, (first, last) in enumerate(_runs(chosen)):
            span = ax.axvspan(
                edges[first],
                edges[last + 1],
                linewidth=0.0,
                zorder=0.5,
                label=label if k == 0 else None,
                **look,
            )
            span.set_gid(label)
    curve = np.where(reachable, numbers, np.nan)
    ax.plot(across, curve, color=LINE_COLOUR, linewidth=1.6, gid="curve")
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(bottom, top)
    ax.set_xlabel(_labels(workspace)[0])
    ax.set_ylabel(_quantity_label(quantity))
    plain_axes(ax)
    if not reachable.any():
        _nothing(ax)
    ax.legend(
        fontsize=7, frameon=False, labelcolor=_INK, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4
    )


def _hatched(workspace: Workspace, reachable: Array, inside: Array) -> list[tuple[Array, str, str]]:
    """What is reached, but not as it should be: which points, what it is called, and its hatching."""
    other = np.asarray(getattr(workspace, "other_branch", np.zeros_like(reachable)), dtype=bool)
    return [
        (reachable & ~inside & ~other, "beyond limits", "/////"),
        (reachable & other, "on another branch", "xxxxx"),
    ]


def _runs(chosen: Array) -> list[tuple[int, int]]:
    """First and last places of the runs of chosen points."""
    change = np.flatnonzero(np.diff(np.pad(np.asarray(chosen, dtype=int), 1)))
    return [(int(first), int(after) - 1) for first, after in zip(change[::2], change[1::2], strict=True)]


def _draw_map(
    ax: Any, workspace: Workspace, reachable: Array, inside: Array, numbers: Array, quantity: str
) -> None:
    """Two coordinates: colours, the boundary of what is reached, hatching beyond the limits."""
    across, up = _shown_values(workspace)
    colours, norm = _scale(np.where(reachable, numbers, np.nan))
    shown = np.ma.masked_where(~reachable | ~np.isfinite(numbers), numbers)
    ax.set_facecolor("white")
    ax.pcolormesh(_edges(across), _edges(up), shown.T, cmap=colours, norm=norm, rasterized=True)
    lines = [_edges(across), _edges(up)]
    keys = []
    for beyond, label, hatch in _hatched(workspace, reachable, inside):
        if not beyond.any():
            continue
        look = {"edgecolor": _INK, "linewidth": 0.0, "hatch": hatch}
        path = _load("matplotlib.path").Path.make_compound_path_from_polys(_cells(beyond, lines))
        patch = _load("matplotlib.patches").PathPatch(path, facecolor="none", **look)
        patch.set_gid(label)
        ax.add_patch(patch)
        keys.append(_load("matplotlib.patches").Patch(facecolor="white", label=label, **look))
    rim = _load("matplotlib.collections").LineCollection(
        list(_borders(reachable, lines)), colors=[_INK], linewidths=[1.1], capstyle="round"
    )
    rim.set_gid("boundary")
    ax.add_collection(rim, autolim=False)
    if len(set(_units(workspace))) == 1:
        ax.set_aspect("equal")
    labels = _labels(workspace)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    plain_axes(ax)
    if not reachable.any():
        _nothing(ax)
    elif keys:
        ax.legend(handles=keys, fontsize=7, loc="upper right", frameon=True, labelcolor=_INK)
    _colour_bar(ax, colours, norm, quantity)


def _draw_voxels(
    ax: Any, workspace: Workspace, reachable: Array, inside: Array, numbers: Array, quantity: str
) -> None:
    """Three coordinates: the outer faces of the cells that are reached within the limits."""
    solid = reachable & inside
    edges = [_edges(values) for values in _shown_values(workspace)]
    faces, cells = boundary_faces(solid, edges)
    colours, norm = _scale(np.where(solid, numbers, np.nan))
    if len(faces):
        values = numbers[tuple(cells.T)]
        fills = np.where(
            np.isfinite(values)[:, None], colours(norm(np.nan_to_num(values)))[:, :3], _rgb(_PALE)[None, :]
        )
        lit = _shaded(np.ones(3), face_normals(faces))
        _add_faces(ax, faces, np.clip(fills * lit / 0.9, 0.0, 1.0), "workspace")
        low, high = faces.min(axis=(0, 1)), faces.max(axis=(0, 1))
    else:
        low, high = np.array([edge[0] for edge in edges]), np.array([edge[-1] for edge in edges])
        _nothing(ax)
    _set_view(ax, low, high, _ELEVATION, _AZIMUTH, equal=len(set(_units(workspace))) == 1)
    labels = _labels(workspace)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.set_zlabel(labels[2])
    _colour_bar(ax, colours, norm, quantity)


def _cells(chosen: Array, edges: list[Array]) -> Array:
    """Corners (cells, 4, 2) of chosen cells of a grid."""
    i, j = np.nonzero(chosen)
    corners = [(edges[0][i + a], edges[1][j + b]) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)


def _borders(chosen: Array, edges: list[Array]) -> Array:
    """Lines (lines, 2, 2) between chosen cells of a grid and the others on it."""
    i, j = np.nonzero(chosen[1:] != chosen[:-1])
    upright = [(edges[0][i + 1], edges[1][j + b]) for b in (0, 1)]
    k, l = np.nonzero(chosen[:, 1:] != chosen[:, :-1])
    level = [(edges[0][k + a], edges[1][l + 1]) for a in (0, 1)]
    return np.concatenate(
        [np.stack([np.stack(end, axis=-1) for end in ends], axis=1) for ends in (upright, level)]
    )


def _nothing(ax: Any) -> None:
    words = {"transform": ax.transAxes, "ha": "center", "va": "center", "fontsize": 9, "color": _INK}
    if hasattr(ax, "get_zlim"):
        ax.text2D(0.5, 0.5, "nothing is reached", **words)
    else:
        ax.text(0.5, 0.5, "nothing is reached", **words)


def boundary_faces(solid: Array, edges: list[Array]) -> tuple[Array, Array]:
    """Faces between cells that belong to a set and others.

    Args:
        solid: which cells of a grid belong to it (n0, n1, n2).
        edges: edges of the cells along each axis (n + 1 each).

    Returns:
        The faces (faces, 4, 3), corners in turn anticlockwise from outside, and their cells (faces, 3).
    """
    faces, cells = [], []
    around = np.pad(np.asarray(solid, dtype=bool), 1)
    for k, step in itertools.product(range(3), (-1, 1)):
        other = np.roll(around, -step, axis=k)[1:-1, 1:-1, 1:-1]
        cell = np.argwhere(np.asarray(solid, dtype=bool) & ~other)
        i, j = (k + 1) % 3, (k + 2) % 3
        square = [(0, 0), (1, 0), (1, 1), (0, 1)]
        corners = np.empty((len(cell), 4, 3))
        for c, (di, dj) in enumerate(square if step > 0 else square[::-1]):
            corners[:, c, i] = edges[i][cell[:, i] + di]
            corners[:, c, j] = edges[j][cell[:, j] + dj]
            corners[:, c, k] = edges[k][cell[:, k] + (step + 1) // 2]
        faces.append(corners)
        cells.append(cell)
    return np.concatenate(faces), np.concatenate(cells)


# ------------------------------------------------------------------------------ files


def save(figure: Figure, path: str | os.PathLike[str], *, tight: bool = True, step: int = 1) -> Path:
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
    matplotlib = _load("matplotlib")
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "nacelle"}):
        if kind == "png" and step > 1:
            image = _load("PIL.Image")
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", **options)
            levels = np.asarray(image.open(buffer).convert("RGB"), dtype=int)
            rounded = (levels + step // 2) // step * step
            image.fromarray(rounded.astype(np.uint8)).save(path, format="png", optimize=True)
        else:
            figure.savefig(path, **options)
    return path


def plot_curves(
    x: Array,
    curves: dict[str, Array],
    *,
    labels: tuple[str, str],
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over one axis.

    Args:
        x: values along the axis (N,).
        curves: for each name its values (N,); the first is drawn boldest.
        labels: of the two axes.
        title: above the picture.
        ax: where to draw; new axes if None.
    """
    ax = new_axes(flat=True) if ax is None else ax
    ax.set_aspect("auto")
    for k, (name, values) in enumerate(curves.items()):
        ax.plot(
            x, values, label=name, linewidth=2.0 if k == 0 else 1.3, linestyle=("-", "--", "-.", ":")[k % 4]
        )
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if title:
        ax.set_title(_wrapped(title), fontsize=10, color=_INK)
    # Below the picture, where it hides nothing.
    ax.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return ax
