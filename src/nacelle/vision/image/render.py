"""Rendered images: solids over a background by the pixel model.

With seen_k the part of a pixel in which solid k is seen (`visible_fractions`) and v_k its grey level,

    I = background + sum_k (v_k - background) seen_k

Motion during an exposure averages images over its instants.

Which solid is seen in which part of a pixel: the nearer ones before the others.

Solid k covers c_k of a pixel (`coverage`) at the depth at which the pixel's ray enters it, and two solids
both cover c_kj (`overlap`). Of solid k is seen

    seen_k = c_k prod_{j nearer} (1 - c_kj / c_k)

and of the background 1 - sum_k seen_k: the integral over the pixel wherever one outline, or straight parts of
two, pass through its neighbourhood.

How much of each pixel a convex solid covers, blurred, by its outline.

All in camera axes, d = (x, y, 1) the ray of a pixel. The outline of a cylinder with ends A and B consists of

    two planes that touch it along lines (`tangent_normals`):     covered F(s_0) + F(s_1) - 1, exact, since
                                                                   the outer sides of both do not meet
    at each end the chord between the two lines, A - r n_0 to A + r n_1, and beyond it the disc's ellipse,

        q(d) = r^2 (d.u)^2 - |(A.u) d - (d.u) A|^2 > 0

where a pixel is inside the end if it is inside the chord or the ellipse; covered is what strip and ends both
cover. Blocks and plates: the hull of their corners, by the two sides that are nearest to a pixel. A solid
that reaches behind the camera, or a cylinder that the camera looks into, is sampled in 5 x 5 points a pixel.

Two solids with edges at s_k, s_j and angle t between their normals both cover of a pixel, with w the width of
a blurred edge (`PixelModel.width`),

    c_kj = c_k c_j + Phi_2(s_k / w, s_j / w; cos t) - Phi(s_k / w) Phi(s_j / w)

Phi_2 the bivariate normal distribution: exact for half-planes under a Gaussian, so 0 for parallel solids with
a gap, the smaller one for one within the other, the product where edges cross at a right angle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.shapes.points import planar_rim
from nacelle.shapes.solid import Ball, Rod, Solid
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import EdgeDistance, PixelPatch, Region
from nacelle.vision.cylinders import tangent_normals
from nacelle.vision.image.pixel_model import PixelModel, edge_coverage
from nacelle.vision.scene import CameraScene, SceneSolid, entry_depth, passing_depth, vertices

# A solid is sampled where a part of it is nearer than this part of its size before the camera's plane.
_NEAR = 1e-2
_SAMPLES = 5


class Coverage(NamedTuple):
    """What a solid covers: parts (...) of pixels from 0 to 1, and where its nearest edge is."""

    part: Array
    edge: EdgeDistance


def coverage(solid: Solid, patch: PixelPatch, blur: float) -> Coverage:
    """Covered parts (...) of the pixels of a patch.

    Args:
        solid: in camera axes.
        patch: the pixels.
        blur: standard deviation of the point spread, px.
    """
    if isinstance(solid, Rod):
        return _rod_coverage(solid, patch, blur)
    if isinstance(solid, Ball):
        if solid.centre[2] < (1.0 + _NEAR) * solid.radius:
            return _coverage_by_rays(solid, patch)
        # Within the cone: (d.C)^2 > |d|^2 (|C|^2 - r^2).
        C = solid.centre
        Q = np.outer(C, C) - (float(C @ C) - solid.radius**2) * np.eye(3)
        edge = patch.distance_from_quadric(Q)
        return Coverage(_outline_coverage(edge, blur), edge)
    corners = vertices(solid)
    if np.min(corners[:, 2]) < _NEAR * np.ptp(corners):
        return _coverage_by_rays(solid, patch)
    planes = outline(corners)
    if not len(planes):
        return _empty_coverage(patch)
    first, second = _two_nearest_edges([patch.distance_from_plane(normal) for normal in planes])
    nearest, next_one = (Coverage(_outline_coverage(side, blur), side) for side in (first, second))
    return Coverage(overlap(nearest, next_one, _width(blur)), first)


def outline(corners: Array) -> Array:
    """Planes (k, 3) through the camera's centre around points (n, 3) before it; normals point inwards."""
    flat = np.concatenate([corners[:, :2] / corners[:, 2:], np.ones((len(corners), 1))], axis=1)
    edges = planar_rim([*flat], 1e-9)
    if len(edges) < 3:
        return np.zeros((0, 3))
    middle = flat.mean(axis=0)
    planes = np.array([np.cross(flat[i], flat[k]) for i, k in edges])
    return np.asarray(planes * np.sign(planes @ middle)[:, None])


