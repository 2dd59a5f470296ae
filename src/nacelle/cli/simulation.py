"""Commands that let a robot move: `simulate`, `control`.

`simulate`: a robot under forces of its actuators. `control`: controllers of a robot in closed loop along a
path.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    PICTURES,
    JsonOption,
    RobotArgument,
    check_output_file,
    exit_interrupted,
    print_json,
    report_written,
)
from nacelle.cli.inputs import (
    AtOption,
    ExternalOption,
    ForceGainsOption,
    LawOption,
    ModeOption,
    NoFrictionOption,
    PayloadOption,
    PictureOption,
    TableOption,
    ToolOption,
    coordinate_kinds,
    load_robot,
    read_assignments,
    read_law_options,
    read_pose,
    read_wrenches,
)
from nacelle.cli.outputs import FAILED_SAMPLES, print_notes, print_parts, print_result
from nacelle.cli.view import write_picture
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.control.compare import Comparison
    from nacelle.control.scenario.scenario import Scenario
    from nacelle.model.robot import Robot


# ---- simulate


def forces_from_table(robot: Robot, path: Path) -> Any:
    """Forces over time from a table with the columns t and one for each actuator; linear in between."""
    import numpy as np

    from nacelle.tables.csv import TIME, Columns, read_table

    table = read_table(path)
    names = [actuator.name for actuator in robot.actuators]
    columns = Columns(table, {"t": (TIME,)} | dict.fromkeys(names, ()))
    for k, name in enumerate(table.names):
        if name == "t" or name in names:
            columns.take(name, k)
    columns.require(["t", *names])
    columns.stop("forces")
    entries = columns.values()
    columns.stop("forces")
    t = entries["t"]
    values = np.stack([entries[name] for name in names], axis=-1)
    if len(t) < 1 or np.any(np.diff(t) <= 0.0):
        raise NacelleError(f"{path}: times must rise from line to line")
    return lambda now: np.array([np.interp(now, t, values[:, k]) for k in range(len(names))])


def _holding_forces(robot: Robot, start: Any, external: dict[Any, Any]) -> Any:
    """Forces (actuators,) that hold a pose against gravity and what acts from outside, N or N m."""
    from nacelle.dynamics.equilibrium import equilibrium
    from nacelle.dynamics.forward import gravity_forces

    forces = gravity_forces(robot, start, coordinates="actuators")
    if external:
        forces = forces + equilibrium(robot, start, external=external) - equilibrium(robot, start)
    return forces


def _rigid_plant(
    robot: Robot, external: dict[Any, Any], options: dict[str, Any], limits: bool
) -> tuple[Any, Any]:
    """The plant of a robot with rigid links, and what ends its runs."""
    from nacelle.simulation.rigid_plant import rigid_plant, standard_events

    plant = rigid_plant(robot, external=external, **options)
    return plant, standard_events(plant.robot, limits=limits)


def _elastic_plant(
    robot: Robot, external: dict[Any, Any], options: dict[str, Any], limits: bool
) -> tuple[Any, Any]:
    """The same of a robot with flexible links."""
    from nacelle.elastic.plant import elastic_plant

    if external:
        raise NacelleError("--external is not available with --elastic")
    plant = elastic_plant(robot, **options)
    return plant, plant.events() if limits else []


@command("simulate")
def simulate_command(
    robot_name: RobotArgument,
    *,
    until: Annotated[float, typer.Option("--until", help="End time of the run, s.")],
    at: AtOption = None,
    twist: Annotated[
        list[str] | None,
        typer.Option(
            "--twist",
            metavar="NAME=VALUE",
            help="Initial speed of a coordinate, such as x=0.2 or x=200mm/s (repeatable); by default zero.",
        ),
    ] = None,
    force: Annotated[
        list[str] | None,
        typer.Option(
            "--force",
            metavar="NAME=VALUE",
            help="Constant force of an actuator, N or N m (repeatable); by default zero.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--input", help="Table of actuator forces over time (CSV): column t, one per actuator."),
    ] = None,
    hold: Annotated[
        bool,
        typer.Option(
            "--hold", help="Add the forces that hold the initial pose against gravity and --external."
        ),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="Integrator: rk4 or irk5 (fixed steps), dop853 or radau (step control), or auto: irk5 for "
            "flexible links that are far stiffer in tension than in bending, else dop853.",
        ),
    ] = "auto",
    step: Annotated[
        float | None,
        typer.Option(
            "--step",
            help="Step of rk4 and irk5, s; by default 0.001, with --elastic 1/40 of the shortest vibration "
            "period (rk4) or 1/20 of the shortest bending period (irk5).",
        ),
    ] = None,
    smooth: Annotated[
        float,
        typer.Option(
            "--smooth",
            help="Speed over which Coulomb friction is smoothed, rad/s or m/s; 0 for a step.",
        ),
    ] = 1e-3,
    no_friction: NoFrictionOption = False,
    tool: ToolOption = "",
    payload: PayloadOption = None,
    external: ExternalOption = None,
    no_limits: Annotated[
        bool, typer.Option("--no-limits", help="Do not end the run at limits of joints and actuators.")
    ] = False,
    elastic: Annotated[
        bool, typer.Option("--elastic", help="Include flexible links: bodies with a section and a material.")
    ] = False,
    static: Annotated[
        bool, typer.Option("--static", help="With --elastic: start in the static equilibrium under gravity.")
    ] = False,
    samples: Annotated[
        int, typer.Option("--samples", help="Number of output samples, evenly spaced in time.")
    ] = 1001,
    csv: TableOption = None,
    plot: PictureOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Simulate a robot under given actuator forces; joint limits and singularities end the run."""
    import numpy as np

    from nacelle.report.simulation import run_data, run_lines
    from nacelle.simulation.integration import FIXED_STEP_METHODS, Integration
    from nacelle.simulation.simulate import simulate

    if static and not elastic:
        raise NacelleError("--static requires --elastic: a rigid robot does not deform")
    if step is not None and method not in FIXED_STEP_METHODS:
        raise NacelleError(
            f"--step is for fixed steps: --method {' or '.join(FIXED_STEP_METHODS)}, not {method}"
        )
    robot = load_robot(robot_name, mode, payload)
    outside = read_wrenches(robot, external)
    check_output_file(csv)
    check_output_file(plot, PICTURES)
    start = read_pose(robot, at, tool)
    rates = read_assignments(twist, coordinate_kinds(robot), "coordinate", "speed")
    v = np.array([rates.get(name, 0.0) for name in robot.motion.coordinates])
    drives = dict(zip((a.name for a in robot.actuators), robot.revolute_actuators, strict=True))
    settings = read_assignments(force, drives, "actuator", "force")
    constant = np.array([settings.get(name, 0.0) for name in drives])
    if hold:
        constant = constant + _holding_forces(robot, start, outside)
    forces: Any = constant
    if table is not None:
        over_time = forces_from_table(robot, table)

        def forces(t: float) -> Any:
            return constant + over_time(t)

    friction: dict[str, Any] = {"friction": not no_friction, "smooth": smooth or None}
    if elastic:
        plant, events = _elastic_plant(robot, outside, friction | {"static": static}, not no_limits)
    else:
        plant, events = _rigid_plant(robot, outside, friction, not no_limits)
    run = simulate(
        plant,
        start,
        v,
        forces,
        until=until,
        integration=Integration(method, step=step, rtol=1e-9, atol=1e-11),
        samples=samples,
        events=events,
    )
    if csv is not None:
        run.to_csv(csv)
        report_written(csv)
    write_picture(lambda: run.plot(shown=False), plot)
    print_result(run, run_data, run_lines, as_json)
    if run.status == "interrupted":
        exit_interrupted(f"the run to {run.t[-1]:.6g} s is kept")
    # Limits and singularities are ordinary ends of a run.
    if run.status == "failed":
        raise typer.Exit(FAILED_SAMPLES)


