"""The command `demo`: PaLiDA from its description to code for its controller, in four steps.

    data sheet -> experiment on a simulated machine -> identified model -> controllers -> C

Each step is a few calls of the public API (`import nacelle`), and names the command that gives the same
numbers: the steps meet in files of one folder, which commands read as well.

The machine is that of [AGH2005], section V, as in `examples/computed_force_palida.py`: all its parameters
are up to 10 % off the description, its drives stick and cog, its encoders have a resolution of 1 um, and
noise.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import nacelle
from nacelle.cli.commands import command
from nacelle.cli.common import (
    JsonOption,
    check_output_file,
    console,
    exit_interrupted,
    print_json,
    will_overwrite,
    write_output_file,
)
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from rich.console import Console

PAGE_FILE, TRUE_FILE, DATA_FILE, MODEL_FILE = (
    "report.html",
    "palida-true.yaml",
    "measured.csv",
    "palida-identified.yaml",
)
SCENARIO_FILE, CODE_FOLDER = "circle.yaml", "palida-c"

CIRCLE_SCENARIO = f"""\
# The experiment of [AGH2005], section V, on a simulated machine; written by `nacelle demo`.
name: inclined circle of 0.2 m radius at 1 m/s, twice forth and twice back
path:
  circle:
    centre: reference
    radius: 200 mm
    incline: {{axis: [1, 0, 0], angle: 30 deg}}
    speed: 1 m/s
    turns: 2
    ramp: 0.2 s
    back: true
controllers: [sj, cf-rb, cf-rb-friction]
sample: 0.5 ms
delay: 0.15 ms
settle: 2 s
seed: 3
plant:
  file: {TRUE_FILE}    # the true robot: parameters deviate by up to 10 %
  drives:
    bandwidth: 2000 Hz
    stiction: {{static: 1.4}}
    cogging: {{amplitude: 3 N, cycles: 209.4395102393195 rad/m, phase: 0.3 rad}}
