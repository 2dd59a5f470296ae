"""Commands of vibrations: `linearise`, `modes`.

`linearise`: a linear model around an equilibrium, with its poles. `modes`: natural frequencies of a robot
with flexible links.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import PICTURES, JsonOption, RobotArgument, check_output_file, console, print_json
from nacelle.cli.inputs import (
    AtOption,
    ExternalOption,
    ModeOption,
    NoFrictionOption,
    PayloadOption,
    SmoothOption,
    ToolOption,
    load_robot,
    read_pose,
    read_wrenches,
)
from nacelle.cli.kinematics import read_ranges
from nacelle.cli.outputs import print_notes, print_parts, print_result
from nacelle.cli.trajectory import MotionOptions, RadiusOption, ToOption, make_trajectory
from nacelle.cli.view import write_picture
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from rich.table import Table

    from nacelle.dynamics.derivatives.linear import LinearModel
    from nacelle.elastic.linear.frequencies import NaturalFrequencies
    from nacelle.model.robot import Robot
    from nacelle.report.table import Part
    from nacelle.spatial.scalar import Array


# ---- linearise


# Accelerations up to this, m/s^2 or rad/s^2, are rounding of forces that are in balance.
_REST_ACCELERATION = 1e-9


@command("linearise")
def linearise_command(
    robot_name: RobotArgument,
    *,
    at: AtOption = None,
    coordinates: Annotated[
        str, typer.Option("--coordinates", help="State coordinates: platform or actuators.")
    ] = "platform",
    smooth: SmoothOption = None,
    no_friction: NoFrictionOption = False,
    tool: ToolOption = "",
    payload: PayloadOption = None,
    external: ExternalOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Linear model about the equilibrium at a pose: state-space matrices, eigenvalues, frequencies."""
    from nacelle.dynamics.derivatives.linear import linearise
    from nacelle.report.vibrations import linear_data

    robot = load_robot(robot_name, mode, payload)
    x = read_pose(robot, at, tool)
    options: dict[str, Any] = {"external": read_wrenches(robot, external), "friction": not no_friction}
    model = linearise(robot, x, coordinates=cast(Any, coordinates), smooth=smooth, **options)
    print_result(model, linear_data, _linear_parts, as_json)
    if not as_json:
        _warn_of_motion(model)


def _linear_parts(model: LinearModel) -> Iterator[Part]:
    from nacelle.report.vibrations import pole_table

    forces = ", ".join(
        f"{name} {force:.5g}" for name, force in zip(model.input_names, model.tau.tolist(), strict=True)
    )
    friction = (
        "without friction"
        if model.smooth is None
        else f"friction smoothed over {model.smooth:g} rad/s or m/s"
    )
    yield f"{model.robot.name} at rest, {model.coordinates.rstrip('s')} coordinates, {friction}"
    yield f"equilibrium forces: {forces} (N, N m)"
    rates = [f"d/dt {name}" for name in model.state_names]
    yield from _matrix_tables("A", model.A, rates, model.state_names)
    yield from _matrix_tables("B", model.B, rates, model.input_names)
    yield from _matrix_tables("C", model.C, [f"q {name}" for name in model.input_names], model.state_names)
    yield "D = 0"
    yield pole_table(model)


def _warn_of_motion(model: LinearModel) -> None:
    """Say which coordinates accelerate at rest: nothing drives them, so that this is no equilibrium."""
    from nacelle.kinematics.underactuated import undriven_coordinates

    # Rates and accelerations are those of the coordinates that the second half of the state names.
    half = len(model.state_names) // 2
    rates = dict(zip(model.state_names[:half], model.c[half:].tolist(), strict=True))
    moving = [
        f"{name} by {rates[name]:.3g}"
        for name in undriven_coordinates(model.robot)
        if abs(rates[name]) > _REST_ACCELERATION
    ]
    if not moving:
        return
    free = undriven_coordinates(model.robot)
    print_notes(
        [
            f"warning: no equilibrium: {', '.join(free)} without actuators; accelerations at this pose: "
            f"{', '.join(moving)} (rad/s^2, m/s^2); nacelle.dynamics.equilibrium_pose(robot, free={free!r}) "
            "finds an equilibrium, if there is one"
        ]
    )


def _matrix_tables(name: str, values: Array, rows: list[str], columns: tuple[str, ...]) -> Iterator[Table]:
    """A matrix with names, zeros as a point; columns beyond the width of the terminal follow below."""
    from rich.markup import escape

    from nacelle.report.table import plain_table

    largest = float(abs(values).max())
    cells = [
        [f"{value:.5g}" if abs(value) > 1e-14 * largest else "." for value in row] for row in values.tolist()
    ]
    widths = [max(len(column), *(len(row[k]) for row in cells)) for k, column in enumerate(columns)]
    for part in _column_groups(widths, console().width - max(len(label) for label in (name, *rows))):
        table = plain_table()
        table.add_column(name, no_wrap=True)
        for k in part:
            table.add_column(escape(columns[k]), justify="right", no_wrap=True)
        for label, row in zip(rows, cells, strict=True):
            table.add_row(escape(label), *(row[k] for k in part))
        yield table


