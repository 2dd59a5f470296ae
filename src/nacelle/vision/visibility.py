"""Which parts of the edges of a cylinder a camera sees free: in the image, not hidden, apart from others.

The cylinder from A along U = B - A touches the plane of side k along X_k(t) = A_k + t U, 0 <= t <= 1, with
A_0 = A - r n_0 and A_1 = A + r n_1, camera axes. At samples of t the image is probed on both sides of the
edge: a little inwards the cylinder itself must be the first solid that a ray meets, and outwards, up to a
clearance, there must be the background. A ray d near the edge belongs to

    t = -d . (A_k x n_k) / d . (U x n_k)

since the plane through d and n_k meets the line X_k there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.shapes.solid import Rod
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import PixelPatch
from nacelle.vision.cylinders import tangent_normals
from nacelle.vision.scene import CameraScene

# Samples along an edge, and probes outside it.
SAMPLES = 97
_PROBES = (0.35, 0.7, 1.0)


@dataclass(frozen=True, eq=False)
class ContactLines:
    """The two lines along which planes through the camera's centre touch a cylinder, camera axes.

    Attributes:
        normals: of the planes (2, 3); NaN where the camera is within the cylinder, endlessly long.
        starts: A_k (2, 3), m.
        way: U (3,), m.
    """

    normals: Array
    starts: Array
    way: Array

    @classmethod
    def of(cls, rod: Rod) -> ContactLines:
        """Those of a cylinder in camera axes."""
        way = rod.stop - rod.start
        normals = tangent_normals(rod.start, way / np.linalg.norm(way), rod.radius)
        return cls(normals, rod.start + rod.radius * np.array([[-1.0], [1.0]]) * normals, way)

    def points(self, t: Array) -> Array:
        """Points (2, k, 3) at t (k,)."""
        return np.asarray(self.starts[:, None] + t[:, None] * self.way)

    def position_along(self, side: int, patch: PixelPatch) -> Array:
        """Where along an edge pixels (...) are: t."""
        top, below = np.cross(self.starts[side], self.normals[side]), np.cross(self.way, self.normals[side])
        x, y = patch.x, patch.y
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(-(top[0] * x + top[1] * y + top[2]) / (below[0] * x + below[1] * y + below[2]))


@dataclass(frozen=True, eq=False)
class EdgeVisibility:
    """What is seen of the two edges of a cylinder at samples of t.

    Attributes:
        lines: where the edges are.
        t: samples (k,) from 0 at A to 1 at B.
        pixels: where they are in the image (2, k, 2), px; NaN behind the camera.
        inside: whether they are in the image, with the clearance (2, k).
        hidden: whether another solid is before the cylinder there (2, k).
        crowded: whether the outer side is not the background there (2, k).
        width: distance of the two edges in the image at the samples (k,), px.
    """

    lines: ContactLines
    t: Array
    pixels: Array
    inside: Array
    hidden: Array
    crowded: Array
    width: Array

    @property
    def free(self) -> Array:
        """Whether the edges are seen without disturbance (2, k)."""
        return np.asarray(self.inside & ~self.hidden & ~self.crowded)

    @property
    def steps(self) -> Array:
        """Lengths (2, k - 1) of the edges in the image between samples, px."""
        return np.asarray(np.linalg.norm(np.diff(self.pixels, axis=1), axis=-1))

    def free_intervals(self, clearance: float) -> Array:
        """Where the edges are free (2, k), at least a clearance (px) away from where they are not."""
        free = self.free.copy()
        if clearance <= 0.0:
            return free
        for side in (0, 1):
            arc_length = np.concatenate([[0.0], np.cumsum(np.nan_to_num(self.steps[side]))])
            bad = np.concatenate([arc_length[~free[side]], arc_length[[0, -1]]])
            # Between samples an edge may already be disturbed: half a step more.
            margin = clearance + 0.5 * float(np.max(np.diff(arc_length), initial=0.0))
            near = np.min(np.abs(arc_length[:, None] - bad), axis=1)
            free[side] &= near > margin
        return free

    def free_length(self, clearance: float = 0.0) -> Array:
        """Length (2,) of the free parts of both edges, px."""
        free = self.free_intervals(clearance)
        both = free[:, 1:] & free[:, :-1]
        return np.asarray(np.sum(np.where(both, self.steps, 0.0), axis=1))


def edge_visibility(scene: CameraScene, index: int, clearance: float = 6.0) -> EdgeVisibility:
    """See what is free of the edges of cylinder `index` of a scene; see `edge_visibilities`."""
    return edge_visibilities(scene, (index,), clearance)[0]


def edge_visibilities(
    scene: CameraScene, indices: Sequence[int], clearance: float = 6.0, samples: int = SAMPLES
) -> list[EdgeVisibility]:
    """See what is free of the edges of cylinders of a scene.

    Args:
        scene: solids before the camera.
        indices: of the cylinders, in `scene.cylinders`.
        clearance: width of the background that an edge needs next to it, px.
        samples: along each edge.
    """
    if not indices:
        return []
    camera = scene.camera
    lines = [ContactLines.of(scene.rods[index]) for index in indices]
    t = np.linspace(0.0, 1.0, samples)
    pixels = camera.pixels(np.stack([line.points(t) for line in lines]))  # cylinder, side, sample, 2
    width = np.linalg.norm(pixels[:, 0] - pixels[:, 1], axis=-1)
    inside = camera.contains(pixels, clearance)
    hidden, crowded = np.zeros_like(inside), np.zeros_like(inside)
    k, side, _ = chosen = np.nonzero(inside)
    if len(k):
        p = pixels[chosen]
        normals = np.stack([line.normals * [[1.0], [-1.0]] for line in lines])[k, side].T
        patch = PixelPatch.of(camera, p[:, 0], p[:, 1])
        edge = patch.distance_from_level(np.zeros(len(k)), normals[0], normals[1])
        inwards = np.stack([edge.a, edge.b], axis=-1)
        # Not deeper than a third of the cylinder's width.
        deep = np.minimum(1.0, width[k, chosen[2]] / 3.0)[:, None]
        probes = [p + deep * inwards, *(p - max(clearance, 0.5) * part * inwards for part in _PROBES)]
        first = scene.first(camera.ray(np.stack(probes)))
        solids = {seen.cylinder: i for i, seen in enumerate(scene.solids)}
        solid = np.array([solids[index] for index in indices])[k]
        hidden[chosen] = first[0] != solid
        crowded[chosen] = np.any(first[1:] >= 0, axis=0)
    return [
        EdgeVisibility(lines[i], t, pixels[i], inside[i], hidden[i], crowded[i], width[i])
        for i in range(len(indices))
    ]
