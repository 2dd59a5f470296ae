"""Python: arrays, lines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.emit.python import arrays
from nacelle.emit.python.lines import statements
from nacelle.program.program import Program, Variable
from nacelle.program.trace import trace
from nacelle.spatial import scalar
from support.hostile_names import HOSTILE
from support.random_programs import evaluate, random_inputs, random_program

# ---- Programs over arrays of a library, written with NumPy's words

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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_columns_give_the_results(seed: int) -> None:
    program = random_program(seed)
    inputs = random_inputs(program, 5, special=0.0)
    got = arrays.function(program, DIALECT)(*inputs)
    for columns, want in zip(got, evaluate(program, inputs), strict=True):
        whole = [np.broadcast_to(column, 5) for column in columns]
        np.testing.assert_allclose(np.reshape(whole, (-1, 5)).T, want, rtol=1e-14)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    variables = (Variable(name, (2,)), Variable(name, (1,)), Variable("v0", (1,)), Variable("np", (1,)))
    code = (("input", 0), ("input", 2), ("div", 0, 1), ("input", 3), ("sqrt", 3), ("mul", 2, 4))
    program = Program(name, variables, (Variable(name),), code, (5,))
    (columns,) = arrays.function(program, DIALECT)(*map(np.array, ([6.0, 0.0], [3.0], [4.0], [0.0])))
    assert columns == [4.0]


# ---- Programs as lines of Python: run, they give the program's results


def test_lines_give_the_results() -> None:
    program = trace(
        lambda x: {"y": [scalar.sqrt(x[0] * x[0] + 2.0) / x[1], scalar.sin(x[2]) - 0.1]}, {"x": (3,)}
    ).program()
    lines, results = statements(program, "math", {"div": "{} / {}"}, [f"x[{k}]" for k in range(3)], "t")
    for x in np.random.default_rng(0).normal(size=(3, 3)):
        scope = {"math": math, "x": x.tolist()}
        exec("\n".join(lines), scope)
        found = [eval(text, scope) for text in results]
        np.testing.assert_allclose(found, evaluate(program, [x[None]])[0][0], rtol=1e-15)
