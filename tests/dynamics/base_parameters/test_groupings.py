"""Groupings with symbols: elimination of transfers of a chain of three bodies, done by hand."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.base_parameters.choice import choose
from nacelle.dynamics.base_parameters.groupings import chosen_transfers, symbolic_coefficients
from nacelle.dynamics.base_parameters.polynomial import Polynomial, polynomial_text
from nacelle.dynamics.base_parameters.transfers import Transfer
from nacelle.model.linear_parameters import linear_parameters
from support.library import library_robot

ONE = Polynomial.number(1.0)
X, Y = Polynomial.atom("x", 0.3), Polynomial.atom("y", 0.5)


def test_dependent_parameters_follow_one_another() -> None:
    """p2 counts as y p1, p1 as x p0: the base parameter is p0 + x p1 + x y p2."""
    vectors = [{1: ONE, 0: X.scaled(-1.0)}, {2: ONE, 1: Y.scaled(-1.0)}]
    K = np.array([[1.0, 0.3, 0.15]])
    found = symbolic_coefficients(vectors, [1, 2], K, [0])
    assert {places: polynomial_text(value) for places, value in found.items()} == {(0, 1): "x", (0, 2): "x y"}


def test_what_disagrees_with_the_numbers_is_left_to_them() -> None:
    vectors = [{1: ONE, 0: X.scaled(-1.0)}]
    assert symbolic_coefficients(vectors, [1], np.array([[1.0, 0.31]]), [0]) == {}


def test_transfers_of_legs_that_share_are_added() -> None:
    robot = library_robot("fivebar")
    names = linear_parameters(robot).names
    transfers = [
        Transfer(("rule",), {names.index(f"{leg}.distal.m"): ONE, names.index(f"{leg}.proximal.m"): X})
        for leg in ("left", "right")
    ]
    apart = chosen_transfers(choose(robot), transfers)
    assert len(apart) == 2
    choice = choose(robot, shared="legs")
    (both,) = chosen_transfers(choice, transfers)
    assert both == {choice.names.index("*t.distal.m"): ONE, choice.names.index("*t.proximal.m"): X}
    # Of one leg alone it is no transfer of what both have.
    assert chosen_transfers(choice, transfers[:1]) == []
    # What changes a parameter that is zero for good is none either.
    assert chosen_transfers(choose(robot, ["left.distal.m"]), transfers[:1]) == []
