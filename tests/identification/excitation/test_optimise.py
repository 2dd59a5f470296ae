"""Random motions that use the limits fully, and what the optimiser starts with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import IdentificationError
from nacelle.identification.excitation.check import drawn_in
from nacelle.identification.excitation.optimise import (
    OptimisationStage,
    has_dry_friction,
    improved,
    random_motions,
    usual_starts,
    values_of,
)
from support.excitation import problem_of
from support.library import library_robot

PROBLEM = problem_of(library_robot("fivebar"), count=20, harmonics=5)


def test_random_motions_are_at_a_limit() -> None:
    z = random_motions(PROBLEM, 6, seed=3)
    for motion in z:
        samples = PROBLEM.samples(PROBLEM.coefficients(motion[None]))
        uses = PROBLEM.uses(samples, PROBLEM.rows(samples)[1])
        assert 0.9 < np.max(uses) <= 1.0
    np.testing.assert_array_equal(z, random_motions(PROBLEM, 6, seed=3))


def test_limits_that_allow_nothing_are_named() -> None:
    weak = replace(PROBLEM, limits=replace(PROBLEM.limits, force=1e-9 * PROBLEM.limits.force))
    with pytest.raises(IdentificationError, match="no motion about the centre is within the force limit of"):
        random_motions(weak, 2, seed=0)


def test_the_criterion_is_the_condition_of_the_rows() -> None:
    z = random_motions(PROBLEM, 2, seed=1)
    for motion, value in zip(z, values_of(PROBLEM, z, "condition"), strict=True):
        R, _ = PROBLEM.rows(PROBLEM.samples(PROBLEM.coefficients(motion[None])))
        assert value == pytest.approx(np.linalg.cond(PROBLEM.stacked(R[0])), rel=1e-9)


def test_improved_motions_are_better() -> None:
    z = random_motions(PROBLEM, 1, seed=2)
    start = values_of(PROBLEM, z, "log-det")
    best = improved(PROBLEM, z, "log-det", iterations=2, check=lambda motion: drawn_in(PROBLEM, motion))
    assert best.value < np.min(start)
    assert best.iterations > 0
    assert not best.interrupted


def test_stages() -> None:
    assert OptimisationStage(0.25, 64.0, 1.5).motions(32) == 8
    assert OptimisationStage(0.25, 64.0, 1.5).motions(1) == 1
    assert has_dry_friction(library_robot("fivebar"))
    wide = OptimisationStage(1.0, 8.0, 0.6, wide=5.0, skip=2).of(PROBLEM)
    assert wide.smooth == 5.0 * PROBLEM.smooth
    assert wide.count == -(-PROBLEM.count // 2)
    assert 8 <= usual_starts(PROBLEM) <= 32
