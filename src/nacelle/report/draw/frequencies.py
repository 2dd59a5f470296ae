"""Pictures of frequencies: natural frequencies over a workspace, responses over frequency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nacelle.elastic.linear.maps import FrequencyMap
from nacelle.elastic.linear.response import FrequencyResponse
from nacelle.errors import NacelleError
from nacelle.report.draw.canvas import INK, fit, new_axes, plain_axes, wrapped
from nacelle.report.draw.workspace import plot_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_frequency_map(frequencies: FrequencyMap, mode: int = 0, *, ax: Axes | None = None) -> Axes:
    """Draw a natural frequency over one to three coordinates of the pose, as `plot_workspace` does.

    Args:
        frequencies: the map.
        mode: which one, from 0.
        ax: axes to draw on; new ones if None.

    Raises:
        NacelleError: if matplotlib is missing, or there is no such mode.
    """
    count = frequencies.frequencies.shape[-1]
    if not 0 <= mode < count:
        raise NacelleError(f"there is no mode {mode}: the map has modes 0 to {count - 1}")
    grid, held = frequencies.grid, "locked" if frequencies.modes.locked else "free"
    title = f"{grid.robot.name}: mode {mode + 1} over {', '.join(grid.names)}, actuators {held}"
    values = frequencies.frequencies[..., mode]
    return plot_grid(grid, values, "natural frequency (Hz)", title, zero=False, ax=ax)


def plot_response(
    response: FrequencyResponse, outputs: tuple[str, ...] = ("x", "y", "z"), *, ax: Axes | None = None
) -> Axes:
    """Draw the size of a response over frequency, the largest over all inputs, at one pose.

    Args:
        response: the response.
        outputs: which of x, y, z, rx, ry, rz.
        ax: axes to draw on; new ones if None.

    Raises:
        NacelleError: if matplotlib is missing, there is a batch of poses, or there is no such output.
    """
    if response.response.ndim != 3:
        raise NacelleError("a response is drawn at one pose")
    for name in outputs:
        if name not in response.outputs:
            raise NacelleError(f"there is no output {name!r}: {', '.join(response.outputs)}")
    own = ax is None
    ax = ax or new_axes(flat=True, size=(6.4, 3.8))
    floor = 1e-9 * float(np.nanmax(np.abs(response.response)))
    for k, name in enumerate(outputs):
        values = np.max(np.abs(response.response[:, response.outputs.index(name)]), axis=-1)
        if np.nanmax(values) > floor:
            ax.loglog(response.frequencies, values, linewidth=1.3, color=f"C{k}", label=name)
    unit = {"r": "rad"}.get(outputs[0][0], "m")
    ax.set_xlabel("frequency (Hz)")
    ax.set_ylabel(f"{unit} for a unit input (N, N m)")
    plain_axes(ax)
    ax.legend(fontsize=7, frameon=False, labelcolor=INK)
    source = "a wrench" if response.locked else "actuator forces"
    ax.set_title(wrapped(f"{response.robot.title}: response to {source}"), fontsize=9, color=INK)
    if own:
        fit(ax)
    return ax
