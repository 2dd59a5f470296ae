"""Coupled joints and screws against Pinocchio and MuJoCo, whose rows and matrices are projected."""

from __future__ import annotations

import pytest

from nacelle.verify import verify
from support.coupled_robots import NAMES, coupled_robot, random_coupled


@pytest.mark.usefixtures("uncompiled")
class TestCoupled:
    @pytest.mark.parametrize("name", NAMES)
    def test_built(self, name: str) -> None:
        report = verify(coupled_robot(name), states=2, seed=1)
        assert report.ok, report.text()

    @pytest.mark.parametrize("seed", range(12))
    def test_random(self, seed: int) -> None:
        report = verify(random_coupled(seed), states=3, seed=seed)
        assert report.ok, report.text()
