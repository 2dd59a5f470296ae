"""Commands of identification: `base`, `excite`, `simulate-experiment`, `identify`, `validate`.

`base`: the base parameters of a robot. `excite`: a motion that excites its parameters.
`simulate-experiment`: data of an experiment on a simulated robot. `identify`: parameters from measured motion
and forces. `validate`: how well a robot's numbers predict measured forces. Options that they share (data,
filters, base parameters) come first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    FILE_EXISTS_MESSAGE,
    PICTURES,
    JsonOption,
    RobotArgument,
    check_output_file,
    console,
    exit_interrupted,
    print_json,
    report_written,
    will_overwrite,
    write_output_file,
)
from nacelle.cli.complete import complete_coordinates
from nacelle.cli.inputs import (
    ModeOption,
    PayloadOption,
    PictureOption,
    load_robot,
    read_pose,
    read_quantity,
)
from nacelle.cli.outputs import print_parts, print_result
from nacelle.cli.trajectory import check_rate
from nacelle.cli.view import write_picture
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.identification.data.measurement import Measurement
    from nacelle.identification.data.preparation import Preparation
    from nacelle.identification.estimation.payload import PayloadEstimate
    from nacelle.identification.excitation.result import Excitation
    from nacelle.identification.identify import Identification
    from nacelle.model.robot import Robot


# ---- options that several of them share: data, filters, base parameters


_YAML = (".yaml", ".yml")
_PAGE = (".html", ".htm")
DataArgument = Annotated[
    list[Path],
    typer.Argument(metavar="data", help="Measured runs (csv, npz, mat, parquet, mcap); one or more files."),
]
ColumnsOption = Annotated[
    Path | None,
    typer.Option(
        "--columns", help="Column map (YAML): columns, units, gear ratios; by default by column name."
    ),
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="KIND", help="Kind of data fault to accept, or all (repeatable)."),
]
CutoffOption = Annotated[
    float | None,
    typer.Option("--cutoff", help="Cutoff frequency of the encoder filter, Hz; by default from the data."),
]
DecimationOption = Annotated[
    int | None,
    typer.Option("--decimation", help="Decimation factor of the samples; by default from the data."),
]
AssumeOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Parameters assumed zero: undescribed (not in the description; the default), zeros (all that "
        "are zero there), nothing, or a name or pattern such as 'strut*.1.mx' (repeatable)."
    ),
]
SharedOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Legs with equal parameters: legs (all identical legs), mirrored (mirror images too), nothing, "
        "or names such as 'leg1,leg2' or 'left,mirror right' (repeatable). By default as in the description."
    ),
]

ShareOption = Annotated[
    str,
    typer.Option(
        help="What such legs share: all, or inertia (of bodies and rotors; friction and springs stay each "
        "leg's own; of identical legs if --shared and the description are silent)."
    ),
]


def shared_legs(shared: list[str] | None) -> object:
    """Legs that share their parameters, as `base_parameters` takes them."""
    if not shared:
        return None
    alone = len(shared) == 1 and "," not in shared[0]
    return shared[0] if alone else [[leg.strip() for leg in text.split(",")] for text in shared]


def read_measurements(robot: Robot, data: list[Path], columns: Path | None) -> list[Measurement]:
    """Read measured runs."""
    from nacelle.identification.data.read import read_measurement

    return [read_measurement(robot, path, columns) for path in data]


def make_preparation(cutoff: float | None, decimation: int | None, instruments: str = "auto") -> Preparation:
    """How signals are filtered."""
    from nacelle.identification.data.preparation import Preparation

    return Preparation(cutoff=cutoff, decimation=decimation, instruments=instruments)


# ---- base


@command("base")
def base_command(
    robot_name: RobotArgument,
    *,
    assume: AssumeOption = None,
    shared: SharedOption = None,
    share: ShareOption = "all",
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Base parameters: the minimal set of parameters that the actuator forces depend on."""
    from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
    from nacelle.report.parameters import base_parts

    robot = load_robot(robot_name, mode, payload)
    with task(f"base parameters of {robot.name}"):
        base = base_parameters(robot, assume=assume or "undescribed", shared=shared_legs(shared), share=share)
    print_result(base, BaseParameters.data, base_parts, as_json)


