"""Pictures of frequencies: natural frequencies over a workspace, responses over frequency."""

from __future__ import annotations

import numpy as np

from nacelle.elastic.linear.frequencies import FrequencyMap
from nacelle.elastic.linear.response import FrequencyResponse
from nacelle.errors import NacelleError
from nacelle.report.draw import style
from nacelle.report.draw.canvas import Paper, picture
from nacelle.report.draw.workspace import draw_grid


@picture
def plot_frequency_map(paper: Paper, frequencies: FrequencyMap, mode: int = 0) -> str:
    """Draw a natural frequency over one to three coordinates of the pose, as `plot_workspace` does.

    Args:
        paper: what it is drawn on.
        frequencies: the map.
        mode: which one, from 0.

    Raises:
        NacelleError: if there is no such mode.
    """
    count = frequencies.frequencies.shape[-1]
    if not 0 <= mode < count:
        raise NacelleError(f"there is no mode {mode}: the map has modes 0 to {count - 1}")
    grid, state = frequencies.grid, "locked" if frequencies.modes.locked else "free"
    draw_grid(paper, grid, frequencies.frequencies[..., mode], "natural frequency (Hz)", zero=False)
    return f"{grid.robot.name}: mode {mode + 1} over {', '.join(grid.names)}, actuators {state}"


@picture
def plot_response(
    paper: Paper, response: FrequencyResponse, outputs: tuple[str, ...] = ("x", "y", "z")
) -> str:
    """Draw the size of a response over frequency, the largest over all inputs, at one pose.

    Args:
        paper: what it is drawn on.
        response: the response.
        outputs: which of x, y, z, rx, ry, rz.

    Raises:
        NacelleError: if there is a batch of poses, or there is no such output.
    """
    if response.response.ndim != 3:
        raise NacelleError("a response is drawn at one pose")
    for name in outputs:
        if name not in response.outputs:
            raise NacelleError(f"there is no output {name!r}: {', '.join(response.outputs)}")
    ax = paper.axes(height=3.8)
    floor = 1e-9 * float(np.nanmax(np.abs(response.response)))
    for k, name in enumerate(outputs):
        values = np.max(np.abs(response.response[:, response.outputs.index(name)]), axis=-1)
        if np.nanmax(values) > floor:
            style.draw_curve(ax, np.asarray(response.frequencies), values, k, name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    lengths = "m" if all(name[0] != "r" for name in outputs) else "m or rad"
    ax.set_xlabel("frequency (Hz)")
    ax.set_ylabel(f"largest response to a unit input ({lengths} for N or N m)")
    style.plain_axes(ax)
    style.side_legend(ax)
    source = "a wrench" if response.locked else "actuator forces"
    return f"{response.robot.title}: response to {source}"
