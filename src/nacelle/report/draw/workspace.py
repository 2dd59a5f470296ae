"""Pictures of a workspace: over one to three coordinates of the pose, or along rays from a centre."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import NacelleError, did_you_mean
from nacelle.kinematics.workspace import Workspace, WorkspaceBoundary
from nacelle.model.reduced import layout_of
from nacelle.page.svg import true_runs
from nacelle.report.draw.canvas import (
    AZIMUTH,
    ELEVATION,
    Paper,
    add_faces,
    import_matplotlib,
    picture,
    set_view,
    shade_faces,
)
from nacelle.report.draw.matrix import colour_bar
from nacelle.report.draw.style import INK, LABEL, LINE_COLOUR, PALE, WARNING_COLOUR, legend_below, plain_axes
from nacelle.report.results.panels import NO_UNIT, axis_label
from nacelle.scene.colours import rgb
from nacelle.scene.faces import face_normals
from nacelle.scene.slices import grid_axes
from nacelle.spatial.scalar import Array


@picture
def plot_workspace(paper: Paper, workspace: Workspace, quantity: str = "conditioning") -> str:
    """Draw where a robot can go, over one to three coordinates of its pose; angles are in degrees.

    One coordinate gives a curve over what is reached, shaded within the limits and hatched beyond them. Two
    give a map with the boundary of what is reached, hatched where a joint is beyond its limits; three give
    the boundary of what is reached within the limits, as a surface in space.

    Args:
        paper: what it is drawn on: axes in space for three coordinates.
        workspace: the robot on a grid of poses.
        quantity: what the colours say: an attribute with one number for each point of the grid.

    Raises:
        NacelleError: if there are more than three coordinates, the arrays do not fit them, or the workspace
            has no such quantity.
    """
    quantities = ("conditioning", "reachable", "inside_limits")
    values = getattr(workspace, quantity, None)
    if values is None:
        raise NacelleError(f"the workspace has no {quantity!r}; {did_you_mean(quantity, quantities)}")
    label = {"conditioning": "inverse condition number"}.get(quantity, quantity.replace("_", " "))
    draw_grid(paper, workspace, values, axis_label(label, NO_UNIT))
    return _workspace_title(workspace)


def draw_grid(paper: Paper, workspace: Workspace, values: Any, label: str, *, from_zero: bool = True) -> None:
    """Draw numbers over the grid of a workspace, as in `plot_workspace`.

    Args:
        paper: what they are drawn on.
        workspace: the grid.
        values: one number for each of its points.
        label: what they are.
        from_zero: whether colours begin at 0; else at the lowest number.

    Raises:
        NacelleError: if the numbers do not fit the grid.
    """
    count = len(workspace.names)
    if count not in (1, 2, 3) or len(workspace.values) != count:
        raise NacelleError(f"a workspace is drawn over 1, 2 or 3 coordinates, not over {count}")
    shape = tuple(len(axis) for axis in workspace.values)
    reachable = np.asarray(workspace.reachable, dtype=bool)
    inside = np.asarray(workspace.inside_limits, dtype=bool)
    numbers = np.asarray(values, dtype=float)
    if not reachable.shape == inside.shape == numbers.shape == shape:
        raise NacelleError(
            f"the values of the workspace make a grid {shape}, its arrays do not have this shape"
        )
    ax = paper.axes(flat=count < 3, height=3.6 if count == 1 else 5.2)
    if hasattr(ax, "get_zlim") != (count == 3):
        raise NacelleError(
            'a workspace over 3 coordinates needs axes with projection="3d", over 1 or 2 flat ones'
        )
    draw = (_draw_line, _draw_map, _draw_voxels)[count - 1]
    draw(ax, workspace, reachable, inside, _GridValues(numbers, label, from_zero))


class _GridValues(NamedTuple):
    """What is drawn: numbers over a grid, what they are, and whether colours begin at 0."""

    values: Array
    label: str
    zero: bool


def _workspace_title(workspace: Workspace) -> str:
    volume = getattr(workspace, "volume", None)
    if volume is None or len(workspace.names) != 3:
        return workspace.title
    unit = getattr(workspace, "unit", "m^3").replace("^2", "²").replace("^3", "³")
    return f"{workspace.title}, {volume:.3g} {unit}"


def _cell_edges(values: Array) -> Array:
    """Edges of the cells around values, half way between them."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return np.asarray(values[0] + np.array([-0.5, 0.5]))
    middle = 0.5 * (values[1:] + values[:-1])
    ends = 2.0 * values[[0, -1]] - middle[[0, -1]]
    return np.concatenate([ends[:1], middle, ends[1:]])


