"""Linear forward kinematics: the bodies of the platform from the ends of the legs ([OAM] (34), (35)).

A body of the platform has points b_j (3,) whose places B_j are known: ends of legs, joints with bodies that
are placed already. With g = B_2 - B_1 and l = b_2 - b_1 its orientation R and origin p are

    R constant             p = B_1 - R b_1
    about a constant e     cos = k . g / |k|^2,  sin = (e x k) . g / |k|^2        k of l across e, at angle 0
    any                    R = [g_1 g_2 g_1 x g_2] [l_1 l_2 l_1 x l_2]^-1                from three points

so all of it is linear in the points, or in them and one cross product; which of the three a body has is
decided at sample poses. Differentiated twice the same lines give c_k' and c_k'' of the columns c_k of R;
points whose motion is known stay as they are.
"""

from __future__ import annotations

import math
from decimal import localcontext
from functools import lru_cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from nacelle.compact.line_legs.geometry import round_to_zero
from nacelle.compact.platform import PrescribedFrame, PrescribedPoint, weighted_sum
from nacelle.compact.vectors import ZERO, add, cross_nonzero, scale
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.kinematics.samples import Decimals, values_at_reference, values_at_states
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from nacelle.papers.elements.jets import NO_JET, Jet, add_jets, cross_jets
from nacelle.papers.elements.layout import body_poses, sample_geometries
from nacelle.papers.elements.leg_points import part_along, rotate_across
from nacelle.program.precise import decimal_context
from nacelle.spatial.pose import Pose
from nacelle.spatial.rounding import index_of_largest
from nacelle.spatial.scalar import Array, cross, dot, pack, product
from nacelle.spatial.screw import AngularMotion
from nacelle.tree.spanning_tree import CosineSine

# Orientations and axes that differ by less at sample poses are constant.
_SAME = 1e-9
# Points whose differences are as short as this compared with the robot's size place nothing.
_SHORT = 1e-3


class Orientation(NamedTuple):
    """How a body of the platform may turn.

    Attributes:
        kind: "constant", "axis" or "any".
        R: its orientation at the reference; about a constant axis one that differs from it by a rotation
            about that axis alone.
        axis: e, where it turns about a constant axis.
    """

    kind: str
    R: Array
    axis: Array


@lru_cache(maxsize=64)
def orientations(mechanism: Mechanism) -> dict[int, Orientation]:
    """For every body of the platform how it may turn, decided at sample poses."""
    samples = sample_geometries(mechanism)
    result = {}
    for body in platform_bodies(mechanism):
        R = np.asarray(samples[0].poses[body].R, dtype=float)
        if mechanism.robot.platform.kind == "point":
            result[body] = Orientation("constant", np.eye(3), ZERO)
            continue
        rotations = [_rotation_vector(np.asarray(at.poses[body].R, dtype=float) @ R.T) for at in samples[1:]]
        size = [float(np.linalg.norm(rotation)) for rotation in rotations]
        if max(size, default=0.0) < _SAME:
            result[body] = Orientation("constant", round_to_zero(R), ZERO)
            continue
        axis = rotations[index_of_largest(np.array(size))] / max(size)
        across = max(float(np.linalg.norm(np.cross(axis, rotation))) for rotation in rotations)
        if across < _SAME:
            precise = _precise_axes(mechanism).get(body)
            axis = axis if precise is None else precise
            axis = round_to_zero(axis if axis[index_of_largest(np.abs(axis))] > 0.0 else -axis)
            result[body] = Orientation("axis", _align(R, axis), axis)
        else:
            result[body] = Orientation("any", round_to_zero(R), round_to_zero(axis))
    return result


@lru_cache(maxsize=64)
def _precise_axes(mechanism: Mechanism) -> dict[int, Array]:
    """Axes about which bodies of the platform turn against the reference, right to the last bits.

    Poses that Newton's method finds in double are not, and the error of an axis from them is larger than
    rounding. Empty where states with 50 digits are not found.
    """
    robot = mechanism.robot
    reference, states = values_at_reference(robot, body_poses), values_at_states(robot, body_poses)
    if reference is None or states is None:
        return {}
    axes = {}
    with localcontext(decimal_context()):
        for body in platform_bodies(mechanism):
            first, *others = (_orientation_in(values, body) for values in (reference, *states))
            rotations = [_rotation_vector(product(R, first.T)) for R in others]
            sizes = [dot(rotation, rotation).sqrt() for rotation in rotations]
            largest = index_of_largest(np.array(sizes, dtype=float))
            if sizes[largest]:
                axes[body] = np.array(rotations[largest] / sizes[largest], dtype=float)
    return axes


def _orientation_in(values: Decimals, body: int) -> Array:
    """R (3, 3) of a body among the results of `body_poses`."""
    return np.array(values[12 * body : 12 * (body + 1)]).reshape(3, 4)[:, :3]


