"""Results in a notebook: tables, and the quantities that pictures and tables are made of."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import NacelleError
from nacelle.report.draw import canvas
from nacelle.report.notebook import command_parts
from nacelle.report.results import names
from nacelle.report.results.quantities import (
    inverse_dynamics,
    inverse_kinematics,
    natural_frequencies,
    regressor,
    trajectory,
)
from nacelle.report.results.quantity import make_quantity, make_single_quantity
from nacelle.report.table import parts_html
from support.flexible_robots import prrrp
from support.library import library_robot
from support.page_reader import PageReader
from support.results import all_results, result_names, results, some_poses, with_names

# ---- Tables of notebooks: sound, short HTML with the numbers of the result; names are escaped


@pytest.mark.parametrize("name", result_names())
def test_every_result_has_a_table(name: str) -> None:
    result = all_results()[name]()
    tags = PageReader(result._repr_html_()).tags
    assert "table" in tags
    assert tags.count("tr") < 130
    assert len(repr(result)) < 3000


def test_names_are_escaped() -> None:
    robot = with_names(library_robot("fivebar"), ["<script>alert(1)</script>", '"&'])
    for name in ("Robot", "InverseDynamics", "InverseKinematics, many", "Reactions", "Sizing"):
        text = results(robot)[name]()._repr_html_()
        assert "script" not in PageReader(text).tags
        assert "&lt;script&gt;" in text


def test_numbers_and_flags() -> None:
    robot = library_robot("fivebar")
    found = nacelle.inverse_dynamics(robot, some_poses(robot))
    text = found._repr_html_()
    assert "1 of 5 samples are flagged: 1 unreachable" in text
    assert f"{np.nanmax(found.tau[:, 0]):.4g}" in text
    assert "N m" in text


def test_tables() -> None:
    """Tables of results that have more to say."""
    robot = library_robot("fivebar")
    mobility = nacelle.kinematics.mobility(robot)
    text = parts_html(command_parts(mobility))
    assert all(nacelle.page.markup.escape_text(words) in text for words in mobility.describe())
    base = nacelle.base_parameters(robot)
    assert f"{len(base.kept)} base parameters" in parts_html(command_parts(base))
    assert command_parts(nacelle.reference_pose(robot)) == []


def test_a_robot_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot in a notebook: its actuators, and a picture where there can be one."""

    def missing(name: str) -> object:
        raise NacelleError("pictures need matplotlib: pip install 'nacelle-robotics[plot]'")

    monkeypatch.setattr(canvas, "import_matplotlib", missing)
    text = library_robot("fivebar")._repr_html_()
    assert "no picture: pictures need matplotlib" in text
    assert "left.motor" in text


# ---- Quantities of dynamic results are their numbers


def test_forces_by_both_forms() -> None:
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    (forces,) = inverse_dynamics(nacelle.inverse_dynamics(robot, x))
    (linear,) = regressor(nacelle.regressor(robot, x))
    np.testing.assert_allclose(forces.values, linear.values, rtol=1e-9)
    assert forces.units == ("N m", "N m")


def test_frequencies() -> None:
    """Quantities of flexible robots are their numbers."""
    robot = prrrp()
    modes = nacelle.elastic.natural_frequencies(robot, nacelle.reference_pose(robot), modes=2)
    frequencies, damping = natural_frequencies(modes)
    np.testing.assert_array_equal(frequencies.values, modes.frequencies)
    assert (set(frequencies.units), set(damping.units)) == ({"Hz"}, {"-"})


def test_coordinates_and_motions() -> None:
    """Quantities of kinematic results are their numbers."""
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    found = nacelle.inverse_kinematics(robot, x)
    actuators, margins = inverse_kinematics(found)
    np.testing.assert_array_equal(actuators.values, found.q)
    assert actuators.units == ("rad", "rad")
    assert margins.names == tuple(leg.name for leg in robot.legs)
    line = nacelle.Line(x, x + 0.01, motion=robot.motion, duration=0.5)
    pose, twist, _ = trajectory(line)
    np.testing.assert_array_equal(pose.values[-1], line(0.5).x)
    assert twist.units == ("m/s", "m/s")


def test_units() -> None:
    """Units of actuators and coordinates, joints of the platform included."""
    robot = library_robot("palida")
    assert {unit for _, unit in names.actuators(robot)} == {"N"}
    assert names.pose(robot.motion)[2:5] == [("z", "m"), ("qx", "-"), ("qy", "-")]
    assert [unit for _, unit in names.twist(robot.motion, "force", robot)] == ["N"] * 3 + ["N m"] * 3
    assert {unit for _, unit in names.actuators(library_robot("delta"), "rate")} == {"rad/s"}
    assert len(names.legs(robot, 7)) == 7


def test_a_batch_becomes_a_row_of_samples() -> None:
    """Quantities: batches become rows, names belong to their numbers."""
    values = np.arange(24.0).reshape(2, 3, 4)
    one = make_quantity("forces", [("a", "N"), ("b", "N m"), ("c", "N"), ("d", "")], values)
    np.testing.assert_array_equal(one.values, values.reshape(6, 4))
    assert one.groups() == {"N": [0, 2], "N m": [1], "-": [3]}
    assert make_single_quantity("factor", "-", 2.0).single
    with pytest.raises(ValueError, match="2 names"):
        make_quantity("forces", [("a", "N"), ("b", "N")], values)
