"""The application: its commands by name, each imported when it is called, their help, how they run.

`nacelle --help` lists the commands by subject, `nacelle COMMAND --help` ends with the examples of the
command. No command is imported for it, so that help is there at once.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_type_hints

import typer
import typer.core
import typer.main

from nacelle.cli.common import (
    INTERRUPTED_STATUS,
    RobotArgument,
    clear_written_files,
    print_error,
    print_interrupted,
    set_overwrite,
)
from nacelle.errors import NacelleError, did_you_mean

# ---- the table of commands


# By subject: name and module of a command, its line of help, and lines that one can type.
_TABLE = """
A robot and its description
  robots describe
    List the robots of the library.
    $ nacelle robots
  show describe
    Print the structure of a robot: tree, legs, joints, actuators, bodies, mobility, parameters.
    $ nacelle show delta
  new describe
    Write a new description: sketched from leg types (--leg), or copied from a robot (--from).
    $ nacelle new hexapod --leg 6-UPS
    $ nacelle new planar --leg RRR --count 3 --motion xy+rz
  check describe
    Check descriptions and list all errors and warnings with file, line and column.
    $ nacelle check hexapod.yaml
  import describe
    Convert MJCF, URDF, SDF or SYMORO+ to a description, and list what is lost.
    $ nacelle import cassie.xml --out cassie.yaml
  schema describe
    Print the JSON schema of descriptions, for completion and checks in editors.
    $ nacelle schema > nacelle.schema.json
  draw view
    Draw a robot at a pose (png, svg, pdf).
    $ nacelle draw delta --at z=-600mm --out delta.png
  view view
    Show robots in the browser: move the platform, see forces, play motions. Or write an HTML page.
    $ nacelle view delta
    $ nacelle view delta --trajectory circle --out delta-circle.html
  report report
    Write the data sheet of a robot (HTML): structure, workspace, loads, parameters, verification.
    $ nacelle report delta --out delta.html
Kinematics
  ik kinematics
    Inverse kinematics: all joints at a pose (--at), or the actuators for a table of poses (--csv).
    $ nacelle ik gough-stewart --at z=750mm --at rx=10deg
    $ nacelle ik delta --csv poses.csv
  fk kinematics
    Forward kinematics: the pose from actuator coordinates (--q) or from a table of them (--csv).
    $ nacelle fk fivebar --q left.motor=130deg --q right.motor=50deg
  workspace kinematics
    Workspace within all limits: poses, their volume, conditioning, on a grid or along rays; or proved.
    $ nacelle workspace delta --over x=-0.4:0.4 --over z=-0.8:-0.4 --out map.png
  prove proof
    Prove a whole motion: reachable, within limits, on one branch, away from singularities.
    $ nacelle prove delta --trajectory circle --radius 100mm --clearance 2mm
  tolerances proof
    Prove bounds of the pose's error for all machines within tolerances.
    $ nacelle tolerances delta --tolerance 'number.*=0.1 mm' --tolerance 'zero.*=0.01 deg'
Forces and vibrations
  dynamics dynamics.dynamics
    Inverse dynamics along a motion: actuator force, speed and power, compared with the limits.
    $ nacelle dynamics delta --trajectory circle --radius 100mm --duration 1
  fast motion
    The fastest motion along a path within the limits of the drives; which limit to raise.
    $ nacelle fast delta --path 25-305-25 --reserve 0.05 --csv fast.csv
  reactions dynamics.dynamics
    Joint reactions along a motion: peak radial and axial forces and moments, to size bearings.
    $ nacelle reactions delta --trajectory circle --radius 100mm
  linearise dynamics.linearise
    Linear model about the equilibrium at a pose: state-space matrices, eigenvalues, frequencies.
    $ nacelle linearise fivebar
  modes dynamics.linearise
    Natural frequencies of a robot with flexible links: at a pose, along a path or over a map.
    $ nacelle modes fivebar-flexible
  balance dynamics.dynamics
    Springs and counterweights that best balance gravity over a set of poses.
    $ nacelle balance delta --counterweight leg1.arm=-80mm,0,0
  verify verify
    Compare kinematics, dynamics and energies with Pinocchio and MuJoCo at random states.
    $ nacelle verify delta --against mujoco
Simulation and control
  simulate simulation
    Simulate a robot under given actuator forces; joint limits and singularities end the run.
    $ nacelle simulate fivebar --until 1 --hold --csv run.csv
  control simulation
    Simulate controllers in closed loop along a path: tracking errors, energy, saturation.
    $ nacelle control delta --controllers sj,cf-rb
  observe observe
    Simulate a camera that sees the legs: measured edges, leg directions, pose and their errors.
    $ nacelle observe gough-stewart --out seen.png
