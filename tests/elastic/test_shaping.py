"""Motions shaped against residual vibration, on a five-bar with flexible links."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import nacelle
from nacelle.elastic.path_vibration import PathVibration, TimingSamples
from nacelle.elastic.plant import elastic_plant
from nacelle.elastic.shaping import follow, residual_vibration, shape_motion
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.trajectory import Line, Quintic
from nacelle.trajectory.along_path import Path
from nacelle.trajectory.shaping import Retimed
from support.library import library_robot

START, END = [-0.12, 0.25], [0.12, 0.33]


def without_friction(robot: Robot) -> Robot:
    joints = [dataclasses.replace(j, friction=tuple(() for _ in j.friction)) for j in robot.joints]
    return dataclasses.replace(robot, joints=tuple(joints))


@cache
def model() -> PathVibration:
    robot = library_robot("fivebar-flexible")
    return PathVibration(robot, Path(Line(START, END, motion=robot.motion, duration=1.0)))


def test_frequencies_are_those_of_poses() -> None:
    robot = library_robot("prrrp")  # without gravity, which changes stiffness
    line = Line([0.3, 0.264575131106459], [0.25, 0.38], motion=robot.motion, duration=1.0)
    made = PathVibration(robot, Path(line))
    places = [0, len(made.s) // 2, -1]
    modes = nacelle.elastic.natural_frequencies(robot, made.path(made.s[places]).x, modes=5)
    np.testing.assert_allclose(made.frequencies[places, :5], modes.frequencies, rtol=1e-6)


def test_slopes_of_the_residual() -> None:
    samples, modes = model().samples(Quintic(0.15), 0.15, 4), 4
    k = np.arange(len(samples.s))
    way = [1e-3 * np.sin(0.02 * k) ** 2, np.sin(0.05 * k), 30.0 * np.cos(0.03 * k)]

    def along(e: float) -> np.ndarray:
        moved = [part + e * d for part, d in zip(samples[:3], way, strict=True)]
        return model().residual(TimingSamples(*moved, samples.step), modes)

    r, slopes = model().residual_slopes(samples, modes)
    np.testing.assert_allclose(r, along(0.0), atol=1e-15)
    exact = sum(slopes[:, :, j] @ way[j] for j in range(3))
    e = 1e-4
    np.testing.assert_allclose((along(e) - along(-e)) / (2.0 * e), exact, atol=1e-6 * np.max(np.abs(exact)))


@pytest.mark.slow
def test_linear_model_predicts_the_plant() -> None:
    """Half as fast, what it neglects, of second order in the deformation, falls."""
    robot = without_friction(library_robot("fivebar-flexible"))
    made = PathVibration(robot, model().path)
    plant = elastic_plant(robot, prescribed=True, static=True)
    for duration, share in ((0.2, 0.25), (0.15, 0.3)):
        motion = Retimed(made.path, Quintic(duration))
        r = made.residual_of_state(follow(plant, motion).states[-1], 2)
        linear = made.residual(made.samples(Quintic(duration), duration, 2), 2)
        assert np.linalg.norm(linear - r) < share * np.linalg.norm(r)


@pytest.mark.slow
def test_shaped_motion_leaves_nothing() -> None:
    robot = model().robot
    shaped = shape_motion(robot, model().path, 0.15, refine=2)
    law = shaped.law(np.linspace(0.0, 0.15, 2001))
    assert np.all(law.ds >= 0.0)
    assert shaped.use < 1.0
    left = residual_vibration(robot, shaped.trajectory, after=0.2)
    quintic = residual_vibration(robot, Retimed(model().path, Quintic(0.15)), after=0.2)
    assert left.amplitude < 0.1 * quintic.amplitude
    np.testing.assert_allclose(left.amplitude, np.linalg.norm(shaped.amplitude), rtol=0.6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rrr-flexible", "orthoglide-flexible"])
def test_other_robots(name: str) -> None:
    robot = library_robot(name)
    x = nacelle.reference_pose(robot)
    end = x.copy()
    end[:2] += 0.15 * robot.size * np.array([1.0, -0.6])
    line = Line(x, end, motion=robot.motion, duration=1.0)
    first = PathVibration(robot, Path(line)).frequencies[:, 0].min()
    duration = 1.6 / first
    shaped = shape_motion(robot, line, duration, refine=2, limits=False)
    left = residual_vibration(robot, shaped.trajectory, after=2.0 / first)
    quintic = residual_vibration(robot, Retimed(Path(line), Quintic(duration)), after=2.0 / first)
    assert left.amplitude < 0.2 * quintic.amplitude


def test_errors() -> None:
    robot = model().robot
    with pytest.raises(KinematicsError, match="did you mean"):
        shape_motion(robot, model().path, 0.2, shaper="zdv")
    with pytest.raises(KinematicsError, match="flexible"):
        shape_motion(library_robot("fivebar"), model().path, 0.2)
    there = Line(START, END, motion=robot.motion, duration=1.0)
    with pytest.raises(KinematicsError, match="stops at"):
        shape_motion(robot, there.then(there.reverse()), 0.4)
    with pytest.raises(KinematicsError, match="motion"):
        shape_motion(robot, Line([0.0] * 3, [0.1] * 3, motion="xyz", duration=1.0), 0.4)