def _colour_scale(numbers: Array, zero: bool) -> tuple[Any, Any]:
    """Colours for numbers, from 0 (or less), or from the lowest of them, to the largest."""
    finite = numbers[np.isfinite(numbers)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    low = min(low, 0.0) if zero else low
    norm = import_matplotlib("matplotlib.colors").Normalize(low, high if high > low else low + 1.0)
    return import_matplotlib("matplotlib").colormaps["viridis"], norm


def _draw_line(ax: Any, workspace: Workspace, reachable: Array, inside: Array, quantity: _GridValues) -> None:
    """One coordinate: the curve of a quantity, shaded where it is within the limits, hatched beyond them."""
    numbers = quantity.values
    (axis,) = grid_axes(workspace)
    across = axis.values
    edges = np.clip(_cell_edges(across), across[0], across[-1])
    finite = numbers[reachable & np.isfinite(numbers)]
    top = 1.08 * float(finite.max()) if finite.size and finite.max() > 0.0 else 1.0
    bottom = min(0.0, float(finite.min())) if finite.size else 0.0
    kinds = [
        (reachable & inside, "within limits", {"facecolor": "#dcebdf", "edgecolor": "none"}),
        *(
            (mask, label, {"facecolor": "white", "edgecolor": INK, "hatch": hatch})
            for mask, label, hatch in _hatched_regions(workspace, reachable, inside)
        ),
        (~reachable, "out of reach", {"facecolor": PALE, "edgecolor": "none"}),
    ]
    for mask, label, style in kinds:
        for k, run in enumerate(true_runs(mask)):
            span = ax.axvspan(
                edges[run.start],
                edges[run.stop],
                linewidth=0.0,
                zorder=0.5,
                label=label if k == 0 else None,
                **style,
            )
            span.set_gid(label)
    curve = np.where(reachable, numbers, np.nan)
    ax.plot(across, curve, color=LINE_COLOUR, linewidth=1.6, gid="curve")
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(bottom, top)
    ax.set_xlabel(axis.label)
    ax.set_ylabel(quantity.label)
    plain_axes(ax)
    if not reachable.any():
        _write_nothing_reached(ax)
    legend_below(ax)


def _hatched_regions(workspace: Workspace, reachable: Array, inside: Array) -> list[tuple[Array, str, str]]:
    """What is reached, but not as it should be: which points, what it is called, and its hatching."""
    other_branch = workspace.other_branch
    return [
        (reachable & ~inside & ~other_branch, "beyond limits", "/////"),
        (reachable & other_branch, "on another branch", "xxxxx"),
    ]


def _draw_map(ax: Any, workspace: Workspace, reachable: Array, inside: Array, quantity: _GridValues) -> None:
    """Two coordinates: colours, the boundary of what is reached, hatching beyond the limits."""
    numbers = quantity.values
    axes = grid_axes(workspace)
    colours, norm = _colour_scale(np.where(reachable, numbers, np.nan), quantity.zero)
    masked = np.ma.masked_where(~reachable | ~np.isfinite(numbers), numbers)
    ax.set_facecolor("white")
    lines = [_cell_edges(axis.values) for axis in axes]
    ax.pcolormesh(*lines, masked.T, cmap=colours, norm=norm, rasterized=True)
    keys = []
    for beyond, label, hatch in _hatched_regions(workspace, reachable, inside):
        if not beyond.any():
            continue
        style = {"edgecolor": INK, "linewidth": 0.0, "hatch": hatch}
        path = import_matplotlib("matplotlib.path").Path.make_compound_path_from_polys(
            _cell_corners(beyond, lines)
        )
        patch = import_matplotlib("matplotlib.patches").PathPatch(path, facecolor="none", **style)
        patch.set_gid(label)
        ax.add_patch(patch)
        keys.append(import_matplotlib("matplotlib.patches").Patch(facecolor="white", label=label, **style))
    rim = import_matplotlib("matplotlib.collections").LineCollection(
        list(_boundary_lines(reachable, lines)), colors=[INK], linewidths=[1.1], capstyle="round"
    )
    rim.set_gid("boundary")
    ax.add_collection(rim, autolim=False)
    if len(set(workspace.units)) == 1:
        ax.set_aspect("equal")
    ax.set_xlabel(axes[0].label)
    ax.set_ylabel(axes[1].label)
    plain_axes(ax)
    if not reachable.any():
        _write_nothing_reached(ax)
    elif keys:
        # Below the map: a legend over it would hide a part of it.
        legend_below(ax, handles=keys)
    colour_bar(ax, import_matplotlib("matplotlib.cm").ScalarMappable(norm, colours), quantity.label)


def _draw_voxels(
    ax: Any, workspace: Workspace, reachable: Array, inside: Array, quantity: _GridValues
) -> None:
    """Three coordinates: the outer faces of the cells that are reached within the limits."""
    numbers = quantity.values
    solid = reachable & inside
    axes = grid_axes(workspace)
    edges = [_cell_edges(axis.values) for axis in axes]
    faces, cells = boundary_faces(solid, edges)
    colours, norm = _colour_scale(np.where(solid, numbers, np.nan), quantity.zero)
    if len(faces):
        values = numbers[tuple(cells.T)]
        fills = np.where(
            np.isfinite(values)[:, None],
            colours(norm(np.nan_to_num(values)))[:, :3],
            np.array(rgb(PALE))[None, :],
        )
        lit = shade_faces(np.ones(3), face_normals(faces))
        add_faces(ax, faces, np.clip(fills * lit / 0.9, 0.0, 1.0), "workspace")
        low, high = faces.min(axis=(0, 1)), faces.max(axis=(0, 1))
    else:
        low, high = np.array([edge[0] for edge in edges]), np.array([edge[-1] for edge in edges])
        _write_nothing_reached(ax)
    set_view(ax, low, high, ELEVATION, AZIMUTH, equal=len(set(workspace.units)) == 1)
    ax.set(**{f"{name}label": axis.label for name, axis in zip("xyz", axes, strict=True)})
    colour_bar(ax, import_matplotlib("matplotlib.cm").ScalarMappable(norm, colours), quantity.label)


def _cell_corners(mask: Array, edges: list[Array]) -> Array:
    """Corners (cells, 4, 2) of chosen cells of a grid."""
    i, j = np.nonzero(mask)
    corners = [(edges[0][i + a], edges[1][j + b]) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)


def _boundary_lines(mask: Array, edges: list[Array]) -> Array:
    """Lines (lines, 2, 2) between chosen cells of a grid and the others on it."""
    i, j = np.nonzero(mask[1:] != mask[:-1])
    upright = [(edges[0][i + 1], edges[1][j + b]) for b in (0, 1)]
    k, l = np.nonzero(mask[:, 1:] != mask[:, :-1])
    level = [(edges[0][k + a], edges[1][l + 1]) for a in (0, 1)]
    return np.concatenate(
        [np.stack([np.stack(end, axis=-1) for end in ends], axis=1) for ends in (upright, level)]
    )


def _write_nothing_reached(ax: Any) -> None:
    style = {"transform": ax.transAxes, "ha": "center", "va": "center", "fontsize": 9, "color": INK}
    if hasattr(ax, "get_zlim"):
        ax.text2D(0.5, 0.5, "nothing is reached", **style)
    else:
        ax.text(0.5, 0.5, "nothing is reached", **style)


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
        neighbour = np.roll(around, -step, axis=k)[1:-1, 1:-1, 1:-1]
        cell = np.argwhere(np.asarray(solid, dtype=bool) & ~neighbour)
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


# ---- along rays


@picture
def plot_reach(paper: Paper, reach: WorkspaceBoundary) -> str:
    """Draw how far rays from a centre go: an outline in the plane, points on axes in space.

    Rays that met no boundary are open circles.
    """
    flat = len(reach.names) == 2
    ax: Any = paper.axes(flat=flat)
    layout = layout_of(reach.robot.motion)
    centre = np.array([float(reach.centre[layout.x_index(name)]) for name in reach.names])
    points = centre + reach.distance[:, None] * reach.directions
    endless = np.asarray(reach.is_unbounded, dtype=bool)
    labels = [f"{name} (m)" for name in reach.names]
    if flat:
        _draw_outline(ax, centre, points, endless)
        ax.set_aspect("equal", adjustable="datalim")
        plain_axes(ax)
        legend_below(ax)
    else:
        _draw_points(ax, points, reach, endless)
        ax.set(zlabel=labels[2])
    ax.set_xlabel(labels[0], fontsize=LABEL, color=INK)
    ax.set_ylabel(labels[1], fontsize=LABEL, color=INK)
    unit = "m²" if flat else "m³"
    return f"{reach.robot.name}: reach from its centre, {float(reach.volume):.3g} {unit}"


def _draw_outline(ax: Any, centre: Any, points: Any, endless: Any) -> None:
    order = np.argsort(np.arctan2(*(points - centre).T[::-1]))
    closed = points[np.append(order, order[:1])]
    ax.fill(*closed.T, facecolor="#dce8f2", edgecolor="none")
    ax.plot(*closed.T, color=LINE_COLOUR, linewidth=1.4, label="boundary")
    ax.plot(*centre, "+", color=INK, markersize=9, linestyle="none", label="centre")
    if np.any(endless):
        ax.plot(
            *points[endless].T,
            "o",
            color=WARNING_COLOUR,
            fillstyle="none",
            markersize=4,
            linestyle="none",
            label="no boundary met",
        )


def _draw_points(ax: Any, points: Any, reach: WorkspaceBoundary, endless: Any) -> None:
    colours = import_matplotlib("matplotlib").colormaps["viridis"]
    cloud = ax.scatter(*points.T, c=reach.distance, cmap=colours, s=9, depthshade=False, edgecolors="none")
    if np.any(endless):
        ax.scatter(*points[endless].T, s=22, facecolors="none", edgecolors=WARNING_COLOUR, linewidths=0.7)
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.03 * float(np.max(high - low)) or 0.1
    set_view(ax, low - pad, high + pad, ELEVATION, AZIMUTH)
    colour_bar(ax, cloud, "distance (m)")
