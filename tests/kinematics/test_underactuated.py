"""Which coordinates nothing drives, and names of coordinates."""

import pytest

import nacelle
from nacelle.kinematics.underactuated import coordinate_places, free_hint, require_driven, undriven
from support.described import mechanism


def test_a_free_base_is_driven_by_nothing() -> None:
    robot = mechanism("biped")
    assert undriven(robot) == ("x", "y", "z", "rx", "ry", "rz")
    assert undriven(mechanism("gripper")) == ()
    with pytest.raises(nacelle.UnderactuatedError, match="a test needs an actuator for every motion"):
        require_driven(robot, "a test needs")
    assert "free=('x', 'y', 'z', 'rx', 'ry', 'rz') leaves" in free_hint(robot)


def test_coordinates_by_full_names_bare_names_and_named_motions() -> None:
    robot = mechanism("biped")
    assert coordinate_places(robot, ["left.hip", "se3"]) == (0, 1, 2, 3, 4, 5, 6)
    assert coordinate_places(mechanism("cart_pole"), "pivot") == (1,)
    with pytest.raises(nacelle.KinematicsError, match="'hip' is not a coordinate"):
        coordinate_places(robot, "hip")
