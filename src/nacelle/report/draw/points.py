"""Pictures of points: poles of a linear model, the boundary that rays from a centre reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.derivatives.linear import LinearModel
from nacelle.kinematics.workspace import Reach
from nacelle.report.draw import style
from nacelle.report.draw.canvas import AZIMUTH, ELEVATION, Paper, mpl, picture, set_view
from nacelle.report.draw.matrix import colour_bar

# Poses of which the poles have colours of their own.
_FEW = 7


@picture
def plot_poles(paper: Paper, model: LinearModel) -> str:
    """Draw the poles of a linear model (one state or many) in the complex plane; those to the right grow."""
    ax: Any = paper.axes(height=4.2)
    poles = np.asarray(model.eigenvalues)
    rows = poles.reshape(-1, poles.shape[-1])
    finite = rows[np.isfinite(rows)]
    if len(rows) <= _FEW:
        for k, row in enumerate(rows):
            marks: dict[str, Any] = {"marker": "xo^sDv+"[k], "color": style.COLOURS[k], "linestyle": "none"}
            label = f"state {k + 1}" if len(rows) > 1 else "pole"
            ax.plot(row.real, row.imag, markersize=6, fillstyle="none", label=label, **marks)
        if len(rows) > 1:
            style.side_legend(ax)
    else:
        ax.plot(finite.real, finite.imag, ".", color=style.COLOURS[0], markersize=3)
    reach = 1.15 * float(np.max(np.abs(finite), initial=0.0)) or 1.0
    ax.axvspan(0.0, reach, facecolor="none", edgecolor=style.FAILED, alpha=0.25, hatch="////", linewidth=0.0)
    ax.text(
        0.985, 0.02, "unstable", transform=ax.transAxes, ha="right", fontsize=style.SMALL, color=style.FAILED
    )
    for line in (ax.axhline, ax.axvline):
        line(0.0, color=style.QUIET, linewidth=0.8)
    right = 1.15 * float(np.max(finite.real, initial=0.0))
    left = 1.1 * float(np.min(finite.real, initial=0.0))
    wide = max(right - left, 0.1 * reach)
    ax.set_xlim(min(left, -0.15 * wide), max(right, 0.25 * wide))
    ax.set_ylim(-reach, reach)
    ax.set_xlabel("real part (1/s)")
    ax.set_ylabel("imaginary part (rad/s)")
    style.plain_axes(ax)
    return f"{model.robot.name}: poles, coordinates of the {model.coordinates}"


@picture
def plot_reach(paper: Paper, reach: Reach) -> str:
    """Draw how far rays from a centre go: an outline in the plane, points on axes in space.

    Rays that met no boundary are open circles.
    """
    from nacelle.model.reduced import layout_of

    flat = len(reach.names) == 2
    ax: Any = paper.axes(flat=flat)
    layout = layout_of(reach.robot.motion)
    centre = np.array([float(reach.centre[layout.x_index(name)]) for name in reach.names])
    points = centre + reach.distance[:, None] * reach.directions
    endless = np.asarray(reach.endless, dtype=bool)
    labels = [f"{name} (m)" for name in reach.names]
    if flat:
        _outline(ax, centre, points, endless)
        ax.set_aspect("equal", adjustable="datalim")
        style.plain_axes(ax)
        style.legend_below(ax)
    else:
        _cloud(ax, points, reach, endless)
        ax.set(zlabel=labels[2])
    ax.set_xlabel(labels[0], fontsize=style.LABEL, color=style.INK)
    ax.set_ylabel(labels[1], fontsize=style.LABEL, color=style.INK)
    unit = "m²" if flat else "m³"
    return f"{reach.robot.name}: reach from its centre, {float(reach.volume):.3g} {unit}"


def _outline(ax: Any, centre: Any, points: Any, endless: Any) -> None:
    order = np.argsort(np.arctan2(*(points - centre).T[::-1]))
    closed = points[np.append(order, order[:1])]
    ax.fill(*closed.T, facecolor="#dce8f2", edgecolor="none")
    ax.plot(*closed.T, color=style.COLOURS[0], linewidth=1.4, label="boundary")
    ax.plot(*centre, "+", color=style.INK, markersize=9, linestyle="none", label="centre")
    if np.any(endless):
        ax.plot(
            *points[endless].T,
            "o",
            color=style.WARNED,
            fillstyle="none",
            markersize=4,
            linestyle="none",
            label="no boundary met",
        )


def _cloud(ax: Any, points: Any, reach: Reach, endless: Any) -> None:
    colours = mpl("matplotlib").colormaps["viridis"]
    cloud = ax.scatter(*points.T, c=reach.distance, cmap=colours, s=9, depthshade=False, edgecolors="none")
    if np.any(endless):
        ax.scatter(*points[endless].T, s=22, facecolors="none", edgecolors=style.WARNED, linewidths=0.7)
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.03 * float(np.max(high - low)) or 0.1
    set_view(ax, low - pad, high + pad, ELEVATION, AZIMUTH)
    colour_bar(ax, cloud, "distance (m)")