# ---- excite


_LIMIT_HELP = "a quantity, a percentage of the default, or NAME=QUANTITY for one actuator (repeatable)"


@command("excite")
def excite_command(
    robot_name: RobotArgument,
    *,
    strategy: Annotated[
        str,
        typer.Option(
            help="combined: one motion; separate: strokes at constant speed and rests for friction and "
            "gravity, then a motion for inertia."
        ),
    ] = "combined",
    kind: Annotated[str, typer.Option(help="Trajectory: fourier (periodic) or bspline.")] = "fourier",
    harmonics: Annotated[
        int, typer.Option(help="Number of harmonics; a B-spline has twice as many control points.")
    ] = 10,
    duration: Annotated[
        float | None, typer.Option(help="Duration of a period, s; by default chosen from the limits.")
    ] = None,
    frequency: Annotated[
        float | None, typer.Option(help="Frequency of the first harmonic, Hz, instead of --duration.")
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            help="Criterion: condition (condition number) or log-det (determinant) of the regressor."
        ),
    ] = "condition",
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="NAME=VALUE",
            help="Coordinate of the centre of the motion, such as z=-0.6 (repeatable); others as in the "
            "reference pose.",
            autocompletion=complete_coordinates,
        ),
    ] = None,
    speed: Annotated[list[str] | None, typer.Option(help=f"Actuator speed limit: {_LIMIT_HELP}.")] = None,
    acceleration: Annotated[
        list[str] | None, typer.Option(help=f"Actuator acceleration limit: {_LIMIT_HELP}.")
    ] = None,
    force: Annotated[list[str] | None, typer.Option(help=f"Actuator force limit: {_LIMIT_HELP}.")] = None,
    margin: Annotated[
        float, typer.Option(help="Fraction of each joint's range that is kept free at both ends.")
    ] = 0.02,
    reserve: Annotated[
        float,
        typer.Option(
            help="Fraction of described speed and force limits that is kept free for the controller; limits "
            "given by options are taken as they are."
        ),
    ] = 0.2,
    conditioning: Annotated[
        float | None,
        typer.Option(
            help="Lower bound of the inverse condition number of the scaled Jacobian; by default a quarter "
            "of its value at the centre."
        ),
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            help="Standard deviation of measured forces: a quantity, a percentage of the force limit (by "
            "default 1 %), or NAME=QUANTITY for one actuator (repeatable)."
        ),
    ] = None,
    assume: AssumeOption = None,
    shared: SharedOption = None,
    share: ShareOption = "all",
    starts: Annotated[
        int | None, typer.Option(help="Number of random motions that are optimised; by default 8 to 32.")
    ] = None,
    iterations: Annotated[int, typer.Option(help="Maximum number of optimiser iterations per motion.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the random motions.")] = 0,
    payload: PayloadOption = None,
    rate: Annotated[float, typer.Option("--rate", help="Sample rate of the table, Hz.")] = 1000.0,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            help="Output table (CSV): the way from the home pose, the motion and the way back, with "
            "positions, rates and model forces of the actuators.",
        ),
    ] = None,
    periods: Annotated[int, typer.Option(help="Number of periods of a Fourier motion in the table.")] = 1,
    approach: Annotated[
        bool, typer.Option(help="Whether the table begins and ends at rest in the home (reference) pose.")
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Motion to write (YAML), for example for simulate-experiment."),
    ] = None,
    plot: PictureOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Optimise an exciting trajectory for identification, within all limits, from rest to rest."""
    from nacelle.dynamics.base_parameters.base_parameters import base_parameters
    from nacelle.identification.excitation.excite import excite
    from nacelle.identification.excitation.result import Excitation
    from nacelle.identification.excitation.settings import MotionLimits, MotionSearch, MotionShape
    from nacelle.report.parameters import excitation_parts

    robot = load_robot(robot_name, mode, payload)
    for target, endings in ((csv, ()), (out, (".yaml", ".yml")), (plot, PICTURES)):
        check_output_file(target, endings)
    check_rate(rate)
    if periods < 1 or (periods > 1 and kind != "fourier"):
        raise NacelleError(
            f"--periods must be at least 1, and 1 for motions other than fourier, got {periods}"
        )
    if frequency is not None:
        if duration is not None:
            raise NacelleError("give --duration or --frequency, not both")
        if not frequency > 0.0:
            raise NacelleError(f"the frequency must be above zero, got {frequency:g} Hz")
        duration = 1.0 / frequency
    shape = MotionShape(strategy=strategy, kind=kind, harmonics=harmonics, duration=duration)
    search = MotionSearch(criterion=criterion, starts=starts, iterations=iterations, seed=seed)
    limits = MotionLimits(
        speed=_read_limits(robot, "--speed", speed, "speed"),
        acceleration=_read_limits(robot, "--acceleration", acceleration, "acceleration"),
        force=_read_limits(robot, "--force", force, "force"),
        margin=margin,
        reserve=reserve,
        conditioning=conditioning,
    )
    parameters = None
    if assume or shared or share != "all":
        with task("base parameters"):
            parameters = base_parameters(
                robot, assume=assume or "undescribed", shared=shared_legs(shared), share=share
            )
    result = excite(
        robot,
        limits=limits,
        shape=shape,
        search=search,
        center=read_pose(robot, at) if at else None,
        noise=_read_limits(robot, "--noise", noise, "force"),
        parameters=parameters,
    )
    if csv is not None:
        result.to_csv(csv, rate=rate, periods=periods, approach=approach)
    if out is not None:
        result.save(out, overwrite=will_overwrite(out))
    print_result(result, Excitation.data, excitation_parts, as_json)
    for target in (csv, out):
        if target is not None:
            report_written(target)
    write_picture(lambda: _plot_forces(result), plot)
    if result.status == "interrupted":
        exit_interrupted("the best motion so far is kept")


def _read_limits(robot: Robot, option: str, settings: list[str] | None, quantity: str) -> Any:
    """A limit of the actuators (actuators,) as an option gives it; None where it gives none."""
    if not settings:
        return None
    import numpy as np

    revolute = {a.name: robot.joints[a.joint].primitives[0].is_rotation for a in robot.actuators}
    values = np.full(len(revolute), np.nan)
    for text in settings:
        name, sign, value = (part.strip() for part in text.rpartition("="))
        if sign and name not in revolute:
            raise NacelleError(f"{option} {text!r}: no actuator is called {name!r}")
        for k, (actuator, is_revolute) in enumerate(revolute.items()):
            if not sign or actuator == name:
                try:
                    values[k] = _read_limit(robot, k, value, is_revolute, quantity)
                except NacelleError as error:
                    raise NacelleError(f"{option} {text!r} for {actuator}: {error}") from None
    missing = [name for name, value in zip(revolute, values, strict=True) if np.isnan(value)]
    if missing:
        raise NacelleError(
            f"{option} has no value for {', '.join(missing)}; give a value for all actuators first"
        )
    return values


def _read_limit(robot: Robot, k: int, text: str, is_rotation: bool, quantity: str) -> float:
    if not text.endswith("%"):
        return read_quantity(text, angle=is_rotation, quantity=quantity)
    from nacelle.identification.excitation.limits import motion_limits
    from nacelle.identification.excitation.settings import MotionLimits
    from nacelle.kinematics.pose_input import reference_pose

    usual = motion_limits(robot, reference_pose(robot), MotionLimits(reserve=0.0))
    kinds = {"speed": usual.speed, "acceleration": usual.acceleration, "force": usual.force}
    try:
        part = float(text[:-1]) / 100.0
    except ValueError:
        raise NacelleError(f"{text!r} is not a percentage; write for example 50%") from None
    return part * float(kinds[quantity][k])


def _plot_forces(result: Excitation) -> Any:
    """The forces along an excitation, drawn."""
    from nacelle.dynamics.sizing import size_motors

    title = f"{result.robot.name}: forces along the excitation, condition {result.condition:.3g}"
    return size_motors(result.robot, result.trajectory).plot(title=title, shown=False)


# ---- simulate-experiment


@command("simulate-experiment")
def simulate_experiment_command(
    robot_name: RobotArgument,
    *,
    motion: Annotated[
        Path, typer.Option("--motion", help="Reference motion (YAML) from nacelle excite --out.")
    ],
    csv: Annotated[Path, typer.Option("--csv", help="Output table of the measured data (CSV).")],
    rate: Annotated[float, typer.Option("--rate", help="Sample rate of controller and data, Hz.")] = 1000.0,
    periods: Annotated[int, typer.Option(help="Number of periods of the motion.")] = 1,
    percent: Annotated[
        float,
        typer.Option(help="Largest deviation of the simulated robot's parameters from the description, %."),
    ] = 10.0,
    bandwidth: Annotated[float, typer.Option(help="Bandwidth of the controller, Hz.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Seed of the parameter deviations and the noise.")] = 0,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Simulate an identification experiment: closed loop, quantised encoders, noisy currents."""
    from nacelle.identification.excitation.result import read_motion
    from nacelle.identification.experiment.settings import JointServo
    from nacelle.identification.experiment.simulated import perturb_parameters, simulate_experiment

    check_output_file(csv)
    robot = load_robot(robot_name, mode, payload)
    trajectory = read_motion(motion)
    result = simulate_experiment(
        robot,
        trajectory,
        true=perturb_parameters(robot, percent, seed=seed),
        controller=JointServo(bandwidth=bandwidth),
        rate=rate,
        periods=periods,
        seed=seed,
    )
    result.to_csv(csv)
    report_written(csv)
    if as_json:
        print_json({"robot": robot.name, "samples": len(result.time), "csv": str(csv)})
    else:
        console().print(
            f"{robot.name}: {len(result.time)} samples in {csv}; the true parameters deviate from the "
            f"description by up to {percent:g} %",
            highlight=False,
        )


