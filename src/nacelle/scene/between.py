"""Springs and dampers between two bodies: coils and dashpots that stretch with the distance of their ends.

In the frame of such a link, its origin at the first end and z towards the second, a corner of a face is at

    (x, y, z_0 + part * length)          m

with x, y and z_0 constant: the wire of a coil stays as thick as it is, and only its pitch changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from nacelle.model.leg import BASE
from nacelle.scene.colours import DAMPER_COLOUR, SPRING_COLOUR
from nacelle.scene.faces import cylinder, skin, triangles
from nacelle.shapes.placed import THIN, PlacedRobot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array

# Radii as parts of the robot's extent: of a coil, of a dashpot inside it, of a wire.
_COIL, _BARREL, _WIRE = 0.016, 0.009, 0.6 * THIN
# Windings of a coil, pieces of each and sides of its wire; how much of the length is straight at each end.
_COILS, _PIECES, _SIDES = 8, 12, 6
_STRAIGHT = 0.15
# A barrel of a dashpot as parts of the length.
_FROM, _TO = 0.36, 0.64

# Poses by the index of their body.
Poses = Sequence[Pose] | Mapping[int, Pose]


@dataclass(frozen=True, eq=False)
class Between:
    """What is drawn between a point of one body and a point of another.

    Attributes:
        kind: "spring" or "damper".
        name: its name.
        bodies: indices of the two bodies.
        points: a point of each, in its body's frame (3,), m.
        colour: #rrggbb.
        pieces: its convex pieces: of each the corners of its faces (faces, 4, 4), x, y, z_0 (m) and the part
            of the length.
    """

    kind: str
    name: str
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    colour: str
    pieces: tuple[Array, ...]

    def ends(self, poses: Poses) -> tuple[Array, Array]:
        """Both ends in the base (3,), m, with the bodies at these poses."""
        first, second = (
            poses[b].R @ point + poses[b].p for b, point in zip(self.bodies, self.points, strict=True)
        )
        return first, second

    def solids(self, poses: Poses) -> tuple[Array, ...]:
        """Its pieces in the base, each (faces, 4, 3), m."""
        frame, length = link_frame(*self.ends(poses))
        return tuple(stretched_link(piece, length) @ frame.R.T + frame.p for piece in self.pieces)

    @cached_property
    def mesh(self) -> tuple[Array, Array]:
        """Corners (n, 4), as in `pieces` but each once, and triangles (m, 3), indices."""
        return triangles(np.concatenate(self.pieces))


def link_frame(first: Array, second: Array) -> tuple[Pose, float]:
    """The frame of a link between two points, z from the first to the second, and its length, m."""
    line = np.asarray(second) - np.asarray(first)
    length = float(np.linalg.norm(line))
    return Pose(frame_with_z(line / length if length else np.array([0.0, 0.0, 1.0])), first), length


def stretched_link(corners: Array, length: float) -> Array:
    """Corners (..., 4) of a link at a length (m): (..., 3) in its frame, m."""
    place = corners[..., :3].copy()
    place[..., 2] += length * corners[..., 3]
    return np.asarray(place)


def links_between(placed: PlacedRobot) -> tuple[Between, ...]:
    """The springs and dampers between bodies of a robot.

    A spring is a coil between its points, with a dashpot in it if it damps. A damper of a rotation has no
    points: its dashpot is between the middles of the joints of both bodies; of the base the nearest joint.
    """
    robot, extent = placed.robot, placed.extent
    dashpot = _dashpot(extent)
    links = []
    for spring in robot.springs:
        pieces = _coil(extent) + (dashpot if spring.damping else ())
        first, second = (np.asarray(point, dtype=float) for point in spring.points)
        links.append(Between("spring", spring.name, spring.bodies, (first, second), SPRING_COLOUR, pieces))
    for damper in robot.dampers:
        links.append(
            Between(
                "damper", damper.name, damper.bodies, _held(placed, damper.bodies), DAMPER_COLOUR, dashpot
            )
        )
    return tuple(links)


def _held(placed: PlacedRobot, bodies: tuple[int, int]) -> tuple[Array, Array]:
    """A point of each body, in its frame, for a link that has none."""
    joints = [_joints(placed, b) for b in bodies]
    middles = [points.mean(axis=0) for points in joints]
    for k, b in enumerate(bodies):
        if b == BASE:
            away = np.linalg.norm(joints[k] - middles[1 - k], axis=1)
            middles[k] = joints[k][int(np.argmin(away))]
    first, second = (
        placed.poses[b].R.T @ (middle - placed.poses[b].p) for b, middle in zip(bodies, middles, strict=True)
    )
    return first, second


def _joints(placed: PlacedRobot, b: int) -> Array:
    """Where the joints of a body are in the base (n, 3), m; its origin if it has none."""
    points = []
    for joint, ends in zip(placed.robot.joints, placed.ends, strict=True):
        if not joint.is_coupling:
            own = zip((joint.predecessor, joint.successor), ends, strict=True)
            points += [end.p for body, end in own if body == b]
    return np.array(points or [placed.poses[b].p])


def _coil(extent: float) -> tuple[Array, ...]:
    """A coil: straight wires at the ends, which go out to the windings, all of one thickness."""
    r, wire = _COIL * extent, _WIRE * extent
    out = cylinder(np.zeros(3), np.array([r, 0.0, 0.0]), wire, np.inf)
    ends = [_upright(wire, 0.0, _STRAIGHT), _upright(wire, 1.0 - _STRAIGHT, 1.0)]
    ends += [
        np.concatenate([out, np.full((*out.shape[:-1], 1), at)], -1) for at in (_STRAIGHT, 1.0 - _STRAIGHT)
    ]
    rings = []
    # A ring of the wire is in the plane of its radius and the axis, whatever the pitch is.
    for part in np.linspace(0.0, 1.0, _COILS * _PIECES + 1):
        radial = np.array([np.cos(2.0 * np.pi * _COILS * part), np.sin(2.0 * np.pi * _COILS * part), 0.0])
        turn = np.linspace(0.0, 2.0 * np.pi, _SIDES + 1)[:, None]
        ring = (r + wire * np.cos(turn)) * radial + wire * np.sin(turn) * np.array([0.0, 0.0, 1.0])
        at = np.full((_SIDES + 1, 1), _STRAIGHT + (1.0 - 2.0 * _STRAIGHT) * part)
        rings.append(np.concatenate([ring, at], axis=1))
    windings = [skin([a, b]) for a, b in pairwise(rings)]
    return (*ends, *windings)


def _dashpot(extent: float) -> tuple[Array, ...]:
    """A barrel in the middle of a wire."""
    wire = _WIRE * extent
    return _upright(wire, 0.0, _FROM), _upright(_BARREL * extent, _FROM, _TO), _upright(wire, _TO, 1.0)


def _upright(radius: float, start: float, stop: float) -> Array:
    """A cylinder along z between two parts of the length (faces, 4, 4)."""
    faces = cylinder(np.zeros(3), np.array([0.0, 0.0, 1.0]), radius, np.inf)
    part = start + (stop - start) * faces[..., 2:]
    return np.concatenate([faces[..., :2], np.zeros_like(part), part], axis=-1)
