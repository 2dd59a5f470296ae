"""The record of free numbers: numbers near by are near, and never where zero is."""

from __future__ import annotations

import numpy as np

from nacelle.model.record import nearby
from support.uncompiled import any_robot


def test_nearby_numbers_are_one_to_three_percent_away() -> None:
    values = np.array([1.0, -20.0, 0.0, 1e-6])
    found = np.asarray(nearby(values))
    assert found[2] == 0.0
    away = np.abs(found[[0, 1, 3]] / values[[0, 1, 3]] - 1.0)
    assert np.all((away >= 0.01 - 1e-12) & (away <= 0.03 + 1e-12))
    assert np.array_equal(found, np.asarray(nearby(values)))
    assert not np.array_equal(found, np.asarray(nearby(values, seed=1)))


def test_a_record_holds_the_numbers_of_its_robot() -> None:
    robot = any_robot("fivebar")
    record = robot.declaration.record
    assert record.record is record
    assert len(record.names) == len(record.values) == len(record.groups)
    np.testing.assert_allclose(robot.numbers.vector(), record.values)
