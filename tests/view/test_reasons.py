from __future__ import annotations

import pytest

import nacelle
from nacelle.view.reasons import branch_words, failure_words, limit_words, singularity_words


def test_legs_that_do_not_reach_are_named() -> None:
    robot = nacelle.load("fivebar")
    with pytest.raises(nacelle.UnreachableError) as caught:
        nacelle.inverse_kinematics(robot, [5.0, 0.0])
    assert failure_words(caught.value) == "out of reach: left, right are too short or too long"


def test_loops_that_do_not_close_are_said_without_the_name_of_the_robot() -> None:
    error = nacelle.UnreachableError("h4: the loops do not close at the pose [5]")
    assert failure_words(error) == "out of reach: the loops do not close at the pose [5]"
    error = nacelle.SingularError("h4: a leg is stretched", "serial")
    assert failure_words(error) == "serial singularity: a leg is stretched"


def test_limits_within_are_nothing() -> None:
    robot = nacelle.load("gough-stewart")
    solution = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    assert limit_words(solution) == ""
    assert branch_words(int(solution.flags)) == ""
    assert branch_words(int(nacelle.Flag.OTHER_BRANCH)) != ""


def test_the_nearest_singularity_is_the_least_measure() -> None:
    robot = nacelle.load("fivebar")
    measures = nacelle.singularities(robot, nacelle.reference_pose(robot))
    kind, value = singularity_words(measures)
    assert value == pytest.approx(min(*measures.serial, measures.parallel, measures.constraint))
    assert kind in ("serial (left)", "serial (right)", "parallel", "constraint")