def _rod_coverage(rod: Rod, patch: PixelPatch, blur: float) -> Coverage:
    start, stop = rod.start, rod.stop
    least = (1.0 + _NEAR) * rod.radius
    if max(start[2], stop[2]) < least:
        return _coverage_by_rays(rod, patch)
    # What is behind the camera is cut off: the sides are the same lines.
    if min(start[2], stop[2]) < least:
        cut = start + (least - start[2]) / (stop[2] - start[2]) * (stop - start)
        start, stop = (cut, stop) if start[2] < least else (start, cut)
    u = (stop - start) / np.linalg.norm(stop - start)
    n0, n1 = tangent_normals(start, u, rod.radius)
    if not np.isfinite(n0[0]):
        return _coverage_by_rays(rod, patch)
    reach = _edge_reach(blur)
    first, second = patch.distance_from_plane(n0), patch.distance_from_plane(-n1)
    strip = (first.s > -reach) & (second.s > -reach)
    near, first, second = patch.some(strip), first.some(strip), second.some(strip)
    # What is between two sides, F_0 + F_1 - 1.
    part = np.clip(_outline_coverage(first, blur) + _outline_coverage(second, blur) - 1.0, 0.0, 1.0)
    cover = Coverage(part, _nearest_edge([first, second]))

    def end(at: Array, inwards: Array) -> EdgeDistance | None:
        """Distance from the outline at an end, that of chord and ellipse; None if pixels are far inside."""
        plane = np.cross(at - rod.radius * n0, at + rod.radius * n1)
        # The other end of the lines is inside; the centre of a flat disc may be outside.
        chord = near.distance_from_plane(plane if plane @ inwards > 0.0 else -plane)
        if np.min(chord.s, initial=np.inf) > reach:
            return None
        height = float(at @ u)
        Q = (rod.radius**2 - float(at @ at)) * np.outer(u, u) - height**2 * np.eye(3)
        Q += height * (np.outer(u, at) + np.outer(at, u))
        disc = near.distance_from_quadric(Q)
        outer = disc.s > chord.s
        return EdgeDistance(*(np.where(outer, d, c) for c, d in zip(chord, disc, strict=True)))

    both_ends = end(start, stop - start), end(stop, start - stop)
    ends = [distance for distance in both_ends if distance is not None]
    if ends:
        nearest = _nearest_edge(ends)
        both = overlap(cover, Coverage(_outline_coverage(nearest, blur), nearest), _width(blur))
        cover = Coverage(both, _nearest_edge([cover.edge, nearest]))
    part, edge = _empty_coverage(patch)
    part[strip] = cover.part
    for whole, there in zip(edge, cover.edge, strict=True):
        whole[strip] = there
    return Coverage(part, edge)


def _empty_coverage(patch: PixelPatch) -> Coverage:
    shape = patch.x.shape
    return Coverage(
        np.zeros(shape), EdgeDistance(np.full(shape, -np.inf), np.ones(shape), *np.zeros((2, *shape)))
    )


def overlap(first: Coverage, second: Coverage, width: float) -> Array:
    """Parts (...) of the pixels that two solids both cover, from what each covers.

    Args:
        first: what one solid covers.
        second: what the other one covers.
        width: standard deviation of a blurred edge, px.
    """
    from scipy.special import ndtr

    result = first.part * second.part
    both = (result > 0.0) & (first.part < 1.0) & (second.part < 1.0)
    if np.any(both):
        first_edge, second_edge = first.edge.some(both), second.edge.some(both)
        h, k = first_edge.s / width, second_edge.s / width
        joint = bivariate_normal(h, k, first_edge.a * second_edge.a + first_edge.b * second_edge.b)
        less = np.minimum(first.part[both], second.part[both])
        result[both] = np.clip(result[both] + joint - ndtr(h) * ndtr(k), 0.0, less)
    return np.asarray(result)