sensors: {{resolution: 1 um, noise: 1 um}}
"""


class StepResult(NamedTuple):
    """What came of a step.

    Attributes:
        command: words of the command that gives the same.
        lines: lines and tables for the terminal.
        data: what the command prints with --json.
    """

    command: tuple[object, ...]
    lines: list[Any]
    data: dict[str, Any]


def write_data_sheet(robot: nacelle.Robot, out: Path) -> StepResult:
    """Write the data sheet, with everything that follows from the description alone."""
    sheet = nacelle.data_sheet(robot.name)
    write_output_file(out / PAGE_FILE, sheet.html())
    data = sheet.data()
    return StepResult(
        ("report", robot.name, "--out", out / PAGE_FILE), describe_sheet(data["sections"]), data
    )


def describe_sheet(sections: dict[str, Any]) -> list[str]:
    """How other engines agree, and the operations of the inverse dynamics.

    Args:
        sections: of the data sheet, as plain data.

    Raises:
        NacelleError: if an engine disagrees, or a section could not be made; a comparison with engines that
            are not installed may be missing.
    """
    from importlib.util import find_spec

    from nacelle.verify import ENGINES

    installed = all(find_spec(home.package) for home in ENGINES.values())
    for name, part in sections.items():
        if "reason" in part and (installed or name != "verification"):
            raise NacelleError(f"the section {name} could not be made: {part['reason']}")
    compared = sections["verification"]
    if not compared.get("ok", True):
        raise NacelleError(f"another engine disagrees; {compared['command']} shows where")
    lines = [f"not compared: {compared['reason']}"] if "reason" in compared else []
    for engine in compared.get("engines", ()):
        worst = max(quantity["error"] for quantity in engine["quantities"])
        lines.append(
            f"{engine['engine']} {engine['version']} agrees: {len(engine['quantities'])} quantities at "
            f"{compared['states']} states, largest relative error {worst:.1e}"
        )
    for entry in sections["operations"]["models"]:
        if entry["model"] == "inverse_dynamics" and entry["friction"]:
            lines.append(f"inverse dynamics with friction: {entry['total']} operations")
            lines += [
                f"published: {known['total']} operations, {known['source']}" for known in entry["published"]
            ]
    return lines


def identify_machine(robot: nacelle.Robot, out: Path) -> StepResult:
    """Move the machine in closed loop, measure it with noise, and identify its parameters from that."""
    import numpy as np

    from nacelle.identification.experiment import Effects, Sensors, perturb_parameters

    true = perturb_parameters(robot, 10.0, seed=7, alike=True)
    write_output_file(out / TRUE_FILE, true.to_yaml())
    # A periodic motion of all six coordinates: five harmonics of 0.5 Hz, m and rad.
    scale = np.array([0.05, 0.05, 0.05, 0.1, 0.1, 0.1]) / np.arange(1.0, 6.0)[:, None]
    amplitudes = 0.5 * scale * np.random.default_rng(5).normal(size=(2, 5, 6))
    centre = nacelle.reference_pose(robot)
    motion = nacelle.trajectory.Fourier(centre, *amplitudes, motion=robot.motion, frequency=0.5)
    sensors = Sensors(resolution=1e-6, noise=1e-6, force_noise=2.0)
    effects = Effects(stribeck=0.4, cogging=3.0)
    experiment = nacelle.identification.simulate_experiment(
        robot, motion, true=true, sensors=sensors, effects=effects, periods=4, settle=2.0
    )
    experiment.to_csv(out / DATA_FILE)

    data = nacelle.identification.read_measurement(robot, out / DATA_FILE)
    result = nacelle.identification.identify(robot, data, shared="legs", assume="zeros")
    nacelle.identification.write_identified(result.to_robot("palida-identified"), out / MODEL_FILE)
    fits = {
        "described": nacelle.identification.validate(robot, data),
        "identified": result.fit,
        "true": nacelle.identification.validate(true, data),
    }
    residual_rms = {name: float(np.sqrt(np.mean(np.square(fit.rms)))) for name, fit in fits.items()}
    lines = [
        f"{len(result.base)} base parameters from {len(data)} samples with {sensors.force_noise:g} N force "
        f"noise, R^2 {result.fit.score:.4f}",
        "rms force residual: " + ", ".join(f"{name} {value:.2f} N" for name, value in residual_rms.items()),
    ]
    command = ("identify", robot.name, out / DATA_FILE, "--shared", "legs", "--assume", "zeros")
    return StepResult(command, lines, result.data() | {"left": residual_rms})


def run_circle(robot: nacelle.Robot, out: Path) -> StepResult:
    """Run the machine along a circle under three controllers that have the identified model."""
    from nacelle.report.control import result_table

    write_output_file(out / SCENARIO_FILE, CIRCLE_SCENARIO)
    scenario = nacelle.control.read_scenario(out / SCENARIO_FILE)
    comparison = scenario.run(nacelle.load(out / MODEL_FILE))
    if comparison.runs[-1].status == "interrupted":
        raise KeyboardInterrupt
    if not comparison.ok:
        ended = [f"{run.label}: {run.message}" for run in comparison.runs if not run.ok]
        raise NacelleError(f"some controllers did not complete the circle: {'; '.join(ended)}")
    parts = [scenario.name, result_table(comparison.runs)]
    command = ("control", out / MODEL_FILE, "--scenario", out / SCENARIO_FILE)
    return StepResult(command, parts, {"scenario": scenario.name, **comparison.summary()})


def export_code(robot: nacelle.Robot, out: Path) -> StepResult:
    """Export the inverse dynamics of the identified model as C, which compiles and runs its self-test."""
    model = nacelle.load(out / MODEL_FILE)
    done = nacelle.export(model, "inverse_dynamics", out=out / CODE_FOLDER, overwrite=_has_package(out))
    return StepResult(("export", out / MODEL_FILE, "--out", CODE_FOLDER), done.lines, done.data)


def _has_package(out: Path) -> bool:
    """Whether an earlier demonstration has exported a package that is to be replaced (`--overwrite`)."""
    from nacelle.export.export import MANIFEST

    return will_overwrite(out / CODE_FOLDER / MANIFEST)


STEPS: dict[str, tuple[str, Callable[[nacelle.Robot, Path], StepResult]]] = {
    "sheet": ("Data sheet: verified in other engines, operations counted", write_data_sheet),
    "identified": ("Parameters from noisy measurements of a simulated machine", identify_machine),
    "circle": ("A fast circle under three controllers", run_circle),
    "exported": ("The model as C for the controller", export_code),
}


@command("demo")
def demo_command(
    out: Annotated[
        Path,
        typer.Option(
            "--out", help="Folder for the page, data and code; --overwrite replaces an earlier demo."
        ),
    ] = Path("nacelle-demo"),
    as_json: JsonOption = False,
) -> None:
    """Run a demonstration with PaLiDA: verify, identify, control and export; write a data sheet."""
    _prepare_folder(out)
    begun = time.perf_counter()
    robot = nacelle.load("palida")
    screen = _demo_console(as_json)
    screen.print(f"{robot.title}; {len(STEPS)} steps, one to two minutes", markup=False)
    steps = []
    for number, (name, (title, work)) in enumerate(STEPS.items(), start=1):
        screen.print(f"[bold]{number}. {title}[/]")
        try:
            with task(title):
                result = work(robot, out)
        except NacelleError as error:
            raise NacelleError(f"step {number} of {len(STEPS)}, {title}: {error}") from None
        except KeyboardInterrupt:
            exit_interrupted(f"{out} has the files of the steps before {number}")
        line = shlex.join(["nacelle", *map(str, result.command)])
        steps.append({"step": name, "title": title, "command": line, "result": result.data})
        screen = _demo_console(as_json)
        screen.print(f"   $ {line}", style="dim", markup=False, soft_wrap=True)
        for part in result.lines:
            screen.print(f"   {part}" if isinstance(part, str) else part, markup=False)
    page = (out / PAGE_FILE).resolve().as_uri()
    if as_json:
        print_json({"ok": True, "page": str(out / PAGE_FILE), "steps": steps})
    seconds = time.perf_counter() - begun
    screen.print(f"All {len(STEPS)} steps passed in {seconds:.0f} s.", style="bold green")
    # Whole, so that a terminal makes a link of it.
    screen.print(f"Open the data sheet: {page}", markup=False, soft_wrap=True)


def _demo_console(as_json: bool) -> Console:
    """A console without a progress line; it is silent if the output is JSON."""
    screen = console()
    screen.quiet = as_json
    return screen


def _prepare_folder(out: Path) -> None:
    """Make the folder; files that are in the way are left as they are, unless --overwrite replaces them."""
    from nacelle.export.export import check_folder

    check_folder(out, overwrite=True)
    out.mkdir(exist_ok=True)
    for name in (PAGE_FILE, TRUE_FILE, DATA_FILE, MODEL_FILE, SCENARIO_FILE):
        check_output_file(out / name)
    check_folder(out / CODE_FOLDER, overwrite=_has_package(out))
