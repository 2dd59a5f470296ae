"""Workspace and singularities, over slices through the workspace.

Workspace: slices within limits, coloured by conditioning, and what is seen along rays. Singularities: how
near the poses of the slices come to them, and of which kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.kinematics.jacobian import NEAR_SINGULAR_MEASURE, SINGULAR_MEASURE
from nacelle.kinematics.workspace import Workspace, workspace_boundary
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.page.markup import element, paragraph
from nacelle.page.svg import CellKind, MapAxis, MapPoint, Series, line_chart, map_chart
from nacelle.report.sheet.content import Content, command_line
from nacelle.report.sheet.subject import Subject
from nacelle.report.table import parts_html
from nacelle.report.workspace import (
    reach_data,
    reach_lines,
    singularity_lines,
    workspace_data,
    workspace_lines,
)
from nacelle.scene.slices import conditioning_bands, grid_axes, pose_coordinate

# ---- workspace


_RAYS = 400


def workspace_section(subject: Subject) -> Content:
    """Map the workspace of a robot: a text about rays, then a picture and lines for every slice.

    Raises:
        NacelleError: if no pose near the reference is reached within limits.
    """
    cuts, pictures = [], []
    for cut, grid in subject.slices:
        command = subject.command("workspace", *cut.arguments)
        lines = workspace_lines(grid)
        if cut.open:
            lines.append("the search ends here, not the robot: nothing limits it on the way")
        cuts.append({"command": command, **workspace_data(grid)})
        picture = _line_slice(grid) if len(grid.names) == 1 else slice_map(grid)
        pictures.append(element("div", picture, parts_html(lines), command_line(command)))
    rays, rays_markup = _ray_section(subject)
    return Content({"slices": cuts, "rays": rays}, rays_markup + element("div", *pictures, kind="maps"))


def _ray_section(subject: Subject) -> tuple[dict[str, Any], str]:
    """What is seen along rays from the reference pose, of robots that move along two axes or more."""
    if sum(name in AXES[:3] for name in subject.robot.motion.coordinates) < 2:
        return {"reason": ""}, ""
    try:
        reached = workspace_boundary(subject.robot, rays=_RAYS)
    except NacelleError as error:
        reason = f"Nothing was measured along rays: {error}."
        return {"reason": reason}, paragraph(reason)
    command = subject.command("workspace", "--rays", str(_RAYS))
    return {"command": command, **reach_data(reached)}, command_line(command) + parts_html(
        reach_lines(reached)
    )


def slice_map(grid: Workspace) -> str:
    """A slice in two coordinates as a map: conditioning within limits, hatched beyond them."""
    all_bands = conditioning_bands(grid)
    beyond = grid.reachable & ~grid.inside_limits
    kinds = [CellKind(band.label, band.colour) for band in all_bands]
    layers = [band.cells for band in all_bands]
    if np.any(beyond):
        kinds, layers = [CellKind("reached beyond limits"), *kinds], [beyond, *layers]
    kind_of = np.full(grid.flags.shape, -1)
    for k, cells in enumerate(layers):
        kind_of[cells] = k
    x, y = grid_axes(grid)
    at = [
        axis.scale * pose_coordinate(grid.robot, grid.at, n)
        for axis, n in zip((x, y), grid.names, strict=True)
    ]
    return map_chart(
        MapAxis(x.values, x.label),
        MapAxis(y.values, y.label),
        kind_of,
        kinds,
        marks=[MapPoint(at[0], at[1], "reference pose")],
        title=f"Inverse condition number over {grid.names[0]} and {grid.names[1]}",
    )


def _line_slice(grid: Workspace) -> str:
    """A slice in one coordinate: conditioning within limits."""
    (axis,) = grid_axes(grid)
    values = np.where(grid.inside_limits, grid.conditioning, np.nan)
    return line_chart(
        [Series("", axis.values, values)],
        x=axis.label,
        y="inverse condition number",
        title=f"Inverse condition number over {grid.names[0]}, within limits",
        width=400.0,
        height=220.0,
    )


# ---- singularities


_MEANING = {
    "serial": "a leg is stretched or folded: it moves while the {} rests",
    "parallel": "with the actuators locked the {} moves",
    "constraint": "the {} gains a motion that its legs should lock",
}


def singularity_section(subject: Subject) -> Content:
    """Measure how near the slices of a robot come to singularities.

    Raises:
        NacelleError: if no pose near the reference is reached within limits.
    """
    cuts, page = [], []
    for cut, grid in subject.slices:
        measured = workspace_data(grid, singular=True)
        command = subject.command("workspace", *cut.arguments, "--singularities")
        cuts.append({"command": command, "singularities": measured["singularities"]})
        page += [
            paragraph(f"Over {' and '.join(grid.names)}:"),
            parts_html(singularity_lines(measured)),
            command_line(command),
        ]
    names = layout_of(subject.robot.motion).x_names
    head = describe_nearest_singularity(
        [cut["singularities"] for cut in cuts], names, subject.robot.moving_part
    )
    note = paragraph("Measures are inverse condition numbers: 1 at best, 0 at a singularity.", "quiet")
    return Content({"slices": cuts}, paragraph(head) + note + "".join(page))


def describe_nearest_singularity(
    slices: list[dict[str, Any]], coordinates: tuple[str, ...], mover: str
) -> str:
    """The nearest singularity of all slices.

    Args:
        slices: of each the nearest one of every kind: "measure", "at" and "leg".
        coordinates: names of the entries of a pose.
        mover: what moves, in a word: the platform, or the mechanism.
    """
    entries = [(nearest["measure"], kind, nearest) for cut in slices for kind, nearest in cut.items()]
    if not entries:
        return "No pose of the slices is within limits: nothing was measured."
    measure, kind, nearest = min(entries, key=lambda entry: float(entry[0]))
    near = (
        "is met"
        if measure < SINGULAR_MEASURE
        else "is near"
        if measure < NEAR_SINGULAR_MEASURE
        else "is the nearest"
    )
    leg = f", leg {nearest['leg']}" if nearest["leg"] else ""
    at = ", ".join(f"{name} = {value:.3g}" for name, value in zip(coordinates, nearest["at"], strict=True))
    return (
        f"Within limits a {kind} singularity {near}: measure {measure:.3g} at {at}{leg} "
        f"({_MEANING[kind].format(mover)})."
    )
