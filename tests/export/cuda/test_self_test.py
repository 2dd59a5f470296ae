"""The self-test of a CUDA package."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.export.about import Package
from nacelle.export.cuda.self_test import self_test
from nacelle.export.entries import Wanted, entries
from nacelle.export.states import seeded_states
from nacelle.export.vectors import vectors
from support.library import library_robot


@pytest.mark.slow
def test_every_function_is_checked_in_every_precision() -> None:
    robot = library_robot("prrrp")
    wanted = Wanted(("gravity_forces",), bare=True)
    made = entries(robot, "it", wanted)
    package = Package("it", robot, nacelle.__name__, wanted, made)
    states = seeded_states(robot)
    text = self_test(package, {entry.label: vectors(entry, states) for entry in made}, ["double", "float"])
    for name in ("it_gravity_forces(", "it_gravity_forces_f("):
        assert name in text
    # Rows that are aligned, and rows that are not.
    assert "for (size_t ld = COUNT; ld <= COUNT + 1; ++ld)" in text
    assert "return 77;" in text
