"""The command `export`: models of a robot as a package of source, or the robot for another engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, print_json, report_written
from nacelle.cli.complete import complete_choices
from nacelle.cli.inputs import ModeOption, NoFrictionOption, PayloadOption, SmoothOption, load_robot
from nacelle.cli.outputs import print_exchange, print_parts
from nacelle.errors import ExportError

if TYPE_CHECKING:
    from nacelle.control.controller import Controller
    from nacelle.exchange.exported import ExportedRobot
    from nacelle.model.robot import Robot


# Options that targets do not take which have the robot itself; `nacelle.export` says which others take what.
_MODEL_OPTIONS = (
    *("models", "source", "no_friction", "smooth", "bare", "parameters", "precision", "batch"),
    *("controller", "bandwidth", "period", "delay", "plant", "no_self_test"),
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
            help="Folder to write; it must be empty or missing. For fmi, mjcf, urdf and sdf the file.",
        ),
    ],
    models: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Models, with commas: inverse_dynamics, forward_dynamics, ... If nothing is said the first, "
            "or none beside a controller or a plant.",
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="c, cuda, numpy, casadi or fmi; the robot itself for another engine: mjcf, urdf or sdf.",
            autocompletion=complete_choices("c", "cuda", "numpy", "casadi", "fmi", "mjcf", "urdf", "sdf"),
        ),
    ] = "c",
    source: Annotated[
        str, typer.Option("--input", help="Of inverse dynamics: pose, elements or encoders.")
    ] = "pose",
    no_friction: NoFrictionOption = False,
    smooth: SmoothOption = None,
    bare: Annotated[
        bool, typer.Option("--bare", help="Leave out what a controller watches: pivot and reach margins.")
    ] = False,
    parameters: Annotated[
        str,
        typer.Option(
            "--parameters",
            help="Numbers given at run time, with commas: geometry, inertia, friction, drive, ...",
        ),
    ] = "",
    controller: Annotated[
        str | None, typer.Option("--controller", help="A controller in C: sj, cf-rb, cf-rb-friction, ...")
    ] = None,
    bandwidth: Annotated[
        float | None, typer.Option("--bandwidth", help="Of the controller's loop, Hz; chosen if missing.")
    ] = None,
    period: Annotated[
        float | None, typer.Option("--period", help="Sample time of the controller, s; 5e-4 if missing.")
    ] = None,
    delay: Annotated[
        float, typer.Option("--delay", help="From a sample to the time at which its forces act, s.")
    ] = 0.0,
    plant: Annotated[
        bool, typer.Option("--plant", help="Add the robot as what a controller moves, in C.")
    ] = False,
    precision: Annotated[str, typer.Option("--precision", help="Of C: double, float or both.")] = "both",
    batch: Annotated[bool, typer.Option("--batch", help="C functions for many samples too.")] = False,
    name: Annotated[str | None, typer.Option("--name", help="Prefix of all names in the package.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the package in a folder that is not empty.")
    ] = False,
    no_self_test: Annotated[
        bool, typer.Option("--no-self-test", help="Do not compile and run the self-test of C and CUDA.")
    ] = False,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Export models as a package of source with self-test, or the robot as MJCF, URDF or SDF."""
    from nacelle.export.export import ROBOT_TARGETS, export, select_target

    robot = load_robot(robot_name, mode, payload)
    if target in ROBOT_TARGETS:
        from nacelle.exchange.exported import export_robot

        for parameter in ctx.command.params:
            origin = ctx.get_parameter_source(parameter.name or "")
            if parameter.name in _MODEL_OPTIONS and origin is not None and origin.name == "COMMANDLINE":
                option = parameter.opts[0]
                raise ExportError(f"{option} is an option of models; {target} has the robot itself")
        _export_robot(export_robot(robot, target, out=out, name=name, overwrite=force), as_json)
        return
    if models is None:
        models = "" if controller is not None or plant or target == "fmi" else "inverse_dynamics"
    options = {
        "parameters": parameters,
        "controller": _controller(robot, controller, bandwidth, period, delay),
        "plant": plant,
        "precision": precision,
        "batch": batch,
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
        print_json(done.data)
        return
    print_parts(done.lines)


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


def _controller(
    robot: Robot, name: str | None, bandwidth: float | None, period: float | None, delay: float
) -> Controller | None:
    """The controller that is asked for, with gains for its bandwidth."""
    from nacelle.control.named import DEFAULT_PERIOD, controller

    if name is None:
        if bandwidth is not None or period is not None or delay:
            raise ExportError(
                "bandwidth, period and delay are those of a controller: name one, --controller NAME"
            )
        return None
    T = DEFAULT_PERIOD if period is None else period
    return controller(robot, name, bandwidth=bandwidth, period=T, delay=delay)
