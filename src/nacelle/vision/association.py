"""Which line in an image belongs to which edge of which cylinder.

A detected segment with ends p_1, p_2 and a predicted edge, the plane n (pointing into the cylinder), are as
far apart as the ends are from the image of the plane, d = rms of the two signed distances, px. They may
belong together if d is within a gate, the leg is on the same side of both, and the segment is beside the
edge, not beyond its ends. Among all such pairs the assignment of least

    sum over pairs of (d / gate)^2 + (1 - part of the edge that the segment covers)

is chosen, one segment for an edge at most and one edge for a segment (the Hungarian method), where leaving an
edge without a segment costs 2. Two cylinders whose segments could be exchanged within the gate are reported:
a mirrored assignment explains the image as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.image.detect import Segments
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import ContactLines

# The cosine of the angle between a segment and an edge that still may be one.
_ALONG = 0.95
# What it costs to leave an edge without a segment.
_ALONE = 2.0
# Part of a segment that must be beside the edge.
_BESIDE = 0.3


@dataclass(frozen=True, eq=False)
class Association:
    """Segments of an image and the edges that they belong to.

    Attributes:
        segments: for each edge (cylinder, side) that has one the index of its segment.
        distances: how far the segment is from the predicted edge, px, for the same.
        left: indices of segments that belong to no edge.
        missing: edges (cylinder, side) without a segment.
        mirrored: pairs of cylinders whose segments could be exchanged.
    """

    segments: dict[tuple[int, int], int]
    distances: dict[tuple[int, int], float]
    left: tuple[int, ...]
    missing: tuple[tuple[int, int], ...]
    mirrored: tuple[tuple[int, int], ...]


def associate(
    predicted: CameraScene, segments: Segments, gate: float = 8.0, model: PixelModel | None = None
) -> Association:
    """Assign detected segments to the edges of the cylinders of a predicted scene.

    Args:
        predicted: the scene at the predicted pose.
        segments: lines in the image.
        gate: how far a segment may be from its predicted edge, px.
        model: whether legs are brighter than the background; the default one if None.
    """
    from scipy.optimize import linear_sum_assignment

    model = model or PixelModel()
    edges = [(k, side) for k in range(len(predicted.rods)) for side in (0, 1)]
    count = len(segments.ends)
    distance = np.full((len(edges), count), np.inf)
    part = np.zeros((len(edges), count))
    brighter = 1.0 if model.leg >= model.background else -1.0
    lines = [ContactLines.of(rod) for rod in predicted.rods]
    patch = _patch(predicted, segments)
    for row, (k, side) in enumerate(edges):
        if count and np.all(np.isfinite(lines[k].normals)):
            distance[row], part[row] = _compared(lines[k], side, patch, segments, brighter)
    possible = (distance <= gate) & (part > 0.0)
    price = np.where(possible, (np.where(possible, distance, 0.0) / gate) ** 2 + 1.0 - part, 1e6)
    whole = np.concatenate([price, np.full((len(edges), len(edges)), _ALONE)], axis=1)
    rows, columns = linear_sum_assignment(whole)
    chosen = {edges[r]: int(c) for r, c in zip(rows, columns, strict=True) if c < count}
    taken = set(chosen.values())
    return Association(
        chosen,
        {edge: float(distance[edges.index(edge), segment]) for edge, segment in chosen.items()},
        tuple(k for k in range(count) if k not in taken),
        tuple(edge for edge in edges if edge not in chosen),
        _mirrored(chosen, possible, len(predicted.rods)),
    )


def _patch(predicted: CameraScene, segments: Segments) -> Patch:
    """Both ends of all segments (k, 2) as pixels."""
    return Patch.of(predicted.camera, segments.ends[..., 0], segments.ends[..., 1])


def _compared(
    lines: ContactLines, side: int, patch: Patch, segments: Segments, brighter: float
) -> tuple[Array, Array]:
    """Distances (k,) of segments from an edge, px, infinite where they cannot be it; covered parts (k,)."""
    edge = patch.from_plane(lines.normals[side] if side == 0 else -lines.normals[side])
    distance = np.sqrt(np.mean(edge.s**2, axis=1))
    way = segments.ends[:, 1] - segments.ends[:, 0]
    length = np.linalg.norm(way, axis=1)
    # The bright side of a segment is to the right of its way.
    inwards = brighter * np.stack([-way[:, 1], way[:, 0]], axis=-1) / length[:, None]
    along = np.mean(edge.a * inwards[:, :1] + edge.b * inwards[:, 1:], axis=1)
    t = np.sort(lines.place(side, patch), axis=1)
    inner = np.clip(t, 0.0, 1.0)
    covered = inner[:, 1] - inner[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        beside = covered / (t[:, 1] - t[:, 0])
    good = (along > _ALONG) & (beside > _BESIDE) & np.isfinite(distance)
    return np.where(good, distance, np.inf), np.where(good, covered, 0.0)


def _mirrored(
    chosen: dict[tuple[int, int], int], possible: Array, cylinders: int
) -> tuple[tuple[int, int], ...]:
    """Pairs of cylinders with two segments each that could be exchanged."""
    both = [k for k in range(cylinders) if (k, 0) in chosen and (k, 1) in chosen]
    return tuple(
        (i, j)
        for i in both
        for j in both
        if i < j
        and all(
            possible[2 * i + side, chosen[j, side]] and possible[2 * j + side, chosen[i, side]]
            for side in (0, 1)
        )
    )
