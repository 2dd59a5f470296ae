"""The command `draw`: a robot at a pose, as a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import PICTURES, RobotArgument, check_new, wrote
from nacelle.cli.inputs import AtOption, ModeOption, load_robot, pose_at
from nacelle.cli.loads import ToolOption
from nacelle.progress import task


def write_picture(draw: Callable[[], Any], out: Path) -> None:
    """Write the axes that a function draws to a new file."""
    check_new(out, PICTURES)
    with task(f"drawing {out}"):
        from nacelle.report.draw.canvas import save

        save(draw().figure, out)
    wrote(out)


@command("draw")
def draw_command(
    robot_name: RobotArgument,
    *,
    out: Annotated[Path, typer.Option("--out", help="Picture to write: .png, .svg or .pdf.")],
    at: AtOption = None,
    tool: ToolOption = "",
    names: Annotated[bool, typer.Option("--names", help="Write the names of bodies.")] = False,
    frames: Annotated[bool, typer.Option("--frames", help="Draw the frames of bodies.")] = False,
    mode: ModeOption = "",
) -> None:
    """Draw a robot at a pose."""
    robot = load_robot(robot_name, mode)
    x = pose_at(robot, at, tool)
    write_picture(lambda: robot.plot(x, names=names, frames=frames), out)
