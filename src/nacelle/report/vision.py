"""What a camera sees of a robot: the image, and over it the edges that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from nacelle.report.draw import style
from nacelle.report.draw.canvas import Paper, picture
from nacelle.report.table import Part, plain_table
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.observation import CylinderObservation, Observation
from nacelle.vision.visibility import ContactLines, edge_visibility

_FOUND_COLOUR, _SINGLE_EDGE_COLOUR, _MISSING_COLOUR = "#35d07f", "#ffb000", "#ff5a5f"


@picture
def plot_observation(paper: Paper, observation: Observation, *, names: bool = True) -> str:
    """Draw the image with the measured edges over it.

    Edges of cylinders that give a direction are green, those of cylinders of which one edge alone was
    measured amber: lines where they are free and were measured, dots where they go on. The axes of the others
    are dashed in red, where they would be.

    Args:
        paper: what it is drawn on.
        observation: what was seen.
        names: whether to write the names of the cylinders.
    """
    camera = observation.camera
    width, height = camera.size
    size = 6.4 * np.array([width, height]) / max(width, height)
    figure = paper.figure(float(size[0]), float(size[1]) + 0.35)
    ax = figure.add_subplot()
    ax.imshow(observation.image, cmap="gray", vmin=0.0, vmax=255.0, interpolation="nearest")
    for cylinder, rod in zip(observation.seen, observation.scene.rods, strict=True):
        lines = ContactLines.of(rod)
        free = _draw_edges(ax, observation, cylinder, lines)
        if names:
            _write_name(ax, camera, cylinder, rod.start + free * lines.way)
    ax.set_xlim(-0.5, width - 0.5)
    ax.set_ylim(height - 0.5, -0.5)
    ax.set_axis_off()
    title = observation.message.splitlines()[0] if observation.message else _pose_title(observation)
    ax.set_title(style.wrap_title(title), fontsize=7.5, color=style.INK)
    figure.set_layout_engine("tight", pad=0.3)
    # It has its own in small letters, close to the image.
    return ""


def _draw_edges(
    ax: Any, observation: Observation, cylinder: CylinderObservation, lines: ContactLines
) -> float:
    """Draw the edges of a cylinder; give where along it there is room for its name."""
    camera = observation.camera
    visible = edge_visibility(observation.scene, cylinder.view.cylinder, observation.pixels.reach)
    t = visible.t
    if cylinder.measured is None:
        axis = camera.pixels(np.mean(lines.points(t), axis=0))
        ax.plot(axis[:, 0], axis[:, 1], color=_MISSING_COLOUR, linewidth=0.8, linestyle=(0, (4, 3)))
        return 0.5
    colour = _FOUND_COLOUR if len(cylinder.measured.edges) == 2 else _SINGLE_EDGE_COLOUR
    for edge in cylinder.measured.edges:
        # The measured plane, from the true ends: points of the line are put into it.
        points = lines.points(t)[edge.side]
        points = points - (points @ edge.normal)[:, None] * edge.normal
        u, v = camera.pixels(points).T
        free = visible.free[edge.side]
        ax.plot(u, v, color=colour, linewidth=0.5, linestyle=(0, (1, 2)))
        ax.plot(np.where(free, u, np.nan), np.where(free, v, np.nan), color=colour, linewidth=1.1)
    both = np.any(visible.free, axis=0)
    return float(np.mean(t[both])) if np.any(both) else 0.5


def _write_name(ax: Any, camera: Camera, cylinder: CylinderObservation, middle: Array) -> None:
    pixel = camera.pixels(middle)
    if camera.contains(pixel):
        box = {"facecolor": "black", "alpha": 0.45, "linewidth": 0.0, "pad": 1.0}
        ax.text(
            *pixel,
            style.printable_name(cylinder.view.name),
            fontsize=5.5,
            color="white",
            ha="center",
            va="center",
            bbox=box,
        )


def _pose_title(observation: Observation) -> str:
    pose = observation.pose
    if pose is None:
        return observation.robot.name
    parts = [
        f"{name} {1e3 * s:.2g} {'mrad' if turns else 'mm'}"
        for name, s, turns in zip(*_coordinates(observation), strict=True)
    ]
    return f"{observation.robot.name}: {pose.edges} edges, standard deviations {', '.join(parts)}"


def _coordinates(observation: Observation) -> tuple[tuple[str, ...], Array, list[bool]]:
    """Names of the motions, standard deviations, and whether they are angles."""
    from nacelle.kinematics.pose_input import is_angle

    assert observation.pose is not None
    names = tuple(observation.robot.motion.coordinates)
    return names, observation.pose.sigma, [is_angle(observation.robot, name) for name in names]


def observation_parts(observation: Observation) -> list[Part]:
    """What is seen of each cylinder, and the pose."""
    width, height = observation.camera.size
    position = ", ".join(f"{1e3 * value:.0f}" for value in observation.camera.pose.p)
    parts: list[Part] = [
        f"{observation.robot.name}, image of {width} x {height} px from ({position}) mm, "
        f"blur {observation.pixels.blur:g} px, noise {observation.pixels.read_noise:g} grey levels",
        cylinder_table(observation),
    ]
    if observation.pose is None:
        return parts
    line = f"\npose from {observation.pose.edges} edges, misfit {observation.pose.misfit:.2f}"
    return [*parts, line, pose_table(observation)]


def cylinder_table(observation: Observation) -> Table:
    """A row a cylinder: width and free length in the image, error of its direction or why it has none."""
    table = plain_table(
        "cylinder",
        "width (px)>",
        "free edges (px)>",
        "direction sigma (urad)>",
        "true error (urad)>",
        "usable",
    )
    for cylinder in observation.seen:
        free = " / ".join(f"{value:.0f}" for value in cylinder.view.length)
        sigma, error = (
            f"{1e6 * value:.3g}" if np.isfinite(value) else ""
            for value in (cylinder.direction_sigma, cylinder.direction_error)
        )
        usable = escape(cylinder.reason or "yes")
        table.add_row(escape(cylinder.view.name), f"{cylinder.view.width:.1f}", free, sigma, error, usable)
    for box in observation.view.boxes:
        table.add_row(escape(box.name), "", "", "", "", escape(box.reason))
    return table


def pose_table(observation: Observation) -> Table:
    """A row a coordinate: true pose by the standard deviation of what is seen, and the error."""
    table = plain_table("motion", "standard deviation>", "error>", "unit")
    error = observation.error
    for k, (name, sigma, turns) in enumerate(zip(*_coordinates(observation), strict=True)):
        off = "" if error is None else f"{1e6 * error[k]:.3g}"
        table.add_row(escape(name), f"{1e6 * sigma:.3g}", off, "urad" if turns else "um")
    return table
