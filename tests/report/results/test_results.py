"""Results: control, described, dynamics, elastic, identification, kinematics, names, quantity."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.report.results import names
from nacelle.report.results.dynamics import inverse_dynamics, regressor
from nacelle.report.results.elastic import natural_frequencies
from nacelle.report.results.kinematics import inverse_kinematics, trajectory
from nacelle.report.results.quantity import alone, quantity_of_rows
from support.flexible_robots import prrrp
from support.library import library_robot

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
    modes = nacelle.natural_frequencies(robot, nacelle.reference_pose(robot), modes=2)
    frequencies, damping = natural_frequencies(modes)
    np.testing.assert_array_equal(frequencies.values, modes.frequencies)
    assert (set(frequencies.units), set(damping.units)) == ({"Hz"}, {"-"})


def test_coordinates_and_motions() -> None:
    """Quantities of kinematic results are their numbers."""
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    found = nacelle.inverse_kinematics(robot, x)
    actuators, margins = inverse_kinematics(found)
    np.testing.assert_array_equal(actuators.values, found.actuators)
    assert actuators.units == ("rad", "rad")
    assert margins.names == tuple(leg.name for leg in robot.legs)
    line = nacelle.Line(x, x + 0.01, motion=robot.motion, duration=0.5)
    pose, twist, _ = trajectory(line)
    np.testing.assert_array_equal(pose.values[-1], line(0.5).x)
    assert twist.units == ("m/s", "m/s")


def test_units() -> None:
    """Units of actuators and coordinates, joints of the nacelle included."""
    robot = library_robot("palida")
    assert {unit for _, unit in names.actuators(robot)} == {"N"}
    assert names.pose(robot.motion)[2:5] == [("z", "m"), ("qx", "-"), ("qy", "-")]
    assert [unit for _, unit in names.twist(robot.motion, "force", robot)] == ["N"] * 3 + ["N m"] * 3
    assert {unit for _, unit in names.actuators(library_robot("delta"), "rate")} == {"rad/s"}
    assert len(names.legs(robot, 7)) == 7


def test_a_batch_becomes_a_row_of_samples() -> None:
    """Quantities: batches become rows, names belong to their numbers."""
    values = np.arange(24.0).reshape(2, 3, 4)
    one = quantity_of_rows("forces", [("a", "N"), ("b", "N m"), ("c", "N"), ("d", "")], values)
    np.testing.assert_array_equal(one.values, values.reshape(6, 4))
    assert one.groups() == {"N": [0, 2], "N m": [1], "-": [3]}
    assert alone("factor", "-", 2.0).single
    with pytest.raises(ValueError, match="2 names"):
        quantity_of_rows("forces", [("a", "N"), ("b", "N")], values)
