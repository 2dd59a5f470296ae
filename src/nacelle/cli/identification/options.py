"""Options that the commands of identification share: data, filters, base parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nacelle.identification.data.measurement import Measurement
    from nacelle.identification.data.preparation import Preparation
    from nacelle.model.robot import Robot

DataArgument = Annotated[
    list[Path], typer.Argument(metavar="data", help="Measured runs: csv, npz, mat, parquet, mcap; repeat.")
]
ColumnsOption = Annotated[
    Path | None,
    typer.Option("--columns", help="Column map (YAML): which columns, units, gears; by their names if none."),
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="KIND", help="A kind of fault that is overruled, or all; repeat."),
]
CutoffOption = Annotated[
    float | None, typer.Option("--cutoff", help="Of the encoders' filter, Hz; from the data if none.")
]
DecimationOption = Annotated[
    int | None, typer.Option("--decimation", help="One of so many samples is kept; from the data if none.")
]
AssumeOption = Annotated[
    list[str] | None,
    typer.Option(
        help="What is zero for good: undescribed (the default), zeros, nothing, or a name or pattern of "
        "parameters such as 'strut*.1.mx'; may be given several times."
    ),
]
SharedOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Legs that share their parameters: legs (all that are identical), mirrored (mirror images), "
        "nothing, or names with commas between, 'leg1,leg2' or 'left,mirror right'; may be given several "
        "times. As the description says if left out."
    ),
]


def sharing(shared: list[str] | None) -> object:
    """Legs that share their parameters, as `base_parameters` takes them."""
    if not shared:
        return None
    alone = len(shared) == 1 and "," not in shared[0]
    return shared[0] if alone else [[leg.strip() for leg in text.split(",")] for text in shared]


def read_all(robot: Robot, data: list[Path], columns: Path | None) -> list[Measurement]:
    """Read measured runs."""
    from nacelle.identification.data.read import read_measurement

    return [read_measurement(path, robot, columns) for path in data]


def filters(cutoff: float | None, decimation: int | None, instruments: str = "auto") -> Preparation:
    """How signals are filtered."""
    from nacelle.identification.data.preparation import Preparation

    return Preparation(cutoff=cutoff, decimation=decimation, instruments=instruments)