# ---- control


@command("control")
def control_command(
    robot_name: RobotArgument,
    *,
    scenario: Annotated[
        str,
        typer.Option(
            "--scenario", help="Scenario: circle or pick-and-place, which fit any robot, or a YAML file."
        ),
    ] = "circle",
    controllers: Annotated[
        str,
        typer.Option(
            "--controllers", help="Controllers, such as sj,cf-rb; by default those of the scenario."
        ),
    ] = "",
    bandwidth: Annotated[
        float | None,
        typer.Option(
            "--bandwidth", help="Bandwidth of all controllers, Hz; by default that of the scenario."
        ),
    ] = None,
    period: Annotated[
        float | None, typer.Option("--period", help="Sample time, s; by default that of the scenario.")
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(
            "--delay", help="Delay from a sample to its forces, s; by default that of the scenario."
        ),
    ] = None,
    option: LawOption = None,
    force_gains: ForceGainsOption = False,
    speed: Annotated[
        float | None,
        typer.Option("--speed", help="Speed along the path, m/s; by default that of the scenario."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of sensor noise and missing samples.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Output table of all signals over time (CSV), one per controller."),
    ] = None,
    plot: PictureOption = None,
    figure: Annotated[
        str, typer.Option("--figure", help="What --plot draws: errors, forces or path.")
    ] = "errors",
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Simulate controllers in closed loop along a path: tracking errors, energy, saturation."""
    from nacelle.control.gains import ControlWarning
    from nacelle.control.scenario.scenario import read_scenario
    from nacelle.elastic.plant import elastic_plant
    from nacelle.report.control import check_figure

    check_output_file(plot, PICTURES)
    check_figure(figure)
    robot = load_robot(robot_name, mode, payload)
    for name, value in (("--period", period), ("--bandwidth", bandwidth), ("--speed", speed)):
        if value is not None and not 0.0 < value < float("inf"):
            raise NacelleError(f"{name} must be above zero, got {value:g}")
    names = [name.strip() for name in controllers.split(",") if name.strip()] or None
    options = read_law_options(option) | ({"force_gains": True} if force_gains else {})
    case = read_scenario(scenario).with_changes(
        controllers=names,
        options=options,
        bandwidth=bandwidth,
        speed=speed,
        sample=period,
        delay=delay,
        seed=seed,
    )
    labels = [law.label or law.name for law in case.spec.controllers]
    targets = _output_files(out, labels)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ControlWarning)
        comparison = case.run(robot, elastic=elastic_plant)
    warned = [str(warning.message) for warning in caught]
    for run, target in zip(comparison.runs, targets, strict=False):
        run.to_csv(target)
        report_written(target)
    write_picture(lambda: comparison.plot(figure, shown=False), plot)
    if as_json:
        print_json({"scenario": case.name, **comparison.summary(), "warnings": warned})
    else:
        _print_control(case, comparison, warned)
    if any(run.status == "interrupted" for run in comparison.runs):
        exit_interrupted("runs that were finished are kept")
    if not comparison.ok:
        raise typer.Exit(FAILED_SAMPLES)


def _output_files(out: Path | None, labels: list[str]) -> list[Path]:
    """Files to write, one for each controller."""
    if out is None:
        return []
    targets = [out]
    if len(labels) > 1:
        targets = [out.with_name(f"{out.stem}-{label}{out.suffix}") for label in labels]
    for target in targets:
        check_output_file(target)
    return targets


def _print_control(scenario: Scenario, comparison: Comparison, warnings: list[str]) -> None:
    """Describe the run, tabulate its errors in mm and mrad, and add its notes."""
    from nacelle.report.control import result_table

    first = comparison.runs[0]
    length = f", {first.time[-1]:.3g} s" if first.samples else ""
    head = (
        f"{first.robot.name}, {scenario.name}{length}, samples of {first.controller.period * 1e3:g} ms, "
        f"delay {first.delay * 1e3:g} ms"
    )
    print_parts([head, result_table(comparison.runs)])
    print_notes([*warnings, *first.notes])
    print_notes(f"{run.label}: {run.message}" for run in comparison.runs if not run.ok)
