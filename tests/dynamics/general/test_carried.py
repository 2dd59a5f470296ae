"""Numbers passed on to the links that carry them: other numbers, the same inertia."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.carried import carried_inwards, column_unit, in_lengths, lengths
from nacelle.dynamics.general.inertial import inertial_numbers
from nacelle.dynamics.general.mass import mass_matrix
from support.compare import assert_same
from support.general_states import loaded, sampled


@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_the_mass_matrix_stays(name: str) -> None:
    """Revolute and prismatic joints; of a link on a revolute joint nothing stays on its axis."""
    legs, *_ = sampled(loaded(name))
    own = inertial_numbers(legs.placed)
    passed = carried_inwards(own, legs.placed)
    changed = [node for node in own.nodes if np.any(own.nodes[node] != passed.nodes[node])]
    assert changed
    M, again = (np.asarray(mass_matrix(legs, numbers), dtype=float) for numbers in (own, passed))
    assert_same(again, M, 1e-12)


def test_units_of_length_come_back() -> None:
    legs, *_ = sampled(loaded("fivebar"))
    numbers, unit = inertial_numbers(legs.placed), lengths(legs.placed)
    assert unit
    # The links of a five-bar end where the next joint is.
    sizes = {round(float(np.linalg.norm(leg.own)), 12) for ties in legs.placed.ties for leg in ties}
    assert sizes <= {round(float(value), 12) for value in unit.values()}
    there = in_lengths(numbers, unit)
    back = in_lengths(there, unit, back=True)
    for node, values in numbers.nodes.items():
        length = float(unit.get(node, 1.0))
        assert there.nodes[node][0] == values[0]
        assert float(there.nodes[node][4]) == pytest.approx(float(values[4]) / length**2)
        assert_same(np.asarray(back.nodes[node], dtype=float), np.asarray(values, dtype=float), 1e-15)
        # Forces stay: a column counts as much more as its number counts less.
        for place in (0, 1, 4):
            power = (place > 0) + (place > 3)
            assert float(column_unit(("node", node, place), unit)) == pytest.approx(length**power)
