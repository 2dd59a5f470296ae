"""Parameters that a robot can have: the description is inside, bodies of no mass or less are outside."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.consistency.feasible_set import feasible_set, full_body
from nacelle.identification.consistency.pseudo_inertia import pseudo_inertia
from support.library import library_robot

ROBOT = library_robot("fivebar")
BASE = nacelle.base_parameters(ROBOT)
PRIOR = BASE.choice.values


def made(margin: float = 0.01):
    return feasible_set(BASE, np.eye(len(BASE)), prior=PRIOR, margin=margin)


def test_the_description_is_one_everywhere() -> None:
    space = made()
    np.testing.assert_allclose(space.centre, PRIOR, atol=1e-15)
    # Each body that has an extent along all axes it may have is the unit matrix, less the margin.
    assert min(space.eigenvalues(space.inside)) > 0.0
    D, d = space.closeness()
    np.testing.assert_allclose(D @ space.centre, d, atol=1e-9)
    assert np.linalg.norm(D @ (1.1 * space.centre) - d) > 0.1


def test_a_negative_mass_is_outside_and_brought_back() -> None:
    space = made(margin=0.02)
    k = BASE.choice.names.index("left.distal.m")
    z = space.centre.copy()
    z[k] = -1.0
    assert min(space.eigenvalues(z)) < 0.0
    back = space.into_cones(z)
    assert min(space.eigenvalues(back)) > -1e-9
    assert back[k] > 0.0
    # Its pseudo-inertia keeps the margin of the described one.
    body = "left.distal."
    places = [
        BASE.choice.names.index(body + part)
        for part in ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
    ]
    kept = pseudo_inertia(back[places]) - 0.02 * pseudo_inertia(PRIOR[places])
    assert np.min(np.linalg.eigvalsh(kept)) > -1e-9


def test_bodies_need_a_mass() -> None:
    with pytest.raises(IdentificationError, match="body 'rod' has a mass of 0 kg"):
        full_body(np.zeros(10), (0, 1, 2), 1.0, "rod")
