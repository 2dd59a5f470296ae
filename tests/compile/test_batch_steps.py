"""Many robots by fixed steps: on the processor and on a device that is replaced."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.compile import BatchRk4
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import pack
from support import fake_cupy


@physics(s=(2,), u=(1,), w=(1,))
def falling(robot, s, u, w):
    """A mass of 2 kg on a spring w, driven by u."""
    return pack([s[1], (u[0] - w[0] * s[0]) / 2.0])


def test_processor_and_device_agree() -> None:
    robot = nacelle.load("prrrp")
    rng = np.random.default_rng(0)
    s, u, w = rng.normal(size=(6, 2)), rng.normal(size=(6, 1)), np.array([3.0])
    counts = {"h": 0.01, "steps": 20, "every": 10}
    native = BatchRk4(falling, robot).integrate(s, u, (w,), None, **counts)
    rate = np.sqrt(1.5)
    middle = u[:, 0] / 3.0
    angle = rate * 0.2
    exact = middle + (s[:, 0] - middle) * np.cos(angle) + s[:, 1] / rate * np.sin(angle)
    assert np.allclose(native.final[:, 0], exact, atol=1e-9)
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        driver = BatchRk4(falling, robot, target="cuda")
        assert not driver.own_numbers
        moved = driver.integrate(cupy.asarray(s), cupy.asarray(u), (w,), None, **counts)
    assert np.allclose(moved.states, native.states, rtol=1e-13)
    assert np.array_equal(moved.completed, native.completed)
