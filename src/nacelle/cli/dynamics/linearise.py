"""Commands of vibrations: `linearise`, `modes`.

`linearise`: a linear model around an equilibrium, with its poles. `modes`: natural frequencies of a robot
with flexible links.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import PICTURES, JsonOption, RobotArgument, check_new, console, print_json
from nacelle.cli.inputs import (
    AtOption,
    ExternalOption,
    ModeOption,
    NoFrictionOption,
    PayloadOption,
    SmoothOption,
    ToolOption,
    load_robot,
    loaded,
    pose_at,
    wrenches,
)
from nacelle.cli.kinematics import ranges
from nacelle.cli.trajectory import MotionOptions, RadiusOption, ToOption, make_trajectory
from nacelle.cli.view import write_picture
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.dynamics.derivatives.linear import LinearModel
    from nacelle.elastic.linear.frequencies import FrequencyMap, NaturalFrequencies
    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array


# ---- linearise


# Accelerations up to this, m/s^2 or rad/s^2, are rounding of forces that are in balance.
_RESTS = 1e-9


@command("linearise")
def linearise_command(
    robot_name: RobotArgument,
    *,
    at: AtOption = None,
    coordinates: Annotated[
        str, typer.Option("--coordinates", help="Of the state: platform, or actuators.")
    ] = "platform",
    smooth: SmoothOption = None,
    no_friction: NoFrictionOption = False,
    tool: ToolOption = "",
    payload: PayloadOption = None,
    external: ExternalOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Linear model around the equilibrium at a pose: matrices, eigenvalues, natural frequencies."""
    from nacelle.dynamics.derivatives.linear import linearise

    robot = loaded(load_robot(robot_name, mode), payload)
    x = pose_at(robot, at, tool)
    options: dict[str, Any] = {"external": wrenches(robot, external), "friction": not no_friction}
    model = linearise(robot, x, coordinates=cast(Any, coordinates), smooth=smooth, **options)
    if as_json:
        from nacelle.report.plain import linear_data

        print_json(linear_data(model))
    else:
        _show_linear_model(model)
        _warn_of_motion(model)


def _show_linear_model(model: LinearModel) -> None:
    out = console()
    held = ", ".join(
        f"{name} {force:.5g}" for name, force in zip(model.input_names, model.tau.tolist(), strict=True)
    )
    friction = "without friction" if model.smooth is None else f"friction smooth over {model.smooth:g} (SI)"
    out.print(f"{model.robot.name} at rest, {model.coordinates} coordinates, {friction}", markup=False)
    out.print(f"held by {held} (N, N m)", markup=False)
    outputs = [f"q {name}" for name in model.input_names]
    _matrix("A", model.A, [f"d/dt {name}" for name in model.state_names], model.state_names)
    _matrix("B", model.B, [f"d/dt {name}" for name in model.state_names], model.input_names)
    _matrix("C", model.C, outputs, model.state_names)
    out.print("D = 0")
    from nacelle.report.table import plain_table

    table = plain_table("eigenvalue (rad/s)>", "frequency>", "damping>")
    for pole in model.poles():
        value = f"{pole.value.real:.6g}"
        if pole.value.imag:
            value += f" {'+' if pole.value.imag > 0.0 else '-'} {abs(pole.value.imag):.6g} i"
        damping = f"{pole.damping:.4f}" if math.isfinite(pole.damping) else ""
        table.add_row(value, f"{pole.frequency:.5g} Hz", damping)
    out.print(table)


def _warn_of_motion(model: LinearModel) -> None:
    """Say which coordinates accelerate at rest: nothing drives them, so that this is no equilibrium."""
    from nacelle.kinematics.underactuated import undriven

    # Rates and accelerations are those of the coordinates that the second half of the state names.
    half = len(model.state_names) // 2
    rates = dict(zip(model.state_names[:half], model.c[half:].tolist(), strict=True))
    moving = [f"{name} by {rates[name]:.3g}" for name in undriven(model.robot) if abs(rates[name]) > _RESTS]
    if not moving:
        return
    left = undriven(model.robot)
    console(stderr=True).print(
        f"warning: no equilibrium: nothing drives {', '.join(left)}, and these accelerate here: "
        f"{', '.join(moving)} (rad/s^2, m/s^2); nacelle.equilibrium_pose(robot, free={left!r}) finds a pose "
        "that rests, if there is one",
        style="yellow",
        markup=False,
    )


