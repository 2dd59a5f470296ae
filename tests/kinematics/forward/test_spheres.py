"""Points where three spheres meet have the distances of their radii."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.forward.spheres import three_spheres


@pytest.mark.parametrize("seed", range(10))
def test_three_spheres(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centres, point = rng.normal(size=(3, 3)), rng.normal(size=3)
    radii = np.linalg.norm(centres - point, axis=1)
    spheres = [(centre, float(r) ** 2) for centre, r in zip(centres, radii, strict=True)]
    both = [three_spheres(spheres, side) for side in (1, -1)]
    for found, margin in both:
        np.testing.assert_allclose(np.linalg.norm(centres - found, axis=1), radii, rtol=1e-12)
        assert margin > 0.0
    assert min(np.max(np.abs(found - point)) for found, _ in both) < 1e-12
    # The two are mirror images in the plane of the centres.
    normal = np.cross(centres[1] - centres[0], centres[2] - centres[0])
    heights = [(found - centres[0]) @ normal for found, _ in both]
    assert heights[0] == pytest.approx(-heights[1], rel=1e-12)
    assert heights[0] > 0.0


def test_spheres_that_touch_and_that_do_not_meet() -> None:
    centres = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for height, sign in ((0.25, 1.0), (0.0, 0.0), (-0.25, -1.0)):
        with np.errstate(invalid="ignore"):
            margin = three_spheres([(centre, 1.0 + height) for centre in centres], 1)[1]
        assert np.sign(margin) == sign
