"""Derivatives on a trace: by inputs and along the pose, as differences have them."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.derivatives.tape import DerivativeTape
from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.program.trace import trace
from support.random_programs import evaluate
from support.uncompiled import any_robot


def test_slopes_along_the_pose_are_the_inverse_jacobian() -> None:
    robot = any_robot("fivebar")
    mechanism = mechanism_of(robot)

    def slopes(x: np.ndarray, y: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        tape = DerivativeTape(robot, x, y)
        q = actuator_positions(robot, x, y)["q"]
        return {"q": q, "pose": tape.by_pose(q), "twist": tape.by(v * v, v)}

    program = trace(slopes, {"x": (2,), "y": (mechanism.ny,), "v": (2,)}).program()
    x0, y0 = mechanism.reference
    h, v = 1e-6, np.array([0.3, -0.7])
    rows = np.concatenate([x0 + h * np.eye(2), x0 - h * np.eye(2), x0[None]])
    q, pose, twist = evaluate(program, [rows, np.tile(y0, (5, 1)), np.tile(v, (5, 1))])
    differences = ((q[:2] - q[2:4]) / (2 * h)).T
    np.testing.assert_allclose(pose[4].reshape(2, 2), differences, atol=1e-8)
    np.testing.assert_allclose(twist[4].reshape(2, 2), np.diag(2.0 * v), atol=1e-15)
