"""Functions of a package: names, inputs that are left, outputs to be watched."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.emit.names import identifier
from nacelle.export.entries import LONGEST, Wanted, entries, package_name
from nacelle.export.entry import CLOSING
from support.hostile_names import HOSTILE
from support.library import library_robot


def test_names_of_packages() -> None:
    robot = library_robot("fivebar")
    for text in HOSTILE:
        name = package_name(dataclasses.replace(robot, name=text), None)
        assert identifier(name) == name
        assert len(name) <= LONGEST
        assert package_name(robot, name) == name
    assert package_name(dataclasses.replace(robot, name="random"), None) == "random_robot"
    assert package_name(library_robot("gough-stewart"), None) == "gough_stewart"


def test_entries_are_programs_of_the_model() -> None:
    """No input is empty; the output that the model is named after comes first, and is that of Python."""
    robot = library_robot("fivebar")
    plain, bare = (
        entries(robot, "five", Wanted(("inverse_dynamics",), bare=bare))[0] for bare in (False, True)
    )
    assert [variable.name for variable in plain.program.inputs] == ["x", "v", "a"]
    assert plain.program.outputs[0].name == "force"
    assert [variable.name for variable in bare.program.outputs] == ["force"]
    assert plain.program.name == "five_inverse_dynamics"
    x, v, a = nacelle.reference_pose(robot), np.array([0.3, -0.2]), np.array([1.0, 2.0])
    expected = nacelle.inverse_dynamics(robot, x, v, a).force
    np.testing.assert_allclose(bare.program.evaluate([*x, *v, *a]), expected, rtol=1e-12)


def test_legs_found_by_iteration_come_with_their_step() -> None:
    made = entries(library_robot("quattro"), "q", Wanted(("inverse_kinematics",)))
    assert [entry.label for entry in made] == [CLOSING, "inverse_kinematics"]


def test_numbers_given_at_run_time_are_prepared() -> None:
    robot = library_robot("fivebar")
    first, second = entries(robot, "five", Wanted(("gravity_forces",), parameters=("gravity",)))
    assert (first.label, second.label) == ("gravity_forces_prepare", "gravity_forces")
    numbers = robot.numbers.vector("gravity")
    x = nacelle.reference_pose(robot)
    for factor in (1.0, 0.5):
        prepared = first.program.evaluate((factor * numbers).tolist())
        found = second.program.evaluate([*prepared, *x])[: robot.motion.n]
        np.testing.assert_allclose(found, factor * nacelle.gravity_forces(robot, x), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(()), "at least one model"),
        (Wanted(("jacobian", "jacobian")), "named twice"),
        (Wanted(("jacobian",), input="encoders"), "is one of inverse_dynamics"),
    ],
)
def test_what_cannot_be_exported(wanted: Wanted, words: str) -> None:
    with pytest.raises(nacelle.ExportError, match=words):
        wanted.check()
