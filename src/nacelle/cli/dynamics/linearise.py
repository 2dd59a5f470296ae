"""The command `linearise`: a linear model around an equilibrium, with its poles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, console, print_json
from nacelle.cli.inputs import AtOption, ModeOption, NoFrictionOption, SmoothOption, load_robot, pose_at
from nacelle.cli.loads import ExternalOption, PayloadOption, ToolOption, loaded, wrenches

if TYPE_CHECKING:
    from nacelle.dynamics.derivatives.linear import LinearModel
    from nacelle.spatial.scalar import Array

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
        _show(model)
        _warn_of_motion(model)


def _show(model: LinearModel) -> None:
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
