"""How commands write: units, flags in words, and tables that are read back."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer

from nacelle.cli.outputs import (
    FAILED_SAMPLES,
    ResultTable,
    actuator_units,
    all_flag_words,
    flag_names,
    for_people,
    joint_units,
    leave_if_failed,
)
from nacelle.kinematics.flags import Flag
from nacelle.model.joint import Joint, JointKind
from support.uncompiled import any_robot


def test_units() -> None:
    assert for_people(np.pi, True) == "180.0000 deg"
    assert for_people(0.0123, False) == "12.3000 mm"
    assert actuator_units(any_robot("fivebar")) == ["rad", "rad"]
    assert actuator_units(any_robot("gough-stewart")) == ["m"] * 6
    assert joint_units(Joint("j", JointKind.PLANAR_SPHERICAL, 0, 1)) == ["m", "m", "", "", "", ""]


def test_flags_in_words() -> None:
    both = int(Flag.UNREACHABLE | Flag.NEAR_SINGULAR)
    assert len(flag_names(both)) == 2
    assert all_flag_words(np.array([0, both, 0])) == [[], flag_names(both), []]


def test_failed_samples_have_a_status() -> None:
    leave_if_failed(np.array([0, int(Flag.NEAR_SINGULAR)]))
    with pytest.raises(typer.Exit) as left:
        leave_if_failed(np.array([0, int(Flag.UNREACHABLE)]))
    assert left.value.exit_code == FAILED_SAMPLES


def test_a_table_has_its_columns_in_order_and_flags_last(tmp_path: Path) -> None:
    table, flags = ResultTable(), np.array([0, int(Flag.NEAR_SINGULAR)])
    table.add(["x", "y"], ["m", "m"], np.array([[1.0, 2.0], [3.0, 4.0]]).T)
    table.add(["q"], ["rad"], [np.array([0.5, 0.25])])
    table.deliver(SimpleNamespace(flags=flags, robot=any_robot("fivebar")), "poses", tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert [part.split()[0].split("[")[0] for part in lines[0].split(",")] == ["x", "y", "q", "flags"]
    rows = [[float(part) for part in line.split(",")] for line in lines if line[:1].isdigit()]
    assert rows == [[1.0, 2.0, 0.5, 0.0], [3.0, 4.0, 0.25, float(Flag.NEAR_SINGULAR)]]
