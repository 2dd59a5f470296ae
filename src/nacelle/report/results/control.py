"""Quantities of closed loops and of what cameras see."""

from __future__ import annotations

import numpy as np

from nacelle.control.loop.run import ControlRun
from nacelle.report.results import names
from nacelle.report.results.quantity import TIME, ResultQuantity, quantity_of_rows
from nacelle.vision.observation import Observation


def control_run(run: ControlRun) -> list[ResultQuantity]:
    """Errors and acting forces of the actuators, and errors of the tool."""
    over = {"across": TIME, "places": run.time}
    contour = "rad" if run.is_rotation_only else "m"
    tool = [("tool", "m"), ("turn", "rad"), ("contour", contour)]
    if not run.samples:
        return []
    return [
        quantity_of_rows(
            "errors", names.actuators(run.robot, "coordinate"), run.error, words="error", **over
        ),
        quantity_of_rows(
            "tool",
            tool,
            np.column_stack([run.tool_error, run.rotation_error, run.contour_error]),
            words="error of the tool",
            **over,
        ),
        quantity_of_rows("forces", names.actuators(run.robot), run.acting, **over),
    ]


def observation(seen: Observation) -> list[ResultQuantity]:
    """Standard deviations of the pose that the edges give, and its errors."""
    if seen.pose is None:
        return []
    labels = names.twist(seen.robot.motion, "coordinate", seen.robot)
    quantities = [
        quantity_of_rows("standard deviations", labels, seen.pose.sigma, words="standard deviation")
    ]
    if seen.error is not None:
        quantities.append(quantity_of_rows("errors", labels, seen.error, words="error"))
    return quantities
