"""Axes of joints: rates against differences of frames that move, and the power of efforts along them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.dynamics.joint_axes import joint_axes
from nacelle.model.joint import JointKind
from nacelle.spatial.pose import Pose
from support.stress_robots import STRESS
from support.uncompiled import any_robot

JOINTS = {
    joint.kind: joint
    for robot in (any_robot("everything"), any_robot("c5"), STRESS["planar-spherical joints"](1))
    for joint in robot.joints
}


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind is not JointKind.FIXED])
def test_rates_and_power(kind: JointKind) -> None:
    """A wrench along the axes has the power of efforts times rates, wherever both bodies are and move."""
    rng = np.random.default_rng(3)
    first, second = (Pose(Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)) for _ in range(2))
    (v1, w1), (v2, w2) = rng.normal(size=(2, 2, 3))
    for axis in joint_axes(JOINTS[kind], first, second):
        np.testing.assert_allclose(np.linalg.norm(axis.directions, axis=0), 1.0, rtol=1e-14)
        at_point = [v + np.cross(w, axis.point) for v, w in ((v1, w1), (v2, w2))]
        rates = axis.along(at_point[1] - at_point[0], w2 - w1)
        efforts = rng.normal(size=len(rates))
        f, n = axis.wrench(efforts)
        about_origin = n + np.cross(axis.point, f)
        power = f @ (v2 - v1) + about_origin @ (w2 - w1)
        assert power == pytest.approx(efforts @ rates, rel=1e-12, abs=1e-13)
