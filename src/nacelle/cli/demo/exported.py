"""Exports the inverse dynamics as C and runs the package's self-test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from nacelle.cli.demo.folder import DemoFolder
from nacelle.cli.demo.identified import MODEL
from nacelle.cli.demo.words import typed
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.demo.exported import Exported

PACKAGE = "palida-c"
_FUNCTION = "inverse_dynamics"


def exported(robot: Robot, folder: DemoFolder) -> Exported:
    """Export the identified model, the described one if there is none, and test it where C can be compiled.

    Raises:
        NacelleError: if the self-test fails.
    """
    from nacelle.export.export import export
    from nacelle.library import load
    from nacelle.report.demo.exported import Exported

    model = load(str(folder / MODEL)) if (folder / MODEL).exists() else robot
    done = export(model, _FUNCTION, out=folder / PACKAGE, target="c")
    folder.add(*(f"{PACKAGE}/{name}" for name in done.files))
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), "")
    if shutil.which("make") is None:
        compiler = ""
    header = next((folder / PACKAGE / "include").glob("*.h")).read_text(encoding="utf-8")
    declared = re.search(rf"void {done.name}_{_FUNCTION}\([^;]*;", header)
    named = folder / MODEL if model is not robot else robot.name
    return Exported(
        folder=str(folder / PACKAGE),
        files=len(done.files),
        operations=done.counts[_FUNCTION].total,
        prototype=declared[0] if declared else "",
        compiler=compiler,
        verdict=self_test(folder / PACKAGE, compiler) if compiler else "",
        commands=(
            typed("export", named, "--model", _FUNCTION, "--out", "palida-c"),
            "make -C palida-c test",
        ),
    )


def self_test(package: Path, compiler: str) -> str:
    """Compile a copy of a package, run its self-test, and give its last line.

    Raises:
        NacelleError: if it fails.
    """
    with tempfile.TemporaryDirectory() as place, task(f"compiling with {compiler}"):
        copy = shutil.copytree(package, Path(place) / "package")
        ran = subprocess.run(
            ["make", "--silent", "--no-print-directory", "test", f"CC={compiler}"],
            cwd=copy,
            # A make around this one must not hand its settings down.
            env={
                name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
            },
            capture_output=True,
            text=True,
            check=False,
        )
    printed = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
    if ran.returncode or not printed:
        raise NacelleError("the self-test of the C package fails:\n" + "\n".join(printed[-10:]))
    return printed[-1].strip()
