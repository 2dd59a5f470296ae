"""The command fk."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.slow
def test_fk_of_one_set_of_actuators() -> None:
    robot = nacelle.load("hexaglide")
    x = nacelle.reference_pose(robot)
    q = nacelle.inverse_kinematics(robot, x).actuators
    options = [
        f"--q={actuator.name}={value!r}" for actuator, value in zip(robot.actuators, q.tolist(), strict=True)
    ]
    found = run_json("fk", "hexaglide", *options)
    np.testing.assert_allclose(list(found["pose"].values()), x, atol=1e-12)
    assert "steps" in run("fk", "hexaglide", *options, "--guess", "x=10mm").stdout
