"""Hostile names in programs over arrays."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.python import arrays
from nacelle.program.program import Program, Variable
from support.hostile_names import HOSTILE

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


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    variables = (Variable(name, (2,)), Variable(name, (1,)), Variable("v0", (1,)), Variable("np", (1,)))
    code = (("input", 0), ("input", 2), ("div", 0, 1), ("input", 3), ("sqrt", 3), ("mul", 2, 4))
    program = Program(name, variables, (Variable(name),), code, (5,))
    (columns,) = arrays.function(program, DIALECT)(*map(np.array, ([6.0, 0.0], [3.0], [4.0], [0.0])))
    assert columns == [4.0]
