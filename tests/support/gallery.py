"""Pictures for the documentation: all robots of the library with their page, and what lumping costs.

`python -m support.gallery FOLDER [--page FILE]` draws them. Codourey's lumping of a DELTA's rods is
that of [CB1997], section 4.2.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from nacelle import robots
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.simplify import lump_rods, neglect_masses
from nacelle.kinematics.pose import pose
from nacelle.kinematics.workspace import Workspace, workspace
from nacelle.library import load
from nacelle.model.read import read_text
from nacelle.model.robot import Robot
from nacelle.report.draw import canvas, style
from nacelle.report.draw.canvas import new_axes, save_figure
from nacelle.report.draw.robot import plot_scene
from nacelle.report.draw.workspace import plot_workspace
from nacelle.scene.configured import scene
from nacelle.trajectory import Circle

# ---- what Codourey's lumping of a DELTA's rods costs


def draw_lumping(path: str | os.PathLike[str]) -> Path:
    """Draw the torque of a DELTA's first motor on a circle: exact rods, lumped rods, no rods; and errors."""
    robot = load("delta")
    course = Circle(pose(robot, z=-0.62), 0.15, motion=robot.motion, duration=0.6)
    times = np.linspace(0.0, course.duration, 401)
    sample = course(times)
    exact = inverse_dynamics(robot, *sample, friction=False).tau[:, 0]
    split = inverse_dynamics(lump_rods(robot), *sample, friction=False).tau[:, 0]
    without = inverse_dynamics(neglect_masses(robot), *sample, friction=False).tau[:, 0]
    rms = float(np.sqrt(np.mean(exact**2)))
    shares = [100.0 * float(np.sqrt(np.mean((other - exact) ** 2))) / rms for other in (split, without)]
    ax = new_axes(flat=True, shown=False)
    curves = {
        "exact rods": exact,
        f"2/3 to the arm, 1/3 to the plate ({shares[0]:.1f} % rms)": split,
        f"rods left out ({shares[1]:.1f} % rms)": without,
    }
    for k, (name, values) in enumerate(curves.items()):
        style.draw_curve(ax, times, values, k, name, linewidth=1.3 if k else 2.0, label=name)
    ax.set(xlabel="time (s)", ylabel="torque of motor 1 (N m)")
    style.plain_axes(ax)
    style.axes_title(ax, "delta: a circle of 150 mm in 0.6 s, without friction")
    style.legend_below(ax, 1)
    return save_figure(ax.figure.figure, path, step=5)


# ---- all robots of the library


# Inches; with `canvas.DPI` 704 x 592 pixels.
_WIDTH, _HEIGHT = 4.4, 3.7


def write_gallery(folder: str | os.PathLike[str], names: Iterable[str] | None = None) -> list[Path]:
    """Draw robots of the library at their reference poses, one PNG each.

    Args:
        folder: where the pictures go; made if it is not there.
        names: names of robots; all of the library if None.

    Returns:
        The files, in the order of the names.

    Raises:
        NacelleError: if matplotlib is missing.
        UnknownRobotError: if a name is not in the library.
    """
    drawn = [load(name) for name in (robots.names() if names is None else names)]
    return [draw_robot(robot, Path(folder) / f"{robot.name}.png") for robot in drawn]


def draw_robot(robot: Robot, path: str | os.PathLike[str]) -> Path:
    """Draw a robot at its reference pose to a small file without a title."""
    view = scene(robot)
    ax = canvas.new_axes(flat=view.across is not None, width=_WIDTH, height=_HEIGHT, shown=False)
    plot_scene(view, ax)
    canvas.fit_to_figure(ax)
    return canvas.save_figure(ax.figure.figure, path, tight=False, step=5)


def draw_workspaces(folder: str | os.PathLike[str], workspaces: Iterable[Workspace]) -> list[Path]:
    """Draw workspaces, one PNG each, named by the robot and the coordinates.

    Args:
        folder: where the pictures go; made if it is not there.
        workspaces: what to draw.

    Returns:
        The files, in the order of the workspaces.

    Raises:
        NacelleError: if matplotlib is missing, or a workspace cannot be drawn.
    """
    paths = []
    for shown in workspaces:
        ax = canvas.new_axes(flat=len(shown.names) < 3, shown=False)
        plot_workspace(shown, ax=ax)
        canvas.fit_to_figure(ax)
        name = "-".join([shown.robot.name, "workspace", *shown.names])
        file = re.sub(r"[^\w.-]+", "_", name) + ".png"
        paths.append(canvas.save_figure(ax.figure.figure, Path(folder) / file, step=5))
    return paths


