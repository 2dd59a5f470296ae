"""The command `linearise`: a linear model at rest, with its poles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import JsonOption, RobotArgument, app, console, fail, print_json
from nacelle.cli.loads import ExternalOption, PayloadOption, ToolOption, loaded, wrenches
from nacelle.cli.pose import AtOption, ModeOption, load_robot, plain, pose_at
from nacelle.errors import NacelleError, did_you_mean

if TYPE_CHECKING:
    from nacelle.dynamics.linear import LinearModel
    from nacelle.spatial.scalar import Array


@app.command("linearise")
def linearise_command(
    robot: RobotArgument,
    at: AtOption = None,
    coordinates: Annotated[
        str, typer.Option("--coordinates", help="Of the state: platform, or actuators.")
    ] = "platform",
    smooth: Annotated[
        float | None,
        typer.Option("--smooth", help="Rate over which Coulomb friction changes its sign, rad/s or m/s."),
    ] = None,
    no_friction: Annotated[bool, typer.Option("--no-friction", help="Leave friction out.")] = False,
    tool: ToolOption = "",
    payload: PayloadOption = None,
    external: ExternalOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Linear model around the equilibrium at a pose: matrices, eigenvalues, natural frequencies."""
    try:
        from nacelle.dynamics.linear import linearise

        found = loaded(load_robot(robot, mode), payload)
        x = pose_at(found, at, tool)
        options: dict[str, Any] = {"external": wrenches(found, external), "friction": not no_friction}
        if coordinates == "platform":
            model = linearise(found, x, smooth=smooth, **options)
        elif coordinates == "actuators":
            model = linearise(found, x, coordinates="actuators", smooth=smooth, **options)
        else:
            known = ("platform", "actuators")
            raise NacelleError(
                f"no coordinates are called {coordinates!r}; {did_you_mean(coordinates, known)}"
            )
    except NacelleError as error:
        fail(error, as_json)
    if as_json:
        print_json(_data(model))
    else:
        _show(model)


def _data(model: LinearModel) -> dict[str, Any]:
    return {
        "robot": model.robot.name,
        "coordinates": model.coordinates,
        "state": list(model.state_names),
        "inputs": list(model.input_names),
        "x": model.x.tolist(),
        "tau": model.tau.tolist(),
        "smooth": model.smooth,
        **{name: getattr(model, name).tolist() for name in ("A", "B", "C", "D")},
        "poles": [
            {
                "real": pole.value.real,
                "imaginary": pole.value.imag,
                "frequency": pole.frequency,
                "damping": plain(pole.damping),
            }
            for pole in model.poles()
        ],
        "natural_frequencies": plain(model.natural_frequencies.tolist()),
    }


def _show(model: LinearModel) -> None:
    out = console()
    held = ", ".join(
        f"{name} {force:.5g}" for name, force in zip(model.input_names, model.tau.tolist(), strict=True)
    )
    told = "without friction" if model.smooth is None else f"friction smooth over {model.smooth:g} (SI)"
    out.print(f"{model.robot.name} at rest, {model.coordinates} coordinates, {told}", markup=False)
    out.print(f"held by {held} (N, N m)", markup=False)
    outputs = [f"q {name}" for name in model.input_names]
    _matrix("A", model.A, [f"d/dt {name}" for name in model.state_names], model.state_names)
    _matrix("B", model.B, [f"d/dt {name}" for name in model.state_names], model.input_names)
    _matrix("C", model.C, outputs, model.state_names)
    out.print("D = 0")
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("eigenvalue (rad/s)", "frequency", "damping"):
        table.add_column(name, justify="right")
    for pole in model.poles():
        value = f"{pole.value.real:.6g}"
        if pole.value.imag:
            value += f" {'+' if pole.value.imag > 0.0 else '-'} {abs(pole.value.imag):.6g} i"
        damping = f"{pole.damping:.4f}" if math.isfinite(pole.damping) else ""
        table.add_row(value, f"{pole.frequency:.5g} Hz", damping)
    out.print(table)


def _matrix(name: str, values: Array, rows: list[str], columns: tuple[str, ...]) -> None:
    """Print a matrix with names; zeros as a point."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(name, justify="left")
    for column in columns:
        table.add_column(escape(column), justify="right", no_wrap=True)
    largest = float(abs(values).max())
    for label, row in zip(rows, values.tolist(), strict=True):
        shown = [f"{value:.5g}" if abs(value) > 1e-14 * largest else "." for value in row]
        table.add_row(escape(label), *shown)
    console().print(table)
