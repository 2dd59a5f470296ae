"""The application: its commands by name, each imported when it is called, and how they register and run."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, get_type_hints

import typer
import typer.core
import typer.main

from nacelle.cli.common import RobotArgument, print_error
from nacelle.errors import NacelleError

COMMANDS = {
    "robots": ("describe", "List the robots of the library."),
    "show": (
        "describe",
        "Show a robot: tree, joints, loops, mobility, parameters, closed forms, elements.",
    ),
    "check": ("describe", "Check descriptions; print everything that is wrong, each with its place."),
    "new": ("describe", "Start a new robot from an existing one: a copy of its YAML under a new name."),
    "schema": ("describe", "Print the JSON schema of descriptions, for editors."),
    "ik": (
        "ik",
        "Inverse kinematics: all joints at a pose (--at), or actuators at all poses of a table (--csv).",
    ),
    "fk": (
        "fk",
        "Forward kinematics: the pose from the actuators (--q), or poses for a table of them (--csv).",
    ),
    "workspace": (
        "workspace",
        "Workspace: where the nacelle can go within all limits, its size, and how well conditioned it is.",
    ),
    "draw": ("draw", "Draw a robot at a pose."),
    "dynamics": (
        "dynamics",
        "Actuator forces along a motion: force, speed and power against the limits of the drives.",
    ),
    "reactions": (
        "reactions",
        "Forces and moments in all joints along a motion: peaks, radial and axial, to size bearings.",
    ),
    "simulate": (
        "simulation.simulate",
        "Simulate a robot under forces of its actuators; limits, full stretch and singularities end the run.",
    ),
    "control": (
        "simulation.control",
        "Controllers in closed loop along a path: errors of actuators and tool, energy, saturation.",
    ),
    "observe": (
        "observe",
        "What a camera sees of a robot: edges of its legs in an image, directions, pose and their errors.",
    ),
    "linearise": (
        "linearise",
        "Linear model around the equilibrium at a pose: matrices, eigenvalues, natural frequencies.",
    ),
    "modes": (
        "modes",
        "Natural frequencies of a robot with flexible links: modes at a pose, along a path or over a map.",
    ),
    "balance": ("balance", "Springs and counterweights that balance gravity best over a set of poses."),
    "verify": (
        "verify",
        "Rebuild the robot in another engine and compare kinematics, dynamics and energies at random states.",
    ),
    "base": (
        "identification.base",
        "Base parameters: the fewest numbers that the forces depend on, and what each is a sum of.",
    ),
    "excite": (
        "identification.excite",
        "Motion that excites the parameters: well conditioned, within all limits, at rest at both ends.",
    ),
    "rehearse": (
        "identification.rehearse",
        "Rehearse an experiment: a simulated robot in closed loop, encoders that count, noisy currents.",
    ),
    "identify": (
        "identification.identify",
        "Parameters from measured motion and forces, with deviations, and what is not trustworthy.",
    ),
    "validate": (
        "identification.validate",
        "How well a robot's numbers predict measured forces: residuals, noise, memory, in plain words.",
    ),
    "ops": (
        "ops",
        "Operations of a model in its smallest form, by class and by stage, beside what is published.",
    ),
    "export": (
        "export",
        "Export models as a package: source, documentation, self-test with reference vectors.",
    ),
    "report": (
        "report",
        "Data sheet of a robot as one page: structure, workspace, loads, counts, parameters, verification.",
    ),
    "demo": ("demo", "Show what nacelle does: PaLiDA verified, counted, driven, exported and drawn."),
}


class Commands(typer.core.TyperGroup):
    """The group of all commands: a command's module is imported when the command is called.

    Its own help is plain text, written from the table above: no command is imported for it.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Near names are suggested from the keys; the commands themselves come from `get_command`.
        self.commands = {name: self.commands.get(name) for name in (*COMMANDS, *self.commands)}  # type: ignore[misc]

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the module of a command and give the command; None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        importlib.import_module(f"nacelle.cli.{COMMANDS[cmd_name][0]}")
        info = next(info for info in app.registered_commands if info.name == cmd_name)
        return typer.main.get_command_from_info(
            info,
            pretty_exceptions_short=app.pretty_exceptions_short,
            rich_markup_mode=app.rich_markup_mode,
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command; without anything print the help and leave with status 2."""
        if not args:
            print(ctx.get_help())
            ctx.exit(2)
        return list(super().parse_args(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, options and commands as plain text."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the lines of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in COMMANDS])


app = typer.Typer(
    name="nacelle",
    cls=Commands,
    help="Dynamics of parallel robots, from one description to the controller.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command; an error of nacelle is printed, one line a problem, and ends it with status 1."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def guarded(*arguments: Any, **options: Any) -> None:
            try:
                function(*arguments, **options)
            except NacelleError as error:
                print_error(error, options.get("as_json", False))
                raise typer.Exit(1) from None

        return app.command(name)(guarded)

    return register


def takes(kind: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a dataclass as options; it is called with a robot's name and one of them.

    Several commands that have options in common share the dataclass, and what is done with it.
    """
    hints = get_type_hints(kind, include_extras=True)

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        def call(robot_name: str, **options: Any) -> None:
            function(robot_name, kind(**options))

        functools.update_wrapper(
            call, function, assigned=("__module__", "__name__", "__qualname__", "__doc__")
        )
        first = inspect.Parameter(
            "robot_name", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=RobotArgument
        )
        others = [
            inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name]
            )
            for f in dataclasses.fields(kind)
        ]
        vars(call).pop("__wrapped__")
        vars(call)["__signature__"] = inspect.Signature([first, *others])
        call.__annotations__ = {"robot_name": RobotArgument, **hints, "return": None}
        return call

    return declare


def run() -> None:
    """Run the command that was typed; a full disk or too little memory is said in one line."""
    try:
        app()
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print_error(NacelleError(f"{place}{error.strerror or error}"), "--json" in sys.argv)
    except MemoryError as error:
        print_error(NacelleError(f"there is not enough memory: {error}".rstrip(": ")), "--json" in sys.argv)
    sys.exit(1)
