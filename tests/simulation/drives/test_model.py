"""The traced flow with drives, against one by hand."""

from __future__ import annotations

import numpy as np

from nacelle.simulation.drives.drives import DriveNumbers, Drives
from nacelle.simulation.drives.lugre import LuGre
from nacelle.simulation.drives.model import driven_model
from nacelle.simulation.feedback import RIGID
from nacelle.simulation.flow import flow
from support.library import library_robot

FRICTION = LuGre(0.1, 0.15, 0.01, 1000.0, 2.0)


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
