from __future__ import annotations

import numpy as np
import pytest

from nacelle.shapes.solid import Ball, Block, Rod, Solid
from nacelle.spatial.pose import identity
from nacelle.view.browser.meshes import Triangles, one_mesh, solid_mesh


def volume(mesh: Triangles) -> float:
    """By the divergence theorem: positive if all faces look outward."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return float(np.sum(np.einsum("ij,ij->i", a, np.cross(b, c)))) / 6.0


@pytest.mark.parametrize(
    ("solid", "expected"),
    [
        (Rod(np.array([1.0, 0.0, 2.0]), np.array([1.0, 3.0, 2.0]), 0.5), np.pi * 0.25 * 3.0),
        (Ball(np.array([1.0, 2.0, 3.0]), 2.0), 4.0 / 3.0 * np.pi * 8.0),
        (Block(identity(), np.array([1.0, 2.0, 3.0])), 6.0),
    ],
)
def test_meshes_are_closed_and_have_their_volume(solid: Solid, expected: float) -> None:
    mesh = solid_mesh(solid)
    assert abs(volume(mesh)) == pytest.approx(expected, rel=0.04)
    assert volume(one_mesh([mesh, mesh])) == pytest.approx(2.0 * volume(mesh))