def _align(R: Array, e: Array) -> Array:
    """R (3, 3) rotated about the axis e, by which the constants of a body that turns about e do not change.

    The body's axis that reaches farthest across e comes to point along the base's that does: what angle the
    body has at the reference, and its rounding, do not count.
    """
    along = np.outer(e, e @ R)
    across, base = R - along, np.eye(3) - np.outer(e, e)
    u = across[:, index_of_largest(np.linalg.norm(across, axis=0))]
    w = base[:, index_of_largest(np.linalg.norm(base, axis=0))]
    c, s = np.array([u @ w, e @ np.cross(u, w)]) / math.sqrt((u @ u) * (w @ w))
    return round_to_zero(along + c * across + s * np.cross(e, across.T).T)


def _rotation_vector(R: Array) -> Array:
    """The antisymmetric part of a rotation as a vector: sin(angle) times its axis."""
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2


def platform_bodies(mechanism: Mechanism) -> tuple[int, ...]:
    """The platform and the other bodies of the platform."""
    return (PLATFORM, *(body for body in mechanism.robot.platform.bodies if body != PLATFORM))


class KnownPoint(NamedTuple):
    """A point or a direction of a body whose place is known: in the body's frame (3,), and its jet."""

    local: Array
    position: Jet


class PlatformSolver:
    """Places the bodies of the platform, one after the other.

    Attributes:
        frames: of the bodies that are placed.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        """Begin with no points."""
        self.mechanism, self.robot = mechanism, mechanism.robot
        self.points: dict[int, list[KnownPoint]] = {body: [] for body in platform_bodies(mechanism)}
        self.directions: dict[int, list[KnownPoint]] = {body: [] for body in self.points}
        self.frames: dict[int, PrescribedFrame] = {}

    def add(self, body: int, local: Array, jet: Jet) -> None:
        """Record a point of a body: `local` (3,), m, in its frame, and p, p', p'' (3, 3), base axes."""
        self.points[body].append(KnownPoint(np.asarray(local, dtype=float), jet))

    def add_axis(self, body: int, axis: int, direction: Jet) -> None:
        """The direction of an axis of a body's frame."""
        self.directions[body].append(KnownPoint(np.eye(3)[axis], direction))

    def missing_axes(self, body: int) -> tuple[int, ...]:
        """Axes of a body's frame whose directions would tell how it is turned, apart from what is known."""
        turning = orientations(self.mechanism)[body]
        if turning.kind == "axis":
            across = np.linalg.norm(np.cross(turning.axis, turning.R.T), axis=1)
            return (index_of_largest(across),)
        vectors = self._vectors(body)
        if not vectors:
            return (0, 1)
        longest = max(vectors, key=lambda known: float(np.linalg.norm(known.local))).local
        return (index_of_largest(np.linalg.norm(np.cross(longest, np.eye(3)), axis=1)),)

    def _vectors(self, body: int) -> list[KnownPoint]:
        """Differences of the points of a body, and its directions at the size of the robot."""
        pairs = combinations(self.points[body], 2)
        apart = [KnownPoint(b.local - a.local, add_jets(b.position, a.position, -1.0)) for a, b in pairs]
        size = self.robot.size
        return apart + [
            KnownPoint(size * d.local, add_jets(NO_JET, d.position, size)) for d in self.directions[body]
        ]

    def solve(self) -> list[int]:
        """Place all bodies that can be placed; gives those that cannot."""
        left = [body for body in self.points if body not in self.frames]
        while True:
            solved_body = next((body for body in left if self._solve(body)), None)
            if solved_body is None:
                return left
            left.remove(solved_body)
            self._add_neighbour_points(solved_body)

    def _add_neighbour_points(self, body: int) -> None:
        """Give the joints of a placed body to its neighbours."""
        robot = self.robot
        for j in (*robot.platform.joints, *robot.platform.closures):
            joint = robot.joints[j]
            if joint.at_point or joint.kind in (JointKind.PRISMATIC, JointKind.CYLINDRICAL):
                continue
            ends = ((joint.predecessor, joint.frame_predecessor), (joint.successor, joint.frame_successor))
            for (first, near), (second, far) in permutations(ends):
                if first == body and second in self.points and second not in self.frames:
                    self.add(second, far.p, _point_jet(self.frames[body], np.asarray(near.p, dtype=float)))

    def _solve(self, body: int) -> bool:
        turning, known = orientations(self.mechanism)[body], self.points[body]
        if not known:
            return False
        if turning.kind == "constant":
            self._set_frame(body, np.stack([turning.R.T, NO_JET, NO_JET]), known[0])
            return True
        if turning.kind == "axis":
            return self._solve_axis(body, turning, known)
        return self._solve_any(body, known)

    def _solve_axis(self, body: int, turning: Orientation, known: list[KnownPoint]) -> bool:
        """From the vector that reaches farthest across the axis."""
        e, R = turning.axis, turning.R
        vectors = self._vectors(body)
        reach = [float(np.linalg.norm(np.cross(e, R @ vector.local))) for vector in vectors]
        if not vectors or max(reach) < _SHORT * self.robot.size:
            return False
        local, g = vectors[index_of_largest(np.array(reach))]
        l = product(R, local)
        across = round_to_zero(l - e * dot(e, l), self.robot.size)
        square = float(dot(across, across))
        c, s = across / square, round_to_zero(cross(e, across), self.robot.size) / square
        # R(angle) R_0: a column k is e (e . k) + (k - e (e . k)) cos + e x k sin.
        columns = []
        for order, row in enumerate(g):
            rotation = CosineSine(dot(c, row), dot(s, row))
            along = [part_along(e, k) if order == 0 else ZERO for k in R.T]
            rotated = [add(fixed, rotate_across(e, rotation, k)) for fixed, k in zip(along, R.T, strict=True)]
            columns.append(pack([column.tolist() for column in rotated]))
        # g' = w x g, so (e x g) . g' = w |g_p|^2, and the same of g'' and w'.
        normal = cross_nonzero(e, g[0])
        w, w_dot = (scale(dot(normal, g[order]) * (1.0 / square), e) for order in (1, 2))
        self._set_frame(body, np.stack(columns), known[0], AngularMotion(w, w_dot))
        return True

    def _solve_any(self, body: int, known: list[KnownPoint]) -> bool:
        """From the two vectors that span the largest area."""
        vectors = self._vectors(body)
        pairs = list(combinations(range(len(vectors)), 2))
        areas = [float(np.linalg.norm(np.cross(vectors[i].local, vectors[j].local))) for i, j in pairs]
        if not pairs or max(areas) < (_SHORT * self.robot.size) ** 2:
            return False
        pair = [vectors[k] for k in pairs[index_of_largest(np.array(areas))]]
        first, second = (vector.local for vector in pair)
        g = [vector.position for vector in pair]
        third, normal = cross_jets(*g), cross(first, second)
        square = float(dot(normal, normal))
        # The inverse of [l_1 l_2 l_1 x l_2], row by row.
        L = np.stack([cross(second, normal), cross(normal, first), normal]) / square
        L = round_to_zero(L * self.robot.size) / self.robot.size
        columns = []
        for order in range(3):
            spanned = [g[0][order], g[1][order], third[order]]
            columns.append(pack([weighted_sum(spanned, L[:, column]).tolist() for column in range(3)]))
        self._set_frame(body, np.stack(columns), known[0], _angular_motion(g, third[0], square))
        return True

    def _set_frame(
        self, body: int, columns: Array, known: KnownPoint, turning: AngularMotion | None = None
    ) -> None:
        """A body from a point and the columns of its orientation, [order, column, entry]."""
        origin = [
            add(row, -weighted_sum(list(columns[order]), known.local))
            for order, row in enumerate(known.position)
        ]
        still = columns.dtype != object and not np.any(columns[1:])
        turning = AngularMotion(ZERO, ZERO) if still else turning
        assert turning is not None
        pose = Pose(columns[0].T, origin[0])
        points = tuple(PrescribedPoint(point.local, *point.position) for point in self.points[body])
        rates = None if still else columns[1:]
        self.frames[body] = PrescribedFrame(pose, *turning, origin[1], origin[2], points=points, rates=rates)


