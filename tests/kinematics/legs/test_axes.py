"""How two axes lie to each other, against the common perpendicular of the two lines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.kinematics.legs.axes import relation
from nacelle.spatial.pose import Pose


def placed(tilt: float, along: float, offset: float, spin: float) -> tuple[Pose, float, float]:
    """The second axis tilted about x and moved by `offset` along it: angle and distance of the lines."""
    turn = Rotation.from_euler("z", spin).as_matrix()
    R = turn @ Rotation.from_euler("x", tilt).as_matrix()
    p = turn @ [offset, 0.0, 0.0] + [0.0, 0.0, 0.3] + along * R[:, 2]
    z = R[:, 2]
    normal = np.cross([0.0, 0.0, 1.0], z)
    size = np.linalg.norm(normal)
    distance = abs(p @ normal) / size if size > 1e-9 else np.hypot(p[0], p[1])
    return Pose(R @ Rotation.from_euler("z", 0.4).as_matrix(), p), np.arctan2(size, abs(z[2])), distance


@pytest.mark.parametrize("spin", [0.0, 0.9, 2.3])
@pytest.mark.parametrize("offset", [0.0, 0.2, 1e-9])
@pytest.mark.parametrize("tilt", [0.0, np.pi, np.pi / 2, -np.pi / 2, 0.7, np.pi / 2 + 1e-9])
def test_relation(tilt: float, offset: float, spin: float) -> None:
    X, angle, distance = placed(tilt, 0.15, offset, spin)
    words = {0: ("coaxial", "parallel"), 1: ("crossing", "perpendicular"), 2: ("oblique", "oblique")}
    kind = 0 if angle < 1e-11 else 1 if abs(angle - np.pi / 2) < 1e-11 else 2
    assert relation(X, 1.0) == words[kind][int(distance > 1e-11)]
