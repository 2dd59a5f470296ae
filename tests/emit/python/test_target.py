"""The target `python`: the emitted function against the reference."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from hypothesis import given

from nacelle.emit.python import target as python_source
from nacelle.emit.registry import NAMES, TargetError, target
from nacelle.program.program import Program, Variable
from support.hostile_names import HOSTILE
from support.random_programs import (
    Array,
    assert_same,
    assert_steps,
    evaluate,
    every_operation,
    expose,
    programs,
    random_inputs,
    special_grid,
)


def run(program: Program, inputs: list[Array]) -> Array:
    """All results, counted through, for every sample."""
    function = python_source.function(program)
    rows = []
    for k in range(len(inputs[0])):
        results = function(*([float(value) for value in array[k]] for array in inputs))
        lists = (results,) if len(program.outputs) == 1 else results
        rows.append([value for numbers in lists for value in numbers])
    return np.array(rows, dtype=float).reshape(len(inputs[0]), program.output_size)


@given(programs())
def test_agrees(program: Program) -> None:
    inputs = random_inputs(program, 5)
    assert_steps(program, inputs, run(expose(program), inputs))
    # The results pick the same values.
    values = run(expose(program), inputs)
    np.testing.assert_array_equal(run(program, inputs), values[:, list(program.results)])


def test_special_values_of_every_operation() -> None:
    program, inputs = every_operation(), special_grid()
    values = run(expose(program), inputs)
    assert_steps(program, inputs, values)
    expected = np.concatenate(evaluate(program, inputs), axis=1)
    assert_same(values[:, 3:], expected, 4.0, zeros=False)


def test_one_assignment_an_operation() -> None:
    program = every_operation()
    tree = ast.parse(python_source.source(program))
    (function,) = [node for node in tree.body if getattr(node, "name", "") == "every_operation"]
    assert isinstance(function, ast.FunctionDef)
    assert sum(isinstance(node, ast.Assign) for node in function.body) == len(program.results)
    (first, *_) = [node for node in tree.body if isinstance(node, ast.Import)]
    assert [alias.name for alias in first.names] == ["math"]


def test_constants_are_exact() -> None:
    values = (0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 1e22, -2.5)
    code = tuple(("const", value) for value in values)
    program = Program("constants", (), (Variable("y", (len(values),)),), code, tuple(range(len(values))))
    np.testing.assert_array_equal(
        np.array(python_source.function(program)()).view(int)[:6], np.array(values).view(int)[:6]
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    variables = (Variable(name, (2,)), Variable(name), Variable("v0"), Variable("math"))
    code = (("input", 0), ("input", 2), ("div", 0, 1), ("input", 3), ("sqrt", 3), ("mul", 2, 4))
    program = Program(name, variables, (Variable(name),), code, (5,))
    assert python_source.function(program)([6.0, 0.0], [3.0], [4.0], [0.0]) == [4.0]


def test_registered() -> None:
    assert target("python").source(every_operation()) == python_source.source(every_operation())
    assert target("python").kernel is None


def test_targets_that_do_not_exist_are_not_offered() -> None:
    with pytest.raises(
        TargetError, match=r"no target is called 'opencl'; known: jit, c, cuda, numpy, python, jax, torch$"
    ):
        target("opencl")
    for name in NAMES:
        assert target(name).name == name