def _matrix(name: str, values: Array, rows: list[str], columns: tuple[str, ...]) -> None:
    """Print a matrix with names, zeros as a point; columns that do not fit beside each other follow below."""
    from rich.markup import escape

    from nacelle.report.table import plain_table

    largest = float(abs(values).max())
    cells = [
        [f"{value:.5g}" if abs(value) > 1e-14 * largest else "." for value in row] for row in values.tolist()
    ]
    widths = [max(len(column), *(len(row[k]) for row in cells)) for k, column in enumerate(columns)]
    out = console()
    for part in _parts(widths, out.width - max(len(label) for label in (name, *rows))):
        table = plain_table()
        table.add_column(name, no_wrap=True)
        for k in part:
            table.add_column(escape(columns[k]), justify="right", no_wrap=True)
        for label, row in zip(rows, cells, strict=True):
            table.add_row(escape(label), *(row[k] for k in part))
        out.print(table)


def _parts(widths: list[int], room: int) -> list[list[int]]:
    """Columns in groups that fit into so many characters, each with two beside it; at least one a group."""
    parts: list[list[int]] = [[]]
    for k in range(len(widths)):
        if parts[-1] and sum(widths[j] + 2 for j in (*parts[-1], k)) > room:
            parts.append([])
        parts[-1].append(k)
    return parts


# ---- modes


