"""The command `identify`: parameters of a robot from measured motion and forces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    LEFT,
    JsonOption,
    RobotArgument,
    check_new,
    console,
    print_json,
    replaced,
    write_new,
    wrote,
)
from nacelle.cli.identification.options import (
    AllowOption,
    AssumeOption,
    ColumnsOption,
    CutoffOption,
    DataArgument,
    DecimationOption,
    SharedOption,
    filters,
    read_all,
    sharing,
)
from nacelle.cli.identification.validate import show_rows
from nacelle.cli.inputs import ModeOption, load_robot
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.identification.estimation.payload import PayloadEstimate
    from nacelle.identification.identify import Identification
    from nacelle.identification.validation import Validation

_YAML = (".yaml", ".yml")
_PAGE = (".html", ".htm")


@command("identify")
def identify_command(
    robot_name: RobotArgument,
    data: DataArgument,
    *,
    columns: ColumnsOption = None,
    method: Annotated[
        str,
        typer.Option(
            help="iv (instrumental variables), ols, wls, irls (least squares: ordinary, weighted, "
            "reweighted), didim (direct and inverse model)."
        ),
    ] = "iv",
    assume: AssumeOption = None,
    shared: SharedOption = None,
    prior: Annotated[
        float | None,
        typer.Option(help="Believe the description's numbers, with this relative deviation (0.2: 20 %)."),
    ] = None,
    instruments: Annotated[
        str, typer.Option(help="reference, smooth (splines through the encoders), or auto.")
    ] = "auto",
    cutoff: CutoffOption = None,
    decimation: DecimationOption = None,
    allow: AllowOption = None,
    held_out: Annotated[
        list[Path] | None,
        typer.Option("--validate", metavar="DATA", help="A run that is not fitted, but predicted; repeat."),
    ] = None,
    payload: Annotated[
        list[Path] | None,
        typer.Option(
            "--payload", metavar="DATA", help="A run with a payload, which is estimated from both; repeat."
        ),
    ] = None,
    on: Annotated[
        str, typer.Option("--on", help="Body or tool that carries the payload; the nacelle if none.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="YAML of the robot with physically consistent parameters; a new file."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Page to write (html): figures, table, plain words.")
    ] = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Parameters from measured motion and forces, with deviations, and what is not trustworthy."""
    from nacelle.identification.estimation.payload import payload_from_runs
    from nacelle.identification.estimation.prior import CadPrior
    from nacelle.identification.identify import identify, raise_for_misfit
    from nacelle.identification.validation import validate

    check_new(out, _YAML)
    check_new(report, _PAGE)
    robot = load_robot(robot_name, mode)
    preparation = filters(cutoff, decimation, instruments)
    measured = read_all(robot, data, columns)
    others = read_all(robot, held_out or [], columns)
    result = identify(
        robot,
        measured,
        method=method,
        assume=assume or "undescribed",
        shared=sharing(shared),
        prior=None if prior is None else CadPrior(prior),
        preparation=preparation,
        allow=allow or (),
    )
    validation = validate(result.estimator, others, preparation=preparation) if others else None
    fits = [result.fit, *([] if validation is None else [validation])]
    if not as_json and not all(fit.ok for fit in fits):
        _show(result, validation)
    for fit in fits:
        raise_for_misfit(fit, allow or ())
    load = None
    if payload:
        carrying = identify(
            robot,
            read_all(robot, payload, columns),
            method=type(result.estimator)(**result.estimator.get_params()),
            preparation=preparation,
            allow=allow or (),
        )
        raise_for_misfit(carrying.fit, allow or ())
        load = payload_from_runs(result.base, result.estimator, carrying.estimator, on=on or None)
    written: dict[str, Any] = {}
    if out is not None:
        _write_robot(result, out)
        written["out"] = str(out)
        wrote(out)
    if report is not None:
        from nacelle.report.identification.page import identification_page

        write_new(report, identification_page(result, validation))
        written["report"] = str(report)
        wrote(report)
    if as_json:
        held = {} if validation is None else {"validation": validation.data()}
        carried = {} if load is None else {"payload": _payload_data(load)}
        print_json(result.data() | held | carried | written)
        return
    if all(fit.ok for fit in fits):
        _show(result, validation)
    if load is not None:
        _show_payload(load)


def _write_robot(result: Identification, out: Path) -> None:
    from nacelle.identification.consistency.identified import write_identified

    try:
        write_identified(result.identified(force=True), out, new=not replaced(out))
    except FileExistsError:
        raise NacelleError(f"{out} {LEFT}") from None


def _payload_data(load: PayloadEstimate) -> dict[str, Any]:
    return {
        "on": load.on,
        "mass": load.mass,
        "com": load.com.tolist(),
        "inertia": load.inertia.tolist(),
        "std": load.sigma.tolist(),
        "determined": list(load.determined),
        "is_seen": load.is_seen,
        "is_explained": load.is_explained(),
    }


def _show_payload(load: PayloadEstimate) -> None:
    out = console()
    com = ", ".join(f"{value:.4g}" for value in load.com)
    out.print(
        f"payload on {load.on}: {load.mass:.5g} kg (deviation {load.sigma[0]:.2g}), centre of mass at "
        f"[{com}] m; determined: {', '.join(load.determined) or 'nothing'}",
        highlight=False,
    )
    if not load.is_seen:
        out.print("- its mass is not distinguishable from zero", highlight=False)
    if not load.is_explained():
        out.print("- the runs differ by more than a payload explains", highlight=False)


def _show(result: Identification, validation: Validation | None) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    estimator = result.estimator
    out.print(
        f"{result.robot.name}: {len(result.base)} base parameters by {type(estimator).__name__}, "
        f"R^2 {result.fit.score:.5f}, excitation {result.excitation}",
        highlight=False,
    )
    table = Table("base parameter", "described", "estimate", "deviation", "%", "")
    removed = set(result.essential.removed)
    for k, name in enumerate(result.base.names):
        relative = 100.0 * estimator.relative_std_[k]
        table.add_row(
            Text(name),
            f"{result.base.values[k]:.5g}",
            f"{estimator.coef_[k]:.5g}",
            f"{estimator.std_[k]:.2g}",
            f"{relative:.2g}" if relative < 1e4 else "-",
            "inessential" if name in removed else "",
        )
    out.print(table)
    for words in result.words():
        out.print(Text(f"- {words}"))
    show_rows("fit", result.fit)
    if validation is not None:
        show_rows("validation", validation)
