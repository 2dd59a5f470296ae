"""The record of a description's free numbers gives the robot's, whatever sample it was made at."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest
from hypothesis import given, settings

from support.library import NAMES, library_robot
from support.random_robots import any_trees

declared = importlib.import_module("nacelle.model.build.declared")


def recorded_again(robot, seed):
    """The same description recorded at another sample: what one of them takes for zero or one, both must."""
    own = robot.declaration
    kept = declared.SEED
    declared.SEED = kept + seed
    try:
        return dataclasses.replace(own).record
    finally:
        declared.SEED = kept


def check_record(robot):
    record = robot.numbers.record
    assert len(set(record.names)) == len(record.names)
    made = np.array(record.program.evaluate(list(record.values)), dtype=float)
    np.testing.assert_allclose(made, robot.parameter_vector(), rtol=1e-12, atol=1e-15)
    again = recorded_again(robot, 77)
    assert again.names == record.names
    values = np.array(record.values) * np.random.default_rng(1).uniform(0.9, 1.1, len(record.values))
    one, two = (np.array(r.program.evaluate(list(values)), dtype=float) for r in (record, again))
    np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_library(name):
    check_record(library_robot(name))


@settings(max_examples=25)
@given(any_trees())
def test_random_robots(made):
    check_record(made.robot)
