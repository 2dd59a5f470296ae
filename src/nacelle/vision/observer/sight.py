"""What is measured at a pose, and how it changes with the pose: edges of cylinders, readings of encoders.

A cylinder of radius r has its axis through the point P, seen from the camera's centre, along the unit vector
u. The plane of its edge k has the unit normal n with n . u = 0, n . P = +-r (`nacelle.vision.cylinders`).
With a = u . P the place of P along the axis, D^2 = P . P - a^2 and q = sqrt(D^2 - r^2) the length of the
tangent,

    n = (+-r (P - a u) + q u x P) / D^2,     m = n x u,     m . P = q

(n, u, m) is a right-handed frame, so a measured normal differs from n by two numbers, (u . dn, m . dn). Where
the body moves with the velocity v of P and the angular velocity w, n . u = 0 and n . P = +-r stay true, so

    u . n' = m . w,     m . n' = -(n . v + a m . w) / q

v and w are linear in the reduced twist (body Jacobian J_b U, `nacelle.kinematics.jacobian`) and in the
velocities of anchors on the base (`anchors`), which makes the rows of the measurement matrices, exactly.
A camera that moves by dp and turns by dr, both in camera axes, changes n by the rows [0, -m] and [n/q, u].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from nacelle.kinematics.configuration import Configuration, configuration, rate_map
from nacelle.kinematics.margins import margins
from nacelle.kinematics.motion import EvaluatedStates, evaluate_function
from nacelle.kinematics.samples import input_samples
from nacelle.kinematics.shapes import pose_shape, unknowns_shape
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from nacelle.model.robot import Robot
from nacelle.program.identities.values import PreciseInputs
from nacelle.spatial.physics import check_inputs_with, physics
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, dot, norm, pack, plus, product, sqrt, where
from nacelle.tree.actuation import actuator_rows
from nacelle.tree.spanning_tree import TreeKinematics
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.observer.anchors import (
    Anchors,
    anchored_rates,
    offset_map,
    offset_shape,
    with_anchor_rates,
    with_anchors,
)

Shape = tuple[int, tuple[float, ...], tuple[float, ...], float]
"""A cylinder as plain numbers: body, both ends in its frame (3,), radius; m."""


# Newton's steps from the loops of the described robot to those with displaced anchors.
_CLOSING = 2
# Displacements of anchors where programs are checked, over the robot's size: two steps leave nothing of them.
_CHECK_DISPLACEMENT = 1e-4


def _check_states(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """States at which programs are checked: anchors are displaced by little, so that loops close."""
    rng = np.random.default_rng(5)
    offsets = _CHECK_DISPLACEMENT * robot.size * rng.uniform(-1.0, 1.0, shapes["offsets"])
    return input_samples(robot, shapes, groups, lambda *_: {"offsets": list(map(Decimal, offsets.tolist()))})


def cylinder_option(cylinders: Sequence[Cylinder]) -> tuple[Shape, ...]:
    """Cylinders as an option of `edges`, which shapes its program."""
    return tuple((c.body, tuple(c.A.tolist()), tuple(c.B.tolist()), c.radius) for c in cylinders)


def camera_numbers(camera: Camera) -> Array:
    """The camera's pose as the input of `edges` (12,): R row by row, then p, m."""
    return np.concatenate([np.ravel(camera.pose.R), camera.pose.p]).astype(float)


@physics(x=pose_shape, y=unknowns_shape, camera=(12,))
def edges(
    robot: Robot, x: Array, y: Array, camera: Array, *, cylinders: tuple[Shape, ...]
) -> dict[str, Array]:
    """Edges of C cylinders, and how they change.

    Returns:
        frame (C, 2, 3, 3): rows n, u, m of both sides, camera axes.
        tangent (C,): q, m; -1 where the camera's centre is within the cylinder.
        along (C,): a of the first end, m; an edge has the points (a + s) u + q m, s along the axis.
        by_pose (C, 2, 2, n): changes (u . dn, m . dn) of the normals at unit entries of the reduced twist.
        margins: of the legs.
    """
    now = configuration(robot, x, y)
    return _edges(now, camera, cylinders, {"by_pose": (now.motion, rate_map(now))})


@check_inputs_with(_check_states)
@physics(x=pose_shape, y=unknowns_shape, camera=(12,), offsets=offset_shape)
def anchored_edges(
    robot: Robot,
    x: Array,
    y: Array,
    camera: Array,
    offsets: Array,
    *,
    cylinders: tuple[Shape, ...],
    anchors: Anchors,
) -> dict[str, Array]:
    """The same with displaced anchors, and by_anchor (C, 2, 2, anchors): at unit displacements of these."""
    now, y = _displaced_configuration(robot, x, y, offsets)
    moves = {
        "by_pose": (now.motion, rate_map(now)),
        "by_anchor": (with_anchor_rates(now.motion, now.robot, anchors), anchored_rates(now, x, y, anchors)),
    }
    return _edges(now, camera, cylinders, moves)


def _displaced_configuration(robot: Robot, x: Array, y: Array, offsets: Array) -> tuple[Configuration, Array]:
    """The configuration with displaced anchors, its loops closed from those of the described robot."""
    displaced = with_anchors(robot, offsets)
    for _ in range(_CLOSING if len(y) else 0):
        y = y + loop_closing_step(displaced, y, x)["dy"]
    return configuration(displaced, x, y), y


