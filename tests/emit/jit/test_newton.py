"""Native drivers against plain loops in Python."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.jit.newton import Newton, compile_newton
from nacelle.program.program import Program
from support.driver_programs import pendulum, square_roots

Array = np.ndarray


def plain_newton(
    program: Program, y: Array, p: Array, tolerance: float, cap: int, longest: float
) -> tuple[Array, int, int]:
    y = y.copy()
    with np.errstate(all="ignore"):
        for taken in range(cap + 1):
            *step, error = program.evaluate([*map(float, y), *map(float, p)])
            dy = np.array(step)
            if error <= tolerance:
                return y, taken, 0
            if not (np.isfinite(error) and np.all(np.isfinite(dy))):
                return y, taken, 2
            if taken == cap:
                break
            length = np.sqrt(np.sum(dy * dy))
            y = y + (longest / length if length > longest else 1.0) * dy
    return y, cap, 1


def native_newton(program: Program) -> Newton:
    return Newton(compile_newton(program), program)


@pytest.fixture(scope="module")
def newton() -> Newton:
    return native_newton(square_roots())


@pytest.mark.parametrize("count", [1, 3, 8, 9, 50])
@pytest.mark.parametrize("longest", [np.inf, 0.3])
@pytest.mark.parametrize("threads", [1, 3])
def test_newton(newton: Newton, count: int, longest: float, threads: int) -> None:
    rng = np.random.default_rng(count)
    p, y0 = rng.uniform(0.1, 9.0, (count, 2)), rng.uniform(0.5, 2.0, (count, 2))
    p[count // 3, 0] = np.nan
    y0[count // 2, 1] = 0.0
    found = newton.solve(y0, p, tolerance=1e-10, max_iterations=8, max_step=longest, threads=threads)
    for k in range(count):
        y, taken, status = plain_newton(square_roots(), y0[k], p[k], 1e-10, 8, longest)
        np.testing.assert_allclose(found.y[k], y, rtol=1e-9)
        assert (found.iterations[k], found.status[k]) == (taken, status)
    assert {0, 1, 2} & set(found.status.tolist())


def test_newton_follows_a_path(newton: Newton) -> None:
    p = np.linspace(1.0, 4.0, 40)[:, None] * np.ones(2)
    p[20] = np.nan  # the sample after it starts from y0 again
    found = newton.solve([[1.0, 1.0]], p, tolerance=1e-12, follow=True)
    start = np.ones(2)
    for k in range(40):
        y, taken, status = plain_newton(square_roots(), start, p[k], 1e-12, 50, np.inf)
        np.testing.assert_allclose(found.y[k], y, rtol=1e-12)
        assert (found.iterations[k], found.status[k]) == (taken, status)
        start = y if status == 0 else np.ones(2)
    free = newton.solve([[1.0, 1.0]], p, tolerance=1e-12)
    assert found.iterations.sum() < free.iterations.sum()


def test_newton_solves_nothing(newton: Newton) -> None:
    found = newton.solve(np.empty((0, 2)), np.empty((0, 2)), tolerance=1e-9)
    assert found.y.shape == (0, 2)
    solved = newton.solve([[2.0, 3.0]], [[4.0, 9.0]], tolerance=1e-9, max_iterations=0)
    assert (solved.status[0], solved.iterations[0]) == (0, 0)
    capped = newton.solve([[2.0, 3.0]], [[4.0, 9.1]], tolerance=1e-9, max_iterations=0)
    assert (capped.status[0], capped.iterations[0]) == (1, 0)


def test_newton_refuses_other_programs(newton: Newton) -> None:
    with pytest.raises(ValueError, match="step program"):
        native_newton(pendulum())
    with pytest.raises(ValueError, match="y0"):
        newton.solve(np.ones((3, 3)), np.ones((3, 2)), tolerance=1.0)
    with pytest.raises(ValueError, match="rows"):
        newton.solve(np.ones((3, 2)), np.ones((4, 2)), tolerance=1.0)


def test_objects_reload() -> None:
    image = compile_newton(square_roots())
    found = Newton(image, square_roots()).solve([[1.0, 1.0]], [[4.0, 9.0]], tolerance=1e-12)
    np.testing.assert_allclose(found.y, [[2.0, 3.0]])
