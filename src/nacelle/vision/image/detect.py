"""Line segments in an image, without a prediction: OpenCV's detector, the home of that package.

LSD (von Gioi, Jakubowicz, Morel, Randall, LSD: a line segment detector, Image Processing On Line 2, 2012)
groups pixels by the direction of their gradient and keeps segments that would not be there by chance. Its
segments are right to a fraction of a pixel, enough to say which leg a line belongs to
(`nacelle.vision.association`); the fit (`nacelle.vision.image.fit`) measures. It needs the extra
`nacelle[vision]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.scalar import Array
from nacelle.vision.image.edges import Picture

# Distance from a segment at which its two sides are compared, px, and places along it.
_BESIDE = 2.0
_PLACES = np.linspace(0.2, 0.8, 7)


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
    places = ends[:, None, 0] + _PLACES[:, None] * (ends[:, None, 1] - ends[:, None, 0])
    sides = [picture.at(places + sign * _BESIDE * right[:, None]) for sign in (1.0, -1.0)]
    with np.errstate(invalid="ignore"):
        contrast = np.nan_to_num(np.nanmedian(sides[0] - sides[1], axis=1)) if len(ends) else np.zeros(0)
    turned = contrast < 0.0
    ends[turned] = ends[turned][:, ::-1]
    return Segments(ends, np.abs(contrast))
