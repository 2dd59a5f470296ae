"""Named models: what they take and give, and what there is not."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.models import NAMES, model
from nacelle.errors import KinematicsError
from support.random_programs import evaluate
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_those_of_the_program(name: str) -> None:
    found = model(any_robot("fivebar"), name)
    program = found.program(minimised=False)
    assert {variable.name: variable.shape for variable in program.inputs} == dict(found.inputs)
    assert set(found.meaning) >= set(found.inputs)


def test_the_model_is_what_the_api_computes() -> None:
    robot = any_robot("fivebar")
    x = nacelle.reference_pose(robot)
    v, a = np.array([0.2, -0.1]), np.array([1.0, 2.0])
    found = model(robot)
    values = {"x": x, "y": np.zeros(0), "v": v, "a": a, "load": np.zeros(2)}
    result = evaluate(found.program(), [values[name][None] for name in found.inputs])
    np.testing.assert_allclose(result[0][0], nacelle.inverse_dynamics(robot, x, v, a).force, rtol=1e-9)


def test_what_there_is_not() -> None:
    robot = any_robot("fivebar")
    with pytest.raises(KinematicsError, match="did you mean"):
        model(robot, "inverse_dynamic")
    with pytest.raises(KinematicsError):
        model(robot, "jacobian", input="elements")
