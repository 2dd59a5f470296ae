"""The command `study`: parameter studies, on this machine or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    JsonOption,
    check_output_file,
    exit_interrupted,
    report_written,
    write_output_file,
)
from nacelle.cli.outputs import FAILED_SAMPLES, print_notes, print_result
from nacelle.errors import NacelleError, format_count


@command("study")
def study_command(
    file: Annotated[Path, typer.Argument(help="The study, a YAML file.")],
    *,
    robot: Annotated[str, typer.Option("--robot", help="Another robot than that of the study.")] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the results; by default named after the study."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a folder that holds part of this study.")
    ] = False,
    cluster: Annotated[
        str, typer.Option("--cluster", help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786.")
    ] = "",
    threads: Annotated[
        int | None, typer.Option("--threads", help="Blocks evaluated at once on this machine.", min=1)
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Page of the results (HTML); by default in the folder.")
    ] = None,
    target: Annotated[
        str, typer.Option("--target", help="jit, or cuda: quantities of drives on a GPU.")
    ] = "jit",
    dry: Annotated[
        bool, typer.Option("--dry", help="Say how large the study is, evaluate one block, and stop.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a parameter study: sweep, tolerances, sensitivities or optimisation, here or on a cluster."""
    from nacelle.studies.result import study_data, study_parts
    from nacelle.studies.study import Study

    if not file.is_file():
        raise NacelleError(f"{file} is no file: name the YAML file of a study")
    study = Study(file, robot or None, target=target)
    folder = out or Path(f"{file.stem}-results")
    check_output_file(page, (".html",))
    if dry:
        print_notes([study.estimate().text])
        return
    if any(folder.glob("blocks/*.parquet")) and not resume:
        raise NacelleError(f"{folder} holds results: give --resume to go on with it, or another --out")
    print_notes(
        [f"{format_count(study.count, 'variant')} in {format_count(study.blocks, 'block')}, to {folder}"]
    )
    try:
        result = study.run(folder, cluster=cluster or None, threads=threads)
    except KeyboardInterrupt:
        exit_interrupted(f"what was found is in {folder}: go on with --resume")
    if page is None:
        page = folder / "study.html"
        page.unlink(missing_ok=True)
    write_output_file(page, result.page())
    report_written(page)
    if result.front.any():
        designs = result.write_front(folder / "designs")
        report_written(designs[0].parent)
    print_result(result, study_data, study_parts, as_json)
    if not result.variants.ok.any():
        raise typer.Exit(FAILED_SAMPLES)
