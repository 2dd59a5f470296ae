"""The edges of a cylinder in an image: searched on scan lines, then fitted to the pixels around them.

Edges that may be several pixels from their prediction: sub-pixel points on scan lines, then a plane.

Across each predicted edge, at samples of its free part, the image is read along a scan line (bilinear). The
edge on it is where the profile rises most: the maximum of its correlation with the derivative of a Gaussian
of the blurred edge's width, of the sign that a bright (or dark) cylinder has, sharpened by a parabola through
three values. The plane through the camera's centre and the points has the normal n of least sum (n . d_i)^2
over the rays d_i; points farther from it than three median distances are left out, twice.

The pixels around the two edges of a cylinder, without looking at the rest of the image.

An edge is a curve that is nearly straight: for each row of pixels that it crosses (each column, where it is
nearer to the horizontal), the pixels within a distance of it. Those of both edges are taken once. Left out
are pixels near the ends of the cylinder, and those in which other solids are seen, or hide it, by more than a
trace (`visible_fractions`, with a blur that allows for the uncertainty of the prediction).

The edges of a cylinder from the pixels around them, by the pixel model.

With F_k (`filled`) what is inside edge k, and the grey levels b_0, b_1 outside the two edges and c between
them, the mean value of a pixel is

    I = b_0 (1 - F_0) + c (F_0 + F_1 - 1) + b_1 (1 - F_1)

linear in the levels, and smooth in the normals n_k. These move on the unit sphere, n_k + alpha m_k +
beta n_k x m_k, with m_k the ray to the middle of the edge: alpha shifts the edge there, beta turns it.
Weighted least squares over alpha, beta of both edges and the levels, by Gauss-Newton; with the noise of the
pixel model it is the most likely solution, and its covariance

    C = (J^T W J)^-1,     J = dI/d(alpha, beta, levels),     W = 1 / variance

is the Cramér-Rao bound at the solution, without biases of second order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera, PixelPatch
from nacelle.vision.image.pixel_model import PixelModel, edge_coverage
from nacelle.vision.image.render import may_meet_cone, visible_fractions
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import EdgeVisibility

# Steps of a scan line, px.
_STEP = 0.5
_ROUNDS = 2
# Points that a plane needs, and how many times the noise the rise of a profile is.
_LEAST_POINTS = 4
_CLEAR = 4.0


def interpolate(image: Array, pixels: Array) -> Array:
    """Values (...) of an image (height, width) between pixels (..., 2), bilinear; NaN outside."""
    from scipy.ndimage import map_coordinates

    # What has no place is put outside.
    coordinates = np.nan_to_num(np.moveaxis(pixels, -1, 0)[::-1], nan=-1.0)
    return np.asarray(map_coordinates(image, coordinates, float, order=1, cval=np.nan))


def search_normals(
    image: Array, camera: Camera, seen: EdgeVisibility, search: float, model: PixelModel
) -> Array | None:
    """Normals (2, 3) of both edges, looked for within a distance of the predicted ones.

    Args:
        image: grey levels (height, width); NaN where missing.
        camera: the camera.
        seen: where the edges are expected, and free.
        search: how far they may be from there, px.
        model: whether the legs are brighter than the background, blur and noise.

    Returns:
        The normals, as predicted for an edge that is not free; None where an edge shows no step.
    """
    normals = seen.lines.normals.copy()
    kept = seen.free_intervals(model.reach + search)
    for side in (0, 1):
        if np.count_nonzero(kept[side]) < _LEAST_POINTS:
            continue
        points = find_edge_points(image, camera, seen, side, search, model)[kept[side]]
        points = points[np.all(np.isfinite(points), axis=1)]
        if len(points) < _LEAST_POINTS:
            return None
        n = fit_plane(camera.ray(points))
        normals[side] = n if n @ normals[side] > 0.0 else -n
    return normals


def find_edge_points(
    image: Array, camera: Camera, seen: EdgeVisibility, side: int, search: float, model: PixelModel
) -> Array:
    """Points (samples, 2) of an edge in the image, px, one at each sample of it; NaN where none is clear."""
    p = seen.pixels[side]
    sign = 1.0 if side == 0 else -1.0
    edge = PixelPatch.of(camera, p[:, 0], p[:, 1]).distance_from_plane(sign * seen.lines.normals[side])
    inwards = np.stack([edge.a, edge.b], axis=-1)
    width = model.width
    half = int(np.ceil(3.0 * width / _STEP))
    count = int(np.ceil(search / _STEP)) + half
    offsets = _STEP * np.arange(-count, count + 1)
    profile = interpolate(image, p[:, None] + offsets[:, None] * inwards[:, None])
    z = _STEP * np.arange(-half, half + 1) / width
    kernel = z * np.exp(-0.5 * z * z)
    windows = np.lib.stride_tricks.sliding_window_view(profile, 2 * half + 1, axis=1)
    brighter = 1.0 if model.leg >= model.background else -1.0
    rise = brighter * (windows @ kernel)
    best = np.argmax(np.nan_to_num(rise, nan=-np.inf), axis=1)
    inner = np.clip(best, 1, rise.shape[1] - 2)
    low, mid, high = (np.take_along_axis(rise, (inner + k)[:, None], axis=1)[:, 0] for k in (-1, 0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = 0.5 * (low - high) / (low - 2.0 * mid + high)
        noise = np.sqrt(model.variance(np.asarray(max(model.leg, model.background))) * np.sum(kernel**2))
        clear = (mid > _CLEAR * noise) & (np.abs(shift) <= 1.0) & (inner == best)
    offset = _STEP * (inner + shift) - _STEP * (count - half)
    return np.where(clear[:, None], p + offset[:, None] * inwards, np.nan)


def fit_plane(rays: Array) -> Array:
    """Unit normal (3,) of the plane through the camera's centre that is nearest to rays (k, 3)."""
    kept = np.ones(len(rays), dtype=bool)
    n = np.linalg.svd(rays)[2][2]
    for _ in range(_ROUNDS):
        distance = np.abs(rays @ n)
        kept = distance <= 3.0 * np.median(distance[kept]) + 1e-12
        if np.count_nonzero(kept) < _LEAST_POINTS:
            break
        n = np.linalg.svd(rays[kept])[2][2]
    return np.asarray(n)


