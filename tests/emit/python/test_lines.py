"""Programs as lines of Python: run, they give the program's results."""

from __future__ import annotations

import math

import numpy as np

from nacelle.emit.python.lines import statements
from nacelle.program.trace import trace
from nacelle.spatial import scalar
from support.random_programs import evaluate


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
