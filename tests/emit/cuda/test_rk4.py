"""Runge-Kutta on the device's terms, on this machine, with inputs and numbers of each sample."""

from __future__ import annotations

import numpy as np

from nacelle.emit.cuda.device import DeviceRk4
from nacelle.emit.cuda.drivers import InputLayout, rk4_kernel
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.rk4 import NumpyRk4
from nacelle.program.program import Program, Variable
from support import fake_cupy
from support.drivers import numpy_kernel, pendulum

N, STEPS = 150, 12


def test_own_inputs_and_numbers_and_a_state_that_is_not_finite() -> None:
    rng = np.random.default_rng(0)
    x0, u, p = rng.normal(size=(N, 2)), rng.normal(size=(N, 1)), rng.uniform(0.5, 9.0, size=(N, 2))
    p[5, 1] = -1e200
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        arrays = [cupy.asarray(array.T.copy()) for array in (x0, u, p)]
        got = DeviceRk4(pendulum()).integrate(*arrays, h=0.01, steps=STEPS)
    for k in (0, 5, N - 1):
        want = NumpyRk4(pendulum(), numpy_kernel()).integrate(x0[k], u[k], p[k], h=0.01, steps=STEPS)
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
    made = rk4_kernel(program, None, CudaOptions(), InputLayout("own", "own"))
    assert made.scratch > 0
    assert made.launch.shared_bytes <= 227 * 1024 // made.launch.blocks
    rng = np.random.default_rng(1)
    x0, u, p = rng.normal(size=(1, 3)), np.zeros((1, 3)), rng.normal(size=(count, 3))
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        got = DeviceRk4(program).integrate(*map(cupy.asarray, (x0, u, p)), h=0.1, steps=1)
    z, rest = 0.1 * p[0], p[1:].sum(axis=0)
    growth = 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24
    want = x0[0] * growth + rest * (growth - 1) / p[0]
    assert np.allclose(got.final[0], want, rtol=1e-12)
