"""Scenes of single solids before a camera, and images by rays cast through a fine grid."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from nacelle.shapes.solid import Rod, Solid
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, tangent_normals
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import CameraScene, SceneSolid

LENS = (-0.2, 0.05, 0.001, -0.0005, 0.0)


def small_camera(size: tuple[int, int] = (160, 120), focal: float = 300.0) -> Camera:
    """A small camera at the base's origin, axes as those of the base, with distortion."""
    centre = (0.5 * (size[0] - 1), 0.5 * (size[1] - 1))
    return Camera((focal, focal), centre, size, Pose(np.eye(3), np.zeros(3)), LENS)


def contour_normals(camera: Camera, point: Array, direction: Array, radius: float | Array) -> Array:
    """Unit normals (..., 2, 3), camera axes, of edges of cylinders with axes (..., 3) in the base."""
    u = direction @ camera.pose.R
    return tangent_normals(
        camera.in_camera_axes(point), u / np.linalg.norm(u, axis=-1, keepdims=True), radius
    )


def rod(start: tuple[float, ...], stop: tuple[float, ...], radius: float) -> Rod:
    return Rod(np.array(start), np.array(stop), radius)


def scene_of(camera: Camera, *solids: Solid) -> CameraScene:
    """Solids in camera axes, each a body of its own; rods are cylinders of legs, others are not."""
    seen, cylinders = [], []
    for k, solid in enumerate(solids):
        if isinstance(solid, Rod):
            seen.append(SceneSolid(solid, k + 1, len(cylinders), len(cylinders)))
            cylinders.append(
                Cylinder(f"rod{k}", len(cylinders), k + 1, solid.start, solid.stop, solid.radius)
            )
        else:
            seen.append(SceneSolid(solid, k + 1, -1, -1))
    return CameraScene(camera, cylinders, tuple(seen))


def cast(
    scene: CameraScene, model: PixelModel, corner: tuple[int, int], size: tuple[int, int], fine: int = 12
) -> Array:
    """The image of a region by rays, `fine` x `fine` a pixel, the blur as a sum over them."""
    pad = int(np.ceil(5.0 * model.blur)) + 1
    u, v = (
        start + (np.arange((count + 2 * pad) * fine) + 0.5) / fine - 0.5 - pad
        for start, count in zip(corner, size, strict=True)
    )
    rays = scene.camera.ray(np.stack(np.meshgrid(u, v), axis=-1))
    levels = [model.leg if seen.leg >= 0 else model.other for seen in scene.solids] + [model.background]
    sharp = np.array(levels)[scene.first(rays)]
    blurred = gaussian_filter(sharp, model.blur * fine, truncate=6.0, mode="nearest")
    rows, columns = size[1] + 2 * pad, size[0] + 2 * pad
    return blurred.reshape(rows, fine, columns, fine).mean(axis=(1, 3))[pad:-pad, pad:-pad]