def bivariate_normal(h: Array, k: Array, correlation: Array) -> Array:
    """Phi_2(h, k; r): the probability that two standard normal variables are below h and k.

    By Owen's T (Owen, Tables for computing bivariate normal probabilities, Ann. Math. Stat. 27, 1956):
    (Phi(h) + Phi(k)) / 2 - T(h, (k/h - r)/q) - T(k, (h/k - r)/q) - (1/2 where h k < 0), q = sqrt(1 - r^2).
    """
    from scipy.special import ndtr, owens_t

    r = np.clip(correlation, -1.0 + 1e-12, 1.0 - 1e-12)
    q = np.sqrt((1.0 - r) * (1.0 + r))
    h, k = (np.where(np.abs(value) < 1e-12, 1e-12, value) for value in (h, k))
    opposite = np.where(h * k < 0.0, 0.5, 0.0)
    first, second = owens_t(h, (k / h - r) / q), owens_t(k, (h / k - r) / q)
    return np.asarray(0.5 * (ndtr(h) + ndtr(k)) - first - second - opposite)


def _nearest_edge(distances: list[EdgeDistance]) -> EdgeDistance:
    """The smallest distance at each pixel, with its normal."""
    result = distances[0]
    for distance in distances[1:]:
        nearer = distance.s < result.s
        result = EdgeDistance(*(np.where(nearer, b, a) for a, b in zip(result, distance, strict=True)))
    return result


def _two_nearest_edges(distances: list[EdgeDistance]) -> tuple[EdgeDistance, EdgeDistance]:
    """The smallest and the next distance at each pixel: the sides that meet in the nearest corner."""
    order = np.argsort(np.stack([distance.s for distance in distances]), axis=0)
    parts = [np.stack(part) for part in zip(*distances, strict=True)]
    first, second = (
        EdgeDistance(*(np.take_along_axis(part, order[k : k + 1], axis=0)[0] for part in parts))
        for k in (0, 1)
    )
    return first, second


def _edge_reach(blur: float) -> float:
    """Distance from an edge beyond which it fills less than 1e-6, or all but that, of a pixel, px."""
    return 5.0 * blur + 1.0


def _width(blur: float) -> float:
    """Standard deviation of a blurred edge in the image, px."""
    return PixelModel(blur=blur).width


def _outline_coverage(distance: EdgeDistance, blur: float) -> Array:
    """What one closed outline fills of the pixels."""
    result = (distance.s > 0.0).astype(float)
    edge = np.abs(distance.s) < _edge_reach(blur)
    near = distance.some(edge)
    result[edge] = edge_coverage(near.s, near.a, near.b, blur)[0]
    return result


def _coverage_by_rays(solid: Solid, patch: PixelPatch) -> Coverage:
    """Covered part by rays through a grid of points in each pixel, without blur."""
    steps = (np.arange(_SAMPLES) + 0.5) / _SAMPLES - 0.5
    xu, xv, yu, yv = patch.M
    part, edge = _empty_coverage(patch)
    for du in steps:
        for dv in steps:
            x, y = patch.x + xu * du + xv * dv, patch.y + yu * du + yv * dv
            part += np.isfinite(entry_depth(solid, np.stack([x, y, np.ones_like(x)], axis=-1)))
    part /= _SAMPLES**2
    return Coverage(part, edge._replace(s=np.where(part > 0.5, np.inf, -np.inf)))


# ---- which solid is seen in which part of a pixel: the nearer ones before the others


def visible_fractions(
    solids: Sequence[Solid], patch: PixelPatch, blur: float
) -> dict[int, tuple[Array, Array]]:
    """For each solid that is before some pixels, by its index: what it covers and what is seen of it (...).

    Args:
        solids: in camera axes.
        patch: the pixels.
        blur: standard deviation of the point spread, px.
    """
    covers: dict[int, Coverage] = {}
    for k, solid in enumerate(solids):
        cover = coverage(solid, patch, blur)
        if np.any(cover.part > 0.0):
            covers[k] = cover._replace(part=np.nan_to_num(cover.part))
    depths = {k: passing_depth(solids[k], patch.rays) for k in covers} if len(covers) > 1 else {}
    width = PixelModel(blur=blur).width
    result = {}
    for k, cover in covers.items():
        seen = cover.part
        for j, other_cover in covers.items():
            if j != k and np.any((other_cover.part > 0.0) & (cover.part > 0.0)):
                # Of two at the same depth the first one counts as nearer.
                nearer = depths[j] < depths[k] if j > k else depths[j] <= depths[k]
                hidden = overlap(cover, other_cover, width) / np.maximum(cover.part, 1e-300)
                seen = seen * (1.0 - np.where(nearer, hidden, 0.0))
        result[k] = (cover.part, seen)
    return result


