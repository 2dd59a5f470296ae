"""Units of actuators and coordinates, joints of the nacelle included."""

from __future__ import annotations

from nacelle.report.results import names
from support.library import library_robot


def test_units() -> None:
    robot = library_robot("palida")
    assert {unit for _, unit in names.actuators(robot)} == {"N"}
    assert names.pose(robot.motion)[2:5] == [("z", "m"), ("qx", "-"), ("qy", "-")]
    assert [unit for _, unit in names.twist(robot.motion, "force", robot)] == ["N"] * 3 + ["N m"] * 3
    assert {unit for _, unit in names.actuators(library_robot("delta"), "rate")} == {"rad/s"}
    assert len(names.legs(robot, 7)) == 7
