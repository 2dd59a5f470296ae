"""Drivers on rows of numbers: kernels are made once for each way that inputs are given."""

from __future__ import annotations

import numpy as np

from nacelle.emit.cuda.device_drivers import DeviceNewton, DeviceRk4
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.newton import Rules
from support import fake_cupy
from support.driver_programs import pendulum, square_roots


def test_nothing_to_do() -> None:
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        none = cupy.empty((2, 0))
        motion = DeviceRk4(pendulum()).integrate(none, cupy.empty((1, 0)), none, h=0.1, steps=3, every=1)
        assert motion.x.shape == (3, 2, 0)
        solution = DeviceNewton(square_roots()).solve(none, none, Rules(1e-9, 5, np.inf, False))
        assert solution.y.shape == (2, 0)


def test_float() -> None:
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        y0, p = (cupy.asarray(np.full((2, 3), value, np.float32)) for value in (1.0, 2.0))
        solver = DeviceNewton(square_roots(), CudaOptions(real="float"))
        rules = Rules(1e-6, 20, np.inf, False)
        first = solver.solve(y0, p, rules)
        assert first.y.dtype == np.float32
        assert np.allclose(first.y, np.sqrt(2.0), rtol=1e-6)
        assert solver._driver(True) is solver._driver(True)
