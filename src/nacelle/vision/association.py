"""Line segments in an image, and which belongs to which edge of which cylinder.

A detected segment with ends p_1, p_2 and a predicted edge, the plane n (pointing into the cylinder), are as
far apart as the ends are from the image of the plane, d = rms of the two signed distances, px. They may
belong together if d is within a gate, the leg is on the same side of both, and the segment is beside the
edge, not beyond its ends. Among all such pairs the assignment of least

    sum over pairs of (d / gate)^2 + (1 - part of the edge that the segment covers)

is chosen, one segment for an edge at most and one edge for a segment (the Hungarian method), where leaving an
edge without a segment costs 2. Two cylinders whose segments could be exchanged within the gate are reported:
a mirrored assignment explains the image as well.

Line segments in an image, without a prediction: OpenCV's detector, the home of that package.

LSD (von Gioi, Jakubowicz, Morel, Randall, LSD: a line segment detector, Image Processing On Line 2, 2012)
groups pixels by the direction of their gradient and keeps segments that would not be there by chance. Its
segments are right to a fraction of a pixel, enough to say which leg a line belongs to
(`associate`); the fit (`nacelle.vision.image.edges`) measures. It needs the extra
`nacelle[vision]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Patch
from nacelle.vision.image.edges import Picture
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import ContactLines

# Distance from a segment at which its two sides are compared, px, and places along it.
_SIDES_AT = 2.0
_SIDES_PLACES = np.linspace(0.2, 0.8, 7)


@dataclass(frozen=True, eq=False)
class Segments:
    """Line segments in an image.

    Attributes:
        ends: their two ends (k, 2, 2), px, brighter on the right-hand side of the way from the first to the
            second as the image is seen, v down.
        contrast: grey levels (k,) by which that side is brighter.
    """

    ends: Array
    contrast: Array

    @property
    def lengths(self) -> Array:
        """Lengths (k,), px."""
        return np.asarray(np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=-1))


def detect_segments(picture: Picture, shortest: float = 10.0) -> Segments:
    """Detect line segments in an image.

    Args:
        picture: the image, grey levels of 0 to 255.
        shortest: the shortest segment to keep, px.

    Raises:
        KinematicsError: if OpenCV is not installed.
    """
    try:
        import cv2
    except ImportError:
        raise KinematicsError(
            "lines without a prediction need OpenCV: pip install 'nacelle[vision]'"
        ) from None
    values = np.clip(np.rint(picture.values), 0, 255).astype(np.uint8)
    lines: Any = cv2.createLineSegmentDetector(cv2.LSD_REFINE_ADV).detect(values)[0]
    ends = np.zeros((0, 2, 2)) if lines is None else np.reshape(lines, (-1, 2, 2)).astype(float)
    ends = ends + np.array(picture.corner, dtype=float)
    way = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(way, axis=-1)
    long = length >= shortest
    ends, way = ends[long], way[long] / length[long, None]
    # With v down, turning a direction by +90 degrees points to its right as the image is seen.
    right = np.stack([-way[:, 1], way[:, 0]], axis=-1)
    places = ends[:, None, 0] + _SIDES_PLACES[:, None] * (ends[:, None, 1] - ends[:, None, 0])
    sides = [picture.at(places + sign * _SIDES_AT * right[:, None]) for sign in (1.0, -1.0)]
    with np.errstate(invalid="ignore"):
        contrast = np.nan_to_num(np.nanmedian(sides[0] - sides[1], axis=1)) if len(ends) else np.zeros(0)
    turned = contrast < 0.0
    ends[turned] = ends[turned][:, ::-1]
    return Segments(ends, np.abs(contrast))


# ---- which line in an image belongs to which edge of which cylinder


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
