"""Rotations and frames in each way of writing them, beside SciPy's and products of 4 x 4 matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.spatial.transform import Rotation

from nacelle.model.description.fields import message_and_hint
from nacelle.model.description.frame import FrameSpec, KhalilKleinfingerSpec, PlacementSpec, RotationSpec

SOME = Rotation.from_rotvec([0.3, -0.5, 0.8])


@pytest.mark.parametrize(
    "written",
    [
        {"matrix": SOME.as_matrix().tolist()},
        {"matrix": SOME.as_matrix().round(5).tolist()},
        {"rpy": SOME.as_euler("xyz").tolist()},
        {"quat_xyzw": SOME.as_quat().tolist()},
        {"axis": SOME.as_rotvec().tolist(), "angle": f"{float(np.degrees(SOME.magnitude()))!r} deg"},
    ],
    ids=["matrix", "rounded", "rpy", "quaternion", "axis"],
)
def test_every_way_to_write_a_rotation(written: dict[str, Any]) -> None:
    R = RotationSpec(**written).rotation()
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    rounded = "matrix" in written and written["matrix"] != SOME.as_matrix().tolist()
    np.testing.assert_allclose(R, SOME.as_matrix(), atol=1e-5 if rounded else 1e-14)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"matrix": np.diag([1.0, 1.0, -1.0]).tolist()}, "a reflection"),
        ({"matrix": (1.1 * np.eye(3)).tolist()}, "differs from 1 by 0.21"),
        ({"quat_xyzw": [0.0, 0.0, 0.0, 2.0]}, "has length 2"),
        ({"axis": "z"}, "belong together"),
        ({"rpy": [0.0, 0.0, 0.0], "quat_xyzw": [0.0, 0.0, 0.0, 1.0]}, "exactly one"),
    ],
)
def test_what_is_no_rotation(written: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        RotationSpec(**written)
    assert any(words in message_and_hint(error)[0] for error in caught.value.errors(include_url=False))


def homogeneous(R: np.ndarray | None = None, p: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else R
    T[:3, 3] = p
    return T


def test_khalil_kleinfinger_is_six_steps() -> None:
    """Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r) ([KI2007] section 2)."""
    gamma, b, alpha, d, theta, r = 0.4, 0.2, -1.1, 0.3, 0.7, -0.5
    steps = (
        homogeneous(Rotation.from_rotvec([0, 0, gamma]).as_matrix()),
        homogeneous(p=(0, 0, b)),
        homogeneous(Rotation.from_rotvec([alpha, 0, 0]).as_matrix()),
        homogeneous(p=(d, 0, 0)),
        homogeneous(Rotation.from_rotvec([0, 0, theta]).as_matrix()),
        homogeneous(p=(0, 0, r)),
    )
    expected = np.linalg.multi_dot(steps)
    pose = KhalilKleinfingerSpec(gamma=gamma, b=b, alpha=alpha, d=d, theta=theta, r=r).pose()
    np.testing.assert_allclose(homogeneous(pose.R, tuple(pose.p)), expected, atol=1e-15)


def test_frames_translate_first() -> None:
    frame = FrameSpec.model_validate({"translation": [1.0, 2.0, 3.0], "rotation": {"rpy": [0.0, 0.0, 0.5]}})
    pose = frame.pose()
    np.testing.assert_array_equal(pose.p, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(pose.R, Rotation.from_rotvec([0, 0, 0.5]).as_matrix(), atol=1e-15)
    with pytest.raises(ValidationError, match="excludes"):
        FrameSpec.model_validate({"translation": [1.0, 2.0, 3.0], "khalil_kleinfinger": {}})


def test_legs_are_placed_about_z_unless_an_axis_is_given() -> None:
    about_z, about_x = (PlacementSpec(angle="90 deg", axis=axis).pose().R for axis in (None, "x"))
    np.testing.assert_allclose(about_z @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(about_x @ [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], atol=1e-15)
