"""Variables of an FMU: places, names, units, when they may be set."""

from __future__ import annotations

from nacelle.export.fmi.variables import QuantityNames, VariableTable
from support.library import library_robot


def test_groups_lie_side_by_side() -> None:
    table = VariableTable()
    table.add("step", "parameter", [("step", "s")], "a step", start=[0.5])
    table.add("gain", "parameter", [("gain", "")], "a gain", start=[2.0], tunable=True)
    table.add("force", "input", [("force.a", "N"), ("force.b", "N.m")], "a force", start=[0.0, 0.0])
    table.add_states([("state.x", "m"), ("state.v", "rad/s")], "a state")
    assert [scalar.name for scalar in table.scalars][-2:] == ["der(state.x)", "der(state.v)"]
    assert [scalar.unit for scalar in table.scalars][-2:] == ["m/s", "rad/s2"]
    assert [scalar.derivative_of for scalar in table.scalars][-2:] == [5, 6]
    assert table.at("force") == "values + 3"
    assert [scalar.settable for scalar in table.scalars[:4]] == ["NEVER", "BEFORE", "ALWAYS", "ALWAYS"]
    assert [scalar.variability for scalar in table.scalars[:4]] == [
        "continuous",
        "fixed",
        "tunable",
        "continuous",
    ]
    assert [scalar.name for scalar in table.states()] == ["state.x", "state.v"]
    assert VariableTable().states() == []
    table.add("other", "output", [("step", ""), ("step", "")], "names that are taken")
    assert [scalar.name for scalar in table.scalars[table.places["other"]]] == ["step'", "step''"]


def test_names_of_a_robot() -> None:
    names = QuantityNames(library_robot("palida"))
    assert names.pose[2:4] == [("pose.z", "m"), ("pose.qx", "")]
    assert names.twist[-1] == ("twist.v_rz", "rad/s")
    assert names.acceleration[0] == ("acceleration.a_x", "m/s2")
    assert {unit for _, unit in names.force} == {"N"}
    assert {unit for _, unit in QuantityNames(library_robot("fivebar")).force} == {"N.m"}
    pose, twist = names.started()
    assert (pose[0], twist[0]) == (("start.x", "m"), ("start.v_x", "m/s"))
