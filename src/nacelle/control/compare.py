"""Comparison of controllers with the same plant, path, noise and losses: their runs, a table of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.loop.closed_loop import ControlLoop, LoopOptions
from nacelle.control.loop.run import ControlRun, rms
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.results import Plottable
from nacelle.simulation.protocol import PlantLike
from nacelle.trajectory.base import Trajectory


@dataclass(frozen=True, eq=False)
class Comparison(Plottable):
    """Runs of several controllers under the same conditions.

    Attributes:
        runs: one for each controller, in the order given; after Ctrl-C only those that had begun.
    """

    runs: tuple[ControlRun, ...]

    def __getitem__(self, label: str) -> ControlRun:
        """The run with a label.

        Raises:
            KinematicsError: if no run has it.
        """
        for run in self.runs:
            if run.label == label:
                return run
        labels = [run.label for run in self.runs]
        raise KinematicsError(f"no run is called {label!r}; {did_you_mean(label, labels)}")

    @property
    def ok(self) -> bool:
        """Whether all runs reached the end of the path."""
        return all(run.ok for run in self.runs)

    @property
    def columns(self) -> list[str]:
        """Headings of `rows`, with units."""
        robot = self.runs[0].robot
        units = ["rad" if revolute else "m" for revolute in robot.revolute_actuators]
        names = [f"{a.name} ({unit})" for a, unit in zip(robot.actuators, units, strict=True)]
        contour = "rad" if self.runs[0].is_rotation_only else "m"
        tool = ["tool (m)", "turn (rad)", f"contour ({contour})"]
        return ["controller", "figure", *names, *tool, "energy (J)", "saturated", "status"]

    @property
    def rows(self) -> list[list[Any]]:
        """Two rows for each controller, under `columns`: rms and largest absolute value of its errors.

        Errors are those of each actuator, of the tool (distance, rotation angle) and of the contour. The rms
        row also has the energy, the largest share of saturated samples of an actuator, and the status.
        A run without samples has one row, of NaN.
        """
        rows: list[list[Any]] = []
        for run in self.runs:
            if not run.samples:
                rows.append([run.label, "rms", *[np.nan] * (len(self.columns) - 3), run.status])
                continue
            errors = (run.error, run.tool_error, run.rotation_error, run.contour_error)
            first, *others = (rms(values) for values in errors)
            end = [run.energy, float(np.max(run.saturation)), run.status]
            rows.append([run.label, "rms", *first.tolist(), *map(float, others), *end])
            most, *others = (np.max(np.abs(values), axis=0) for values in errors)
            rows.append([run.label, "max", *most.tolist(), *map(float, others), None, None, ""])
        return rows

    def summary(self) -> dict[str, Any]:
        """The figures of all runs as plain data, SI units."""
        return {
            "robot": self.runs[0].robot.name,
            "notes": list(self.runs[0].notes),
            "runs": [run.summary() for run in self.runs],
        }

    def __repr__(self) -> str:
        """Give robot and controllers."""
        return f"<Comparison {self.runs[0].robot.name}: {', '.join(run.label for run in self.runs)}>"


def compare(
    plant: PlantLike | Robot,
    controllers: Sequence[Controller],
    trajectory: Trajectory,
    *,
    labels: Sequence[str] | None = None,
    options: LoopOptions | None = None,
) -> Comparison:
    """Run several controllers against the same plant along the same path, with the same noise and losses.

    Args:
        plant: the plant, or a robot as a rigid one, as in `closed_loop`.
        controllers: the controllers; noise and losses are the same for those with the same sample time.
        trajectory: the path in time.
        labels: one for each controller, all different; the controllers' names if None.
        options: sensors, delay and others, as in `closed_loop`; `LoopOptions()` if None.

    Raises:
        KinematicsError: if there is no controller, two labels are the same, or as in `closed_loop`.
    """
    if not controllers:
        raise KinematicsError("a comparison has one controller or more")
    names = [controller.name for controller in controllers] if labels is None else list(labels)
    if len(names) != len(controllers) or len(set(names)) != len(names):
        raise KinematicsError(f"each of {len(controllers)} controllers has a label of its own, got {names}")
    loops: dict[tuple[str, float], ControlLoop] = {}
    runs = []
    with task("controllers") as report:
        for k, (controller, label) in enumerate(zip(controllers, names, strict=True)):
            model, period = controller.robot, controller.period
            if (model.hash, period) not in loops:
                loops[model.hash, period] = ControlLoop(
                    plant, model, trajectory, period=period, options=options
                )
            with task(label):
                runs.append(loops[model.hash, period].run(controller, label=label))
            report((k + 1) / len(controllers))
            if runs[-1].status == "interrupted":
                # Ctrl-C in one run ends the comparison; the runs so far are kept.
                break
    return Comparison(tuple(runs))
