"""Pictures of matrices: the Jacobian of a pose, what each parameter adds to the forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.dynamics.regressor import Regressor
from nacelle.kinematics.jacobian import Jacobian
from nacelle.report.draw import style
from nacelle.report.draw.canvas import COLOUR_BAR_LEFT, Paper, import_matplotlib, picture
from nacelle.report.draw.result import draw_panels, draw_result
from nacelle.report.results.panels import panels_of
from nacelle.report.results.quantities import quantities
from nacelle.spatial.scalar import Array

# Parameters that are drawn, those that add most.
_MAX_PARAMETERS = 24


@picture
def plot_jacobian(paper: Paper, jacobian: Jacobian, *, times: Any = None) -> str:
    """Draw the scaled inverse Jacobian of one pose, or how well conditioned many poses are.

    Args:
        paper: what it is drawn on: axes for a matrix, a figure for a curve.
        jacobian: the Jacobians.
        times: of many poses, s; they are numbered if None.
    """
    robot = jacobian.robot
    if np.asarray(jacobian.flags).ndim:
        return draw_result(paper, jacobian, times=times)
    draw_matrix(
        paper,
        np.asarray(jacobian.scaled, dtype=float),
        [actuator.name for actuator in robot.actuators],
        list(robot.motion.coordinates),
        label="rate of an actuator for one of the platform, lengths in robot sizes (-)",
    )
    return f"{robot.name}: scaled Jacobian, inverse condition number {float(jacobian.conditioning):.3g}"


@picture
def plot_regressor(paper: Paper, form: Regressor) -> str:
    """Draw what every parameter adds to the force of every actuator, over that force.

    Of actuator i and parameter j that is rms(Y_ij p_j) / rms(sum over j of Y_ij p_j) over all samples, with
    the robot's own parameters p; the parameters that add most are drawn.
    """
    parts = np.asarray(form.Y, dtype=float) * form.parameters.values
    parts = parts.reshape(-1, *parts.shape[-2:])
    parts = parts[np.all(np.isfinite(parts), axis=(1, 2))]
    if not len(parts) or not parts.shape[-1]:
        draw_panels(paper, panels_of(quantities(form)))
        return f"{form.robot.name}: linear form"
    whole = np.sqrt(np.mean(np.sum(parts, axis=-1) ** 2, axis=0))
    share = np.sqrt(np.mean(parts**2, axis=0)) / np.maximum(whole, np.finfo(float).tiny)[:, None]
    share = np.where(whole[:, None] > 0.0, share, 0.0)
    largest = np.max(share, axis=0)
    order = np.argsort(-largest, kind="stable")[:_MAX_PARAMETERS]
    order = order[: max(1, int(np.count_nonzero(largest[order] > 0.0)))]
    names = form.parameters.names
    draw_matrix(
        paper,
        share[:, order].T,
        [names[k] for k in order],
        [actuator.name for actuator in form.robot.actuators],
        label="part of the force that a parameter makes (-)",
    )
    return f"{form.robot.name}: {len(order)} of {len(names)} parameters, the largest parts of the forces"


def draw_matrix(
    paper: Paper, values: Array, rows: Sequence[str], columns: Sequence[str], *, label: str
) -> None:
    """Draw a matrix: dark where entries are large, with its numbers where there is room for them.

    Args:
        paper: what it is drawn on.
        values: (rows, columns).
        rows: their names.
        columns: their names.
        label: what the entries are, with their unit.
    """
    ax: Any = paper.axes(height=max(2.6, min(9.0, 1.5 + 0.27 * len(rows))))
    size = np.abs(np.where(np.isfinite(values), values, np.nan))
    top = float(np.nanmax(size)) if np.any(np.isfinite(size)) else 0.0
    colours = import_matplotlib("matplotlib").colormaps["Blues"].with_extremes(bad=style.PALE)
    image = ax.imshow(size, cmap=colours, vmin=0.0, vmax=top or 1.0, aspect="auto", interpolation="nearest")
    if len(columns) <= 12:
        for (i, j), value in np.ndenumerate(values):
            dark = np.isfinite(value) and abs(value) > 0.55 * top
            text = f"{value:.2g}" if np.isfinite(value) else "none"
            ink = "white" if dark else style.INK
            ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=ink)
    short = 12 if len(columns) > 3 else 26
    slanted: dict[str, Any] = {"rotation": 30, "ha": "right"} if max(map(len, columns), default=0) > 6 else {}
    ax.set_xticks(range(len(columns)), [style.printable_name(name, short) for name in columns], **slanted)
    ax.set_yticks(range(len(rows)), [style.printable_name(name, 34) for name in rows])
    style.plain_axes(ax)
    ax.grid(visible=False)
    colour_bar(ax, image, f"size of {label}" if np.any(values < 0.0) else label)


def colour_bar(ax: Any, mappable: Any, label: str) -> None:
    """A bar of colours next to axes, flat or in space."""
    if not hasattr(ax, "get_zlim"):
        bar = ax.figure.colorbar(mappable, cax=ax.inset_axes((1.03, 0.0, 0.03, 1.0)))
    elif ax.figure.axes == [ax]:
        bar = ax.figure.colorbar(mappable, cax=ax.figure.add_axes((COLOUR_BAR_LEFT, 0.2, 0.02, 0.6)))
    else:
        bar = ax.figure.colorbar(mappable, ax=ax, shrink=0.6, pad=0.1, aspect=28)
    height = bar.ax.figure.get_size_inches()[1] * bar.ax.get_position().height
    bar.set_label(style.wrap_title(label, max(20, int(14.0 * height))), fontsize=style.LABEL, color=style.INK)
    bar.ax.tick_params(labelsize=style.SMALL, colors=style.INK, length=2.5)
    bar.outline.set_edgecolor(style.PALE)