@command("modes")
def modes_command(
    robot_name: RobotArgument,
    *,
    at: AtOption = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="NAME=LOW:HIGH[:POINTS]",
            help="Frequencies over a coordinate; one to three of them.",
        ),
    ] = None,
    along: Annotated[
        str,
        typer.Option("--along", help="Frequencies along a path: a CSV file of waypoints, circle, or line."),
    ] = "",
    to: ToOption = None,
    radius: RadiusOption = "",
    points: Annotated[int, typer.Option("--points", help="Poses along the path.")] = 101,
    number: Annotated[int, typer.Option("--modes", metavar="N", help="How many modes, the lowest.")] = 6,
    unlocked: Annotated[bool, typer.Option("--unlocked", help="The actuators move freely.")] = False,
    gravity: Annotated[
        bool,
        typer.Option("--gravity", help="About the equilibrium under gravity, not of the straight robot."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Picture to write: .png, .svg or .pdf; of a mode, path or map."),
    ] = None,
    shape: Annotated[int, typer.Option("--shape", metavar="K", help="The mode that is drawn, from 1.")] = 1,
    tool: ToolOption = "",
    payload: PayloadOption = None,
    external: ExternalOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Natural frequencies of a robot with flexible links: modes at a pose, along a path or over a map."""
    robot = loaded(load_robot(robot_name, mode), payload)
    check_new(plot, PICTURES)
    if over and along:
        raise NacelleError("--map and --along are two different commands: take one of them")
    if not 1 <= shape <= number:
        raise NacelleError(f"--shape {shape}: there are modes 1 to {number} (--modes)")
    options: dict[str, Any] = {
        "modes": number,
        "locked": not unlocked,
        "gravity": gravity,
        "external": wrenches(robot, external) or None,
    }
    with warnings.catch_warnings():
        # Said in a line of its own.
        warnings.simplefilter("ignore", RuntimeWarning)
        if over:
            _frequency_map(robot, over, pose_at(robot, at, tool), tool, options, (plot, shape, as_json))
            return
        from nacelle.elastic.linear.frequencies import natural_frequencies

        x = pose_at(robot, at, tool)
        if along:
            x = _path(robot, MotionOptions(along, at, to, radius, 1.0, tool), points)
        elif to or radius:
            raise NacelleError("--to and --radius go with --along")
        result = natural_frequencies(robot, x, **options)
        if plot is not None:
            write_picture(lambda: result.plot(shape - 1), plot)
        if along:
            _show_path(result, as_json)
        else:
            _show_modes(result, options, as_json)


def _path(robot: Robot, given: MotionOptions, points: int) -> Array:
    """Poses (points, nx) along a path."""
    import numpy as np

    from nacelle.kinematics.along import along

    if points < 2:
        raise NacelleError(f"--points {points}: a path has at least 2")
    trajectory = make_trajectory(robot, given)
    return along(robot, trajectory, np.linspace(0.0, trajectory.duration, points)).x


def _factor(result: NaturalFrequencies, options: dict[str, Any]) -> float | None:
    """Load factor at which gravity and wrenches buckle the robot; None without a load."""
    import numpy as np

    from nacelle.elastic.linear.statics import buckling

    if not np.any(result.robot.numeric.gravity) and not options["external"]:
        return None
    return float(buckling(result.robot, result.x, external=options["external"], modes=1).factor)


def _show_modes(result: NaturalFrequencies, options: dict[str, Any], as_json: bool) -> None:
    """Print the modes at a pose."""
    import numpy as np

    from nacelle.elastic.linear.statics import NEAR
    from nacelle.report.table import plain_table

    factor = _factor(result, options)
    energy, masses = result.strain_energy, result.effective_mass
    if as_json:
        print_json(
            {
                "robot": result.robot.name,
                "x": result.x,
                "locked": result.locked,
                "gravity": options["gravity"],
                "frequencies": result.frequencies,
                "damping": result.damping,
                "rigid": int(result.rigid),
                "modal_mass": result.modal_mass,
                "effective_mass": masses,
                "actuator_participation": result.actuator_participation,
                "displacement": result.displacement(),
                "strain_energy": dict(zip(result.parts, energy.tolist(), strict=True)),
                "rank_gap": result.rank_gap,
                "buckling_factor": factor,
            }
        )
        return
    out = console()
    held = "locked" if result.locked else "free"
    about = "about the equilibrium under load" if result.load is not None else "of the unloaded robot"
    out.print(f"{result.robot.name}: modes {about}, actuators {held}", markup=False)
    table = plain_table("mode", "frequency>", "damping>", "moves with x>", "y>", "z>", "strain energy")
    total = float(np.max(masses))
    for k, frequency in enumerate(result.frequencies):
        moved = [f"{mass:.4g} kg" if mass > 1e-9 * total else "." for mass in masses[:, k]]
        if k < result.rigid:
            table.add_row(str(k + 1), "0", "", *moved, "rigid motion")
            continue
        ratio = result.damping[k]
        most = np.argsort(-energy[:, k])[:2]
        where = ", ".join(
            f"{result.parts[b]} {100.0 * energy[b, k]:.0f} %" for b in most if energy[b, k] > 0.05
        )
        shown = f"{frequency:.5g} Hz" if np.isfinite(frequency) else "unstable"
        table.add_row(str(k + 1), shown, f"{ratio:.4f}" if ratio > 0.0 else "", *moved, where)
    out.print(table)
    # Beyond that nobody loads it.
    if factor is not None and factor < 100.0:
        words = f"gravity and wrenches may grow by a factor of {factor:.4g} before it buckles"
        if factor < NEAR:
            buckled = "it has buckled" if factor < 1.0 else "it is near buckling"
            console(stderr=True).print(f"warning: {buckled}: {words}", style="yellow", markup=False)
        else:
            out.print(words, markup=False)


def _show_path(result: NaturalFrequencies, as_json: bool) -> None:
    """Print the range of each frequency along a path."""
    import numpy as np

    from nacelle.kinematics.flags import failed
    from nacelle.report.table import plain_table

    if as_json:
        print_json({"robot": result.robot.name, "x": result.x, "frequencies": result.frequencies})
        return
    lost = int(np.count_nonzero(failed(result.flags)))
    console().print(
        f"{result.robot.name}: {len(result.flags)} poses" + (f", {lost} without result" if lost else ""),
        markup=False,
    )
    if lost == len(result.flags):
        return
    table = plain_table("mode", "lowest>", "highest>")
    for k, values in enumerate(result.frequencies.T):
        table.add_row(str(k + 1), f"{np.nanmin(values):.5g} Hz", f"{np.nanmax(values):.5g} Hz")
    console().print(table)


def _frequency_map(
    robot: Robot,
    over: list[str],
    at: Array,
    tool: str,
    options: dict[str, Any],
    shown: tuple[Path | None, int, bool],
) -> None:
    """Frequencies over a grid."""
    import numpy as np

    from nacelle.elastic.linear.frequencies import frequency_map
    from nacelle.report.table import plain_table

    plot, shape, as_json = shown
    result: FrequencyMap = frequency_map(robot, ranges(robot, over), at=at, tool=tool or None, **options)
    if plot is not None:
        write_picture(lambda: result.plot(shape - 1), plot)
    grid = result.grid
    if as_json:
        axes = dict(zip(grid.names, grid.values, strict=True))
        print_json({"robot": robot.name, "over": axes, "frequencies": result.frequencies})
        return
    inside = grid.inside_limits & np.isfinite(result.frequencies[..., 0])
    console().print(
        f"{robot.name}: {grid.flags.size} poses over {', '.join(grid.names)}, "
        f"{np.count_nonzero(inside)} within limits",
        markup=False,
    )
    if not inside.any():
        return
    table = plain_table("mode", "lowest>", "at", "highest>")
    for k in range(result.frequencies.shape[-1]):
        low, pose = result.lowest(k)
        place = ", ".join(f"{value:.4g}" for value in pose)
        high = float(np.max(result.frequencies[..., k][inside]))
        table.add_row(str(k + 1), f"{low:.5g} Hz", place, f"{high:.5g} Hz")
    console().print(table)
