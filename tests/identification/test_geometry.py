"""Effects of lengths and of gravity's direction on forces, against robots with other numbers; as suspects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.base_parameters.base_parameters import base_parameters
from nacelle.identification.data.poses import motion_from_rates, path_poses
from nacelle.identification.effects import effect_columns
from nacelle.identification.geometry import geometry_effects
from nacelle.identification.identify import identify
from nacelle.model.robot import Robot
from support.identification import exact_run, fourier
from support.library import library_robot

_STEP = 1e-6


def changed_robot(robot: Robot, names: tuple[str, ...], step: float) -> Robot:
    """The robot with some free numbers larger by a step."""
    free = robot.numbers
    vector = free.vector("geometry")
    for name in names:
        vector[free.names("geometry").index(name)] += step
    return robot.with_numbers(vector, "geometry")


def forces(robot: Robot, q: np.ndarray, rate: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    motion = motion_from_rates(robot, path_poses(robot, q), rate, acceleration)
    return nacelle.inverse_dynamics(robot, motion.x, motion.v, motion.a).tau


@pytest.mark.parametrize(
    "name", ["fivebar", *(pytest.param(k, marks=pytest.mark.slow) for k in ("3rrr", "delta"))]
)
def test_effects_are_those_of_a_robot_with_other_numbers(name: str) -> None:
    robot = library_robot(name)
    run = exact_run(robot, fourier(robot, 0.04, frequency=1.0), periods=1.0, rate=100.0)
    q = run.measurement.q
    rate, acceleration = np.gradient(q, 0.01, axis=0), np.gradient(np.gradient(q, 0.01, axis=0), 0.01, axis=0)
    motion = motion_from_rates(robot, path_poses(robot, q), rate, acceleration)
    tau = forces(robot, q, rate, acceleration)
    base = base_parameters(robot)
    effects = geometry_effects(base, base.values, motion, tau)
    lengths = [each for each in effects if each.cause == "geometry" and each.unit == "m"]
    assert {each.cause for each in effects} == {"geometry", "gravity"}
    for effect in lengths[:1] + lengths[-1:]:
        # What the coordinates do in the effect is taken back by moving them in the robot as described.
        moved = changed_robot(robot, effect.names, _STEP)
        back = [
            value - _STEP * change
            for value, change in zip((q, rate, acceleration), effect.coordinates, strict=True)
        ]
        expected = (forces(moved, q, rate, acceleration) - forces(robot, *back)) / _STEP
        scale = np.max(np.abs(effect.force))
        assert np.max(np.abs(expected - effect.force)) < 1e-3 * scale


def test_effects_follow_from_the_model_alone() -> None:
    """They are derivatives along the instruments' motion, which forces of the measured one do not fit."""
    robot = library_robot("fivebar")
    run = exact_run(robot, fourier(robot, 0.04, frequency=1.0), periods=2.0).noisy(force=0.005, encoder=1e-6)
    result = identify(robot, run)
    noisy = [replace(part, tau=part.tau + np.sin(30.0 * part.time)[:, None]) for part in result.samples]
    columns, others = (
        effect_columns(result.estimator, samples, ("geometry", "gravity", "zero"))
        for samples in (result.samples, noisy)
    )
    assert columns
    for column, other in zip(columns, others, strict=True):
        assert np.array_equal(column.values, other.values)


def test_a_wrong_length_is_named() -> None:
    robot = library_robot("fivebar")
    described = changed_robot(robot, ("half_base",), 0.01)
    run = exact_run(robot, fourier(robot, 0.04, frequency=1.0), periods=5.0).noisy(force=0.005, encoder=1e-6)
    result = identify(described, replace(run, robot=described), allow=("all",))
    named = [each for suspect in result.suspects for each in (suspect, *suspect.alternatives)]
    lengths = {each.signal: each for each in named if each.cause == "geometry"}
    assert "geometry.half_base" in lengths
    # Known to first order alone.
    assert 0.4 < lengths["geometry.half_base"].size / 0.01 < 1.6
    assert not result.ok
    assert "nacelle calibrate" in result.suspects[0].describe()
