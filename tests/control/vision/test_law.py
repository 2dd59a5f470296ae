"""The law at an observed platform is the law of the encoders at the platform that these find."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.vision.law import ObservedController
from nacelle.errors import KinematicsError


@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_forces_are_those_of_computed_torque(name: str) -> None:
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    law = nacelle.controller(robot, "ct-cartesian", period=1e-3, friction=True)
    observed, memory = ObservedController(law, x), law.start(x)
    fields, n = law.kind.memory(robot), robot.motion.n
    q = law.coordinates(x)
    rng = np.random.default_rng(2)
    for _ in range(2):  # later samples of encoders learn what the model lacks
        # The encoders find the platform where it is; the observer hands the same over.
        motion = DesiredMotion(x, 0.1 * rng.normal(size=n), rng.normal(size=n))
        force, memory = law.step(memory, q, motion)
        parts = fields.split(memory)
        memory = fields.join(parts | {"unmodelled": 0.0})
        command = observed.step(parts["x"], parts["v"], np.concatenate(motion))
        np.testing.assert_allclose(command.force, force, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(command.acceleration, parts["acceleration"], rtol=1e-6, atol=1e-9)


def test_another_law_is_refused() -> None:
    robot = nacelle.load("fivebar")
    with pytest.raises(KinematicsError, match="'ct-cartesian', got 'cf-rb'"):
        ObservedController(nacelle.controller(robot, "cf-rb"), nacelle.reference_pose(robot))
