"""Pictures of a robot at a pose, with names next to its bodies, none over another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
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
from nacelle.report.draw.style import INK, plain_axes, printable_name
from nacelle.scene.colours import rgb
from nacelle.scene.configured import Scene, ScenePart, scene
from nacelle.scene.faces import outward_normals
from nacelle.shapes.points import convex_hull
from nacelle.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# ---- names next to bodies


# Pixels between names, and how often they are moved apart at most.
_NAME_GAP, _MAX_ROUNDS = 1.0, 400


def write_names(ax: Any, parts: Iterable[ScenePart], coordinates: Sequence[int]) -> list[Any]:
    """Write the name of each part at its middle.

    Args:
        ax: axes, flat or in space.
        parts: the parts.
        coordinates: which coordinates the axes show: two of flat axes, three in space.
    """
    paper = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "boxstyle": "round,pad=0.15"}
    texts = []
    for part in parts:
        middle = 0.5 * (part.points.min(axis=0) + part.points.max(axis=0))
        texts.append(
            ax.text(
                *middle[list(coordinates)],
                printable_name(part.name),
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
    shifts = (separate_boxes(centres, sizes + _NAME_GAP) - centres) / figure.dpi
    translation = import_matplotlib("matplotlib.transforms").ScaledTranslation
    for text, shift in zip(texts, shifts.tolist(), strict=True):
        if any(shift):
            text.set_transform(text.get_transform() + translation(*shift, figure.dpi_scale_trans))


def separate_boxes(centres: Array, sizes: Array) -> Array:
    """Centres (n, 2) of boxes of some sizes (n, 2), moved until none lies over another.

    Two that overlap are moved by half of it each, the shorter way, again and again; many boxes in little room
    may need more rounds than there are, and then still touch.
    """
    positions = centres.copy()
    for _ in range(_MAX_ROUNDS):
        changed = False
        for i in range(len(positions)):
            for j in range(i):
                between = positions[i] - positions[j]
                over = 0.5 * (sizes[i] + sizes[j]) - np.abs(between)
                if over.min() <= 1e-6:
                    continue
                axis = int(np.argmin(over))
                step = 0.5 * over[axis] * (1.0 if between[axis] >= 0.0 else -1.0)
                positions[i, axis] += step
                positions[j, axis] -= step
                changed = True
        if not changed:
            break
    return positions


# ---- the robot


_FLAT_AXES = {0: (1, 2), 1: (0, 2), 2: (0, 1)}


@picture
def plot_robot(
    paper: Paper, robot: Robot, x: Any = None, *, frames: bool = False, names: bool = False
) -> str:
    """Draw a robot: its bodies, its joints (those with drives in red), its base and the base's axes.

    A robot that moves in a plane of two base axes is drawn flat, any other in space.

    Args:
        paper: what it is drawn on: axes in space for a robot that moves in space.
        robot: the robot.
        x: reduced pose (nx,); the reference pose if None.
        frames: whether to draw the frames of all bodies.
        names: whether to write the names of the moving bodies.

    Raises:
        NacelleError: if the axes are flat and the robot is not, or the description names a colour that does
            not exist.
        UnreachableError: if the pose is out of reach.
    """
    view = scene(robot, x, frames=frames)
    ax = paper.axes(flat=view.across is not None)
    plot_scene(view, ax)
    if names:
        flat = None if hasattr(ax, "get_zlim") else view.across
        texts = write_names(ax, view.bodies, range(3) if flat is None else _FLAT_AXES[flat])
        paper.when_finished = lambda: spread_names(ax, texts)
    return robot.title


def plot_scene(view: Scene, ax: Axes) -> None:
    """Draw a scene on axes, flat or in space.

    Raises:
        NacelleError: if the axes are flat and the robot is not, or a colour does not exist.
    """
    if hasattr(ax, "get_zlim"):
        _draw_in_space(ax, view)
    elif view.across is not None:
        _draw_flat(ax, view, view.across)
    else:
        raise NacelleError('the robot moves in space: it needs axes with projection="3d"')


def _draw_flat(ax: Axes, view: Scene, across: int) -> None:
    """Outlines on the plane, the base below, then the legs, the platform, the joints."""
    patches = import_matplotlib("matplotlib.patches")
    right, up = _FLAT_AXES[across]
    for level, part in enumerate(view.parts):
        for solid, colour in zip(part.solids, part.colours, strict=True):
            corners = solid.reshape(-1, 3)[:, (right, up)]
            outline = corners[convex_hull(corners)]
            if len(outline) < 3:
                continue  # an axis that looks at the viewer
            fill = np.array(rgb(colour))
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


def _draw_in_space(ax: Any, view: Scene) -> None:
    """All faces in one collection, so that they hide each other as they should."""
    solids = [solid for part in view.parts for solid in part.solids]
    fills = [np.array(rgb(colour)) for part in view.parts for colour in part.colours]
    faces = np.concatenate(solids)
    colours = np.concatenate(
        [shade_faces(fill, outward_normals(solid)) for solid, fill in zip(solids, fills, strict=True)]
    )
    add_faces(ax, faces, colours, "robot")
    low, high = view.box
    pad = 0.03 * float(np.max(high - low))
    if view.across is None:
        set_view(ax, low - pad, high + pad, ELEVATION, AZIMUTH)
    else:
        view_angles = {0: (0.0, 0.0), 1: (0.0, -90.0), 2: (90.0, -90.0)}
        set_view(ax, low - pad, high + pad, *view_angles[view.across])
    for k, axis in enumerate((ax.xaxis, ax.yaxis, ax.zaxis)):
        axis.set_label_text("" if k == view.across else f"{'xyz'[k]} (m)")
        if k == view.across:
            axis.set_ticks([])