# ---- the pixels around the two edges of a cylinder, without looking at the rest of the image


# Another solid that fills less than this of a pixel is not noticed within the noise, and where a blurred edge
# fills less than that, in standard deviations.
_NOTICEABLE = 3e-3
_TAIL_DEVIATIONS = 2.75
# An edge needs this many pixels near to it.
_LEAST_PIXELS = 20


@dataclass(frozen=True, eq=False)
class PixelBand:
    """Pixels around the edges of a cylinder.

    Attributes:
        u: columns (k,), whole numbers.
        v: rows (k,).
        patch: their rays.
        sides: the sides, of 0 and 1, that have pixels.
        middles: for each of these sides a ray (3,) in the middle of its pixels, camera axes.
    """

    u: Array
    v: Array
    patch: PixelPatch
    sides: tuple[int, ...]
    middles: Array

    def values(self, image: Array) -> Array:
        """Values (k,) of the pixels in an image (height, width)."""
        return np.asarray(image[self.v, self.u])


def band_around(
    scene: CameraScene,
    index: int,
    seen: EdgeVisibility,
    model: PixelModel,
    *,
    margin: float = 0.0,
    uncertainty: float = 0.0,
) -> PixelBand | None:
    """Pixels that depend on the edges of cylinder `index` and on nothing else; None without such pixels.

    Args:
        scene: the solids before the camera, as predicted.
        index: of the cylinder.
        seen: where its edges are.
        model: the pixel model.
        margin: how far beyond the reach of a blurred edge to read, px.
        uncertainty: uncertainty of the prediction, px.
    """
    reach = model.reach + margin + uncertainty
    u, v, patch = _candidate_pixels(scene.camera, seen, seen.inside, reach)
    near = [np.abs(patch.distance_from_plane(normal).s) < reach for normal in seen.lines.normals]
    use = near[0] | near[1]
    for side in (0, 1):
        use &= ~near[side] | _is_between_ends(
            seen, side, patch, _TAIL_DEVIATIONS * float(np.hypot(model.width, uncertainty))
        )
    u, v, patch = u[use], v[use], patch.some(use)
    if not len(u):
        return None
    clear = ~_is_disturbed(scene, index, patch, float(np.hypot(model.blur, uncertainty)))
    band = _make_band(u[clear], v[clear], patch.some(clear), seen)
    if band is None or len(band.sides) == 2:
        return band
    # Pixels that depend on the other edge as well cannot be explained by one.
    apart = (
        np.abs(band.patch.distance_from_plane(seen.lines.normals[1 - band.sides[0]]).s)
        >= model.reach + uncertainty
    )
    return _make_band(band.u[apart], band.v[apart], band.patch.some(apart), seen)


