"""The C between emitted functions and the interface: which numbers it keeps, and how it calls them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nacelle.export.entries import Wanted
from nacelle.export.fmi import models
from nacelle.export.fmi.models import plant_glue, pose_glue
from nacelle.export.fmi.package import fmi_package
from support.library import library_robot


def test_states_and_memory() -> None:
    package = fmi_package(library_robot("fivebar"), "one", "0", Wanted(()))
    glue = plant_glue(package)
    assert (len(glue.table.states()), glue.memory, glue.exchanged) == (4, 0, True)
    assert "one_plant_rk4(values + " in glue.advance


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