# The picture on the page of dynamics.
LUMPING = "delta-lumping.png"

_Range = tuple[float, float, int]
# Slices and volumes that show what a workspace is: coordinates with lowest, highest, points.
WORKSPACES: tuple[tuple[str, dict[str, _Range]], ...] = (
    ("fivebar", {"x": (-0.5, 0.5, 161), "y": (-0.2, 0.55, 121)}),
    ("delta", {"x": (-0.5, 0.5, 101), "y": (-0.5, 0.5, 101)}),
    ("gough-stewart", {"x": (-0.5, 0.5, 101), "y": (-0.5, 0.5, 101)}),
    ("orthoglide", {"x": (-0.3, 0.3, 41), "y": (-0.3, 0.3, 41), "z": (-0.3, 0.3, 41)}),
)


def library_workspaces() -> list[Workspace]:
    """Workspaces of some robots of the library around their reference poses."""
    return [workspace(load(name), over) for name, over in WORKSPACES]


def _grid(cells: Iterable[str]) -> str:
    return (
        '<div style="display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: 1rem" '
        "markdown>\n\n" + "\n".join(cells) + "\n</div>\n"
    )


def _cell(picture: str, name: str, words: str) -> str:
    return (
        f"<figure markdown>\n![{name}]({picture})\n"
        f"<figcaption markdown>`{name}`: {words}</figcaption>\n</figure>\n"
    )


def gallery_page(shown: Sequence[Robot], pictures: str, maps: Sequence[tuple[str, str]] = ()) -> str:
    """The page: a grid of pictures, names and titles, and one of workspaces.

    Args:
        shown: the robots.
        pictures: folder of the pictures, as seen from the page.
        maps: for each picture of a workspace its file name and the robot's name.
    """
    cells = [_cell(f"{pictures}/{robot.name}.png", robot.name, robot.title) for robot in shown]
    text = (
        "# Gallery\n\n"
        "The robots of the library at their reference poses. Each leg has its own colour and the\n"
        "platform is orange; joints with a drive are red, the others dark; lengths are in metres.\n"
        "`make gallery` draws them again, and `robot.plot(x)` draws any robot at any pose.\n\n" + _grid(cells)
    )
    if maps:
        text += (
            "\n## Workspaces\n\n"
            "Slices through the reference pose, coloured by the inverse condition number, hatched beyond\n"
            "the limits of joints and drives; and a volume within all limits. `nacelle workspace` draws\n"
            "others.\n\n" + _grid(_cell(f"{pictures}/{file}", name, "workspace") for file, name in maps)
        )
    return text


def _read(name: str) -> Robot:
    """A robot of the library; its check has been made already."""
    return read_text(robots.text(name), f"{name}.yaml")[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the library, and write its page if a file is named."""
    parser = argparse.ArgumentParser(
        prog="python -m support.gallery", description="Draw every robot of the library."
    )
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--page", type=Path, help="write the page that shows them to this file")
    parser.add_argument("--robot", action="append", help="draw this one alone; may be repeated")
    chosen = parser.parse_args(arguments)
    paths = write_gallery(chosen.folder, chosen.robot)
    print(f"{len(paths)} pictures of robots in {chosen.folder}/")
    maps: list[tuple[str, str]] = []
    if not chosen.robot:
        drawn = draw_workspaces(chosen.folder, library_workspaces())
        maps = [(path.name, name) for path, (name, _) in zip(drawn, WORKSPACES, strict=True)]
        print(f"{len(maps)} pictures of workspaces in {chosen.folder}/")
        draw_lumping(chosen.folder / LUMPING)
    if chosen.page is not None:
        pictures = os.path.relpath(chosen.folder, chosen.page.parent).replace(os.sep, "/")
        page = gallery_page([_read(path.stem) for path in paths], pictures, maps)
        chosen.page.write_text(page, encoding="utf-8", newline="\n")
        print(f"the page is {chosen.page}")


if __name__ == "__main__":
    main()