def _candidate_pixels(
    camera: Camera, seen: EdgeVisibility, kept: Array, reach: float
) -> tuple[Array, Array, PixelPatch]:
    """Pixels next to the parts of both edges that are kept (2, samples)."""
    keys = np.unique(
        np.concatenate([_pixels_next_to(seen.pixels[side], kept[side], reach, camera) for side in (0, 1)])
    )
    u, v = keys % camera.size[0], keys // camera.size[0]
    return u, v, PixelPatch.of(camera, u.astype(float), v.astype(float))


def _make_band(u: Array, v: Array, patch: PixelPatch, seen: EdgeVisibility) -> PixelBand | None:
    """A band with the sides that have pixels; None if no side has any."""
    sides, middles = [], []
    for side in (0, 1):
        close = np.flatnonzero(np.abs(patch.distance_from_plane(seen.lines.normals[side]).s) < 1.0)
        if len(close) >= _LEAST_PIXELS:
            sides.append(side)
            middles.append(np.mean(patch.rays[close], axis=0))
    return PixelBand(u, v, patch, tuple(sides), np.array(middles)) if sides else None


def _is_between_ends(seen: EdgeVisibility, side: int, patch: PixelPatch, margin: float) -> Array:
    """Whether pixels are next to an edge, a margin (px) away from its ends."""
    t = seen.lines.position_along(side, patch)
    ends = []
    for first, second in ((0, 1), (-1, -2)):
        step = float(np.linalg.norm(seen.pixels[side, second] - seen.pixels[side, first]))
        # What is behind the camera ends nowhere in the image.
        ends.append(margin / step * abs(seen.t[1] - seen.t[0]) if np.isfinite(step) and step > 0.0 else 0.0)
    return np.asarray((t >= ends[0]) & (t <= 1.0 - ends[1]))


def _is_disturbed(scene: CameraScene, index: int, patch: PixelPatch, blur: float) -> Array:
    """Whether other solids are seen in pixels, or hide the cylinder there."""
    solid = next(k for k, seen in enumerate(scene.solids) if seen.cylinder == index)
    rays = patch.rays / np.linalg.norm(patch.rays, axis=-1, keepdims=True)
    axis = np.mean(rays, axis=0)
    axis = axis / np.linalg.norm(axis)
    angle = float(np.arccos(min(float(np.min(rays @ axis)), 1.0))) * 1.01 + 8.0 * blur * float(
        np.max(patch.M)
    )
    near = [k for k, seen in enumerate(scene.solids) if k == solid or may_meet_cone(seen.solid, axis, angle)]
    parts = visible_fractions([scene.solids[k].solid for k in near], patch, blur)
    index_near = near.index(solid)
    others = sum((seen for k, (_, seen) in parts.items() if k != index_near), np.zeros(patch.x.shape))
    covered, seen = parts.get(index_near, (0.0, 0.0))
    return np.asarray((others > _NOTICEABLE) | (covered - seen > _NOTICEABLE))


