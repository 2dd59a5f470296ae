"""The command `export`: models of a robot as a package of source, or the robot for another engine."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, print_json, report_written
from nacelle.cli.complete import complete_choices
from nacelle.cli.inputs import (
    ForceGainsOption,
    LawOption,
    ModeOption,
    NoFrictionOption,
    PayloadOption,
    load_robot,
    read_law_options,
    read_trajectory,
)
from nacelle.cli.outputs import print_exchange, print_notes, print_parts
from nacelle.errors import ExportError

if TYPE_CHECKING:
    from nacelle.control.controller import Controller
    from nacelle.exchange.exported import ExportedRobot
    from nacelle.model.robot import Robot


# Options that targets do not take which have the robot itself; `nacelle.export` says which others take what.
_MODEL_OPTIONS = (
    *("models", "source", "no_friction", "smooth", "bare", "parameters", "precision", "batch", "profile"),
    *("controller", "bandwidth", "period", "delay", "option", "force_gains", "on_stop", "on_glitch"),
    *("plant", "trajectory", "no_self_test"),
)


@command("export")
def export_command(
    ctx: typer.Context,
    robot_name: RobotArgument,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder to write, empty or missing. For fmi, mjcf, urdf and sdf: the file to write.",
        ),
    ],
    models: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Models, separated by commas: inverse_dynamics, forward_dynamics, kinematics (forward and "
            "inverse, with a state), ... By default "
            "inverse_dynamics; none with --controller, --plant or --target fmi or linuxcnc.",
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="Models as c, cuda, numpy, casadi, fmi (FMU) or linuxcnc (kinematics), or the robot itself "
            "as mjcf, urdf or sdf.",
            autocompletion=complete_choices(
                *("c", "cuda", "numpy", "casadi", "fmi", "linuxcnc", "mjcf", "urdf", "sdf")
            ),
        ),
    ] = "c",
    source: Annotated[
        str,
        typer.Option(
            "--input", help="Input of the inverse dynamics: pose, elements (kinematic elements) or encoders."
        ),
    ] = "pose",
    no_friction: NoFrictionOption = False,
    smooth: Annotated[
        float | None,
        typer.Option(
            "--smooth", help="Speed over which Coulomb friction is smoothed, rad/s or m/s; a step by default."
        ),
    ] = None,
    bare: Annotated[
        bool,
        typer.Option("--bare", help="Leave out the outputs for monitoring: pivot, reach margins, branch."),
    ] = False,
    parameters: Annotated[
        str,
        typer.Option(
            "--parameters",
            help="Parameter groups that are set at run time, separated by commas: geometry, inertia, "
            "friction, drive, ...; by default all parameters are constants.",
        ),
    ] = "",
    controller: Annotated[
        str | None,
        typer.Option("--controller", help="Controller to export (c and fmi): sj, cf-rb, cf-rb-friction, ..."),
    ] = None,
    bandwidth: Annotated[
        float | None,
        typer.Option(
            "--bandwidth", help="Bandwidth of the control loop, Hz; chosen automatically by default."
        ),
    ] = None,
    period: Annotated[
        float | None, typer.Option("--period", help="Sample time of the controller, s; 5e-4 by default.")
    ] = None,
    delay: Annotated[
        float, typer.Option("--delay", help="Delay from a sample to its actuator forces, s.")
    ] = 0.0,
    option: LawOption = None,
    force_gains: ForceGainsOption = False,
    on_stop: Annotated[
        str,
        typer.Option(
            "--on-stop",
            help="What a stop of the controller does: zero (no force), hold (gravity and damping) or "
            "brake (the same until at rest, then no force).",
            autocompletion=complete_choices("zero", "hold", "brake"),
        ),
    ] = "zero",
    on_glitch: Annotated[
        str,
        typer.Option(
            "--on-glitch",
            help="What becomes of a reading that jumps further than the described speed allows: stop, or "
            "bridge (predicted for at most ten samples in a row).",
            autocompletion=complete_choices("stop", "bridge"),
        ),
    ] = "stop",
    plant: Annotated[
        bool,
        typer.Option("--plant", help="Add the simulated robot (plant) that a controller moves (c and fmi)."),
    ] = False,
    trajectory: Annotated[
        str,
        typer.Option(
            "--trajectory",
            help="Add C code that samples a trajectory: a table of waypoints with times (CSV), or the path "
            "of a scenario: circle, pick-and-place or a YAML file.",
        ),
    ] = "",
    precision: Annotated[
        str, typer.Option("--precision", help="Precision of C and CUDA code: double, float or both.")
    ] = "both",
    batch: Annotated[
        bool, typer.Option("--batch", help="Add C functions that evaluate many samples per call.")
    ] = False,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            help="Profile of C code: embedded, for microcontrollers (float alone, stack in its README).",
            autocompletion=complete_choices("embedded"),
        ),
    ] = "",
    name: Annotated[
        str | None,
        typer.Option(
            "--name", help="Prefix of all names in the package; derived from the robot's name by default."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace the package in a folder that is not empty; other files stay."),
    ] = False,
    no_self_test: Annotated[
        bool, typer.Option("--no-self-test", help="Do not compile and run the self-test of C and CUDA code.")
    ] = False,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Export models as source code with a self-test (C, CUDA, ...), or the robot as MJCF, URDF or SDF."""
    from nacelle.export.export import ROBOT_TARGETS, export, select_target

    robot = load_robot(robot_name, mode, payload)
    if target in ROBOT_TARGETS:
        from nacelle.exchange.exported import export_robot

        for parameter in ctx.command.params:
            origin = ctx.get_parameter_source(parameter.name or "")
            if parameter.name in _MODEL_OPTIONS and origin is not None and origin.name == "COMMANDLINE":
                flag = parameter.opts[0]
                raise ExportError(f"{flag} applies to models; the target {target} exports the robot itself")
        _export_robot(export_robot(robot, target, out=out, name=name, overwrite=force), as_json)
        return
    if models is None:
        without = controller is not None or plant or target in ("fmi", "linuxcnc")
        models = "" if without else "inverse_dynamics"
    law_options = {
        "bandwidth": bandwidth,
        "period": period,
        "delay": delay or None,
        "force_gains": force_gains or None,
        **read_law_options(option),
        "on_stop": None if on_stop == "zero" else on_stop,
        "on_glitch": None if on_glitch == "stop" else on_glitch,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        law = _controller(robot, controller, law_options)
    warned = [str(warning.message) for warning in caught]
    options = {
        "parameters": parameters,
        "controller": law,
        "plant": plant,
        "trajectory": read_trajectory(robot, trajectory) if trajectory else None,
        "precision": precision,
        "batch": batch,
        "profile": profile,
        "self_test": not no_self_test,
    }
    done = export(
        robot,
        models or (),
        out=out,
        target=select_target(target, options),
        input=source,
        friction=not no_friction,
        smooth=smooth,
        bare=bare,
        name=name,
        overwrite=force,
    )
    if as_json:
        print_json({**done.data, "warnings": warned} if warned else done.data)
        return
    print_parts(done.lines)
    print_notes(warned)


def _export_robot(done: ExportedRobot, as_json: bool) -> None:
    """Print what was done and lost on the way to another engine's format."""
    files = [str(file) for file in done.files]
    if as_json:
        lists = {"steps": list(done.steps), "losses": list(done.losses)}
        print_json({"ok": True, "out": files[0], "target": done.target, "files": files, **lists})
        return
    print_exchange(done)
    for file in done.files:
        report_written(file)


def _controller(robot: Robot, name: str | None, options: dict[str, Any]) -> Controller | None:
    """The controller of a name with options, None for those that were left out."""
    from nacelle.control.named import controller

    chosen = {option: value for option, value in options.items() if value is not None}
    if name is None:
        if chosen:
            names = ", ".join(f"--{option.replace('_', '-')}" for option in chosen)
            raise ExportError(f"{names}: options of a controller; name one with --controller")
        return None
    return controller(robot, name, **chosen)
