"""Quantities of experiments and estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.identification.consistency.consistent import ConsistentParameters
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.preparation import Samples
from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.excitation.result import Excitation
from nacelle.identification.identify import Identification
from nacelle.identification.rehearsal.rehearsal import Rehearsal
from nacelle.identification.validation import Validation
from nacelle.report.results import names
from nacelle.report.results.kinematics import trajectory
from nacelle.report.results.quantity import SAMPLE, TIME, ResultQuantity, quantity_of_rows
from nacelle.report.results.units import base_units, row_units
from nacelle.spatial.scalar import Array


def over_time(times: Array) -> dict[str, Any]:
    """The axis of samples: time, or their number where several runs follow one another."""
    times = np.asarray(times, dtype=float)
    rising = bool(np.all(np.diff(times) > 0.0)) and bool(np.all(np.isfinite(times)))
    return {"across": TIME, "places": times} if rising else {"across": SAMPLE}


def excitation(result: Excitation) -> list[ResultQuantity]:
    """The pose over time, how much of the limits is used, and the singular values."""
    values = np.asarray(result.singular_values, dtype=float)
    uses = [(f"{use.kind}, {use.name}" if use.name else use.kind, "-") for use in result.uses]
    number = {"across": "number of the singular value (-)", "logarithmic": True}
    return [
        trajectory(result.trajectory)[0],
        quantity_of_rows("singular values", [("singular value", "-")], values[:, None], **number),
        quantity_of_rows(
            "uses", uses, [use.use for use in result.uses], words="use of a limit, 1 at the limit"
        ),
    ]


def measurement(result: Measurement) -> list[ResultQuantity]:
    """Measured coordinates and forces of the actuators."""
    over = over_time(result.time)
    return [
        quantity_of_rows("coordinates", names.actuators(result.robot, "coordinate"), result.q, **over),
        quantity_of_rows("forces", names.actuators(result.robot), result.force, **over),
    ]


def samples(result: Samples) -> list[ResultQuantity]:
    """Pose, twist and forces after filtering."""
    robot, over = result.robot, over_time(result.time)
    return [
        quantity_of_rows("pose", names.pose(robot.motion, robot), result.motion.x, **over),
        quantity_of_rows("twist", names.twist(robot.motion, "rate", robot), result.motion.v, **over),
        quantity_of_rows("forces", names.actuators(robot), result.force, **over),
    ]


def rehearsal(result: Rehearsal) -> list[ResultQuantity]:
    """True forces of the motors, and how far the coordinates are from the reference."""
    robot, over = result.robot, over_time(result.time)
    lengths = names.actuators(robot, "coordinate")
    return [
        quantity_of_rows("forces", names.actuators(robot), result.force, **over),
        quantity_of_rows("tracking error", lengths, result.tracking_error, words="tracking error", **over),
    ]


def validation(result: Validation) -> list[ResultQuantity]:
    """Measured forces less predicted ones; rows that do not count are zero."""
    labels = list(zip(result.rows, row_units(result.regression), strict=True))
    over = over_time(result.regression.time)
    return [
        quantity_of_rows("measured", labels, result.measured, **over),
        quantity_of_rows("residuals", labels, result.residuals, words="residual", **over),
    ]


def estimator(result: Estimator) -> list[ResultQuantity]:
    """The estimates; none before they are fitted."""
    if not hasattr(result, "coef_"):
        return []
    labels = list(zip(result.base_.names, base_units(result.base_), strict=True))
    return [
        quantity_of_rows("estimates", labels, result.coef_),
        quantity_of_rows("standard deviations", labels, result.std_),
    ]


def identification(result: Identification) -> list[ResultQuantity]:
    """The estimates of the base parameters, with their standard deviations."""
    return estimator(result.estimator)


def consistent_parameters(result: ConsistentParameters) -> list[ResultQuantity]:
    """By how many of its own standard deviations each base parameter was moved."""
    labels = [(name, "-") for name in result.base.names]
    return [quantity_of_rows("moved", labels, result.moved, words="moved by standard deviations")]
