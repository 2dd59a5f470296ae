"""Interactive figures in pages: robots in space that can be turned, and that move.

They are turned with mouse and fingers; arrows at a robot show forces and moments over time, with one
scale for all of a set. The markup holds the data as JSON; the script "scene3d" of `nacelle.page` draws it.
Lengths are in metres, times in seconds, quaternions scalar first. `animate` makes a page of its own: from a
pose, poses over time, or a simulation.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.page.markup import document, element, embedded_data, escape_text, format_number, write_page
from nacelle.scene.colours import AXIS_COLOURS, JOINT_COLOUR, hex_colour
from nacelle.scene.faces import solid_corners, solid_faces, triangulate
from nacelle.scene.geometry import BodyLink, BodyPart, RobotGeometry, robot_geometry
from nacelle.scene.motion import PosesOverTime, motion_at_rest, poses_along, rotation_matrices_wxyz
from nacelle.shapes.solid import Ball, Block, DrawableSolid, Mesh, Rod
from nacelle.spatial.rotation import quat_from_rotation
from nacelle.spatial.scalar import Array

# ---- arrows at a robot


# The longest arrow as a part of the robot's extent.
MAX_ARROW_LENGTH = 0.3


@dataclass(frozen=True, eq=False)
class Arrows:
    """Vectors at points that move with time.

    Attributes:
        name: what they are, for the legend: "actuator forces".
        points: where they begin (T, N, 3) in the base, m.
        vectors: what they show (T, N, 3), base axes, in `unit`; not drawn where it is not finite.
        unit: "N" or "N m".
        colour: by name or #rrggbb.
    """

    name: str
    points: Array
    vectors: Array
    unit: str = "N"
    colour: str = "#0072B2"

    def __post_init__(self) -> None:
        points, vectors = np.asarray(self.points, dtype=float), np.asarray(self.vectors, dtype=float)
        if points.ndim != 3 or points.shape[-1] != 3 or vectors.shape != points.shape:
            raise NacelleError(
                f"arrows have points and vectors (T, N, 3), not {points.shape} and {vectors.shape}"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "vectors", vectors)

    @property
    def largest(self) -> float:
        """Length of the longest vector over the whole time, in its unit."""
        lengths = np.linalg.norm(self.vectors, axis=-1)
        return float(np.max(lengths[np.isfinite(lengths)], initial=0.0))

    def scale(self, extent: float) -> float:
        """Metres a unit, such that the longest arrow is a part of the robot's extent."""
        return MAX_ARROW_LENGTH * extent / self.largest if self.largest > 0.0 else 0.0


def finite_points(points: Any) -> Array:
    """The points (T, 3) of a line in space that are finite, m."""
    line = np.asarray(points, dtype=float).reshape(-1, 3)
    return np.asarray(line[np.all(np.isfinite(line), axis=1)])


# ---- the figure in a page


SCRIPT = "scene3d"


@dataclass(frozen=True, eq=False)
class SceneItem:
    """One robot of a figure.

    Attributes:
        geometry: what is drawn of it.
        motion: where its bodies are over time.
        arrows: sets of arrows, with as many times as the motion or one.
        offset: where its base is in the figure (3,), m, as for robots side by side.
        label: written below it where there are several.
        traces: lines (points, 3) in its base, m, such as the path of the platform.
    """

    geometry: RobotGeometry
    motion: PosesOverTime
    arrows: Sequence[Arrows] = ()
    offset: Sequence[float] = (0.0, 0.0, 0.0)
    label: str = ""
    traces: Sequence[Any] = ()


def scene_figure(items: Sequence[SceneItem], *, caption: str = "", autoplay: bool = True) -> str:
    """Markup of an interactive figure; its page has `scripts=("scene3d",)`.

    Args:
        items: the robots; times of all count from the first of each.
        caption: plain words below it.
        autoplay: whether it moves by itself; never where the reader prefers less motion.

    Raises:
        NacelleError: if there is no robot, or arrows have other times than the motion.
    """
    if not items:
        raise NacelleError("a figure in space needs at least one robot")
    outline, across = outline_points(items), {item.geometry.across for item in items}
    data = {
        "items": [_item_data(item) for item in items],
        "across": across.pop() if len(across) == 1 else None,
        "box": [_rounded_list(outline.min(axis=0)), _rounded_list(outline.max(axis=0))],
        "outline": _rounded_list(np.ravel(outline)),
        "extent": _round_digits(max(item.geometry.extent for item in items)),
        "axes": AXIS_COLOURS,
        "autoplay": autoplay,
    }
    names = ", ".join(item.label or item.geometry.robot.name for item in items)
    label = f"Interactive 3D figure of {names}: drag to turn it, scroll or pinch to zoom"
    canvas = element("div", kind="scene-view", role="img", aria_label=label, tabindex="0")
    without = element("noscript", element("p", escape_text(f"This figure of {names} needs JavaScript.")))
    below = element("figcaption", escape_text(caption), kind="quiet") if caption else ""
    return element(
        "figure",
        canvas,
        element("div", kind="scene-bar"),
        _legend(items),
        without,
        below,
        embedded_data(data, "scene-data"),
        kind="scene3d",
    )


