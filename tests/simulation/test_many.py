"""Many robots in one call against one robot at a time, and against the description's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from support import fake_cupy


def start(robot: nacelle.Robot, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    x = np.asarray(nacelle.reference_pose(robot)) + rng.uniform(-0.02, 0.02, (count, 2))
    return x, rng.normal(scale=0.1, size=(count, 2)), rng.normal(scale=0.2, size=(count, 2))


def test_each_robot_moves_as_it_does_alone() -> None:
    robot = nacelle.load("fivebar")
    x, v, force = start(robot, 5)
    groups = ("inertia", "friction")
    numbers = robot.numbers.vector(*groups) * np.linspace(0.8, 1.2, 5)[:, None]
    options = {"until": 0.02, "samples": 2, "parameters": numbers, "groups": groups}
    motions = nacelle.simulate_many(robot, x, v, force, **options)
    assert motions.x.shape == (5, 2, 2)
    assert np.allclose(motions.t, [0.01, 0.02])
    assert not motions.status.any()
    other = robot.with_numbers(numbers[3], *groups)
    alone = nacelle.simulate(other, x[3], v[3], force[3], until=0.02, method="rk4", step=1e-3, events=[])
    assert np.allclose(motions.x[3, -1], alone.x[-1], atol=1e-12)
    assert np.allclose(motions.v[3, -1], alone.v[-1], atol=1e-10)
    with fake_cupy.in_place(fake_cupy.fake()) as cupy:
        given = [cupy.asarray(array) for array in (x, v, force)]
        options["parameters"] = cupy.asarray(numbers)
        moved = nacelle.simulate_many(robot, *given, **options, target="cuda")
        assert isinstance(moved.x, cupy.ndarray)
        assert np.allclose(moved.x, motions.x, atol=1e-12)
        assert np.allclose(moved.v, motions.v, atol=1e-10)
        with pytest.raises(nacelle.DeviceError, match=r"'x0' is .* processor's memory"):
            nacelle.simulate_many(robot, x, until=0.01, target="cuda")


def test_what_cannot_be() -> None:
    robot = nacelle.load("fivebar")
    x, v, _ = start(robot, 4)
    for words, arguments, options in (
        ("whole number of steps", (x,), {"until": 0.0105}),
        ("divisor", (x,), {"until": 0.01, "samples": 3}),
        (r"x0 has the shape \(4, 1\)", (x[:, :1],), {"until": 0.01}),
        ("different numbers of robots", (x, v[:3]), {"until": 0.01}),
    ):
        with pytest.raises(KinematicsError, match=words):
            nacelle.simulate_many(robot, *arguments, **options)
