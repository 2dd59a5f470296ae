"""The C between emitted functions and the interface: which numbers it keeps, and how it calls them."""

from __future__ import annotations

from nacelle.export.entries import Wanted
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
