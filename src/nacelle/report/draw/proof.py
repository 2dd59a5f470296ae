"""A proved workspace as a map: what is inside, outside, and not decided."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nacelle.errors import NacelleError, did_you_mean
from nacelle.proof.workspace import INSIDE, OUTSIDE, ProvenWorkspace
from nacelle.report.draw.canvas import Paper, import_matplotlib, picture
from nacelle.report.draw.style import INK, PALE, legend_below, plain_axes

# Points of a map to each side.
_POINTS = 500
_COLOURS = {"inside": "#7fb58f", "outside": PALE, "undecided": INK}


@picture
def plot_proved_workspace(paper: Paper, proved: ProvenWorkspace, over: tuple[str, ...] = ()) -> str:
    """Draw a section of a proved workspace; angles are in degrees.

    Args:
        paper: what it is drawn on.
        proved: the proved workspace.
        over: the two coordinates that the section spans, the first two if not said; the others are in the
            middle of their ranges.

    Raises:
        NacelleError: if it has no such coordinates.
    """
    region = proved.region
    names = over or region.names[:2]
    for name in names:
        if name not in region.names:
            raise NacelleError(
                f"the workspace has no coordinate {name!r}; {did_you_mean(name, region.names)}"
            )
    if len(names) not in (1, 2) or len(set(names)) < len(names):
        raise NacelleError("a section is drawn over one or two coordinates")
    indices = [region.names.index(name) for name in names]
    # Middles of pixels, so that none lies on the boundary of two boxes.
    steps = (np.arange(_POINTS) + 0.5) / _POINTS
    lines = [region.box[k, 0] + steps * (region.box[k, 1] - region.box[k, 0]) for k in indices]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(names))
    u = np.repeat(region.box.mean(axis=1)[None], len(grid), axis=0)
    u[:, indices] = grid
    codes = proved.classify(u)
    kinds = np.where(codes == INSIDE, 0, np.where(codes == OUTSIDE, 1, 2)).reshape([_POINTS] * len(names))
    ax = paper.axes(height=5.2 if len(names) == 2 else 1.6)
    scales = [math.degrees(1.0) if region.units[k] == "rad" else 1.0 for k in indices]
    ends = [scale * end for k, scale in zip(indices, scales, strict=True) for end in region.box[k]]
    colours = import_matplotlib("matplotlib.colors").ListedColormap(list(_COLOURS.values()))
    image = kinds.T if len(names) == 2 else kinds[None]
    extent: Any = ends if len(names) == 2 else [*ends, 0.0, 1.0]
    ax.imshow(
        image,
        origin="lower",
        extent=extent,
        aspect="auto",
        cmap=colours,
        vmin=-0.5,
        vmax=2.5,
        interpolation="nearest",
    )
    units = ["deg" if region.units[k] == "rad" else "m" for k in indices]
    ax.set_xlabel(f"{names[0]} ({units[0]})")
    if len(names) == 2:
        ax.set_ylabel(f"{names[1]} ({units[1]})")
    else:
        ax.set_yticks([])
    plain_axes(ax)
    ax.grid(False)
    patch = import_matplotlib("matplotlib.patches").Patch
    legend_below(
        ax, handles=[patch(facecolor=colour, edgecolor=INK, label=name) for name, colour in _COLOURS.items()]
    )
    return proved.title
