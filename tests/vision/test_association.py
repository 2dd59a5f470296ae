"""Which segment belongs to which edge: true ones, wrong predictions, legs that may be exchanged."""

from __future__ import annotations

import numpy as np

from nacelle.shapes.solid import Rod
from nacelle.spatial.pose import Pose
from nacelle.vision.association import associate
from nacelle.vision.image.detect import Segments
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import edge_visibility
from support.vision_scenes import rod, scene_of, small_camera

RODS = (
    rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03),
    rod((-0.2, 0.15, 1.8), (0.05, -0.2, 2.0), 0.02),
    rod((0.15, -0.2, 2.0), (0.3, 0.1, 2.0), 0.02),
)


def segments_of(scene: CameraScene, rng: np.random.Generator, noise: float = 0.2) -> tuple[Segments, list]:
    """Both edges of all rods as segments, brighter on the right of their way, in random order."""
    ends, owners = [], []
    for k in range(len(scene.rods)):
        seen = edge_visibility(scene, k, 0.0)
        middle = seen.pixels[:, 48].mean(axis=0)
        for side in (0, 1):
            a, b = seen.pixels[side, [15, 80]] + noise * rng.standard_normal((2, 2))
            way, inwards = b - a, middle - a
            right = way[0] * inwards[1] - way[1] * inwards[0] > 0.0
            ends.append([a, b] if right else [b, a])
            owners.append((k, side))
    order = rng.permutation(len(ends))
    return Segments(np.array(ends)[order], np.full(len(ends), 160.0)), [owners[i] for i in order]


def moved(scene: CameraScene, by: float) -> CameraScene:
    shift = Pose(np.eye(3), np.array([by, -0.5 * by, 0.0]))
    return scene_of(scene.camera, *(one.moved(shift) for one in scene.rods))


def test_edges_get_their_segments() -> None:
    rng = np.random.default_rng(0)
    scene = scene_of(small_camera(), *RODS)
    segments, owners = segments_of(scene, rng)
    result = associate(moved(scene, 0.01), segments, gate=5.0)
    assert {edge: owners[k] for edge, k in result.segments.items()} == {edge: edge for edge in owners}
    assert result.missing == ()
    assert result.left == ()
    assert result.mirrored == ()
    assert max(result.distances.values()) < 3.0


def test_gates_and_spare_segments() -> None:
    rng = np.random.default_rng(1)
    scene = scene_of(small_camera(), *RODS)
    segments, owners = segments_of(scene, rng)
    # One edge is not detected, and there is a line that is no leg.
    gone = owners.index((1, 0))
    ends = np.concatenate([np.delete(segments.ends, gone, axis=0), [[[5.0, 5.0], [60.0, 6.0]]]])
    fewer = Segments(ends, np.full(len(ends), 160.0))
    result = associate(scene, fewer, gate=3.0)
    assert result.missing == ((1, 0),)
    assert result.left == (len(ends) - 1,)
    far = associate(moved(scene, 0.08), fewer, gate=3.0)
    assert len(far.segments) < 3
    assert associate(scene, Segments(np.zeros((0, 2, 2)), np.zeros(0))).segments == {}
    # Turned around, a segment has the leg on the other side.
    wrong = associate(scene, Segments(fewer.ends[:, ::-1], fewer.contrast), gate=3.0)
    assert wrong.segments == {}


def test_legs_that_may_be_exchanged() -> None:
    beside = Pose(np.eye(3), np.array([0.0, 0.02, 0.0]))
    twins: tuple[Rod, ...] = (RODS[0], RODS[0].moved(beside), RODS[2])
    scene = scene_of(small_camera(), *twins)
    segments, _ = segments_of(scene, np.random.default_rng(2), 0.05)
    assert associate(scene, segments, gate=6.0).mirrored == ((0, 1),)
    assert associate(scene, segments, gate=1.0).mirrored == ()