def _pixels_next_to(pixels: Array, kept: Array, reach: float, camera: Camera) -> Array:
    """Places v width + u in the image of the pixels next to a curve through points (k, 2)."""
    keys = []
    ends = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(int)))
    for first, last in ends.reshape(-1, 2):
        run = pixels[first:last]
        span = np.abs(run[-1] - run[0])
        major = int(np.argmax(span))
        if len(run) < 2 or not span[major] > 0.0:
            continue
        # Pixels next to its ends belong to it, too: it is lengthened.
        way = reach * (run[-1] - run[0]) / np.linalg.norm(run[-1] - run[0])
        run = np.concatenate([run[:1] - way, run, run[-1:] + way])
        run = run[np.argsort(run[:, major])]
        rows = np.arange(int(np.ceil(run[0, major])), int(np.floor(run[-1, major])) + 1)
        across = np.interp(rows, run[:, major], run[:, 1 - major])
        half = int(np.ceil(reach * float(np.hypot(*span)) / float(span[major]) + 1.0))
        minor = np.rint(across).astype(int)[:, None] + np.arange(-half, half + 1)
        rows = np.broadcast_to(rows[:, None], minor.shape)
        u, v = (rows, minor) if major == 0 else (minor, rows)
        inside = (u >= 0) & (v >= 0) & (u < camera.size[0]) & (v < camera.size[1])
        keys.append((v * camera.size[0] + u)[inside])
    return np.concatenate(keys) if keys else np.zeros(0, dtype=int)


# ---- the edges of a cylinder from the pixels around them, by the pixel model


_STEPS = 15
# The iteration ends with a step whose square is this small compared with the variances.
_DONE = 1e-4


@dataclass(frozen=True, eq=False)
class EdgeFit:
    """Edges of a cylinder in an image.

    Attributes:
        sides: which of the edges 0 and 1 there are.
        normals: unit normals (sides, 3) of their planes, camera axes.
        covariance: of the normals, one after the other (3 sides, 3 sides).
        levels: grey levels outside edge 0, within, outside edge 1; those that there are.
        misfit: weighted sum of squared residuals over degrees of freedom: 1 where the model is right.
        pixels: how many pixels were used.
        converged: whether the iteration ended.
    """

    sides: tuple[int, ...]
    normals: Array
    covariance: Array
    levels: Array
    misfit: float
    pixels: int
    converged: bool

    def covariance_of(self, side: int) -> Array:
        """Covariance (3, 3) of one normal."""
        k = 3 * self.sides.index(side)
        return np.asarray(self.covariance[k : k + 3, k : k + 3])


def normal_tangents(normals: Array, middles: Array) -> Array:
    """For each normal (..., 3) the two directions (..., 2, 3) in which it may move: m and n x m, unit."""
    m = middles - np.sum(middles * normals, axis=-1, keepdims=True) * normals
    m = m / np.linalg.norm(m, axis=-1, keepdims=True)
    return np.stack([m, np.cross(normals, m)], axis=-2)


def edge_response(
    patch: PixelPatch, normals: Array, basis: Array, sides: Sequence[int], blur: float
) -> tuple[Array, Array]:
    """F (sides, k) of pixels and its derivatives (sides, 2, k) along the tangents of the normals.

    Args:
        patch: the pixels (k,).
        normals: of the edges (sides, 3).
        basis: their tangents (sides, 2, 3).
        sides: for each whether it is edge 0, inside where n . d > 0, or 1, inside where n . d < 0.
        blur: of the point spread, px.
    """
    F, D = np.empty((len(normals), len(patch.x))), np.zeros((len(normals), 2, len(patch.x)))
    reach = 6.0 * blur + 1.0
    for k, (n, side) in enumerate(zip(normals, sides, strict=True)):
        sign = 1.0 if side == 0 else -1.0
        edge = patch.distance_from_plane(sign * n)
        near = np.flatnonzero(np.abs(edge.s) < reach)
        there = edge.some(near)
        F[k] = edge.s > 0.0
        F[k, near], slope = edge_coverage(there.s, there.a, there.b, blur)
        slope *= sign / there.slope
        x, y = patch.x[near], patch.y[near]
        for i, w in enumerate(basis[k]):
            D[k, i, near] = slope * (w[0] * x + w[1] * y + w[2])
    return F, D


