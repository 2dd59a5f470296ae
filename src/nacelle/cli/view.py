"""Commands that show a robot: `draw` as a picture, `view` in the browser.

`draw` writes a picture of a robot at a pose; `view` serves robots to the browser, or writes them as one HTML
page that needs neither server nor network.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    PICTURES,
    RobotArgument,
    check_output_file,
    print_text,
    report_written,
    write_output_file,
)
from nacelle.cli.complete import complete_files, complete_robots
from nacelle.cli.inputs import AtOption, ModeOption, PayloadOption, ToolOption, load_robot, read_pose
from nacelle.cli.progress import stop_progress
from nacelle.cli.trajectory import DurationOption, MotionOptions, RadiusOption, ToOption, make_trajectory
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacelle.model.robot import Robot
    from nacelle.view.timeline import Playback
    from nacelle.view.watch import WatchedRobot


# ---- draw: a robot at a pose, as a picture


def write_picture(draw: Callable[[], Any], out: Path | None, step: int = 1) -> None:
    """Write the figure or axes that a function draws to a new file.

    Args:
        draw: gives the figure or axes; called after the file has been checked.
        out: the file; None writes nothing.
        step: rounding of a PNG's colours, as in `save_figure`.
    """
    if out is None:
        return
    check_output_file(out, PICTURES)
    with task(f"drawing {out}"):
        from nacelle.report.draw.canvas import save_figure

        figure = draw()
        save_figure(getattr(figure, "figure", figure), out, step=step)
    report_written(out)


@command("draw")
def draw_command(
    robot_name: RobotArgument,
    *,
    out: Annotated[Path, typer.Option("--out", help="Picture to write (.png, .svg or .pdf).")],
    at: AtOption = None,
    tool: ToolOption = "",
    names: Annotated[bool, typer.Option("--names", help="Label the bodies.")] = False,
    frames: Annotated[bool, typer.Option("--frames", help="Draw the body frames.")] = False,
    mode: ModeOption = "",
) -> None:
    """Draw a robot at a pose (png, svg, pdf)."""
    robot = load_robot(robot_name, mode)
    x = read_pose(robot, at, tool)
    write_picture(lambda: robot.plot(x, names=names, frames=frames), out)


# ---- view: robots in the browser, or as one page


@command("view")
def view_command(
    robot_names: Annotated[
        list[str],
        typer.Argument(
            metavar="robot",
            help="Robots of the library, or YAML files, which are reloaded when they change.",
            autocompletion=complete_robots,
        ),
    ],
    *,
    at: AtOption = None,
    trajectory: Annotated[
        str, typer.Option("--trajectory", help="Motion to play: circle, line, or a CSV file of waypoints.")
    ] = "",
    to: ToOption = None,
    radius: RadiusOption = "",
    duration: DurationOption = 4.0,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            help="Run to play, a table (CSV) of simulate or control, or npz; repeatable, one for each robot.",
            autocompletion=complete_files(".csv", ".npz"),
        ),
    ] = None,
    tool: ToolOption = "",
    port: Annotated[
        int | None,
        typer.Option(
            "--port", help="Port of the viewer on 127.0.0.1; by default the first free one from 8080."
        ),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the browser.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="HTML page to write instead; it needs no server and no network."),
    ] = None,
    payload: PayloadOption = None,
    mode: ModeOption = "",
) -> None:
    """Show robots in the browser: move the platform, see forces, play motions. Or write an HTML page."""
    if out is not None:
        check_output_file(out)
        if out.suffix.lower() not in (".html", ".htm"):
            raise NacelleError(f"{out.name}: write .html or .htm")
    else:
        from nacelle.view.browser.server import require_viser

        require_viser()
    from nacelle.view.watch import WatchedRobot

    if trajectory and run:
        raise NacelleError("--trajectory and --run exclude each other; give one of them")
    watched = [WatchedRobot(name, mode, tuple(payload or ())) for name in robot_names]
    with task(f"reading {', '.join(robot_names)}"):
        robots = [source.load() for source in watched]
    options = MotionOptions(trajectory, at, to, radius, duration, tool)
    motions = _read_motions(robots, options, run or [])
    poses = [None if trajectory else read_pose(robot, at, tool) for robot in robots]
    if out is not None:
        _write_page(out, robots, poses, motions)
    else:
        _serve(watched, poses, motions, port, not no_browser)


def _read_motions(robots: Sequence[Robot], options: MotionOptions, runs: list[Path]) -> list[Playback | None]:
    """The motion that each robot plays: the trajectory or its run; None for a robot that stands still."""
    from nacelle.view.timeline import make_playback, read_run

    if not options.trajectory and (options.to or options.radius):
        raise NacelleError("--to and --radius require --trajectory")
    if len(runs) > len(robots):
        raise NacelleError(f"{len(runs)} runs for {len(robots)} robot(s): name one robot for each run")
    if options.trajectory:
        return [make_playback(robot, make_trajectory(robot, options), options.trajectory) for robot in robots]
    played: list[Playback | None] = [read_run(robot, path) for robot, path in zip(robots, runs, strict=False)]
    return played + [None] * (len(robots) - len(runs))


def _write_page(out: Path, robots: Sequence[Robot], poses: list[Any], motions: list[Playback | None]) -> None:
    """Write robots side by side as one HTML page; where a pose is None, at the reference pose."""
    from nacelle.kinematics.pose_input import reference_pose
    from nacelle.view.export import PageRobot, viewer_page
    from nacelle.view.side_by_side import robot_offsets

    with task(f"drawing {out}"):
        all_x = [reference_pose(robot) if x is None else x for robot, x in zip(robots, poses, strict=True)]
        robots_shown = [
            PageRobot(robot, x, motion, (), (float(offset[0]), float(offset[1]), float(offset[2])))
            for robot, x, motion, offset in zip(
                robots, all_x, motions, robot_offsets(robots, all_x), strict=True
            )
        ]
        write_output_file(out, viewer_page(robots_shown))
    report_written(out)


def _serve(
    sources: list[WatchedRobot],
    poses: list[Any],
    motions: list[Playback | None],
    port: int | None,
    browser: bool,
) -> None:
    """Serve the robots in the browser until Ctrl-C; a robot plays its motion or else stands at its pose."""
    import sys

    from nacelle.view.viewer import Viewer

    with task("starting the viewer"):
        viewer = Viewer(sources, port=port)
    try:
        for k, (x, motion) in enumerate(zip(poses, motions, strict=True)):
            if motion is not None:
                viewer.play(motion, k)
            elif x is not None:
                viewer.show(x, k)
        names = ", ".join(robot.name for robot in viewer.robots)
        print_text(f"{names}: {viewer.url} (this machine only); Ctrl-C ends the viewer")
        # Into a pipe stdout is buffered: the address must be out before the viewer waits.
        sys.stdout.flush()
        if browser:
            viewer.open()
        stop_progress()
        viewer.wait()
    except KeyboardInterrupt:
        print_text("\nviewer stopped")
    finally:
        viewer.close()
