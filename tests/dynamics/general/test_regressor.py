"""The linear form: Y times the parameters is the force of the tree, also along a reference."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.formulations import reference
from nacelle.dynamics.general.regressor import reference_regressor, regressor
from nacelle.model.linear_parameters import linear_parameters
from support.compare import assert_same
from support.general_states import loaded, sampled, twists


@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_force_is_linear_in_the_parameters(name: str) -> None:
    robot = loaded(name)
    _, x, y = sampled(robot)
    v, a = twists(robot)
    Y = np.asarray(regressor(robot, x, y, v, a)["Y"], dtype=float)
    force = reference.inverse(robot, x, y, v, a, np.zeros(len(v)))["force"]
    values = linear_parameters(robot).values
    assert_same(Y @ values, np.asarray(force, dtype=float), 1e-10)
    # A reference that is the motion itself gives the same; another one does not.
    same, other = (
        np.asarray(reference_regressor(robot, x, y, v, w, a)["Y"], dtype=float) for w in (v, v + 1.0)
    )
    assert_same(same @ values, Y @ values, 1e-10)
    assert np.max(np.abs(other - Y)) > 1e-3 * np.max(np.abs(Y))
