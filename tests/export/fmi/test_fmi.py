"""FMUs: sources that compile, descriptions, names, quaternions of any length."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from nacelle.errors import ExportError
from nacelle.export.entries import Wanted
from nacelle.export.fmi import models
from nacelle.export.fmi.build import binary, this_platform, zipped
from nacelle.export.fmi.description import FmuDescription, model_description
from nacelle.export.fmi.models import pose_glue
from nacelle.export.fmi.package import fmi_package
from nacelle.export.fmi.variables import VariableTable
from support.fmus import fmu
from support.library import library_robot

# ---- build
#
# Building an FMU: its own sources alone compile without a warning; the same files are the same bytes.


@pytest.mark.slow
def test_the_sources_in_the_file_compile_elsewhere(tmp_path: Path) -> None:
    """What buildDescription.xml lists is all that a compiler needs, and it has nothing to say."""
    with zipfile.ZipFile(fmu("fivebar")) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "sources"
    listed = ElementTree.parse(folder / "buildDescription.xml").getroot().iter("SourceFile")
    sources = [file.attrib["name"] for file in listed]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only"]
    done = subprocess.run(["cc", *strict, *sources], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    where, ending = this_platform()
    assert (tmp_path / "binaries" / where / f"model{ending}").stat().st_size > 1000


def test_compilers_that_fail() -> None:
    with pytest.raises(ExportError, match=r"no C compiler 'no-such-cc'"):
        binary("one", {"a.c": ""}, "no-such-cc")
    with pytest.raises(ExportError, match=r"does not compile the FMU: a.c.*error"):
        binary("one", {"a.c": "int f(void) { return wrong; }"})


def test_without_a_compiler_there_is_no_binary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-cc")
    assert binary("one", {"a.c": ""}) is None


def test_the_same_files_are_the_same_bytes() -> None:
    files = {"a": "text", "binaries/b": b"\0\1"}
    assert zipped(files) == zipped(files)


# ---- The descriptions of an FMU, read back as XML


def test_names_are_escaped_and_units_defined() -> None:
    table = VariableTable()
    name = 'a <"&> b'
    table.add("force", "input", [(name, "N")], "x < y", start=[0.25])
    table.add("out", "output", [("out", "")], "")
    table.add_states([("state", "m")], "")
    about = FmuDescription("one", "a < b", "token", "nacelle", False, 1e-3, 5e-4)
    root = ElementTree.fromstring(model_description(about, table))
    variables = root.find("ModelVariables")
    assert variables is not None
    assert variables[1].attrib["name"] == name
    assert variables[1].attrib["start"] == "0.25"
    assert [v.attrib["valueReference"] for v in variables] == list("01234")
    assert [unit.attrib["name"] for unit in root.findall("UnitDefinitions/Unit")] == ["s", "m", "m/s", "N"]
    assert root.find("ModelExchange") is None
    stepping = root.find("CoSimulation")
    assert stepping is not None
    assert stepping.attrib["fixedInternalStepSize"] == "0.0005"
    structure = root.find("ModelStructure")
    assert structure is not None
    assert [(part.tag, part.attrib["valueReference"]) for part in structure] == [
        ("Output", "2"),
        ("ContinuousStateDerivative", "4"),
        ("InitialUnknown", "2"),
        ("InitialUnknown", "3"),
        ("InitialUnknown", "4"),
    ]


# ---- models
#
# The C between emitted functions and the interface: which numbers it keeps, and how it calls them.


def test_inputs_and_outputs_of_one_name_are_told_apart() -> None:
    """Kinematics has no forces; dynamics has them as its output, and watched numbers behind them."""
    robot = library_robot("fivebar")
    package = fmi_package(robot, "one", "0", Wanted(("inverse_dynamics",)))
    glue = pose_glue(package, package.entries[-1])
    names = [scalar.name for scalar in glue.table.scalars]
    assert len(set(names)) == len(names)
    assert names[1:3] == ["pose.x", "pose.y"]
    assert "pivot" in names
    assert sum(name.startswith("force.") for name in names) == len(robot.actuators)
    assert glue.memory == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("size", [1.0, 3.0, 1e155, 1e308, 1e-200])
def test_quaternions_of_any_length_are_made_unit_in_c(size: float, tmp_path: Path) -> None:
    """Squares that overflow or vanish must not leave the identity; no orientation at all gives NaN."""
    package = fmi_package(library_robot("gough-stewart"), "one", "0", Wanted(()))
    lines = models._unit_pose(package, "in")
    source = tmp_path / "unit.c"
    body = f"void unit(const double *in, double *out) {{\n{lines}\nmemcpy(out, x, sizeof x);\n}}\n"
    source.write_text(f"#include <math.h>\n#include <string.h>\n{body}", encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "unit.so", source, "-lm"], check=True)
    unit = ctypes.CDLL(str(tmp_path / "unit.so")).unit
    quat, out = np.array([0.5, -0.1, 0.3, 0.7]), np.zeros(7)
    pose = np.array([0.1, 0.2, 0.3, *(size * quat)])
    unit(ctypes.c_void_p(pose.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    np.testing.assert_allclose(out, [0.1, 0.2, 0.3, *(quat / np.linalg.norm(quat))], rtol=1e-14)
    pose[3:] = 0.0
    unit(ctypes.c_void_p(pose.ctypes.data), ctypes.c_void_p(out.ctypes.data))
    assert np.all(np.isnan(out[3:]))
