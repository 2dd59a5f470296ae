"""A compiled file: names, places of equalities, what MuJoCo refuses at its line."""

from pathlib import Path

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.mjcf.compiled import compile_mjcf, quaternion_rotation

TEXT = """<mujoco><worldbody>
  <body name="base"><joint name="turn"/><geom size="1"/></body>
  <body><joint/><geom size="1"/></body></worldbody>
<equality><joint joint1="turn"/></equality>
<equality>
<weld body1="base"/></equality></mujoco>"""


def test_names_and_places(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(TEXT)
    read = compile_mjcf(path, ExchangeReport())
    assert read.bodies == ["base", "base-2", "body2"]
    assert read.joints == ["turn", "joint1"]
    assert (read.equality(1).tag, read.equality(1).line) == ("weld", 6)


def test_a_body_whose_mass_was_in_a_mesh_has_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(TEXT.replace('<joint/><geom size="1"/>', '<joint/><geom type="mesh" mesh="m"/>'))
    with pytest.raises(DescriptionError) as caught:
        compile_mjcf(path, ExchangeReport())
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert "<inertial>" in problem.hint


def test_warnings_are_reported_and_not_left_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.xml"
    path.write_text(TEXT.replace("<joint/>", '<joint user="nan"/>'))
    read = compile_mjcf(path, ExchangeReport())
    assert [step.split(":")[0] for step in read.report.steps] == ["MuJoCo warns"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.xml"]


def test_quaternions_have_the_scalar_first() -> None:
    np.testing.assert_allclose(
        quaternion_rotation(np.array([2.0, 0, 0, 2.0])), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15
    )
