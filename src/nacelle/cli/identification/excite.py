"""The command `excite`: a motion that excites the parameters of a robot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    replaced,
    wrote,
)
from nacelle.cli.identification.options import AssumeOption, SharedOption, sharing
from nacelle.cli.inputs import FORCE, RATE, AtOption, ModeOption, load_robot, pose_at, value_with_unit
from nacelle.cli.loads import PayloadOption, loaded
from nacelle.cli.trajectory import check_rate
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.identification.excitation.result import Excitation
    from nacelle.model.robot import Robot

_ACCELERATION = ("acceleration", "angular acceleration")
_LIMIT = "for all actuators, a quantity, a percentage of the usual limit, or NAME=QUANTITY; repeat."


@command("excite")
def excite_command(
    robot_name: RobotArgument,
    *,
    strategy: Annotated[
        str,
        typer.Option(
            help="combined: one motion; separate: strokes of constant speed and rests, then a motion."
        ),
    ] = "combined",
    kind: Annotated[str, typer.Option(help="fourier (periodic, band-limited) or bspline.")] = "fourier",
    harmonics: Annotated[
        int, typer.Option(help="Harmonics; a B-spline has twice as many control points.")
    ] = 10,
    duration: Annotated[
        float | None, typer.Option(help="Of a period, s; chosen by the limits if none.")
    ] = None,
    frequency: Annotated[float | None, typer.Option(help="Of the first harmonic, Hz: 1 / duration.")] = None,
    criterion: Annotated[str, typer.Option(help="condition or log-det.")] = "condition",
    at: AtOption = None,
    speed: Annotated[list[str] | None, typer.Option(help=f"Speed limit {_LIMIT}")] = None,
    acceleration: Annotated[list[str] | None, typer.Option(help=f"Acceleration limit {_LIMIT}")] = None,
    force: Annotated[list[str] | None, typer.Option(help=f"Force limit {_LIMIT}")] = None,
    margin: Annotated[
        float, typer.Option(help="Part of every joint's range that is kept free at each end.")
    ] = 0.02,
    conditioning: Annotated[
        float | None,
        typer.Option(
            help="Smallest inverse condition of the scaled Jacobian; a quarter of that at the centre."
        ),
    ] = None,
    noise: Annotated[
        list[str] | None, typer.Option(help=f"Standard deviation of measured forces {_LIMIT}")
    ] = None,
    assume: AssumeOption = None,
    shared: SharedOption = None,
    starts: Annotated[
        int | None, typer.Option(help="Random motions, the best ones, that are improved; usually 8 to 32.")
    ] = None,
    iterations: Annotated[int, typer.Option(help="Of the optimiser from each motion, at most.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the random motions.")] = 0,
    payload: PayloadOption = None,
    rate: Annotated[float, typer.Option("--rate", help="Rows of the table a second.")] = 1000.0,
    csv: Annotated[Path | None, typer.Option("--csv", help="Table of the motion to write.")] = None,
    periods: Annotated[
        int, typer.Option(help="How often the table has a Fourier motion, to average over periods.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="YAML file to write, from which the motion can be read again."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Picture to write (png, svg, pdf).")] = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Motion that excites the parameters: well conditioned, within all limits, at rest at both ends."""
    from nacelle.identification.excitation.excite import excite

    robot = loaded(load_robot(robot_name, mode), payload)
    for target, endings in ((csv, ()), (out, (".yaml", ".yml")), (plot, PICTURES)):
        check_new(target, endings)
    check_rate(rate)
    if periods < 1 or (periods > 1 and kind != "fourier"):
        raise NacelleError(f"--periods is 1 or more, and 1 for motions other than fourier, got {periods}")
    if frequency is not None:
        if duration is not None:
            raise NacelleError("give --duration or --frequency, not both")
        if not frequency > 0.0:
            raise NacelleError(f"the frequency must be above zero, got {frequency:g} Hz")
        duration = 1.0 / frequency
    result = excite(
        robot,
        strategy=strategy,
        kind=kind,
        harmonics=harmonics,
        duration=duration,
        criterion=criterion,
        center=pose_at(robot, at) if at else None,
        speed=_limit(robot, "--speed", speed, RATE),
        acceleration=_limit(robot, "--acceleration", acceleration, _ACCELERATION),
        force=_limit(robot, "--force", force, FORCE),
        margin=margin,
        conditioning=conditioning,
        noise=_limit(robot, "--noise", noise, FORCE),
        assume=assume or "undescribed",
        shared=sharing(shared),
        starts=starts,
        iterations=iterations,
        seed=seed,
    )
    if csv is not None:
        result.to_csv(csv, rate=rate, periods=periods)
    if out is not None:
        result.save(out, overwrite=replaced(out))
    if plot is not None:
        _draw(result, plot)
    if as_json:
        print_json(result.data())
    else:
        _show(result)
    for target in (csv, out, plot):
        if target is not None:
            wrote(target)
    if result.status == "interrupted":
        leave_interrupted("the best motion so far is kept")


