"""Numbers passed on to what moves alike: other numbers, the same inertia."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.carried import carried_numbers
from nacelle.dynamics.general.inertial import end_ties, inertial_numbers
from nacelle.dynamics.general.mass import mass_matrix
from support.compare import assert_same
from support.general_states import loaded, sampled


@pytest.mark.parametrize("name", ["fivebar", "3rps", "dymo", "3rrr"])
def test_the_mass_matrix_stays(name: str) -> None:
    """Revolute, prismatic and universal joints; of a link that holds the nacelle no mass stays."""
    legs, *_ = sampled(loaded(name))
    own, passed = inertial_numbers(legs.placed), carried_numbers(legs.placed)
    changed = [node for node in own.nodes if np.any(own.nodes[node] != passed.nodes[node])]
    assert changed
    M, again = (np.asarray(mass_matrix(legs, numbers), dtype=float) for numbers in (own, passed))
    assert_same(again, M, 1e-12)
    for node, (leg, number) in end_ties(legs.placed).items():
        if node in passed.nodes and legs.placed.ties[leg][number].local is not None:
            assert passed.nodes[node][0] == 0.0


def test_total_mass_stays_where_nothing_reaches_the_base() -> None:
    """What is passed on to the base is gone, and nothing else."""
    legs, *_ = sampled(loaded("3rps"))
    own, passed = inertial_numbers(legs.placed), carried_numbers(legs.placed)
    masses = [
        sum(float(values[0]) for part in (numbers.nodes, numbers.bodies) for values in part.values())
        for numbers in (own, passed)
    ]
    assert 0.0 < masses[1] <= masses[0] + 1e-12
