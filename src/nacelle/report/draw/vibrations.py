"""Pictures of vibrations: modes of a robot, natural frequencies over poses, responses, poles.

A mode is drawn as the robot with its links deformed. Every point moves along its displacement in the mode,
J phi, by so much that the largest displacement is a given part of the robot's extent; links that bend are
drawn along their shape functions. Dashed lines are the straight links.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.dynamics.derivatives.linear import LinearModel
from nacelle.elastic.linear.frequencies import FrequencyMap, ModeShape, NaturalFrequencies
from nacelle.elastic.linear.response import FrequencyResponse
from nacelle.errors import NacelleError
from nacelle.report.draw import style
from nacelle.report.draw.canvas import Paper, picture
from nacelle.report.draw.robot import plot_scene
from nacelle.report.draw.workspace import draw_grid
from nacelle.scene.configured import Scene, ScenePart, scene
from nacelle.scene.faces import cylinder_faces
from nacelle.spatial.scalar import Array

# The radius of a bent link as a part of the robot's extent.
_LINK_RADIUS = 0.006
# Largest displacement that is drawn, as a part of the robot's extent.
_DISPLACEMENT = 0.1
# Poses of which the poles have colours of their own.
_MAX_COLOURED_STATES = 7


@picture
def plot_modes(paper: Paper, modes: NaturalFrequencies, mode: int = 0, *, size: float = _DISPLACEMENT) -> str:
    """Draw a mode of a robot at one pose, or the frequencies of all modes along a row of poses.

    Args:
        paper: what it is drawn on.
        modes: the modes.
        mode: which one, from 0.
        size: largest displacement, as a part of the robot's extent.

    Raises:
        NacelleError: if there is no such mode, or the poses are a grid.
    """
    if modes.flags.ndim == 1:
        return _draw_frequencies(paper, modes)
    if modes.flags.ndim:
        raise NacelleError("a mode is drawn at one pose, frequencies along one row; maps have their own plot")
    view, lines = mode_scene(modes, mode, size)
    ax = paper.axes(flat=view.across is not None)
    plot_scene(view, ax)
    for line in lines:
        projected = line if hasattr(ax, "get_zlim") else np.delete(line, view.across or 0, axis=1)
        ax.plot(*projected.T, "--", color=style.INK, linewidth=0.8, zorder=1.5)
    frequency = float(modes.frequencies[mode])
    kind = "rigid motion" if mode < int(modes.rigid) else f"{frequency:.4g}\u00a0Hz"
    state = "locked" if modes.locked else "free"
    return f"{modes.robot.title}: mode {mode + 1}, {kind}, actuators {state}"


def mode_scene(
    modes: NaturalFrequencies, mode: int, size: float = _DISPLACEMENT
) -> tuple[Scene, list[Array]]:
    """A robot deformed in a mode, and its straight links as lines (points, 3), base axes, m."""
    view = scene(modes.robot, modes.x)
    shape = ModeShape(modes, mode)
    frames, links = shape.frames, shape.links
    straight = [shape.link(k, 0.0) for k in links.values()]
    factor = shape.factor(size * view.extent)
    names = {body.name: k for k, body in enumerate(modes.robot.bodies)}
    joints = {joint.name: k for k, joint in enumerate(modes.robot.joints)}
    parts = []
    for part in view.parts:
        if part.kind == "body" and part.name in links:
            k = links[part.name]
            parts.append(_bent_link(part, shape.pieces(k, factor), view.extent))
        elif part.kind == "body":
            parts.append(_displace_part(part, shape, names[part.name], factor))
        elif part.kind == "joint":
            joint = frames.elastic_tree.tree.joints[frames.elastic_tree.joint_of[joints[part.name]]]
            parts.append(_displace_part(part, shape, joint.successor, factor))
        else:
            parts.append(part)
    return replace(view, parts=tuple(parts)), straight


def _displace_part(part: ScenePart, shape: ModeShape, body: int, factor: float) -> ScenePart:
    solids = tuple(solid + factor * shape.at(body, solid) for solid in part.solids)
    return replace(part, solids=solids)


def _bent_link(part: ScenePart, pieces: Array, extent: float) -> ScenePart:
    """A bent link of its pieces (N, 2, 3), m."""
    radius = _LINK_RADIUS * extent
    long = [(a, b) for a, b in pieces if np.linalg.norm(b - a) > radius]
    solids = tuple(cylinder_faces(a, b, radius, 2.0 * radius) for a, b in long)
    return replace(part, solids=solids, colours=(part.colours[0],) * len(solids))


def _draw_frequencies(paper: Paper, modes: NaturalFrequencies) -> str:
    """Frequencies along a row of poses."""
    ax = paper.axes(height=3.6)
    part = np.linspace(0.0, 1.0, len(modes.flags))
    for k in range(modes.frequencies.shape[-1]):
        style.draw_curve(ax, part, modes.frequencies[:, k], k, f"mode {k + 1}")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("part of the path (-)")
    ax.set_ylabel("natural frequency (Hz)")
    style.plain_axes(ax)
    style.side_legend(ax)
    return f"{modes.robot.title}: natural frequencies along a path"


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
    draw_grid(paper, grid, frequencies.frequencies[..., mode], "natural frequency (Hz)", from_zero=False)
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


@picture
def plot_poles(paper: Paper, model: LinearModel) -> str:
    """Draw the poles of a linear model (one state or many) in the complex plane; those to the right grow."""
    ax: Any = paper.axes(height=4.2)
    poles = np.asarray(model.eigenvalues)
    rows = poles.reshape(-1, poles.shape[-1])
    finite = rows[np.isfinite(rows)]
    if len(rows) <= _MAX_COLOURED_STATES:
        for k, row in enumerate(rows):
            marks: dict[str, Any] = {"marker": "xo^sDv+"[k], "color": style.COLOURS[k], "linestyle": "none"}
            label = f"state {k + 1}" if len(rows) > 1 else "pole"
            ax.plot(row.real, row.imag, markersize=6, fillstyle="none", label=label, **marks)
        if len(rows) > 1:
            style.side_legend(ax)
    else:
        ax.plot(finite.real, finite.imag, ".", color=style.COLOURS[0], markersize=3)
    reach = 1.15 * float(np.max(np.abs(finite), initial=0.0)) or 1.0
    ax.axvspan(
        0.0, reach, facecolor="none", edgecolor=style.FAILED_COLOUR, alpha=0.25, hatch="////", linewidth=0.0
    )
    ax.text(
        0.985,
        0.02,
        "unstable",
        transform=ax.transAxes,
        ha="right",
        fontsize=style.SMALL,
        color=style.FAILED_COLOUR,
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
