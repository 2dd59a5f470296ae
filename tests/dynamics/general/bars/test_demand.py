"""Friction and springs of a drive, from their definitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nacelle.dynamics.general.bars.demand import drive_force, friction_along
from nacelle.dynamics.general.required import Counted
from nacelle.model.joint import FrictionTerm, Spring
from support.mass_point_bars import form_of

TERMS = (FrictionTerm("viscous", 2.0), FrictionTerm("coulomb", 0.5))


def test_dry_friction_needs_the_sign_alone() -> None:
    for rate, along in ((0.3, 7.0), (0.3, 1e-9), (-0.3, -2.0)):
        side = 1.0 if rate > 0 else -1.0
        assert friction_along(TERMS, rate, along, Counted()) == pytest.approx(2.0 * rate + 0.5 * side)
    assert friction_along(TERMS, 0.3, 7.0, Counted(friction=False)) == 0.0
    # A smooth one needs the rate: half way, far below what makes it whole.
    assert friction_along(TERMS, 1e-3, 7.0, Counted(smooth=1.0)) < 2e-3 + 0.01


def test_the_spring_of_a_drive() -> None:
    drive = form_of("strut", rod=[0.0] * 10, tube=[0.0] * 10, cross=0.0).drive
    drive = replace(drive, joint=replace(drive.joint, springs=(Spring(30.0, 0.2),), friction=(TERMS,)))
    expected = 2.0 * 0.3 + 0.5 + 30.0 * (0.7 - 0.2)
    assert drive_force(drive, 0.7, 0.3, 1.0, Counted()) == pytest.approx(expected)
    assert drive_force(drive, 0.7, 0.3, 1.0, Counted(springs=False)) == pytest.approx(expected - 15.0)
