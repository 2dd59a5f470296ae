"""Runs the inclined circle under three controllers that have the identified model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.identified import MODEL
from nacelle.cli.demo.machine import MACHINE, PATH, SCENARIO, machine
from nacelle.cli.demo.words import typed
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.demo.circle import CircleRuns


def controlled_circle(robot: Robot, folder: DemoFolder) -> CircleRuns:
    """Run all controllers with the identified model; with the described one if nothing was identified.

    Args:
        robot: the robot as described.
        folder: where the scenario and the identified robot are.
    """
    from nacelle.library import load
    from nacelle.report.demo.circle import CircleRuns, Flight

    scenario = machine(robot, folder)
    model = load(str(folder / MODEL)) if (folder / MODEL).exists() else robot
    comparison = scenario.run(model)
    if any(run.status == "interrupted" for run in comparison.runs):
        raise KeyboardInterrupt
    for run in comparison.runs:
        if not run.ok:
            raise NacelleError(f"{run.label} did not come to the end of the circle: {run.message}")
    first = comparison.runs[0]
    named = folder / MODEL if model is not robot else robot.name
    return CircleRuns(
        robot=model,
        path=PATH,
        machine=f"{'identified' if model is not robot else 'described'} model; {MACHINE}",
        time=first.time,
        desired=first.desired_places.p,
        flights=tuple(
            Flight(
                label=run.label,
                x=run.x,
                tool=run.places.p,
                error=run.error,
                force=run.acting,
            )
            for run in comparison.runs
        ),
        commands=(typed("control", named, "--scenario", folder / SCENARIO),),
    )