def scene_page(items: Sequence[SceneItem], title: str, *, autoplay: bool = True) -> str:
    """A whole page with one large figure, in one file that requests nothing."""
    figure = scene_figure(items, autoplay=autoplay)
    return document(title, element("div", figure, kind="scene-large"), scripts=(SCRIPT,))


def body_points(motion: PosesOverTime, body: int, point: Any = (0.0, 0.0, 0.0)) -> Array:
    """Where a point of a body, given in its frame (3,), is over time: (T, 3) in the base, m."""
    return np.asarray(
        rotation_matrices_wxyz(motion.quaternion[:, body]) @ np.asarray(point, dtype=float)
        + motion.position[:, body]
    )


# ---------------------------------------------------------------------------- data


def _item_data(item: SceneItem) -> dict[str, Any]:
    motion, extent = item.motion, item.geometry.extent
    step = 1e-6 * extent
    return {
        "name": item.label or item.geometry.robot.name,
        "offset": _rounded_list(item.offset),
        "bodies": [body.name for body in item.geometry.robot.bodies],
        "parts": [_part_data(part) for part in item.geometry.parts],
        "links": [_link_data(link) for link in item.geometry.links],
        "times": _rounded_list(motion.times - motion.times[0]),
        "position": pack_base64(np.round(motion.position / step) * step),
        "quaternion": pack_base64(motion.quaternion),
        "ok": [bool(good) for good in motion.ok],
        "arrows": [_arrow_data(arrows, len(motion.times), extent) for arrows in item.arrows],
        "traces": [
            {"points": pack_base64(finite_points(line)), "colour": JOINT_COLOUR} for line in item.traces
        ],
    }


def _part_data(part: BodyPart) -> dict[str, Any]:
    solids = [
        {"colour": colour, **_solid_data(solid)}
        for solid, colour in zip(part.solids, part.colours, strict=True)
    ]
    return {"kind": part.kind, "name": part.name, "body": part.body, "active": part.active, "solids": solids}


def _link_data(link: BodyLink) -> dict[str, Any]:
    corners, index = link.mesh
    return {
        "kind": link.kind,
        "name": link.name,
        "colour": link.colour,
        "bodies": link.bodies,
        "points": [_rounded_list(point) for point in link.points],
        "corners": pack_base64(corners),
        "triangles": pack_base64(index, "<u4"),
    }


def _solid_data(solid: DrawableSolid) -> dict[str, Any]:
    if isinstance(solid, Rod):
        return {"rod": [*_rounded_list(solid.start), *_rounded_list(solid.stop), _round_digits(solid.radius)]}
    if isinstance(solid, Ball):
        return {"ball": [*_rounded_list(solid.centre), _round_digits(solid.radius)]}
    if isinstance(solid, Block):
        wxyz = np.roll(quat_from_rotation(solid.at.R), 1)
        return {"block": [*_rounded_list(solid.size), *_rounded_list(solid.at.p), *_rounded_list(wxyz)]}
    points, index = (
        (solid.points, solid.triangles)
        if isinstance(solid, Mesh)
        else triangulate(solid_faces(solid, np.inf))
    )
    return {"mesh": {"points": pack_base64(points), "triangles": pack_base64(index, "<u4")}}


def _arrow_data(arrows: Arrows, count: int, extent: float) -> dict[str, Any]:
    if len(arrows.points) not in (1, count):
        raise NacelleError(f"arrows {arrows.name!r} have {len(arrows.points)} times, the motion has {count}")
    good = np.all(np.isfinite(arrows.points) & np.isfinite(arrows.vectors), axis=-1, keepdims=True)
    tips = np.where(good, arrows.vectors * arrows.scale(extent), 0.0)
    return {
        "name": arrows.name,
        "colour": hex_colour(arrows.colour),
        "count": arrows.points.shape[1],
        "points": pack_base64(np.where(good, arrows.points, 0.0)),
        "vectors": pack_base64(tips),
    }