Design
  study study
    Run a parameter study: sweep, tolerances, sensitivities or optimisation, here or on a cluster.
    $ nacelle study delta-study.yaml
    $ nacelle study delta-study.yaml --cluster tcp://10.0.0.1:8786 --resume
Identification
  base identification
    Base parameters: the minimal set of parameters that the actuator forces depend on.
    $ nacelle base delta --shared legs
  excite identification
    Optimise an exciting trajectory for identification, within all limits, from rest to rest.
    $ nacelle excite delta --force 80% --out motion.yaml --csv motion.csv
  simulate-experiment identification
    Simulate an identification experiment: closed loop, quantised encoders, noisy currents.
    $ nacelle simulate-experiment delta --motion motion.yaml --csv data.csv
  identify identification
    Identify dynamic parameters from measured motion and forces, with standard deviations.
    $ nacelle identify delta data.csv --out identified.yaml
  validate identification
    Compare measured forces with the predictions of a robot: residuals, noise level, correlation.
    $ nacelle validate identified.yaml data.csv
Calibration
  calibrate calibration
    Calibrate the geometry of a machine from measured poses; plan poses, simulate a campaign.
    $ nacelle calibrate gough-stewart --plan 40 --out poses.csv
    $ nacelle calibrate gough-stewart measured.csv --noise tracker=10um,0.001deg --out machine.yaml
Code for a controller
  ops ops
    Count the operations of a model by class and stage, and compare with published counts.
    $ nacelle ops palida --friction
  export export
    Export models as source code with a self-test (C, CUDA, ...), or the robot as MJCF, URDF or SDF.
    $ nacelle export delta --target c --out delta-c
First steps
  demo demo
    Run a demonstration with PaLiDA: verify, identify, control and export; write a data sheet.
    $ nacelle demo
