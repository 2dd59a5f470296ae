"""Plans: closed sample states, rates of the tree, and decisions that come out the same again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.general.placed import WHOLE, Way
from nacelle.kinematics.general.plan import has_bar_axes, is_supported, plan_of, sample_states
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.closure import closure_gaps
from nacelle.kinematics.tree.configuration import configuration
from support.general_states import loaded
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["3rps", "3rrr"])
def test_sample_states_are_closed_and_apart(name: str) -> None:
    robot = loaded(name)
    states = plan_of(robot).samples
    assert len(states) == 12
    for x, y in states:
        gaps = closure_gaps(robot, configuration(robot, x, y).motion)
        assert np.max(np.abs(np.asarray(gaps, dtype=float))) < 1e-9 * robot.size
    apart = [np.max(np.abs(a[0] - b[0])) for k, a in enumerate(states) for b in states[:k]]
    assert min(apart) > 1e-3 * robot.size
    again = sample_states(mechanism_of(robot), 3)
    for one, other in zip(states, again, strict=False):
        np.testing.assert_array_equal(one[0], other[0])


def test_a_plan_is_made_once_for_alike_robots() -> None:
    robot = loaded("3rrr")
    assert plan_of(robot) is plan_of(robot)
    # Rods between spherical joints are no bars: the way that would count makes no difference.
    delta = loaded("delta")
    assert plan_of(delta, Way(True, True)) is plan_of(delta, WHOLE)
    assert is_supported(robot)


def test_bars_have_axes_of_their_own_where_friction_needs_them() -> None:
    """Rods on arms that turn in revolute joints with friction; on sliders never."""
    arms = any_robot("fivebar")
    assert has_bar_axes(arms, friction=True)
    bare = replace(arms, joints=tuple(replace(joint, friction=()) for joint in arms.joints))
    assert not has_bar_axes(bare, friction=True)
    assert not has_bar_axes(any_robot("prrrp"), friction=True)


@pytest.mark.parametrize("count", [1, 5, 6, 7])
def test_arms_without_a_nacelle_have_the_general_form(count: int) -> None:
    """With any number of motions, six as of a hexapod among them."""
    names = ["base", *(f"b{k}" for k in range(count))]
    joints = {
        f"q{k}": {
            "type": "revolute",
            "parent": names[k],
            "child": names[k + 1],
            "axis": "zyx"[k % 3],
            "at": [0.1, 0.02 * k, 0.2],
            "active": True,
        }
        for k in range(count)
    }
    bodies = {name: {"mass": 1.0, "com": [0.1, 0.02, 0.03]} for name in names[1:]}
    arm = {"name": "arm", "bodies": bodies, "joints": joints}
    data = {"format": "nacelle/2", "name": "arm", "units": "SI", "motion": list(joints), "legs": [arm]}
    assert is_supported(nacelle.build(data))