def may_meet_cone(solid: Solid, axis: Array, angle: float) -> bool:
    """Whether a solid may meet a cone of rays around a unit axis (3,), half its opening an angle, rad."""
    if isinstance(solid, Rod):
        ends, radius = np.stack([solid.start, solid.stop]), solid.radius
    elif isinstance(solid, Ball):
        ends, radius = np.stack([solid.centre, solid.centre]), solid.radius
    else:
        corners = vertices(solid)
        middle = corners.mean(axis=0)
        ends, radius = np.stack([middle, middle]), float(np.max(np.linalg.norm(corners - middle, axis=1)))
    # Distance of the segment's points from the cone's surface, at samples; between them it changes by at
    # most half their spacing.
    points = np.linspace(ends[0], ends[1], 33)
    spacing = float(np.linalg.norm(ends[1] - ends[0])) / 64.0
    along = points @ axis
    across = np.sqrt(np.maximum(np.einsum("ki,ki->k", points, points) - along * along, 0.0))
    outside = across * np.cos(angle) - along * np.sin(angle)
    return bool(np.any(outside <= radius + spacing))


# ---- rendered images: solids over a background by the pixel model


# Whole images are rendered in tiles of this size, px: only solids that meet a tile are looked at.
_TILE = 64


def render(
    scene: CameraScene | Sequence[CameraScene],
    model: PixelModel,
    *,
    rng: np.random.Generator | None = None,
) -> Array:
    """Image (height, width) of a scene, grey levels.

    Args:
        scene: what is before the camera; several scenes are instants of one exposure, equally long.
        model: blur, grey levels, noise.
        rng: makes the noise; without noise if None.
    """
    scenes = [scene] if isinstance(scene, CameraScene) else list(scene)
    if not scenes:
        raise KinematicsError("an image needs at least one scene")
    width, height = scenes[0].camera.size
    image = np.empty((height, width))
    for v in range(0, height, _TILE):
        for u in range(0, width, _TILE):
            tile = Region(u, v, min(_TILE, width - u), min(_TILE, height - v))
            parts = [_render_tile(instant, model, tile) for instant in scenes]
            mean = np.mean(parts, axis=0) if len(parts) > 1 else parts[0]
            image[v : v + tile.height, u : u + tile.width] = mean
    return image if rng is None else model.noisy(image, rng)


def render_pixels(scene: CameraScene | Sequence[CameraScene], model: PixelModel, patch: PixelPatch) -> Array:
    """Mean values (...) of any pixels of a patch, grey levels; several scenes are instants of an exposure."""
    scenes = [scene] if isinstance(scene, CameraScene) else list(scene)
    return np.asarray(np.mean([_compose(instant.solids, model, patch) for instant in scenes], axis=0))


def _render_tile(scene: CameraScene, model: PixelModel, region: Region) -> Array:
    camera = scene.camera
    margin = model.reach + 1.0
    u, v = region.u - margin, region.v - margin
    far_u, far_v = region.u + region.width - 1 + margin, region.v + region.height - 1 + margin
    frame = np.array([(u, v), (far_u, v), (u, far_v), (far_u, far_v), (0.5 * (u + far_u), 0.5 * (v + far_v))])
    rays = camera.ray(frame)
    solids: Sequence[SceneSolid] = scene.solids
    if np.all(np.isfinite(rays)):
        # The cone around the middle that holds the corners; a lens may bend the sides outwards a little.
        angle = float(np.arccos(min(float(np.min(rays @ rays[-1])), 1.0))) * 1.05 + 1e-3
        solids = [seen for seen in solids if may_meet_cone(seen.solid, rays[-1], angle)]
    if not solids:
        return np.full((region.height, region.width), model.background)
    return _compose(solids, model, PixelPatch.region(camera, region))


def _compose(solids: Sequence[SceneSolid], model: PixelModel, patch: PixelPatch) -> Array:
    image = np.full(patch.x.shape, model.background)
    for k, (_, seen) in visible_fractions([seen.solid for seen in solids], patch, model.blur).items():
        level = model.leg if solids[k].leg >= 0 else model.other
        image += (level - model.background) * seen
    return image
