"""Where a robot can go, on a grid of poses and along rays: as plain data, and as text."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nacelle.kinematics.jacobian import nearest_singularities
from nacelle.kinematics.workspace import Workspace, WorkspaceBoundary


def workspace_data(grid: Workspace, *, singular: bool = False) -> dict[str, Any]:
    """What a grid of poses says: counts, size, extent and conditioning, m and rad.

    Args:
        grid: the grid.
        singular: whether to measure how near its poses within limits come to singularities, too.
    """
    inside = grid.inside_limits
    finite = grid.conditioning[inside]
    data: dict[str, Any] = {
        "robot": grid.robot.name,
        "over": {
            n: [float(v[0]), float(v[-1]), len(v)] for n, v in zip(grid.names, grid.values, strict=True)
        },
        "tool": grid.tool,
        "turned": list(grid.rotation_names),
        "at": grid.at.tolist(),
        "points": int(grid.flags.size),
        "reachable": int(np.count_nonzero(grid.reachable)),
        "inside_limits": int(np.count_nonzero(inside)),
        "other_branch": int(np.count_nonzero(grid.other_branch)),
        "volume": grid.volume,
        "unit": grid.unit,
        "extent": None
        if grid.extent is None
        else {name: list(ends) for name, ends in zip(grid.names, grid.extent, strict=True)},
        "conditioning": {
            "lowest": float(np.min(finite)) if finite.size else None,
            "median": float(np.median(finite)) if finite.size else None,
            "highest": float(np.max(finite)) if finite.size else None,
        },
    }
    if len(grid.names) == 1:
        data["intervals"] = [list(ends) for ends in grid.intervals]
    if singular:
        data["singularities"] = {
            kind: {"measure": lowest.measure, "at": lowest.x.tolist(), "leg": lowest.leg}
            for kind, lowest in nearest_singularities(grid.robot, grid.x[inside]).items()
        }
    return data


def workspace_lines(grid: Workspace, *, singular: bool = False) -> list[str]:
    """The same for people; arguments as in `workspace_data`."""
    data = workspace_data(grid, singular=singular)
    steps = [
        f"{name} in steps of {_format_coordinate((values[-1] - values[0]) / (len(values) - 1), unit)}"
        for name, values, unit in zip(grid.names, grid.values, grid.units, strict=True)
    ]
    whose = f" of the tool {grid.tool}" if grid.tool else ""
    lines = [f"{grid.robot.name}: {data['points']} poses{whose}, {', '.join(steps)}"]
    if grid.rotation_names:
        vector = ", ".join(name if name in grid.rotation_names else "0" for name in ("rx", "ry", "rz"))
        lines.append(
            f"orientation: that of --at, or of the reference pose, rotated by the rotation vector "
            f"[{vector}] in base axes"
        )
    points, inside = data["points"], data["inside_limits"]
    lines.append(
        f"reachable {data['reachable']} ({100.0 * data['reachable'] / points:.1f} %); within joint and "
        f"actuator limits {inside} ({100.0 * inside / points:.1f} %)"
        + (f", size {grid.volume:.6g} {grid.unit}" if len(grid.names) > 1 else "")
    )
    if data["other_branch"]:
        other_count = data["other_branch"]
        lines.append(
            f"on a branch that is not connected to the reference pose, not counted within limits: "
            f"{other_count} ({100.0 * other_count / points:.1f} %)"
        )
    if len(grid.names) == 1:
        (unit,) = grid.units
        ranges = [
            f"{_format_coordinate(low, unit)} to {_format_coordinate(high, unit)}"
            for low, high in grid.intervals
        ]
        if ranges:
            lines.append(f"within limits: {grid.names[0]} from {' and from '.join(ranges)}")
    elif grid.extent is not None:
        spans = [
            f"{name} from {_format_coordinate(low, unit)} to {_format_coordinate(high, unit)}"
            for name, (low, high), unit in zip(grid.names, grid.extent, grid.units, strict=True)
        ]
        lines.append(f"extent within limits: {', '.join(spans)}")
    figures = data["conditioning"]
    if figures["median"] is not None:
        lines.append(
            f"inverse condition number within limits (1 is isotropic, 0 singular): lowest "
            f"{figures['lowest']:.4f}, median {figures['median']:.4f}, highest {figures['highest']:.4f}"
        )
    return lines + singularity_lines(data)


def singularity_lines(data: dict[str, Any]) -> list[str]:
    """The nearest singularities of a grid, a line for each kind; none where they were not measured."""
    lines = []
    for kind, lowest in data.get("singularities", {}).items():
        where = ", ".join(f"{value:.4g}" for value in lowest["at"])
        leg = f", leg {lowest['leg']}" if lowest["leg"] else ""
        lines.append(f"nearest {kind} singularity: measure {lowest['measure']:.4f} at x = {where}{leg}")
    return lines


def _format_coordinate(value: float, unit: str) -> str:
    """A coordinate for people: degrees or metres."""
    return f"{math.degrees(value):.5g} deg" if unit == "rad" else f"{value:.5g} m"


def reach_data(boundary: WorkspaceBoundary) -> dict[str, Any]:
    """How far rays go, m, and what they enclose, m^2 or m^3."""
    return {
        "robot": boundary.robot.name,
        "rays": len(boundary.distance),
        "volume": boundary.volume,
        "shortest": float(boundary.distance.min()),
        "longest": float(boundary.distance.max()),
        "endless": int(boundary.is_unbounded.sum()),
    }


def reach_lines(boundary: WorkspaceBoundary) -> list[str]:
    """The same for people."""
    data, unit = reach_data(boundary), "m^2" if len(boundary.names) == 2 else "m^3"
    lines = [
        f"{data['robot']}: {data['volume']:.6g} {unit} enclosed by {data['rays']} rays of "
        f"{data['shortest']:.4g} m to {data['longest']:.4g} m"
    ]
    if data["endless"]:
        lines.append(
            f"{data['endless']} of {data['rays']} rays meet no boundary within {boundary.furthest:.4g} m: "
            "the size is a lower bound (give limits to the joints or actuators)"
        )
    return lines
