"""The command `demo`: one robot from its description to the controller, in about thirty lines."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import console
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.model.robot import Robot

ROBOT = "palida"
# What of a comparison with other engines is shown.
_SHOWN = (
    "positions of bodies",
    "accelerations of bodies",
    "Jacobian of actuators",
    "inverse dynamics",
    "forward dynamics",
)
_RADIUS, _TURN = 0.1, 0.8  # of the circle, m, and the time for one turn, s


@command("demo")
def demo_command(
    out: Annotated[Path, typer.Option("--out", help="Folder for pictures and code; new or empty.")],
    states: Annotated[int, typer.Option("--states", help="Random states to compare at.")] = 20,
    gallery: Annotated[
        bool, typer.Option("--gallery/--no-gallery", help="Draw all robots of the library.")
    ] = True,
) -> None:
    """Show what nacelle does: PaLiDA verified, counted, driven, exported and drawn."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise NacelleError(f"{out} is there already and not empty; name another folder")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NacelleError(f"cannot write {out}: {error.strerror or error}") from None
    from nacelle.library import load

    robot = load(ROBOT)
    steps: list[tuple[str, Callable[[], list[str]]]] = [
        ("The robot, from its description", lambda: _described(robot)),
        ("The same robot in two other engines", lambda: _verified(robot, states)),
        ("Operations of the inverse dynamics with friction", lambda: _counted(robot)),
        ("Drive forces along a fast circle", lambda: _driven(robot, out)),
        ("The model as C for a controller", lambda: _exported(robot, out)),
        ("Pictures", lambda: _drawn(robot, out, gallery)),
    ]
    failed = []
    for number, (title, step) in enumerate(steps, start=1):
        start = time.perf_counter()
        console().print(f"[bold]{number}. {title}[/]")
        try:
            lines = step()
        except NacelleError as error:
            failed.append(title)
            console().print(f"   FAILED: {error}", style="red", markup=False)
            continue
        for line in lines:
            console().print(f"   {line}", markup=False)
        console().print(f"   [dim]{time.perf_counter() - start:.1f} s[/]")
    if failed:
        console().print(f"{len(failed)} of {len(steps)} steps failed: {'; '.join(failed)}", style="bold red")
        raise typer.Exit(1)
    console().print(f"All {len(steps)} steps passed; pictures and code are in {out}/", style="bold green")


def _described(robot: Robot) -> list[str]:
    from nacelle.kinematics.mechanism.mobility import mobility

    freedom = mobility(robot)
    return [
        f"{robot.title}",
        f"{len(robot.legs)} legs, {len(robot.bodies) - 1} bodies, {len(robot.joints)} joints, "
        f"{len(robot.actuators)} drives; the platform has {freedom.platform} freedoms, the drives control "
        f"{freedom.controlled}",
    ]


def _verified(robot: Robot, states: int) -> list[str]:
    from nacelle.verify import ENGINES, verify

    report = verify(robot, against=ENGINES, states=states, seed=0)
    if not report.ok:
        raise NacelleError(f"an engine disagrees:\n{report.text()}")
    engines = [(name, report[name]) for name in ENGINES]
    head = "".join(f"{f'{name} {engine.version}':>20}" for name, engine in engines)
    lines = [f"{f'largest relative error, {states} states':<36}{head}"]
    for quantity in _SHOWN:
        cells = "".join(f"{engine[quantity].error:>20.1e}" for _, engine in engines)
        lines.append(f"{quantity:<36}{cells}")
    return lines


def _counted(robot: Robot) -> list[str]:
    from nacelle.report.operations import operation_count

    operations = operation_count(robot, "inverse_dynamics", friction=True)
    lines = [f"{operations.total:>5} nacelle, from the pose to all drive forces"]
    lines += [f"{entry.total:>5} {entry.source}, {entry.contains}" for entry in operations.published]
    if operations.published:
        share = 100.0 * operations.total / min(entry.total for entry in operations.published)
        lines.append(f"that is {share:.0f} % of the published count")
    return lines


def _driven(robot: Robot, out: Path) -> list[str]:
    from nacelle.dynamics.sizing import size_motors
    from nacelle.kinematics.flags import failed
    from nacelle.kinematics.pose_input import reference_pose
    from nacelle.kinematics.trajectory import Circle
    from nacelle.report.draw.canvas import save
    from nacelle.report.draw.curves import plot_forces

    x = reference_pose(robot)
    path = Circle(x, _RADIUS, motion=robot.motion, duration=_TURN)
    sizing = size_motors(robot, path, rate=2000.0)
    if failed(sizing.flags).any():
        raise NacelleError("the circle leaves the workspace")
    largest = max(sizing.loads, key=lambda load: load.peak_force)
    fastest = max(sizing.loads, key=lambda load: load.peak_speed)
    title = f"{robot.name}: drive forces on a circle of {2e3 * _RADIUS:g} mm in {_TURN:g} s"
    figure = plot_forces(sizing, title=title, shown=False)
    picture = save(figure, out / f"{robot.name}-circle-forces.png")
    speed = float(abs(sizing.sample.v[:, :3]).max())
    return [
        f"{2e3 * _RADIUS:g} mm across in {_TURN:g} s, up to {speed:.2g} m/s, with friction, "
        f"{len(sizing.times)} samples",
        f"largest force {largest.peak_force:.4g} N in {largest.name} of {largest.force_limit:.4g} N, "
        f"fastest drive {fastest.peak_speed:.3g} m/s",
        f"figure: {picture}",
    ]


def _exported(robot: Robot, out: Path) -> list[str]:
    from nacelle.export.export import export

    done = export(robot, "inverse_dynamics", out=out / f"{robot.name}-c", target="c")
    lines = [f"wrote {len(done.files)} files to {done.out}: header, source, documentation, self-test"]
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None or shutil.which("make") is None:
        return [*lines, "the self-test is left out: there is no C compiler (cc, gcc, clang) or no make here"]
    ran = subprocess.run(
        ["make", "--silent", "--no-print-directory", "test", f"CC={compiler}"],
        cwd=done.out,
        # A make around this one must not hand its settings down.
        env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
    if ran.returncode:
        raise NacelleError("the self-test of the C package fails:\n" + "\n".join(printed[-10:]))
    return [*lines, f"compiled with {compiler}, self-test: {printed[-1].strip()}"]


def _drawn(robot: Robot, out: Path, gallery: bool) -> list[str]:
    import numpy as np

    from nacelle.kinematics.workspace import workspace
    from nacelle.report.gallery import draw_robot, draw_workspaces, write_gallery

    picture = draw_robot(robot, out / f"{robot.name}.png")
    half = float(np.radians(60.0))
    tilts = workspace(robot, {"rx": (-half, half, 41), "ry": (-half, half, 41)})
    (plane,) = draw_workspaces(out, [tilts])
    lines = [f"{picture}: the robot", f"{plane}: how far it tilts, and its conditioning"]
    if gallery:
        drawn = write_gallery(out / "robots")
        lines.append(f"{out / 'robots'}/: all {len(drawn)} robots of the library")
    return lines