def _limit(robot: Robot, option: str, given: list[str] | None, of: tuple[str, str]) -> Any:
    """A limit of the actuators (actuators,) as an option gives it; None where it gives none."""
    if not given:
        return None
    import numpy as np

    revolute = {a.name: robot.joints[a.joint].primitives[0].is_rotation for a in robot.actuators}
    values = np.full(len(revolute), np.nan)
    for text in given:
        name, sign, value = (part.strip() for part in text.rpartition("="))
        if sign and name not in revolute:
            raise NacelleError(f"{option} {text!r}: no actuator is called {name!r}")
        for k, (actuator, is_revolute) in enumerate(revolute.items()):
            if not sign or actuator == name:
                try:
                    values[k] = _one_limit(robot, k, value, is_revolute, of)
                except NacelleError as error:
                    raise NacelleError(f"{option} {text!r} for {actuator}: {error}") from None
    missing = [name for name, value in zip(revolute, values, strict=True) if np.isnan(value)]
    if missing:
        raise NacelleError(
            f"{option} says nothing of {', '.join(missing)}: give a value for all actuators first"
        )
    return values


def _one_limit(robot: Robot, k: int, text: str, turning: bool, of: tuple[str, str]) -> float:
    if not text.endswith("%"):
        return value_with_unit(text, angle=turning, of=of)
    from nacelle.identification.excitation.limits import limits
    from nacelle.kinematics.pose_input import reference_pose

    usual = limits(robot, reference_pose(robot))
    kinds = {RATE: usual.speed, _ACCELERATION: usual.acceleration, FORCE: usual.force}
    try:
        part = float(text[:-1]) / 100.0
    except ValueError:
        raise NacelleError(f"{text!r} is no percentage; write for example 50%") from None
    return part * float(kinds[of][k])


def _draw(result: Excitation, target: Path) -> None:
    with task(f"drawing {target}"):
        from nacelle.dynamics.sizing import size_motors
        from nacelle.report.draw.canvas import save
        from nacelle.report.draw.curves import plot_forces

        title = f"{result.robot.name}: forces along the excitation, condition {result.condition:.3g}"
        save(plot_forces(size_motors(result.robot, result.trajectory), title=title, shown=False), target)


def _show(result: Excitation) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    whole = result.trajectory
    ended = f"{result.status}: {result.message}" if result.message else result.status
    out.print(
        f"{result.robot.name}: {result.strategy} excitation of {len(result.base)} base parameters, "
        f"{whole.duration:.4g} s; {ended}",
        markup=False,
    )
    better = "condition" if result.criterion == "condition" else "log det"
    out.print(
        f"condition {result.condition:.4g}, log det {result.log_det:.4g}; {better} of the best random motion "
        f"{result.random:.4g}",
        markup=False,
    )
    table = Table("limit", "most used by", "use", "at (s)", "the limit is")
    for use in result.uses:
        origin = result.limits.origin.get(use.kind, "")
        table.add_row(
            Text(use.kind), Text(use.name), f"{100.0 * use.use:.1f} %", f"{use.time:.3f}", Text(origin)
        )
    out.print(table)
    out.print(f"least well determined: {result.weakest()}", markup=False)
