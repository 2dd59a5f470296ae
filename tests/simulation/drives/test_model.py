"""The traced flow with drives: only as long as what it has, and the same function for the same drives."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.compile.specification import make_program
from nacelle.model.robot import Robot
from nacelle.simulation.drives.drives import DriveNumbers, Drives
from nacelle.simulation.drives.lugre import LuGre
from nacelle.simulation.drives.model import cogging_force, driven_model, force_limited
from nacelle.simulation.feedback import RIGID, LoopModel
from nacelle.simulation.flow import flow
from nacelle.spatial.physics import input_shapes
from support.library import library_robot

FRICTION = LuGre(0.1, 0.15, 0.01, 1000.0, 2.0)


def test_what_is_measured_is_traced_only_where_it_is_needed() -> None:
    robot = library_robot("fivebar")
    asked = []

    def signals(robot: Robot, s, constants, wanted):
        asked.append(wanted)
        return RIGID.signals(robot, s, constants, wanted)

    plant = LoopModel(flow, signals)
    for drives in (
        Drives(lag=1e-3),
        Drives(),
        Drives(cogging=(1.0, 40.0, 0.0)),
        Drives(stiction=FRICTION, limits=None),
        Drives(stiction=[FRICTION, None], cogging=(1.0, 40.0, 0.0)),
    ):
        driven = driven_model(plant, drives.numbers(robot)).flow
        program = make_program(driven, robot, input_shapes(driven, robot), minimised=False, checked=False)
        assert program.outputs[0].shape == input_shapes(driven, robot)["s"]
    assert asked == [("q",), ("qd",), ("q", "qd")]


def test_one_function_for_the_same_drives() -> None:
    robot = library_robot("fivebar")
    first, second, other = (driven_model(RIGID, Drives(lag=t).numbers(robot)) for t in (1e-3, 1e-3, 2e-3))
    assert first is second
    assert first.flow is not other.flow


def test_the_flow_by_hand() -> None:
    """With one motor lagged and one joint with stiction, on plain floats."""
    robot = library_robot("fivebar")
    numbers = DriveNumbers((0.0, 2e-3), (0.8, np.inf), ((0.3, 40.0, 0.1), (0.2, 30.0, 0.5)), (FRICTION, None))
    numbers = numbers._replace(cogging=Drives(cogging=numbers.cogging).numbers(robot).cogging)
    model = driven_model(RIGID, numbers)
    s, u, quat = np.array([0.02, 0.3, 0.4, -0.2]), np.array([1.7, -0.6]), np.array([0.0, 0.0, 0.0, 1.0])
    g, b = 0.35, 4e-5
    whole = model.flow(robot, np.array([*s, g, b]), u, quat)
    signals = RIGID.signals(robot, s, quat, ("q", "qd"))
    q, w = signals["q"], signals["qd"]
    b_rate = w[0] - 1000.0 * abs(w[0]) * b / FRICTION.level(w[0])
    friction = 1000.0 * b + FRICTION.damper(w[0]) * b_rate
    force = [0.8 + 0.3 * np.sin(40.0 * q[0] + 0.1) - friction, g + 0.2 * np.sin(30.0 * q[1] + 0.5)]
    np.testing.assert_allclose(whole[:4], flow(robot, s, np.array(force), quat), rtol=1e-13)
    np.testing.assert_allclose(whole[4:], [(-0.6 - g) / 2e-3, b_rate], rtol=1e-13)


def test_pieces() -> None:
    assert [force_limited(u, 2.0) for u in (-3.0, 1.5, 2.5)] == [-2.0, 1.5, 2.0]
    terms = Drives(cogging=(0.5, 10.0, 0.2)).numbers(library_robot("fivebar")).cogging
    assert cogging_force(terms[0], 0.3) == pytest.approx(0.5 * np.sin(3.2))
