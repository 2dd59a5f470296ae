"""MATLAB's files: variables, fields of structures, vectors in rows and columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from nacelle.errors import MeasurementError
from nacelle.identification.data.formats.mat import open_mat


def test_variables_and_fields(tmp_path: Path) -> None:
    t, q = np.arange(4.0), np.arange(8.0).reshape(4, 2)
    savemat(tmp_path / "run.mat", {"t": t, "log": {"q": q, "i": {"a": 2 * t}}, "note": "text"})
    read = open_mat(tmp_path / "run.mat")
    assert set(read.names) == {"t", "log.q[0]", "log.q[1]", "log.i.a"}
    values = read.load(["t", "log.q[1]", "log.i.a"])
    np.testing.assert_array_equal(values["t"], t)
    np.testing.assert_array_equal(values["log.q[1]"], q[:, 1])
    np.testing.assert_array_equal(values["log.i.a"], 2 * t)


def test_matlab_7_3(tmp_path: Path) -> None:
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116) + b"\x00" * 8 + b"\x00\x02IM"
    (tmp_path / "run.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(MeasurementError, match=r"7\.3"):
        open_mat(tmp_path / "run.mat")
