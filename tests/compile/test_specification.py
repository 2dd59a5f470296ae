"""What determines a program: shapes, groups of numbers, options; and errors that name the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.compile.specification import groups_of, make_program, shapes_of_inputs
from nacelle.errors import CompileError
from nacelle.model.numbers.parameters import GROUPS
from nacelle.spatial.physics import physics
from support.random_programs import evaluate
from support.uncompiled import any_robot


@physics(x=(2,))
def scaled(robot: Any, x: Any, *, factor: float = 1.0) -> Any:
    return factor * x * robot.size


def test_options_shape_the_program() -> None:
    robot = any_robot("fivebar")
    x = np.array([[1.0, 2.0]])
    for factor in (1.0, 3.0):
        program = make_program(scaled, robot, {"x": (2,)}, options={"factor": factor})
        np.testing.assert_allclose(evaluate(program, [x])[0], factor * x * robot.size, rtol=1e-15)


def test_groups_of_numbers() -> None:
    assert groups_of("constant") == ()
    assert groups_of("input") == GROUPS
    assert groups_of(("inertia", "friction")) == ("inertia", "friction")
    with pytest.raises(CompileError, match="did you mean 'inertia'"):
        groups_of("inertias")


def test_numbers_come_first() -> None:
    robot = any_robot("fivebar")
    shapes = shapes_of_inputs(scaled, robot, groups=("inertia",))
    assert list(shapes) == ["parameters", "x"]
    assert shapes["parameters"] == (len(robot.numbers.names("inertia")),)
    with pytest.raises(CompileError, match="does not declare its inputs"):
        shapes_of_inputs(lambda robot, x: x, robot)


def test_what_cannot_be_traced_is_named() -> None:
    def faulty(robot: Any, x: Any) -> Any:
        return x[5]

    with pytest.raises(CompileError, match="faulty cannot be traced"):
        make_program(faulty, any_robot("fivebar"), {"x": (2,)})
