"""The command `control`: controllers of a robot in closed loop along a path."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    PICTURES,
    JsonOption,
    RobotArgument,
    check_new,
    console,
    leave_interrupted,
    print_json,
    wrote,
)
from nacelle.cli.inputs import ModeOption, load_robot
from nacelle.cli.loads import PayloadOption, loaded
from nacelle.cli.outputs import FAILED_SAMPLES
from nacelle.errors import NacelleError, did_you_mean
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.control.compare import Comparison
    from nacelle.control.scenario.scenario import Scenario


@command("control")
def control_command(
    robot_name: RobotArgument,
    *,
    scenario: Annotated[
        str, typer.Option("--scenario", help="A YAML file, or circle, pick-and-place, which fit any robot.")
    ] = "circle",
    controllers: Annotated[
        str, typer.Option("--controllers", help="Names with commas between them; those of the scenario.")
    ] = "",
    bandwidth: Annotated[
        float | None, typer.Option("--bandwidth", help="Of all controllers, Hz; else chosen.")
    ] = None,
    period: Annotated[float | None, typer.Option("--period", help="Sample time, s.")] = None,
    delay: Annotated[
        float | None, typer.Option("--delay", help="From a sample to the time its forces act, s.")
    ] = None,
    speed: Annotated[float | None, typer.Option("--speed", help="Along the path, m/s.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of noise and losses.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Table over time to write (csv); of several controllers, one each."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Picture to write (png, svg, pdf); a new one, unless --overwrite."),
    ] = None,
    figure: Annotated[str, typer.Option("--figure", help="What to draw: errors, forces or path.")] = "errors",
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Controllers in closed loop along a path: errors of actuators and tool, energy, saturation."""
    from nacelle.control.gains import ControlWarning
    from nacelle.control.scenario.scenario import read_scenario
    from nacelle.elastic.plant import ElasticPlant

    check_new(plot, PICTURES)
    _check_figure(figure)
    robot = loaded(load_robot(robot_name, mode), payload)
    for name, value in (("--period", period), ("--bandwidth", bandwidth), ("--speed", speed)):
        if value is not None and not 0.0 < value < float("inf"):
            raise NacelleError(f"{name} is above zero, got {value:g}")
    names = [name.strip() for name in controllers.split(",") if name.strip()] or None
    chosen = read_scenario(scenario).changed(
        controllers=names, bandwidth=bandwidth, speed=speed, sample=period, delay=delay, seed=seed
    )
    labels = [given.label or given.name for given in chosen.spec.controllers]
    targets = _targets(out, labels)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ControlWarning)
        comparison = chosen.run(robot, elastic=ElasticPlant)
    warned = [str(one.message) for one in caught]
    for run, target in zip(comparison.runs, targets, strict=False):
        run.to_csv(target)
        wrote(target)
    if plot is not None:
        with task(f"drawing {plot}"):
            from nacelle.report.control.figures import plot_runs
            from nacelle.report.draw.canvas import save

            save(plot_runs(comparison.runs, figure, shown=False), plot)
        wrote(plot)
    if as_json:
        print_json({"scenario": chosen.name, **comparison.summary(), "warnings": warned})
    else:
        _print(chosen, comparison, warned)
    if any(run.status == "interrupted" for run in comparison.runs):
        leave_interrupted("runs that were finished are kept")
    if not comparison.ok:
        raise typer.Exit(FAILED_SAMPLES)


def _check_figure(figure: str) -> None:
    from nacelle.report.control.figures import FIGURES

    if figure not in FIGURES:
        raise NacelleError(f"no figure is called {figure!r}; {did_you_mean(figure, FIGURES)}")


def _targets(out: Path | None, labels: list[str]) -> list[Path]:
    """Files to write, one for each controller."""
    if out is None:
        return []
    targets = [out]
    if len(labels) > 1:
        targets = [out.with_name(f"{out.stem}-{label}{out.suffix}") for label in labels]
    for target in targets:
        check_new(target)
    return targets


def _print(scenario: Scenario, comparison: Comparison, warned: list[str]) -> None:
    """What was run, the table in mm and mrad, and what is to be said beside it."""
    from nacelle.report.control.figures import result_table

    first = comparison.runs[0]
    screen = console()
    length = f", {first.time[-1]:.3g} s" if first.samples else ""
    screen.print(
        f"{first.robot.name}, {scenario.name}{length}, samples of {first.controller.period * 1e3:g} ms, "
        f"delay {first.delay * 1e3:g} ms",
        markup=False,
    )
    screen.print(result_table(comparison.runs))
    lines = [*warned, *first.notes]
    lines += [f"{run.label}: {run.message}" for run in comparison.runs if not run.ok]
    for line in lines:
        console(stderr=True).print(line, style="yellow", markup=False)
