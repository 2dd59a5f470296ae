"""The derivative of Newton's step by what is given, where the loops are closed, is that of the solution."""

from __future__ import annotations

import numpy as np

from nacelle.compile import make_program
from nacelle.program.directional import directional_program
from support import square_root


def test_the_step_has_the_derivative_of_the_solution() -> None:
    closing = square_root.closing()
    assert closing.step is not None
    program = make_program(closing.step, closing.robot, {"y": (1,), "x": (2,)})
    x, dx = np.array([2.5, 0.7]), np.array([0.3, -0.2])
    (y,) = closing.find(x[None], None)[0]
    slope = directional_program(program, by=("x",)).evaluate([y, *x, *dx])[0]
    np.testing.assert_allclose(slope, (dx[0] + 2 * x[1] * dx[1]) / (2 * y), rtol=1e-14)
