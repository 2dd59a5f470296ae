"""The element state: derivatives against differences, to and from poses, what is wrong with it."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from nacelle.kinematics.elements.geometry import ElementGeometry
from nacelle.kinematics.elements.layout import bar_direction
from nacelle.kinematics.elements.placement import element_layout
from nacelle.kinematics.elements.state import ElementState, element_state
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.spatial.pose import Pose
from support.compare import assert_same
from support.library import NAMES, library_robot

Array = np.ndarray
WITH = [name for name in NAMES if name != "dymo"]


def motion(robot: nacelle.Robot, seed: int) -> tuple[Array, Array, Array]:
    x = plan_of(robot).samples[2][0]
    v, a = np.random.default_rng(seed).normal(size=(2, robot.motion.n))
    return x, v, a


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH)
def test_there_and_back(name: str) -> None:
    robot = library_robot(name)
    x, v, a = motion(robot, 1)
    state = element_state(robot, x, v, a)
    pose = state.pose()
    for found, exact in zip(pose, (x, v, a), strict=True):
        assert_same(found, exact, 1e-11)
    state.check(1e-10)
    assert_same(state.joints().actuators[1], nacelle.joint_motion(robot, x, v, a).actuators[1], 1e-10)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "orthoglide", "delta", "3rrr"])
def test_derivatives_by_differences(name: str) -> None:
    """Along x + v t + a t^2 / 2, which a motion without free orientation follows."""
    robot = library_robot(name)
    x, v, a = motion(robot, 2)
    v, a = 0.3 * v, 0.3 * a
    layout = element_layout(mechanism_of(robot))
    h = 1e-3

    def at(t: float) -> dict[str, Array]:
        bodies = nacelle.inverse_kinematics(robot, x + v * t + 0.5 * a * t * t, limits=False)
        poses = tuple(Pose(R, p) for R, p in zip(bodies.bodies.R, bodies.bodies.p, strict=True))
        geometry = ElementGeometry(robot, poses)
        return {
            variable.name: bar_direction(geometry, layout.legs[variable.leg], variable.number)[
                list(layout.axes)
            ]
            for variable in layout.variables
            if variable.kind == "direction"
        }

    samples = {k: at(k * h) for k in range(-3, 4)}
    first, second = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}, {1: 3 / 2, 2: -3 / 20, 3: 1 / 90}
    state = element_state(robot, x, v, a)
    for key, value in samples[0].items():
        rate = sum(c * (samples[k][key] - samples[-k][key]) for k, c in first.items()) / h
        bend = sum(c * (samples[k][key] + samples[-k][key] - 2.0 * value) for k, c in second.items()) / h**2
        assert_same(state[key], np.stack([value, rate, bend]), 1e-7)


@pytest.mark.slow
def test_batches_are_states() -> None:
    robot = library_robot("gough-stewart")
    x, v, a = motion(robot, 3)
    many = element_state(robot, np.stack([x, x]), np.stack([v, 2.0 * v]), np.stack([a, a]))
    one = element_state(robot, x, 2.0 * v, a)
    for name in one.names:
        assert_same(many[name][1], one[name], 1e-14)
    assert many.pose().x.shape == (2, 7)


def test_what_is_wrong_is_named() -> None:
    robot = library_robot("fivebar")
    x, v, a = motion(robot, 4)
    values = dict(element_state(robot, x, v, a).values)
    off = {**values, "left_rod": values["left_rod"] + 1e-3}
    with pytest.raises(KinematicsError, match=r"not consistent: \w+ is .* from where its pose"):
        ElementState(robot, off).check()
    for wrong, words in (
        ({k: w for k, w in values.items() if k != "left_arm"}, "left_arm of fivebar is missing"),
        ({**values, "left_rot": values["left_rod"]}, "no element variable 'left_rot'"),
        ({**values, "left_arm": np.zeros((3, 3))}, r"shape \(\.\.\., 3, 2\)"),
        ({**values, "left_arm": np.full((3, 2), np.nan)}, "left_arm of fivebar is not finite"),
    ):
        with pytest.raises(KinematicsError, match=words):
            ElementState(robot, wrong)
    with pytest.raises(KinematicsError, match="dymo has no element state: leg 'leg1'"):
        element_state(library_robot("dymo"), nacelle.reference_pose(library_robot("dymo")))