"""


class CommandEntry(NamedTuple):
    """A command of the table.

    Attributes:
        subject: under which the help lists it.
        module: below `nacelle.cli`, that has it.
        line: of help.
        examples: lines that show how it is typed.
    """

    subject: str
    module: str
    line: str
    examples: tuple[str, ...]


# An entry of the table: name and module, the line of help, the examples.
_ENTRY = re.compile(r"^  (\S+) (\S+)\n    (.+)((?:\n    \$ .+)+)", re.MULTILINE)


def _read_commands() -> dict[str, CommandEntry]:
    """The commands of the table by name."""
    commands = {}
    for block in re.split(r"\n(?=\S)", _TABLE.strip()):
        subject, _, entries = block.partition("\n")
        for name, module, line, examples in _ENTRY.findall(entries):
            commands[name] = CommandEntry(subject, module, line, tuple(examples.split("\n    $ ")[1:]))
    return commands


COMMANDS = _read_commands()


# ---- the application and its commands


# Exit status of <sysexits.h> for a mistake of the program.
INTERNAL_ERROR_STATUS = 70
# The errors of the parser of options, as typer names their descendant: newer versions carry click within.
_UsageError, _ParserError = typer.BadParameter.__mro__[1:3]


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
        """Import the module of a command and give the command; None if no command has that name."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        importlib.import_module(f"nacelle.cli.{COMMANDS[cmd_name].module}")
        info = next(info for info in command_registry.registered_commands if info.name == cmd_name)
        # Square brackets are markup there.
        lines = [f"Example: {line}".replace("[", "\\[") for line in COMMANDS[cmd_name].examples]
        return typer.main.get_command_from_info(
            _with_settings(info, epilog="\n\n".join(lines)),
            pretty_exceptions_short=app.pretty_exceptions_short,
            rich_markup_mode=app.rich_markup_mode,
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of a line; an unknown word fails with the nearest command."""
        if args[0] in self.commands or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        return ctx.fail(_unknown_command_message(args[0]))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete names of commands from the table, without importing them, and options before them."""
        # What super() gives for a beginning that no command has are options alone.
        items = super().shell_complete(ctx, incomplete) if incomplete.startswith("-") else []
        item = _completion_item()
        return items + [
            # Shells give a command one line.
            item(name, help=re.split("[:;]", entry.line)[0].rstrip("."))
            for name, entry in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command; without anything print the help and leave with status 2."""
        if not args and not ctx.resilient_parsing:
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
        """Write the lines of the commands, by subject."""
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        for subject, entries in itertools.groupby(COMMANDS.items(), key=lambda item: item[1].subject):
            with formatter.section(typer.style(subject, bold=True) if colour else subject):
                # The same column for all subjects.
                formatter.write_dl([(f"{name:<{_WIDTH}}", entry.line) for name, entry in entries])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **settings: Any,
    ) -> Any:
        """Run a line; every error is said in one form, and leaves with its status."""
        settings |= {"prog_name": prog_name, "complete_var": complete_var, "standalone_mode": False}
        settings["windows_expand_args"] = windows_expand_args
        if not standalone_mode:
            return super().main(args, **settings)
        line = list(sys.argv[1:] if args is None else args)
        debug = bool(os.environ.get("NACELLE_DEBUG")) or "--debug" in line
        set_overwrite("--overwrite" in line)
        line = [word for word in line if word not in ("--debug", "--overwrite")]
        clear_written_files()
        try:
            status = super().main(line, **settings)
        except BaseException as error:
            if debug and not isinstance(error, SystemExit | _ParserError | NacelleError):
                raise
            status = exit_status(error, "--json" in line)
        sys.exit(status if isinstance(status, int) else 0)


# Width of the names of commands in the help.
_WIDTH = max(map(len, COMMANDS))


def _with_settings(info: Any, **changes: Any) -> Any:
    """A copy of a registered command with some settings changed; typer's own object stays as it is."""
    copy = type(info)(**vars(info))
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy


def _unknown_command_message(name: str) -> str:
    """Why there is no such command, and what may be meant."""
    from nacelle.robots import all_names

    if name in all_names():
        return f"{name!r} is a robot, not a command; write nacelle show {name}"
    return f"there is no command {name!r}; {did_you_mean(name, COMMANDS)}"


def _completion_item() -> Any:
    """The class of completions, which newer versions of typer carry within."""
    bundled = getattr(typer.core, "CompletionItem", None)
    return bundled or importlib.import_module("click.shell_completion").CompletionItem


def exit_status(error: BaseException, as_json: bool) -> int:
    """Say why a command has ended early, and give its exit status.

    Args:
        error: what it has raised.
        as_json: whether output is for programs.
    """
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt):
        print_interrupted()
        return INTERRUPTED_STATUS
    if isinstance(error, _ParserError):
        _print_usage_error(error, as_json)
        return 2
    if isinstance(error, NacelleError):
        reason = error
    elif isinstance(error, OSError):
        prefix = f"{error.filename}: " if error.filename else ""
        reason = NacelleError(f"{prefix}{error.strerror or error}")
    elif isinstance(error, MemoryError):
        reason = NacelleError(f"there is not enough memory: {error}".rstrip(": "))
    else:
        _print_apology(error, as_json)
        return INTERNAL_ERROR_STATUS
    print_error(reason, as_json)
    return 1


def _print_usage_error(error: Any, as_json: bool) -> None:
    """A line that cannot be understood: what is wrong, what would be right, and where the help is."""
    context = getattr(error, "ctx", None)
    name = getattr(error, "option_name", None)
    if name is not None and context is not None and "no such option" in error.format_message().lower():
        known = [option for parameter in context.command.params for option in parameter.opts]
        options = [option for option in known if option.startswith("-")]
        message = "; ".join(filter(None, (f"there is no option {name}", did_you_mean(name, options))))
    else:
        message = error.format_message().rstrip(".")
        message = message[:1].lower() + message[1:]
    path = context.command_path if context is not None else "nacelle"
    print_error(NacelleError(message if as_json else f"{message}\nsee {path} --help"), as_json)


def _print_apology(error: BaseException, as_json: bool) -> None:
    """A mistake of nacelle's own: sorry, where it is, and what to do."""
    summary = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    print_error(NacelleError(f"internal error of nacelle: {summary}"), as_json)
    from nacelle.cli.common import console

    console(stderr=True).print(
        "Sorry. Please report it with the command line, its files and the output of nacelle --version (see "
        "CONTRIBUTING.md); --debug shows the traceback.",
        markup=False,
    )


app = typer.Typer(
    name="nacelle",
    cls=Commands,
    help="Dynamics of parallel robots, from one description to the controller.",
    pretty_exceptions_enable=False,
)
# The commands whose modules are imported. They are not the application's own, which typer builds one and all
# before it reads a line.
command_registry = typer.Typer()


def command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command; an error of nacelle is printed, one line a problem, and ends it with status 1."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run_guarded(*arguments: Any, **options: Any) -> None:
            try:
                function(*arguments, **options)
            except NacelleError as error:
                print_error(error, options.get("as_json", False))
                raise typer.Exit(1) from None
            except KeyboardInterrupt:
                print_interrupted()
                raise typer.Exit(INTERRUPTED_STATUS) from None

        return command_registry.command(name)(run_guarded)

    return register


def with_options_of(kind: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
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
        parameters = [
            inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name]
            )
            for f in dataclasses.fields(kind)
        ]
        vars(call).pop("__wrapped__")
        vars(call)["__signature__"] = inspect.Signature([first, *parameters])
        call.__annotations__ = {"robot_name": RobotArgument, **hints, "return": None}
        return call

    return declare


def run() -> None:
    """Run the command that was typed."""
    app()
