"""Runge-Kutta on the device's terms, on this machine, against the same loop in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.cuda.device import DeviceRk4
from nacelle.emit.cuda.drivers import RunInputs, rk4_kernel
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.python.tiles import TileKernel
from nacelle.emit.rk4 import NumpyRk4
from nacelle.program.program import Program, Variable
from support import fake_cupy
from support.driver_programs import pendulum

N, STEPS = 150, 12


def control() -> Program:
    """The law u = w - p2 θ̇."""
    code = (*(("input", k) for k in range(5)), ("mul", 4, 1), ("sub", 2, 5))
    inputs = (Variable("x", (2,)), Variable("w", (1,)), Variable("p", (2,)))
    return Program("law", inputs, (Variable("u", (1,)),), code, (6,))


def reference(law: Program | None) -> NumpyRk4:
    return NumpyRk4(pendulum(), TileKernel, law)


@pytest.mark.parametrize(
    ("rows", "held", "law"), [(1, 1, False), (STEPS, 1, False), (3 * STEPS, 1, False), (4, 3, True)]
)
def test_rows_of_inputs(rows: int, held: int, law: bool) -> None:
    rng = np.random.default_rng(rows)
    x0, p = rng.normal(size=(N, 2)), np.array([9.81, 0.1])
    staged = rows == 3 * STEPS
    u = rng.normal(size=(STEPS, 3, 1) if staged else (rows, 1))
    chosen = control() if law else None
    want = reference(chosen).integrate(x0, u, p[None], h=0.01, steps=STEPS, every=4, held=held)
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        driver = DeviceRk4(pendulum(), chosen)
        got = driver.integrate(
            cupy.asarray(x0.T.copy()),
            cupy.asarray(u.reshape(-1, 1, 1)),
            cupy.asarray(p),
            h=0.01,
            steps=STEPS,
            every=4,
            held=held,
        )
    assert np.allclose(np.moveaxis(got.x, 2, 0), want.x, rtol=1e-13, atol=1e-14)
    assert np.array_equal(got.completed, want.completed)
    assert not got.status.any()


def test_own_inputs_and_numbers_and_a_state_that_is_not_finite() -> None:
    rng = np.random.default_rng(0)
    x0, u, p = rng.normal(size=(N, 2)), rng.normal(size=(N, 1)), rng.uniform(0.5, 9.0, size=(N, 2))
    p[5, 1] = -1e200
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        arrays = [cupy.asarray(array.T.copy()) for array in (x0, u, p)]
        got = DeviceRk4(pendulum()).integrate(*arrays, h=0.01, steps=STEPS)
    for k in (0, 5, N - 1):
        want = reference(None).integrate(x0[k], u[k], p[k], h=0.01, steps=STEPS)
        assert np.allclose(got.final[:, k], want.final[0], rtol=1e-13)
        assert got.completed[k] == want.completed[0]
        assert got.status[k] == want.status[0]
    assert got.status[5] == 2


def test_numbers_without_room_are_aside() -> None:
    """More parameters than shared memory has columns: the first come there, the others to scratch."""
    count = 150
    added = (("add", count + 2 + k, 3 + k) for k in range(count - 1))
    code = (*(("input", k) for k in range(count + 2)), ("mul", 0, 2), *added)
    inputs = (Variable("x", (1,)), Variable("u", (1,)), Variable("p", (count,)))
    program = Program("many", inputs, (Variable("dx", (1,)),), code, (len(code) - 1,))
    made = rk4_kernel(program, None, CudaOptions(), RunInputs("own", "own"))
    assert made.scratch > 0
    assert made.launch.shared_bytes <= 227 * 1024 // made.launch.blocks
    rng = np.random.default_rng(1)
    x0, u, p = rng.normal(size=(1, 3)), np.zeros((1, 3)), rng.normal(size=(count, 3))
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        got = DeviceRk4(program).integrate(*map(cupy.asarray, (x0, u, p)), h=0.1, steps=1)
    z, rest = 0.1 * p[0], p[1:].sum(axis=0)
    growth = 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24
    want = x0[0] * growth + rest * (growth - 1) / p[0]
    assert np.allclose(got.final[0], want, rtol=1e-12)
