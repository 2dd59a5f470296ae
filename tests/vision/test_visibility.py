"""Free edges: what is hidden, beside others and out of the image, along the edges by hand."""

from __future__ import annotations

import numpy as np

from nacelle.vision.image.patch import Patch
from nacelle.vision.visibility import ContactLines, edge_visibility
from support.vision_scenes import rod, scene_of, small_camera

LONG = rod((-0.35, 0.0, 2.0), (0.35, 0.0, 2.0), 0.03)


def test_alone_all_is_free() -> None:
    camera = small_camera()
    seen = edge_visibility(scene_of(camera, LONG), 0, 4.0)
    assert np.all(seen.free)
    # 0.7 m at 2 m with 300 px; the lens shortens it a little.
    assert np.allclose(seen.free_length(), 105.0, rtol=0.03)
    assert np.allclose(np.median(seen.width), 9.0, rtol=0.02)
    assert np.all(seen.free_length(10.0) < seen.free_length() - 18.0)


def test_hidden_and_crowded_parts() -> None:
    camera = small_camera()
    bar = rod((-0.02, -0.5, 1.0), (-0.02, 0.5, 1.0), 0.02)
    seen = edge_visibility(scene_of(camera, LONG, bar), 0, 4.0)
    x = seen.lines.points(seen.t)[0, :, 0] / 2.0
    behind, clear = np.abs(x + 0.02) < 0.019, np.abs(x + 0.02) > 0.021
    assert np.all(seen.hidden[:, behind])
    assert not np.any(seen.hidden[:, clear])
    assert np.all(seen.crowded[:, behind])
    assert not np.any(seen.crowded[:, np.abs(x + 0.02) > 0.03])
    # The same bar behind hides nothing, but there is no background beside the edges.
    back = edge_visibility(scene_of(camera, LONG, rod((-0.1, -2.0, 5.0), (-0.1, 2.0, 5.0), 0.1)), 0, 4.0)
    assert not np.any(back.hidden)
    assert np.all(back.crowded[:, behind])
    assert not np.any(back.crowded[:, clear])
    assert np.all(back.free_length() < 95.0)


def test_out_of_the_image_and_places() -> None:
    camera = small_camera()
    half = edge_visibility(scene_of(camera, rod((0.0, 0.0, 2.0), (2.0, 0.0, 2.0), 0.03)), 0, 4.0)
    assert 0.2 < np.mean(half.inside) < 0.3
    lines = ContactLines.of(rod((-0.3, 0.1, 1.5), (0.3, -0.1, 2.5), 0.05))
    t = np.array([0.0, 0.25, 0.9])
    for side, points in enumerate(lines.points(t)):
        assert np.allclose(points @ lines.normals[side], 0.0)
        pixels = camera.pixels(points)
        assert np.allclose(lines.place(side, Patch.of(camera, pixels[:, 0], pixels[:, 1])), t)
