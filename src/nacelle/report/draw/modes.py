"""Pictures of modes: a robot with its links deformed, or natural frequencies along poses.

Every point moves along its displacement in the mode, J phi, by so much that the largest displacement is a
given part of the robot's extent; links that bend are drawn along their shape functions. Dashed lines are
the straight links.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.elastic.linear.frequencies import ModeShape, NaturalFrequencies
from nacelle.errors import NacelleError
from nacelle.report.draw import style
from nacelle.report.draw.canvas import Paper, picture
from nacelle.report.draw.robot import plot_scene
from nacelle.scene.faces import cylinder
from nacelle.scene.placed import Part, Scene, scene
from nacelle.spatial.scalar import Array

# The radius of a bent link as a part of the robot's extent.
_THIN = 0.006
# Largest displacement that is drawn, as a part of the robot's extent.
_SHOWN = 0.1


@picture
def plot_modes(paper: Paper, modes: NaturalFrequencies, mode: int = 0, *, size: float = _SHOWN) -> str:
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
        return _curves(paper, modes)
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


def mode_scene(modes: NaturalFrequencies, mode: int, size: float = _SHOWN) -> tuple[Scene, list[Array]]:
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
            parts.append(_tube(part, shape.pieces(k, factor), view.extent))
        elif part.kind == "body":
            parts.append(_shifted(part, shape, names[part.name], factor))
        elif part.kind == "joint":
            joint = frames.extended.tree.joints[frames.extended.joint_of[joints[part.name]]]
            parts.append(_shifted(part, shape, joint.successor, factor))
        else:
            parts.append(part)
    return replace(view, parts=tuple(parts)), straight


def _shifted(part: Part, shape: ModeShape, body: int, factor: float) -> Part:
    solids = tuple(solid + factor * shape.at(body, solid) for solid in part.solids)
    return replace(part, solids=solids)


def _tube(part: Part, pieces: Array, extent: float) -> Part:
    """A bent link of its pieces (N, 2, 3), m."""
    radius = _THIN * extent
    long = [(a, b) for a, b in pieces if np.linalg.norm(b - a) > radius]
    solids = tuple(cylinder(a, b, radius, 2.0 * radius) for a, b in long)
    return replace(part, solids=solids, colours=(part.colours[0],) * len(solids))


def _curves(paper: Paper, modes: NaturalFrequencies) -> str:
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
