"""Chosen parameters z with p = E z: what is assumed, what is shared, and names of both."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.base_parameters.choice import choose, column_options
from nacelle.errors import ParameterError
from nacelle.model.linear_parameters import linear_parameters
from support.library import library_robot

ROBOT = library_robot("fivebar")
ALL = linear_parameters(ROBOT)


@pytest.mark.parametrize("shared", [None, "legs", [["left", "right"]]])
def test_the_robots_own_numbers(shared: object) -> None:
    choice = choose(ROBOT, "nothing", shared)
    np.testing.assert_allclose(choice.E @ choice.values, ALL.values, atol=1e-16)
    # Every parameter of the robot is in one column at most, which its place says.
    assert np.all(np.count_nonzero(choice.E, axis=1) <= 1)
    for k, (column, sign) in enumerate(zip(choice.columns, choice.signs, strict=True)):
        assert choice.E[k, column] == sign


def test_shared_parameters_have_one_name() -> None:
    """A star in the place of what differs, "lef" and "righ"."""
    apart, shared = choose(ROBOT), choose(ROBOT, shared="legs")
    assert "left.distal.m" in apart.names
    group = shared.groups()[shared.names.index("*t.distal.m")]
    assert sorted(ALL.names[k] for k in group) == ["left.distal.m", "right.distal.m"]
    assert column_options(shared) == {"columns": shared.columns}
    assert column_options(None) == {}


def test_assumptions() -> None:
    zeros = choose(ROBOT, "zeros")
    assert np.all(zeros.values != 0.0)
    assert {ALL.names[k] for k in np.flatnonzero(ALL.values == 0.0)} == set(zeros.assumed)
    without = choose(ROBOT, ["nothing", "left.*.m"])
    assert set(without.assumed) == {"left.proximal.m", "left.distal.m"}
    assert without.columns[ALL.names.index("left.distal.m")] == -1
    with pytest.raises(ParameterError, match=r"no parameter 'left\.distal\.mass'"):
        choose(ROBOT, ["left.distal.mass"])