def level_mixture(F: Array, sides: Sequence[int]) -> Array:
    """How the levels mix in pixels (levels, k): outside edge 0, within, outside edge 1, for given sides."""
    within = np.sum(F, axis=0) - (len(F) - 1.0)
    outside = {side: 1.0 - f for side, f in zip(sides, F, strict=True)}
    columns = [outside.get(0), within, outside.get(1)]
    return np.stack([column for column in columns if column is not None])


def jacobian_rows(F: Array, D: Array, levels: Array, sides: Sequence[int]) -> Array:
    """J^T (2 sides + levels, k), J = dI/d(alpha_0, beta_0, alpha_1, beta_1, levels)."""
    inner = levels[1] if 0 in sides else levels[0]
    outer = {0: levels[0], 1: levels[-1]}
    by_normals = [(inner - outer[side]) * d for side, d in zip(sides, D, strict=True)]
    return np.concatenate([*by_normals, level_mixture(F, sides)])


def fit_edges(band: PixelBand, values: Array, normals: Array, model: PixelModel) -> EdgeFit | None:
    """Fit the edges of a cylinder to the values (k,) of the pixels of a band.

    Args:
        band: the pixels around the edges.
        values: their grey levels; NaN where missing.
        normals: both normals to start from (2, 3), within about the blur of the edges.
        model: the pixel model; its grey levels are not used.

    Returns:
        The edges; None where the pixels do not determine them.
    """
    from scipy.linalg import block_diag

    good = np.isfinite(values)
    patch, values = (band.patch, values) if np.all(good) else (band.patch.some(good), values[good])
    sides = band.sides
    n = np.asarray(normals, dtype=float)[list(sides)]
    unknowns = 2 * len(sides) + len(sides) + 1
    if len(values) <= 2 * unknowns:
        return None
    for _ in range(_STEPS):
        basis = normal_tangents(n, band.middles)
        F, D = edge_response(patch, n, basis, sides, model.blur)
        mix = level_mixture(F, sides)
        levels = np.linalg.lstsq(mix @ mix.T, mix @ values, rcond=None)[0]
        means = levels @ mix
        weight = 1.0 / np.sqrt(model.variance(means))
        J, residuals = jacobian_rows(F, D, levels, sides) * weight, (values - means) * weight
        bound = information_inverse(J)
        if bound is None:
            return None
        inverse = bound
        step = (inverse @ (J @ residuals))[: 2 * len(sides)]
        moves = step.reshape(-1, 2)
        n = n + np.einsum("ki,kij->kj", moves, basis)
        n = n / np.linalg.norm(n, axis=-1, keepdims=True)
        converged = bool(np.all(step**2 < _DONE * np.diag(inverse)[: len(step)]))
        if converged:
            break
    # From moves along the tangents of each side to its normal (3 sides, 2 sides).
    spread = block_diag(*np.swapaxes(basis, 1, 2))
    covariance = spread @ inverse[: 2 * len(sides), : 2 * len(sides)] @ spread.T
    misfit = float(residuals @ residuals) / (len(values) - unknowns)
    return EdgeFit(sides, n, covariance, levels, misfit, len(values), converged)


def information_inverse(J: Array) -> Array | None:
    """(J J^T)^-1 from weighted derivatives J (unknowns, k); None where it does not exist."""
    A = J @ J.T
    scale = np.sqrt(np.diag(A))
    if not (np.all(np.isfinite(scale)) and np.all(scale > 0.0)):
        return None
    A = A / np.outer(scale, scale)
    if np.linalg.eigvalsh(A)[0] < 1e-12:
        return None
    return np.asarray(np.linalg.inv(A) / np.outer(scale, scale))
