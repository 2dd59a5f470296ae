"""Short rotations: they take an axis where the long one does, for fewer operations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.spatial.short_rotation import rotation, rotation_cost, shortest


@pytest.mark.parametrize(("axis", "name"), [(0, "x"), (1, "y"), (2, "z")])
def test_rotation_about_an_axis(axis: int, name: str) -> None:
    expected = Rotation.from_euler(name, 0.7).as_matrix()
    np.testing.assert_allclose(rotation(axis, np.cos(0.7), np.sin(0.7)), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("plane", range(3))
@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("angle", [0.4, 2.0, np.pi / 2])
def test_shortest(plane: int, k: int, angle: float) -> None:
    """The image of axis k lies in a coordinate plane; a spin about axis k makes R long."""
    image = np.roll([0.0, np.cos(angle), np.sin(angle)], plane)
    image[np.abs(image) < 1e-15] = 0.0
    R = np.linalg.qr(np.column_stack([image, np.random.default_rng(k).normal(size=(3, 2))]))[0]
    R[:, 0], R[:, 2] = image, np.cross(image, R[:, 1])
    R = np.roll(R, k, axis=1)
    short = shortest(R, k)
    assert short is not None
    short = np.asarray(short, dtype=float)
    np.testing.assert_allclose(short[:, k], image, rtol=0, atol=1e-15)
    np.testing.assert_allclose(short @ short.T, np.eye(3), rtol=0, atol=1e-15)
    assert np.linalg.det(short) == pytest.approx(1.0, abs=1e-14)
    assert rotation_cost(short) <= 6
    assert rotation_cost(short) < rotation_cost(R)


def test_an_image_in_no_plane_has_none() -> None:
    assert shortest(Rotation.from_rotvec([0.3, 0.4, 0.5]).as_matrix(), 1) is None
