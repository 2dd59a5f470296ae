"""The vector of a robot's numbers: groups are written apart from each other, and read back as written."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import ParameterError
from nacelle.model.numbers.parameters import GROUPS
from support.uncompiled import any_robot


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_changes_nothing_else(group: str) -> None:
    robot = any_robot("everything")
    layout = robot.parameters
    own = layout.read(robot, group)
    assert len(layout.names(group)) == len(set(layout.names(group))) == len(own)
    # Entries of rotations stay: a frame is refused that is none any more.
    free = [".R" not in name for name in layout.names(group)]
    vector = own + 1e-3 * np.random.default_rng(7).uniform(0.5, 1.0, len(own)) * free
    moved = layout.write(robot, vector, group)
    np.testing.assert_array_equal(layout.read(moved, group), vector)
    for other in GROUPS:
        if other != group:
            np.testing.assert_array_equal(layout.read(moved, other), layout.read(robot, other))
    np.testing.assert_array_equal(layout.read(robot, group), own)


def test_all_groups_in_their_order() -> None:
    robot = any_robot("everything")
    parts = [robot.parameters.read(robot, group) for group in GROUPS]
    np.testing.assert_array_equal(robot.parameters.read(robot), np.concatenate(parts))
    with pytest.raises(ParameterError, match="did you mean 'inertia'"):
        robot.parameters.read(robot, "inertias")
