"""Assembly: idle motions stay where the description puts them; the reference is assembled once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.kinematics.mechanism.assembly import assemble, guess_coordinates
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import Primitive
from support.library import library_robot


@pytest.mark.parametrize("name", ["quattro", "delta"])
def test_rods_do_not_spin(name: str) -> None:
    """Guesses of the elbows tilt the rods about y alone: so do the solutions, to rounding."""
    robot = library_robot(name)
    assembly = assemble(robot)
    assert not assembly.open
    guess = guess_coordinates(robot)
    rods = [
        place
        for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True)
        if joint.primitives == (Primitive.SPHERICAL,)
    ]
    assert rods
    for place in rods:
        x, y, z, w = assembly.q[place]
        assert guess[place][0] == guess[place][2] == 0.0
        assert max(abs(x), abs(z)) < 1e-15
        assert np.hypot(y, w) == pytest.approx(1.0)


def test_the_reference_is_assembled_once_for_a_robot_and_its_names() -> None:
    robot = library_robot("delta")
    renamed = dataclasses.replace(robot, name="other")
    assert assemble(robot) is mechanism_of(robot).assembly
    assert renamed == robot
    assert assemble(renamed) is not assemble(robot)
    np.testing.assert_array_equal(assemble(renamed).q, assemble(robot).q)
    np.testing.assert_array_equal(assemble(robot, robot.reference).q, assemble(robot).q)


def test_the_other_branch_is_found_from_guesses_on_this_one() -> None:
    """Random starts that lead nowhere do not end the search: both branches of an RRR leg exist."""
    robot = library_robot("3rrr")
    leg = robot.legs[0]
    here = assemble(robot)
    assert not here.missed
    other = dataclasses.replace(
        robot, legs=(dataclasses.replace(leg, branch=-leg.branch), *robot.legs[1:]), modes=()
    )
    for seed in range(1, 11):
        there = assemble(other, robot.reference, here.q, seed)
        assert not there.open
        assert not there.missed
