"""The fastest motions along paths, as plain data and as tables."""

from __future__ import annotations

import math
from typing import Any

from rich.text import Text

from nacelle.model.reduced import ROTATIONS
from nacelle.motion.path_search import OBJECTIVES, OptimisedPath
from nacelle.motion.time_optimal import TimeOptimal
from nacelle.report.table import Part, plain_table


def motion_data(result: TimeOptimal) -> dict[str, Any]:
    """Duration, what is left to the optimum, and the limits that cost time, SI units."""
    return {
        "robot": result.robot.name,
        "duration": result.duration,
        "length": result.trajectory.path.length,
        "nodes": len(result.trajectory.s),
        "lower_bound": result.lower_bound,
        "limits": [
            {
                "limit": item.limit[0],
                "of": item.limit[1],
                "share": item.share,
                "sensitivity": item.sensitivity,
            }
            for item in result.saturations
        ],
    }


def motion_parts(result: TimeOptimal) -> list[Part]:
    """Duration and the saturated limits, with what 1 % more of each saves."""
    table = plain_table("limit", "of", "saturated>", "1 % more saves>")
    for item in result.saturations:
        table.add_row(
            item.limit[0],
            Text(item.limit[1]),
            f"{100.0 * item.share:.0f} %",
            f"{-10.0 * item.sensitivity:.3g} ms",
        )
    friction = "" if result.friction else ", without friction"
    head = f"{result.robot.name}: {result.duration:.6g} s from rest to rest{friction}"
    bound = result.lower_bound
    gap = (
        f"; no motion is more than {100.0 * (1.0 - bound / result.duration):.2g} % faster"
        if bound > 0.0
        else ""
    )
    return [head + gap, table] if result.saturations else [head + gap]


def path_data(result: OptimisedPath) -> dict[str, Any]:
    """The motion along an optimised path, what was minimised, and the corners, SI units."""
    return {
        **motion_data(result.motion),
        "objective": result.objective,
        "value": result.value,
        "before": result.before,
        "points": result.path.points,
        "blends": result.blends,
    }


def path_parts(result: OptimisedPath) -> list[Part]:
    """What an optimised path saves, its corners, and the motion along it."""
    names = result.robot.motion.coordinates
    table = plain_table("corner", "blend>", *(f"{name} moved by>" for name in names))
    for k, (blend, shift) in enumerate(zip(result.blends, result.shift, strict=True)):
        table.add_row(
            str(k + 1),
            f"{1e3 * blend:.4g} mm",
            *(_distance(name, d) for name, d in zip(names, shift, strict=True)),
        )
    unit = OBJECTIVES[result.objective]
    change = 100.0 * (result.value / result.before - 1.0)
    head = f"{result.objective}: {result.value:.6g} {unit}, {change:+.2g} % to that of the given path"
    return [head, table, *motion_parts(result.motion)]


def _distance(name: str, value: float) -> str:
    """A displacement along a coordinate with its unit."""
    unit, scale = ("deg", 180.0 / math.pi) if name in ROTATIONS else ("mm", 1e3)
    return f"{scale * value:.4g} {unit}"