def _legend(items: Sequence[SceneItem]) -> str:
    """Colours of arrows, what they show and the longest of each."""
    rows = []
    for item in items:
        prefix = f"{item.label}: " if item.label and len(items) > 1 else ""
        for arrows in item.arrows:
            swatch = element("span", kind="swatch", style=f"background: {hex_colour(arrows.colour)}")
            label = f"{prefix}{arrows.name}, longest {format_number(arrows.largest, 3)} {arrows.unit}"
            rows.append(element("li", swatch, escape_text(label)))
    return element("ul", *rows, kind="scene-legend") if rows else ""


def outline_points(items: Sequence[SceneItem]) -> Array:
    """Outermost points (points, 3) of all robots over their whole motion, and the tips of their base axes.

    In each of many directions the farthest corner: what a camera has to see.
    """
    turns = np.arange(64.0)
    rise = 1.0 - (2.0 * turns + 1.0) / 64.0
    angle = np.pi * (1.0 + 5.0**0.5) * turns
    flat = np.sqrt(1.0 - rise**2)
    directions = np.stack([flat * np.cos(angle), flat * np.sin(angle), rise], axis=1)  # on a Fibonacci sphere
    best, farthest = np.full(64, -np.inf), np.zeros((64, 3))
    for item in items:
        offset = np.asarray(item.offset, dtype=float)
        R = rotation_matrices_wxyz(item.motion.quaternion)
        clouds = [
            offset + 0.2 * item.geometry.extent * np.eye(3),
            *(offset + finite_points(line) for line in item.traces),
        ]
        for part in item.geometry.parts:
            points = np.concatenate([solid_corners(solid) for solid in part.solids])
            points = np.unique(points[[*np.argmax(points @ directions.T, axis=0)]], axis=0)
            rotated = np.einsum("tij,kj->tki", R[:, part.body], points)
            clouds.append((rotated + item.motion.position[:, None, part.body] + offset).reshape(-1, 3))
        for cloud in clouds:
            if len(cloud):
                reach = cloud @ directions.T
                index = np.argmax(reach, axis=0)
                values = reach[index, np.arange(64)]
                farthest = np.where((values > best)[:, None], cloud[index], farthest)
                best = np.maximum(values, best)
    return np.unique(np.round(farthest, 6), axis=0)


def _round_digits(value: float) -> float:
    return float(f"{float(value):.7g}")


def _rounded_list(values: Any) -> list[float]:
    return [_round_digits(value) for value in np.asarray(values, dtype=float)]


def pack_base64(values: Array, kind: str = "<f4") -> str:
    """Numbers as little-endian bytes in base64: 32-bit floats, or whole numbers with kind "<u4"."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


# ---- a robot as a page of its own


# Samples of a page: more cannot be seen, and make it large.
_MAX_SAMPLES = 600


def animate(
    robot: Robot,
    x: Any = None,
    times: Any = None,
    out: str | os.PathLike[str] = "robot.html",
    *,
    overwrite: bool = False,
) -> Path:
    """Write a self-contained page with a robot in space: it opens from the file and requests nothing.

    Args:
        robot: the robot.
        x: a pose (nx,); poses (T, nx); or anything with times `t` (T,) and poses `x` (T, nx), such as the
            result of a simulation; the reference pose if None.
        times: of poses (T,), s; 25 poses a second if None.
        out: the file.
        overwrite: whether a file that exists is replaced.

    Returns:
        The file.

    Raises:
        NacelleError: if the file exists or cannot be written, or x has another type.
        UnreachableError: if no pose is within reach.
    """
    motion = _as_motion(robot, x, times)
    traces = (body_points(motion, 1),) if len(motion.times) > 1 else ()
    item = SceneItem(robot_geometry(robot, motion), motion, traces=traces)
    return write_page(out, scene_page([item], robot.title or robot.name), overwrite=overwrite)


def _as_motion(robot: Robot, x: Any, times: Any) -> PosesOverTime:
    if x is not None and hasattr(x, "x") and hasattr(x, "t"):
        x, times = x.x, x.t if times is None else times
    if x is None:
        return motion_at_rest(robot)
    poses = np.asarray(x, dtype=float)
    if poses.ndim == 1:
        return motion_at_rest(robot, poses)
    if poses.ndim != 2:
        raise NacelleError(f"x is a pose (nx,) or poses (T, nx), not an array of shape {poses.shape}")
    moments = np.arange(len(poses)) / 25.0 if times is None else np.asarray(times, dtype=float)
    step = max(1, -(-len(poses) // _MAX_SAMPLES))
    return poses_along(robot, moments[::step], poses[::step])
