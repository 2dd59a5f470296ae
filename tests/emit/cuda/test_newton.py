"""Newton's iteration on the device's terms, on this machine, against the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.cuda.device_drivers import DeviceNewton
from nacelle.emit.cuda.newton import newton_kernel
from nacelle.emit.newton import NumpyNewton, Rules
from nacelle.emit.registry import target
from support import fake_cupy
from support.driver_programs import pendulum, square_roots


@pytest.mark.parametrize(
    "rules",
    [Rules(1e-12, 50, np.inf, False), Rules(1e-3, 50, 0.3, True), Rules(1e-12, 3, np.inf, False)],
)
@pytest.mark.parametrize("own", [True, False])
def test_the_same_as_numpy(rules: Rules, own: bool) -> None:
    rng = np.random.default_rng(2)
    y0, p = rng.uniform(0.5, 3.0, (140, 2)), rng.uniform(0.5, 9.0, (140 if own else 1, 2))
    if own:
        p[4, 0] = np.nan
        p[9, 1] = -1.0
    kernel = target("numpy").kernel
    assert kernel is not None
    program = square_roots()
    want = NumpyNewton(program, kernel(program)).solve(
        y0,
        p,
        tolerance=rules.tolerance,
        max_iterations=rules.max_iterations,
        max_step=rules.max_step,
        polish=rules.polish,
    )
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        parameters = cupy.asarray(p.T.copy() if own else p[0])
        got = DeviceNewton(program).solve(cupy.asarray(y0.T.copy()), parameters, rules)
    assert np.array_equal(got.status, want.status)
    # A sample without a solution wanders, and rounding decides where to.
    plain = want.status != 1 if rules.max_iterations > 3 else want.iterations >= 0
    assert np.array_equal(got.iterations[plain], want.iterations[plain])
    assert np.allclose(got.y.T[plain], want.y[plain], rtol=1e-9, equal_nan=True)


def test_a_program_of_another_form() -> None:
    with pytest.raises(ValueError, match="not a step program"):
        newton_kernel(pendulum())
