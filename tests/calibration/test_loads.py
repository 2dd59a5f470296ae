"""Drives and links that give under the weight: calibration against statics of the elastic robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.calibration.parameters import encoders_of, known_parameters
from nacelle.calibration.poses import drawn_poses, loads_at, platform_rates, sag_of
from nacelle.elastic.linear.statics import static_deflection


@pytest.mark.slow
def test_drives_and_links_sag_as_statics_say() -> None:
    """The forces of the drives over their stiffness move the platform, and links do, each once."""
    stiffness = 2000.0
    robot = nacelle.load("delta-flexible")
    drives = {actuator.joint for actuator in robot.actuators}
    joints = (
        replace(joint, drive_stiffness=stiffness) if j in drives else joint
        for j, joint in enumerate(robot.joints)
    )
    robot = replace(robot, joints=tuple(joints))
    x = drawn_poses(robot, 3)
    zeros = [one for one in known_parameters(robot) if one.kind == "zero"]
    L = platform_rates(robot, x, zeros, encoders_of(robot))
    forces, _ = loads_at(robot, x)
    by_drives = -(L @ forces[:, :, None])[:, :, 0] / stiffness
    expected = np.asarray(static_deflection(robot, x, nonlinear=False).displacement())
    found = sag_of(robot, x) + by_drives
    assert np.max(np.abs(by_drives[:, :3])) > 1e-5
    np.testing.assert_allclose(found[:, :3], expected[:, :3], rtol=0.0, atol=1e-9 * np.max(np.abs(expected)))
