"""The pixel model: what value a pixel has, how it scatters, and how it depends on an edge.

The scene is piecewise constant (a grey level for each solid and for the background), blurred by a Gaussian
point spread of standard deviation sigma px and integrated over the pixel, a unit square. A straight edge at
the signed distance s px from the pixel's centre (positive: the centre is inside), with unit normal (a, b) in
the image, |a|, |b| > 0, then fills of the pixel

    F(s) = [G(s + (|a|+|b|)/2) - G(s + (|a|-|b|)/2) - G(s - (|a|-|b|)/2) + G(s - (|a|+|b|)/2)] / |a b|
    G'' = Phi(t / sigma):     G' = t Phi + sigma phi,     G = ((t^2 + sigma^2) Phi + t sigma phi) / 2

exactly, Phi and phi the normal distribution and its density. Edges are curved by the lens with radii of
thousands of pixels; s is then that of the tangent, right to 1e-4 px for common lenses. A value I scatters as
a Gaussian of variance read^2 + shot I, and may be rounded to whole grey levels (variance 1/12).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.scalar import Array

# Below this component of the normal an edge is along the pixels: the square is a segment across it.
_ALONG = 1e-3
_DENSITY = 1.0 / np.sqrt(2.0 * np.pi)
# A sharp image has this blur, px.
_SHARP = 1e-6


@dataclass(frozen=True)
class PixelModel:
    """Blur, grey levels and noise.

    Attributes:
        blur: standard deviation of the point spread, px.
        background: grey level of what is behind the robot.
        leg: grey level of the legs.
        other: grey level of the platform and the base.
        read_noise: standard deviation of the noise without light, grey levels.
        shot: variance per grey level, grey levels.
        quantised: whether values are whole numbers from 0 to 255.
    """

    blur: float = 0.8
    background: float = 40.0
    leg: float = 200.0
    other: float = 110.0
    read_noise: float = 2.0
    shot: float = 0.0
    quantised: bool = False

    def __post_init__(self) -> None:
        levels = (self.blur, self.background, self.leg, self.other, self.read_noise, self.shot)
        if not all(np.isfinite(level) and level >= 0.0 for level in levels):
            raise KinematicsError("blur, grey levels and noise are not negative")

    @property
    def width(self) -> float:
        """Standard deviation of a blurred edge in the image, px: of the point spread and of the pixel."""
        return float(np.hypot(self.blur, np.sqrt(1.0 / 12.0)))

    @property
    def reach(self) -> float:
        """Distance from an edge beyond which a pixel does not depend on it, px."""
        return 4.0 * self.blur + 1.0

    def variance(self, values: Array) -> Array:
        """Variance read^2 + shot I, and 1/12 if rounded, of mean values I (...), grey levels squared."""
        rounding = 1.0 / 12.0 if self.quantised else 0.0
        noise = self.read_noise**2 + rounding
        return np.asarray(noise + self.shot * np.maximum(values, 0.0))

    def noisy(self, values: Array, rng: np.random.Generator) -> Array:
        """Mean values (...), grey levels, with noise, and rounded where the model says so."""
        scatter = np.sqrt(self.read_noise**2 + self.shot * np.maximum(values, 0.0))
        result = values + scatter * rng.standard_normal(values.shape)
        return np.clip(np.rint(result), 0.0, 255.0) if self.quantised else np.asarray(result)


def edge_coverage(s: Array, a: Array, b: Array, blur: float) -> tuple[Array, Array]:
    """What an edge fills of pixels, F (...), and dF/ds (...), 1/px.

    Args:
        s: signed distance (...) of the pixels' centres from the edge, px, positive inside.
        a: component (...) of the edge's unit normal along u.
        b: the other one (...).
        blur: of the point spread, px.
    """
    from scipy.special import ndtr

    sigma = max(blur, _SHARP)
    a, b = np.abs(a), np.abs(b)
    wide, thin = np.maximum(a, b), np.minimum(a, b)
    along = thin < _ALONG
    some = bool(np.any(along))
    if some:
        thin = np.where(along, 0.0, thin)
    # The four corners of the square, in the order of the signs + - - +.
    shift = 0.5 * np.stack([wide + thin, wide - thin, thin - wide, -wide - thin])
    t = s + shift
    z = t / sigma
    normal = ndtr(z)
    density = (_DENSITY * sigma) * np.exp(-0.5 * z * z)
    first = t * normal + density
    second = 0.5 * (t * first + sigma**2 * normal)
    area = wide * np.where(along, 1.0, thin) if some else wide * thin
    F = (second[0] - second[1] - second[2] + second[3]) / area
    slope = (first[0] - first[1] - first[2] + first[3]) / area
    if some:
        F = np.where(along, (first[0] - first[3]) / wide, F)
        slope = np.where(along, (normal[0] - normal[3]) / wide, slope)
    return np.asarray(F), np.asarray(slope)
