"""The targets `python` and `numpy`, and programs over arrays: emitted functions against the reference."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from hypothesis import given, settings

from nacelle.emit.python import arrays
from nacelle.emit.python import target as python_source
from nacelle.emit.python import tiles as numpy_tiles
from nacelle.emit.registry import NAMES, TargetError, target
from nacelle.emit.schedule import live_operations, schedule
from nacelle.program.program import Program, Variable
from support.hostile_names import HOSTILE
from support.random_programs import (
    Array,
    assert_same,
    assert_steps,
    empty_outputs,
    evaluate,
    every_operation,
    program_strategy,
    random_inputs,
    random_program,
    special_grid,
    with_all_outputs,
)

# Programs over arrays of a library, written with NumPy's words.
DIALECT = arrays.Dialect(
    "import numpy as np",
    "np",
    {
        "div": "np.divide({}, {})",
        "where": "np.where(np.greater({}, 0.0), {}, {})",
        "abs": "np.absolute({})",
        "atan2": "np.arctan2({}, {})",
        "min": "np.minimum({}, {})",
        "max": "np.maximum({}, {})",
    },
)
# Names that emitted functions have of their own.
OTHERS = ("v0", "w0", "math", "np")


def run(program: Program, inputs: list[Array]) -> Array:
    """All results, counted through, for every sample."""
    function = python_source.function(program)
    rows = []
    for k in range(len(inputs[0])):
        results = function(*([float(value) for value in array[k]] for array in inputs))
        lists = (results,) if len(program.outputs) == 1 else results
        rows.append([value for numbers in lists for value in numbers])
    return np.array(rows, dtype=float).reshape(len(inputs[0]), program.output_size)


@given(program_strategy())
def test_agrees(program: Program) -> None:
    inputs = random_inputs(program, 5)
    assert_steps(program, inputs, run(with_all_outputs(program), inputs))
    # The results pick the same values.
    values = run(with_all_outputs(program), inputs)
    np.testing.assert_array_equal(run(program, inputs), values[:, list(program.results)])


def test_special_values_of_every_operation() -> None:
    program, inputs = every_operation(), special_grid()
    values = run(with_all_outputs(program), inputs)
    assert_steps(program, inputs, values)
    expected = np.concatenate(evaluate(program, inputs), axis=1)
    assert_same(values[:, 3:], expected, 4.0, zeros=False)
    outputs = empty_outputs(with_all_outputs(program), len(inputs[0]))
    numpy_tiles.TileKernel(with_all_outputs(program)).run(inputs, outputs, 1)
    assert_steps(program, inputs, outputs[0])


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
    """As a function of floats, over arrays of a library, and in tiles."""
    variables = (Variable(name, (2,)), Variable(name, (1,)), *(Variable(other, (1,)) for other in OTHERS))
    code = (("input", 0), ("input", 2), ("div", 0, 1), ("input", 3), ("sqrt", 3), ("mul", 2, 4))
    program = Program(name, variables, (Variable(name),), code, (5,))
    inputs = [[6.0, 0.0], [3.0], [4.0], *([0.0] for _ in OTHERS[1:])]
    assert python_source.function(program)(*inputs) == [4.0]
    (columns,) = arrays.make_function(program, DIALECT)(*map(np.array, inputs))
    assert columns == [4.0]
    outputs = empty_outputs(program, 1)
    numpy_tiles.TileKernel(program).run([np.array([values]) for values in inputs], outputs, 1)
    assert outputs[0][0, 0] == 4.0


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


# ---- The target `numpy`: tiles against the reference


@settings(max_examples=20)
@given(program_strategy())
@pytest.mark.filterwarnings("error")
def test_tiles_agree(program: Program) -> None:
    inputs = random_inputs(program, numpy_tiles.TILE + 7)
    inputs[0] = inputs[0][:1].copy()  # one row, broadcast over all samples
    whole = with_all_outputs(program)
    values = empty_outputs(whole, numpy_tiles.TILE + 7)
    numpy_tiles.TileKernel(whole).run(inputs, values, 1)
    assert_steps(program, inputs, values[0])
    # With rows used again the results are the same, to the bit.
    outputs = empty_outputs(program, numpy_tiles.TILE + 7)
    numpy_tiles.TileKernel(program).run(inputs, outputs, 1)
    np.testing.assert_array_equal(np.concatenate(outputs, axis=1), values[0][:, list(program.results)])


@pytest.mark.parametrize("samples", [0, 1, 2, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_samples(samples: int, threads: int) -> None:
    program = random_program(7)
    inputs = random_inputs(program, max(samples, 1))
    inputs = [array[:samples] for array in inputs]
    outputs, expected = empty_outputs(program, samples), empty_outputs(program, samples)
    kernel = numpy_tiles.TileKernel(program)
    kernel.run(inputs, outputs, threads)
    for k in range(0, samples, 97):
        rows = slice(k, k + 1)
        kernel.run([a[rows] for a in inputs], [a[rows] for a in expected], 1)
        for a, b in zip(outputs, expected, strict=True):
            np.testing.assert_array_max_ulp(np.nan_to_num(a[rows]), np.nan_to_num(b[rows]), 4)


def test_bind() -> None:
    for seed in range(5):
        program = random_program(seed)
        inputs = random_inputs(program, 1, seed, special=0.0)
        values = empty_outputs(with_all_outputs(program), 1)
        evaluate = numpy_tiles.TileKernel(with_all_outputs(program)).bind(inputs, values)
        for shift in (0.0, 0.5):
            for array in inputs:
                array += shift
            evaluate()
            assert_steps(program, inputs, values[0])


def test_rows_are_used_again() -> None:
    # A chain of a thousand operations needs few rows.
    code: list[tuple[object, ...]] = [("input", 0)]
    for k in range(1000):
        code.append(("add", k, 0))
    program = Program("chain", (Variable("x"),), (Variable("y"),), tuple(code), (1000,))
    assert "np.empty((3, 1024))" in numpy_tiles.source(program)
    outputs = empty_outputs(program, 3)
    numpy_tiles.TileKernel(program).run([np.ones((3, 1))], outputs, 1)
    assert np.all(outputs[0] == 1001.0)


def test_schedule_is_valid() -> None:
    for seed in range(20):
        program = random_program(seed, 200)
        order = schedule(program)
        assert sorted(order) == live_operations(program)
        place = {k: p for p, k in enumerate(order)}
        for k in order:
            assert all(place.get(a, -1) < place[k] for a in program.code[k][1:])


def test_tiles_are_registered() -> None:
    program = random_program(1)
    assert target("numpy").source(program) == numpy_tiles.source(program)
    assert target("numpy").kernel is not None