def _edges(
    now: Configuration,
    camera: Array,
    cylinders: tuple[Shape, ...],
    moves: dict[str, tuple[TreeKinematics, Array]],
) -> dict[str, Array]:
    """Edges, and how they change with rates (rates, k) of trees."""
    R, centre = camera[:9].reshape(3, 3), camera[9:]
    frames, tangents, alongs = [], [], []
    by: dict[str, list[Array]] = {name: [] for name in moves}
    for body, A, B, radius in cylinders:
        pose = now.motion.poses[body]
        end, u = _axis(pose, np.array(A), np.array(B))
        P = plus(end, -centre)
        along = dot(u, P)
        across = plus(P, -along * u)
        square = dot(across, across)
        # Within a cylinder there are no edges: numbers stay finite, and the tangent says so.
        gap = square - radius * radius
        square, q = where(gap, square, 1.0), sqrt(where(gap, gap, 1.0))
        side = cross(u, across)
        sides = [(sign * radius * across + q * side) / square for sign in (1.0, -1.0)]
        both = [(n, cross(n, u)) for n in sides]
        frames.append(np.stack([_in_camera_axes(R, n, u, m) for n, m in both]))
        tangents.append(where(gap, q, -1.0))
        alongs.append(along)
        for name, (motion, rates) in moves.items():
            twist = product(motion.point_jacobian(body, end), rates)
            by[name].append(np.stack([_normal_rates(n, m, along, q, twist) for n, m in both]))
    changes = {name: np.stack(rows) for name, rows in by.items()}
    axes = {"tangent": pack(tangents), "along": pack(alongs)}
    return {"frame": np.stack(frames), **axes, **changes, "margins": margins(now)}


def _axis(pose: Pose, A: Array, B: Array) -> tuple[Array, Array]:
    """The first end of an axis and its unit direction in the base."""
    return plus(product(pose.R, A), pose.p), product(pose.R, (B - A) / norm(B - A))


def _in_camera_axes(R: Array, n: Array, u: Array, m: Array) -> Array:
    """Rows n, u, m (3, 3) in camera axes."""
    return product(np.stack([n, u, m]), R)


def _normal_rates(n: Array, m: Array, along: Scalar, q: Scalar, twist: Array) -> Array:
    """Changes (2, k) of a normal at k twists [v; w] (6, k) of the body at the axis's point."""
    rotation = product(m, twist[3:])
    return np.stack([rotation, -(product(n, twist[:3]) + along * rotation) / q])


@physics(x=pose_shape, y=unknowns_shape)
def readings(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Coordinates q (actuators,) of the actuators, rad or m, and by_pose (actuators, n): how they change."""
    return _readings(configuration(robot, x, y))


@check_inputs_with(_check_states)
@physics(x=pose_shape, y=unknowns_shape, offsets=offset_shape)
def anchored_readings(
    robot: Robot, x: Array, y: Array, offsets: Array, *, anchors: Anchors
) -> dict[str, Array]:
    """The same with displaced anchors, and by_anchor (actuators, anchors): at unit displacements of these."""
    now, y = _displaced_configuration(robot, x, y, offsets)
    rows = actuator_rows(now.robot, with_anchor_rates(now.motion, now.robot, anchors))
    return {**_readings(now), "by_anchor": product(rows, anchored_rates(now, x, y, anchors))}


@check_inputs_with(_check_states)
@physics(x=pose_shape, y=unknowns_shape, offsets=offset_shape)
def anchored_bodies(robot: Robot, x: Array, y: Array, offsets: Array) -> dict[str, Array]:
    """Poses R (bodies, 3, 3) and p (bodies, 3), m, of all bodies in the base, with displaced anchors."""
    now, _ = _displaced_configuration(robot, x, y, offsets)
    R, p = (np.stack(parts) for parts in zip(*now.motion.poses, strict=True))
    return {"R": R, "p": p, "margins": margins(now)}


def _readings(now: Configuration) -> dict[str, Array]:
    robot = now.robot
    return {
        "q": pack([now.coordinate(actuator.joint, 0) for actuator in robot.actuators]),
        "by_pose": product(actuator_rows(robot, now.motion), rate_map(now)),
        "margins": margins(now),
    }


class SightModel:
    """What is measured of a robot, natively: edges of cylinders and readings, anchors displaced or not.

    Attributes:
        robot: the robot.
        cylinders: that are seen.
        anchors: displacements that there may be; empty without.
    """

    def __init__(self, robot: Robot, cylinders: Sequence[Cylinder], anchors: Anchors = ()) -> None:
        """Keep them."""
        self.robot, self.cylinders, self.anchors = robot, tuple(cylinders), anchors
        self._shapes = {"cylinders": cylinder_option(cylinders)}
        self._anchors = {"anchors": anchors}
        self._offsets = offset_map(robot, anchors)

    def edges(self, x: Array, camera: Array, displaced: Array, *, guess: Any = None) -> EvaluatedStates:
        """`edges` at poses x (..., nx), camera numbers (..., 12), anchors displaced by (anchors,), m."""
        if not self.anchors:
            return evaluate_function(edges, self.robot, x, camera, guess=guess, options=self._shapes)
        inputs, options = (x, camera, self._offsets @ displaced), {**self._shapes, **self._anchors}
        return evaluate_function(anchored_edges, self.robot, *inputs, guess=guess, options=options)

    def readings(self, x: Array, displaced: Array, *, guess: Any = None) -> EvaluatedStates:
        """`readings` likewise."""
        if not self.anchors:
            return evaluate_function(readings, self.robot, x, guess=guess)
        inputs = (x, self._offsets @ displaced)
        return evaluate_function(anchored_readings, self.robot, *inputs, guess=guess, options=self._anchors)

    def bodies(self, x: Array, displaced: Array, *, guess: Any = None) -> EvaluatedStates:
        """`anchored_bodies` likewise."""
        return evaluate_function(anchored_bodies, self.robot, x, self._offsets @ displaced, guess=guess)
