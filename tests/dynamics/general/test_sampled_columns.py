"""Columns over sample states: the same in double and with 30 digits, and zero where a number does nothing."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.inertial import inertial_numbers
from nacelle.dynamics.general.sampled_columns import SampledColumns
from support.general_states import loaded, sampled


def test_double_and_thirty_digits() -> None:
    """A PRRRP robot: a planar one, so that a slider's inertia does nothing and its mass does."""
    legs, *_ = sampled(loaded("prrrp"))
    given = {("node", node, k) for node in inertial_numbers(legs.placed).nodes for k in range(10)}
    sampled_columns = SampledColumns(legs.plan, given)
    W, keys = sampled_columns.W, sampled_columns.keys
    assert W.shape[1] == len(keys)
    sliding = next(node for node in range(1, 10) if ("node", node, 0) in keys)
    assert np.all(W[:, keys.index(("node", sliding, 0))] != 0.0)
    assert not np.any(W[:, keys.index(("node", sliding, 9))])
    precise = sampled_columns.precise(3)
    assert precise is not None
    n = legs.placed.robot.motion.n
    for k, column in enumerate(precise):
        # The first motion of each state; states come one after the other in W, five motions of each.
        rows = np.concatenate([W[5 * n * state : 5 * n * state + n, k] for state in range(len(column) // n)])
        if np.any(W[:, k]):
            np.testing.assert_allclose([float(value) for value in column], rows, rtol=1e-10, atol=1e-13)