def _column_groups(widths: list[int], room: int) -> list[list[int]]:
    """Columns in groups that fit into a line, two characters apart; at least one a group."""
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
            help="Coordinate of a frequency map, with its range; one to three (repeatable).",
        ),
    ] = None,
    along: Annotated[
        str,
        typer.Option("--along", help="Path for frequencies: circle, line, or a CSV file of waypoints."),
    ] = "",
    to: ToOption = None,
    radius: RadiusOption = "",
    points: Annotated[int, typer.Option("--points", help="Number of poses along the path.")] = 101,
    number: Annotated[
        int, typer.Option("--modes", metavar="N", help="Number of modes, from the lowest frequency.")
    ] = 6,
    unlocked: Annotated[
        bool, typer.Option("--unlocked", help="Let the actuators move freely; by default they are locked.")
    ] = False,
    gravity: Annotated[
        bool,
        typer.Option("--gravity", help="Compute modes about the equilibrium under gravity and --external."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Figure of a mode, path or map to write (.png, .svg or .pdf)."),
    ] = None,
    shape: Annotated[
        int, typer.Option("--shape", metavar="K", help="Number of the mode to draw, from 1.")
    ] = 1,
    tool: ToolOption = "",
    payload: PayloadOption = None,
    external: ExternalOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Natural frequencies of a robot with flexible links: at a pose, along a path or over a map."""
    from nacelle.elastic.linear.frequencies import frequency_map, natural_frequencies
    from nacelle.report.vibrations import frequency_map_data, frequency_map_parts, modes_data, modes_parts

    robot = load_robot(robot_name, mode, payload)
    check_output_file(plot, PICTURES)
    if over and along:
        raise NacelleError("--map and --along exclude each other; give one of them")
    if not 1 <= shape <= number:
        raise NacelleError(f"--shape {shape}: modes 1 to {number} are computed (--modes)")
    options: dict[str, Any] = {
        "modes": number,
        "locked": not unlocked,
        "gravity": gravity,
        "external": read_wrenches(robot, external) or None,
    }
    with warnings.catch_warnings():
        # Said in a line of its own.
        warnings.simplefilter("ignore", RuntimeWarning)
        x = read_pose(robot, at, tool)
        if over:
            frequencies = frequency_map(robot, read_ranges(robot, over), at=x, tool=tool or None, **options)
            write_picture(lambda: frequencies.plot(shape - 1), plot)
            print_result(frequencies, frequency_map_data, frequency_map_parts, as_json)
            return
        if along:
            x = _path_poses(robot, MotionOptions(along, at, to, radius, 1.0, tool), points)
        elif to or radius:
            raise NacelleError("--to and --radius require --along")
        result = natural_frequencies(robot, x, **options)
        write_picture(lambda: result.plot(shape - 1), plot)
        if as_json and not along:
            buckling = {"gravity": gravity, "buckling_factor": _buckling_factor(result, options["external"])}
            print_json(modes_data(result) | buckling)
            return
        print_result(result, modes_data, modes_parts, as_json)
        if not along:
            _warn_of_buckling(_buckling_factor(result, options["external"]))


def _path_poses(robot: Robot, options: MotionOptions, points: int) -> Array:
    """Poses (points, nx) along a path."""
    import numpy as np

    from nacelle.trajectory.sampling import sample_trajectory

    if points < 2:
        raise NacelleError(f"--points {points}: a path has at least 2")
    trajectory = make_trajectory(robot, options)
    return sample_trajectory(robot, trajectory, np.linspace(0.0, trajectory.duration, points)).x


def _buckling_factor(result: NaturalFrequencies, external: Any) -> float | None:
    """Load factor at which gravity and wrenches buckle the robot; None without a load."""
    import numpy as np

    from nacelle.elastic.linear.statics import buckling

    if not np.any(result.robot.numeric.gravity) and not external:
        return None
    return float(buckling(result.robot, result.x, external=external, modes=1).factor)


def _warn_of_buckling(factor: float | None) -> None:
    """Say how near a robot is to buckling; nothing beyond what anybody loads it with."""
    from nacelle.elastic.linear.statics import NEAR_BUCKLING

    if factor is None or factor >= 100.0:
        return
    message = f"buckling load factor of gravity and external wrenches: {factor:.4g}"
    if factor < NEAR_BUCKLING:
        print_notes(
            [f"warning: the robot {'has buckled' if factor < 1.0 else 'is close to buckling'}; {message}"]
        )
    else:
        print_parts([message])
