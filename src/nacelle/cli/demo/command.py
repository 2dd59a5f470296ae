"""The command `demo`: runs the steps, prints them in about thirty lines, and writes the page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import INTERRUPTED, JsonOption, console, print_json
from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.steps import done, tasks
from nacelle.progress import task as progress

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.demo.step import DemoStep

ROBOT, PAGE = "palida", "report.html"


@command("demo")
def demo_command(
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder for the page, data and code; replaces an earlier demo in it."),
    ] = Path("nacelle-demo"),
    as_json: JsonOption = False,
) -> None:
    """Show what nacelle does: PaLiDA verified, identified, controlled and exported; a page to look at."""
    from nacelle.library import load
    from nacelle.report.demo.step import FAILED, STOPPED

    folder = DemoFolder(out)
    begun = time.perf_counter()
    robot = load(ROBOT)
    steps = _run(robot, folder, quiet=as_json)
    page = _write_page(robot, steps, folder)
    states = [step.state for step in steps]
    if as_json:
        print_json(
            {"ok": not {FAILED, STOPPED} & set(states), "page": str(page), "steps": [s.data() for s in steps]}
        )
    else:
        _print_end(steps, time.perf_counter() - begun, page)
    if STOPPED in states:
        raise typer.Exit(INTERRUPTED)
    if FAILED in states:
        raise typer.Exit(1)


def _run(robot: Robot, folder: DemoFolder, *, quiet: bool) -> list[DemoStep]:
    """Do all steps, those after Ctrl-C excepted, and print each as it ends."""
    from nacelle.report.demo.step import STOPPED, DemoStep

    listed = tasks(robot, folder)
    if not quiet:
        console().print(f"{robot.title}; {len(listed)} steps, in a minute or two", markup=False)
    steps: list[DemoStep] = []
    for number, task in enumerate(listed, start=1):
        if steps and steps[-1].state == STOPPED:
            break
        if not quiet:
            console().print(f"[bold]{number}. {task.title}[/]")
        with progress(task.title):
            steps.append(done(task))
        if not quiet:
            _print_step(steps[-1])
    return steps + [DemoStep(task.key, task.title) for task in listed[len(steps) :]]


def _print_step(step: DemoStep) -> None:
    """Print what a step gives, with its time behind the last line."""
    from rich.text import Text

    if step.result is None:
        console().print(f"   {step.state.upper()}: {step.message}", style="red", markup=False)
        return
    *lines, last = step.result.lines()
    for line in lines:
        console().print(f"   {line}", markup=False)
    console().print(Text(f"   {last}").append(f"  ({step.seconds:.1f} s)", style="dim"))


def _write_page(robot: Robot, steps: list[DemoStep], folder: DemoFolder) -> Path:
    from importlib.metadata import version

    from nacelle.report.demo.page import demo_page

    with progress("writing the page"):
        return folder.write(PAGE, demo_page(robot, steps, version("nacelle")))


def _print_end(steps: list[DemoStep], seconds: float, page: Path) -> None:
    from nacelle.report.demo.step import DONE

    screen = console()
    bad = [f"{step.title} ({step.state})" for step in steps if step.state != DONE]
    if bad:
        screen.print(f"{len(bad)} of {len(steps)} steps have no result: {'; '.join(bad)}", style="bold red")
    else:
        screen.print(f"All {len(steps)} steps passed in {seconds:.0f} s.", style="bold green")
    # Whole, so that a terminal makes a link of it.
    screen.print(f"Open the report: {page.resolve().as_uri()}", markup=False, soft_wrap=True)
