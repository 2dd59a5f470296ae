"""Exports the inverse dynamics as C, which runs the package's self-test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.identified import MODEL
from nacelle.cli.demo.words import typed

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.demo.exported import Exported

PACKAGE = "palida-c"
_FUNCTION = "inverse_dynamics"


def exported(robot: Robot, folder: DemoFolder) -> Exported:
    """Export the identified model, the described one if there is none; it is tested where C can be compiled.

    Raises:
        ExportError: if the self-test fails.
    """
    from nacelle.export.export import export
    from nacelle.library import load
    from nacelle.report.demo.exported import Exported

    model = load(str(folder / MODEL)) if (folder / MODEL).exists() else robot
    done = export(model, _FUNCTION, out=folder / PACKAGE, target="c")
    folder.add(*(f"{PACKAGE}/{name}" for name in done.files))
    compiler = done.self_test.compiler if done.self_test is not None else ""
    header = next((folder / PACKAGE / "include").glob("*.h")).read_text(encoding="utf-8")
    declared = re.search(rf"void {done.name}_{_FUNCTION}\([^;]*;", header)
    named = folder / MODEL if model is not robot else robot.name
    return Exported(
        folder=str(folder / PACKAGE),
        files=len(done.files),
        operations=done.counts[_FUNCTION].total,
        prototype=declared[0] if declared else "",
        compiler=compiler,
        verdict="all is well" if compiler else "",
        commands=(
            typed("export", named, "--model", _FUNCTION, "--out", "palida-c"),
            "make -C palida-c test",
        ),
    )
