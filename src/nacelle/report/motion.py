"""The fastest motions along paths, as plain data and as tables."""

from __future__ import annotations

from typing import Any

from rich.text import Text

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
