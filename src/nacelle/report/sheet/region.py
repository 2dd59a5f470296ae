"""Workspace and singularities, over slices through the workspace.

Workspace: slices within limits, coloured by conditioning, and what is seen along rays. Singularities: how
near the poses of the slices come to them, and of which kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.kinematics.singularity import MET, NEAR
from nacelle.kinematics.workspace import Workspace, reach
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.page.markup import element, paragraph, percent, table, text
from nacelle.page.svg import SEQUENCE, CellKind, MapPoint, Series, line_chart, map_chart
from nacelle.report.plain import reach_data, workspace_data
from nacelle.report.sheet.content import said_by, short
from nacelle.report.sheet.subject import SliceRanges, Subject

# ---- workspace


_RAYS = 400
# Inverse condition numbers at which the colour changes.
_LEVELS = (0.02, 0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True, eq=False)
class WorkspaceCut:
    """One slice through a workspace.

    Attributes:
        command: the command that gives its numbers.
        slice: its ranges.
        grid: its poses.
        numbers: what the command prints.
    """

    command: str
    slice: SliceRanges
    grid: Workspace
    numbers: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Region:
    """Where the nacelle can go.

    Attributes:
        cuts: slices through the reference pose.
        command: the command that walks along rays; empty where there are no two translations.
        reached: what it prints.
        reason: why rays say nothing, in words; empty if they do.
    """

    cuts: tuple[WorkspaceCut, ...]
    command: str
    reached: dict[str, Any]
    reason: str

    def data(self) -> dict[str, Any]:
        """Numbers of all slices and of the rays."""
        rays = {"command": self.command, **self.reached} if self.reached else {"reason": self.reason}
        return {"slices": [{"command": cut.command, **cut.numbers} for cut in self.cuts], "rays": rays}

    def markup(self) -> str:
        """Rays in words, then a picture and a line for every slice."""
        return self._rays() + element("div", *(_shown(cut) for cut in self.cuts), kind="maps")

    def _rays(self) -> str:
        if not self.reached:
            return paragraph(self.reason) if self.reason else ""
        data = self.reached
        unit = "m³" if self._solid else "m²"
        words = (
            f"From the reference pose, with its orientation kept, {short(data['volume'])} {unit} are seen "
            f"within all limits along {data['rays']} rays, which are between {short(data['shortest'])} m and "
            f"{short(data['longest'])} m long."
        )
        if data["endless"]:
            words += f" {data['endless']} of them meet no boundary: the description gives no limit there."
        return said_by(self.command) + paragraph(words)

    @property
    def _solid(self) -> bool:
        robot = self.cuts[0].grid.robot
        return sum(name in AXES[:3] for name in robot.motion.coordinates) == 3


def region(subject: Subject) -> Region:
    """Map the workspace of a robot.

    Raises:
        NacelleError: if no pose near the reference is reached within limits.
    """
    cuts = tuple(
        WorkspaceCut(subject.command("workspace", *cut.arguments), cut, grid, workspace_data(grid))
        for cut, grid in subject.slices
    )
    if sum(name in AXES[:3] for name in subject.robot.motion.coordinates) < 2:
        return Region(cuts, "", {}, "")
    try:
        reached = reach_data(reach(subject.robot, rays=_RAYS))
    except NacelleError as error:
        return Region(cuts, "", {}, f"Nothing was measured along rays: {error}.")
    return Region(cuts, subject.command("workspace", "--rays", str(_RAYS)), reached, "")


def _shown(cut: WorkspaceCut) -> str:
    picture = _line(cut.grid) if len(cut.grid.names) == 1 else slice_map(cut.grid)
    return element("div", picture, paragraph(_words(cut)), said_by(cut.command))


def _words(cut: WorkspaceCut) -> str:
    data, grid = cut.numbers, cut.grid
    unit = data["unit"].replace("^2", "²").replace("^3", "³")
    words = (
        f"{percent(data['inside_limits'] / data['points'])} of the slice is within limits, "
        f"{short(data['volume'])} {unit}"
    )
    if data["extent"] is not None:
        ends = [
            f"{name} {_span(pair, of)}"
            for (name, pair), of in zip(data["extent"].items(), grid.units, strict=True)
        ]
        words += f"; {', '.join(ends)}"
    measure = data["conditioning"]
    if measure["median"] is not None:
        words += (
            f". Inverse condition number: lowest {short(measure['lowest'], 3)}, median "
            f"{short(measure['median'], 3)}, highest {short(measure['highest'], 3)}"
        )
    if data["other_branch"]:
        words += f". {data['other_branch']} poses are on another branch and do not count"
    if cut.slice.open:
        words += ". The search ends here, not the robot: nothing limits it on the way"
    return f"{words}."


def _span(pair: list[float], unit: str) -> str:
    scale, shown = (180.0 / math.pi, "deg") if unit == "rad" else (1e3, "mm")
    return f"{short(pair[0] * scale, 3)} to {short(pair[1] * scale, 3)} {shown}"


def _axis(name: str, unit: str) -> tuple[str, float]:
    """Label of a coordinate and the factor by which it is shown."""
    return (f"{name} (deg)", 180.0 / math.pi) if unit == "rad" else (f"{name} (m)", 1.0)


def reference_marks(robot: Robot, grid: Workspace) -> list[MapPoint]:
    """The reference pose on a slice."""
    places = [_of_pose(grid, name) for name in grid.names]
    scales = [_axis(name, unit)[1] for name, unit in zip(grid.names, grid.units, strict=True)]
    return [MapPoint(places[0] * scales[0], places[1] * scales[1], "reference pose")]


def _of_pose(grid: Workspace, name: str) -> float:
    """Coordinate of the pose in which a grid is centred; zero for turns of a free orientation."""
    from nacelle.model.reduced import layout_of

    names = layout_of(grid.robot.motion).x_names
    return float(grid.at[names.index(name)]) if name in names else 0.0


def slice_map(grid: Workspace) -> str:
    """A slice in two coordinates as a map: conditioning within limits, hatched beyond them."""
    inside, reachable = grid.inside_limits, grid.reachable
    kind_of = np.full(grid.flags.shape, -1)
    kind_of[reachable & ~inside] = 0
    kind_of[inside] = 1 + np.digitize(np.nan_to_num(grid.conditioning[inside]), _LEVELS)
    bounds = [0.0, *_LEVELS, 1.0]
    kinds = [CellKind("reached beyond limits")]
    kinds += [
        CellKind(f"{low:g} to {high:g}", colour)
        for low, high, colour in zip(bounds, bounds[1:], SEQUENCE, strict=False)
    ]
    used = [k for k in range(len(kinds)) if k or np.any(kind_of == 0)]
    place = {k: i for i, k in enumerate(used)}
    kind_of = np.vectorize(lambda k: place.get(int(k), -1), otypes=[int])(kind_of)
    axes = [_axis(name, unit) for name, unit in zip(grid.names, grid.units, strict=True)]
    return map_chart(
        (grid.values[0] * axes[0][1], grid.values[1] * axes[1][1]),
        kind_of,
        [kinds[k] for k in used],
        labels=(axes[0][0], axes[1][0]),
        marks=reference_marks(grid.robot, grid),
        title=f"Inverse condition number over {grid.names[0]} and {grid.names[1]}",
    )


def _line(grid: Workspace) -> str:
    """A slice in one coordinate: conditioning within limits."""
    label, scale = _axis(grid.names[0], grid.units[0])
    values = np.where(grid.inside_limits, grid.conditioning, np.nan)
    return line_chart(
        [Series("", grid.values[0] * scale, values)],
        x=label,
        y="inverse condition number",
        title=f"Inverse condition number over {grid.names[0]}, within limits",
        size=(400.0, 220.0),
    )


# ---- singularities


_MEANING = {
    "serial": "a leg is stretched or folded: it moves while the {} rests",
    "parallel": "with the actuators locked the {} moves",
    "constraint": "the {} gains a motion that its legs should lock",
}


@dataclass(frozen=True, eq=False)
class NearestSingularities:
    """The nearest singularities of a slice.

    Attributes:
        command: the command that finds them.
        over: the coordinates of the slice.
        numbers: for each kind its measure, the pose, and the leg of a serial one.
    """

    command: str
    over: tuple[str, ...]
    numbers: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Singular:
    """The nearest singularities within limits.

    Attributes:
        slices: those of every slice.
        coordinates: names of the coordinates of a pose.
        mover: what moves, in a word: the nacelle, or the mechanism.
    """

    slices: tuple[NearestSingularities, ...]
    coordinates: tuple[str, ...]
    mover: str

    def data(self) -> dict[str, Any]:
        """Measures and poses, slice by slice."""
        return {
            "slices": [{"command": cut.command, "singularities": cut.numbers} for cut in self.slices],
        }

    def markup(self) -> str:
        """The nearest one in words, then all kinds slice by slice."""
        entries = [
            (number["measure"], kind, number, cut)
            for cut in self.slices
            for kind, number in cut.numbers.items()
        ]
        if not entries:
            return paragraph("No pose of the slices is within limits: nothing was measured.")
        measure, kind, number, _ = min(entries, key=lambda entry: entry[0])
        near = "is met" if measure < MET else "is near" if measure < NEAR else "is the nearest"
        leg = f", leg {number['leg']}" if number["leg"] else ""
        parts = [
            paragraph(
                f"Within limits a {kind} singularity {near}: measure {short(measure, 3)} at "
                f"{self._pose(number['at'])}{leg} ({_MEANING[kind].format(self.mover)})."
            ),
            paragraph("Measures are inverse condition numbers: 1 at best, 0 at a singularity.", "quiet"),
        ]
        for cut in self.slices:
            rows = [
                [
                    text(name),
                    short(entry["measure"], 3),
                    text(self._pose(entry["at"])),
                    text(entry["leg"] or "–"),
                ]
                for name, entry in cut.numbers.items()
            ]
            parts.append(paragraph(f"Over {' and '.join(cut.over)}:"))
            parts.append(table(["kind", "lowest measure>", "at", "leg"], rows))
            parts.append(said_by(cut.command))
        return "".join(parts)

    def _pose(self, x: list[float]) -> str:
        return ", ".join(
            f"{name} = {short(value, 3)}" for name, value in zip(self.coordinates, x, strict=True)
        )


def singular(subject: Subject) -> Singular:
    """Measure how near the slices of a robot come to singularities.

    Raises:
        NacelleError: if no pose near the reference is reached within limits.
    """
    cuts = []
    for cut, grid in subject.slices:
        data = workspace_data(grid, singular=True)
        command = subject.command("workspace", *cut.arguments, "--singularities")
        cuts.append(NearestSingularities(command, grid.names, data["singularities"]))
    return Singular(tuple(cuts), layout_of(subject.robot.motion).x_names, subject.robot.mover)