def _angular_motion(g: list[Jet], n: Array, square: float) -> AngularMotion:
    """Angular velocity and its derivative from two vectors of a body, n = g_1 x g_2, |n|^2 constant.

        w = ((g_2' . n) g_1 - (g_1' . n) g_2 + (g_1' . g_2) n) / |n|^2

    and w' by the same of g_i'' - w x g_i'.
    """
    one_jet, two_jet = g

    def rotation_between(first: Array, second: Array) -> Array:
        total = add(scale(dot(second, n), one_jet[0]), scale(-dot(first, n), two_jet[0]))
        return scale(1.0 / square, add(total, scale(dot(first, two_jet[0]), n)))

    w = rotation_between(one_jet[1], two_jet[1])
    w_dot = rotation_between(
        add(one_jet[2], -cross_nonzero(w, one_jet[1])), add(two_jet[2], -cross_nonzero(w, two_jet[1]))
    )
    return AngularMotion(w, w_dot)


def _point_jet(frame: PrescribedFrame, b: Array) -> Jet:
    """Motion p, p', p'' (3, 3), base axes, of the point b (3,) in the frame of a placed body."""
    given_point = frame.prescribed_point(b)
    p = add(frame.pose.p, product(frame.pose.R, b)) if given_point is None else given_point.p
    return pack([row.tolist() for row in (p, frame.velocity(b), frame.acceleration(b))])
