"""Solids are closed and look outwards."""

import numpy as np
import pytest

from nacelle.scene.faces import box_faces, cylinder, outward_normals, plate, sphere
from nacelle.spatial.pose import identity


@pytest.mark.parametrize(
    "solid",
    [
        cylinder(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1),
        cylinder(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1, end=0.0),
        sphere(np.array([1.0, 2.0, 3.0]), 0.2),
        box_faces(identity(), np.array([0.1, 0.2, 0.3]), 0.07),
        plate([np.zeros(3), np.array([0.3, 0.0, 0.1]), np.array([0.1, 0.4, 0.0])], 0.01, 0.05),
    ],
)
def test_solids_are_closed(solid):
    # The vector areas of the faces of a closed surface add up to nothing.
    areas = 0.5 * np.cross(solid[:, 2] - solid[:, 0], solid[:, 3] - solid[:, 1])
    out = outward_normals(solid)
    total = np.linalg.norm(areas, axis=1)[:, None] * out
    np.testing.assert_allclose(total.sum(axis=0), 0.0, atol=1e-12)