# ---- validate


@command("validate")
def validate_command(
    robot_name: RobotArgument,
    data: DataArgument,
    *,
    columns: ColumnsOption = None,
    cutoff: CutoffOption = None,
    decimation: DecimationOption = None,
    allow: AllowOption = None,
    report: Annotated[Path | None, typer.Option("--report", help="HTML page to write.")] = None,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Compare measured forces with the predictions of a robot: residuals, noise level, correlation."""
    from nacelle.identification.data.checks.check import check_measurement
    from nacelle.identification.identify import raise_for_misfit
    from nacelle.identification.validation import validate
    from nacelle.report.parameters import validation_lines

    check_output_file(report, _PAGE)
    robot = load_robot(robot_name, mode, payload)
    measured = read_measurements(robot, data, columns)
    if "all" not in (allow or ()):
        for measurement in measured:
            check_measurement(measurement).raise_for_errors(allow or ())
    result = validate(robot, measured, preparation=make_preparation(cutoff, decimation))
    if not as_json:
        print_parts(validation_lines(result))
    raise_for_misfit(result, allow or ())
    if report is not None:
        from nacelle.report.identification import validation_page

        write_output_file(report, validation_page(result))
        report_written(report)
    if as_json:
        print_json(result.data())


# ---- identify


@command("identify")
def identify_command(
    robot_name: RobotArgument,
    data: DataArgument,
    *,
    columns: ColumnsOption = None,
    method: Annotated[
        str,
        typer.Option(
            help="Estimator: iv (instrumental variables), ols, wls, irls (ordinary, weighted, iteratively "
            "reweighted least squares), didim (direct and inverse dynamic models)."
        ),
    ] = "iv",
    assume: AssumeOption = None,
    shared: SharedOption = None,
    share: ShareOption = "all",
    prior: Annotated[
        float | None,
        typer.Option(
            help="Use the description as prior, with this relative standard deviation (such as 0.2)."
        ),
    ] = None,
    instruments: Annotated[
        str,
        typer.Option(
            help="Instruments of iv: reference (recorded), smooth (splines of the encoders), or auto."
        ),
    ] = "auto",
    cutoff: CutoffOption = None,
    decimation: DecimationOption = None,
    allow: AllowOption = None,
    estimate: Annotated[
        str,
        typer.Option(
            "--estimate",
            metavar="FAULT,...",
            help="Faults of the log to estimate with the parameters: delay, offset, scale, zero, gear; of "
            "one actuator as scale:left.motor.",
        ),
    ] = "",
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="LENGTH",
            help="Standard deviation of the described lengths, such as '0.5 mm'; by default 0.001 of the "
            "robot's size. Angles and zeros of encoders: that over the size.",
        ),
    ] = "",
    held_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--validate", metavar="DATA", help="Measured run for cross-validation, not fitted (repeatable)."
        ),
    ] = None,
    payload: Annotated[
        list[Path] | None,
        typer.Option(
            "--payload", metavar="DATA", help="Measured run with an unknown payload to estimate (repeatable)."
        ),
    ] = None,
    on: Annotated[
        str, typer.Option("--on", help="Body or tool that carries the payload; by default the platform.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Robot with physically consistent identified parameters to write (YAML)."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="HTML page to write: figures, parameter table, diagnostics."),
    ] = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Identify dynamic parameters from measured motion and forces, with standard deviations."""
    from dataclasses import replace

    from nacelle.identification.estimation.estimator import CadPrior
    from nacelle.identification.identify import identify, raise_for_misfit
    from nacelle.identification.validation import validate
    from nacelle.report.parameters import identification_parts, payload_lines

    check_output_file(out, _YAML)
    check_output_file(report, _PAGE)
    robot = load_robot(robot_name, mode)
    if payload:
        from nacelle.identification.estimation.payload import check_payload_carrier

        check_payload_carrier(robot, assume or "undescribed", on or None)
    preparation = make_preparation(cutoff, decimation, instruments)
    measured = read_measurements(robot, data, columns)
    held_out_runs = read_measurements(robot, held_out or [], columns)
    result = identify(
        robot,
        measured,
        method=method,
        assume=assume or "undescribed",
        shared=shared_legs(shared),
        share=share,
        prior=None if prior is None else CadPrior(prior),
        preparation=preparation,
        allow=allow or (),
        estimate=[name.strip() for name in estimate.split(",") if name.strip()],
    )
    if tolerance:
        result = replace(result, tolerance=read_quantity(tolerance, angle=False))
    validation = validate(result.estimator, held_out_runs, preparation=preparation) if held_out_runs else None
    is_good = result.ok and (validation is None or validation.ok)
    if not as_json and not is_good:
        print_parts(identification_parts(result, validation))
    result.raise_if_wrong(allow or ())
    if validation is not None:
        raise_for_misfit(validation, allow or ())
    load = None
    if payload:
        from nacelle.identification.estimation.payload import payload_from_runs

        payload_result = identify(
            robot,
            read_measurements(robot, payload, columns),
            method=type(result.estimator)(**result.estimator.get_params()),
            preparation=preparation,
            allow=allow or (),
        )
        payload_result.raise_if_wrong(allow or ())
        load = payload_from_runs(
            result.base, result.estimator, payload_result.estimator, carrier_name=on or None
        )
    files: dict[str, Any] = {}
    if out is not None:
        _write_robot(result, out)
        files["out"] = str(out)
        report_written(out)
    if report is not None:
        from nacelle.report.identification import identification_page

        write_output_file(report, identification_page(result, validation))
        files["report"] = str(report)
        report_written(report)
    if as_json:
        validated = {} if validation is None else {"validation": validation.data()}
        carried = {} if load is None else {"payload": _payload_data(load)}
        print_json(result.data() | validated | carried | files)
        return
    if is_good:
        print_parts(identification_parts(result, validation))
    if load is not None:
        print_parts(payload_lines(load))


def _write_robot(result: Identification, out: Path) -> None:
    from nacelle.identification.consistency.identified import write_identified

    try:
        write_identified(result.to_robot(force=True), out, new=not will_overwrite(out))
    except FileExistsError:
        raise NacelleError(f"{out} {FILE_EXISTS_MESSAGE}") from None


def _payload_data(load: PayloadEstimate) -> dict[str, Any]:
    return {
        "on": load.on,
        "mass": load.mass,
        "com": load.com.tolist(),
        "inertia": load.inertia.tolist(),
        "std": load.sigma.tolist(),
        "determined": list(load.determined),
        "is_seen": load.is_significant,
        "is_explained": load.is_explained(),
    }
