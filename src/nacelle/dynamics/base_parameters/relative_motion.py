"""Which points of two bodies move alike, over all motions of a robot.

Points r_a of body a and r_b of body b move alike where their velocities are equal in every state,

    v_a + w_a x (R_a r_a) = v_b + w_b x (R_b r_b):

a point, a line or a space of pairs (r_a, r_b) + sum of s_i (e_a, e_b)_i, or none; without such points there
may still be directions e_a, e_b that turn alike. A mass at r_b then counts as a mass at r_a. Of neighbours
these are the points of their joint: the centre of a universal or spherical one, the axis of a revolute one;
two bodies on a prismatic joint share all directions. Loops join bodies that are no neighbours: the rods of a
parallelogram may move alike in all points, and every point of a platform that does not turn moves as the tips
of the legs do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.rates import rate_map
from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Rates that are this part of the largest are zero; lengths likewise, over the robot's size.
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Bond:
    """Points and directions of two bodies that move alike.

    Attributes:
        a: the one body.
        b: the other.
        point: r_a and r_b (2, 3), m, in the bodies' frames; None if no points move alike.
        directions: pairs e_a, e_b (k, 2, 3), along which further points, or directions alone, do.
    """

    a: int
    b: int
    point: Array | None
    directions: Array


@dataclass(frozen=True, eq=False)
class BodyMotions:
    """Twists of all bodies over sample states.

    Attributes:
        R: orientations (samples, bodies, 3, 3), base axes.
        p: origins (samples, bodies, 3), base axes, m.
        J: twists [v; w] at the bodies' origins (samples, bodies, 6, n) at unit v, base axes.
        size: of the robot, m.
    """

    R: Array
    p: Array
    J: Array
    size: float

    def bond(self, a: int, b: int) -> Bond:
        """Points and directions of two bodies that move alike."""
        A = np.concatenate([self._turning(a), -self._turning(b)], axis=1) * self.size
        right = (self.J[:, b, :3] - self.J[:, a, :3]).transpose(0, 2, 1).ravel()
        _, values, rows = np.linalg.svd(A, full_matrices=True)
        rank = int(np.count_nonzero(values > _NOTHING * self.rate * self.size * np.sqrt(len(A))))
        point = np.linalg.lstsq(A @ rows[:rank].T, right, rcond=None)[0] @ rows[:rank]
        left = np.max(np.abs(A @ point - right), initial=0.0)
        alike = left <= 1e2 * _NOTHING * self.rate * self.size
        directions = echelon(rows[rank:]).reshape(-1, 2, 3)
        return Bond(a, b, (point * self.size).reshape(2, 3) if alike else None, directions)

    def moves_alike(self, bond: Bond, point: Array) -> bool:
        """Whether a pair of points r_a, r_b (2, 3) moves alike."""
        left = (self.J[:, bond.a, :3] - self.J[:, bond.b, :3]).transpose(0, 2, 1).ravel()
        left = left + self._turning(bond.a) @ point[0] - self._turning(bond.b) @ point[1]
        return bool(np.max(np.abs(left)) <= 1e2 * _NOTHING * self.rate * self.size)

    def _turning(self, body: int) -> Array:
        """Matrix of w x (R r) over r, rows of all samples, unit motions and axes."""
        W = np.cross(
            self.J[:, body, 3:].transpose(0, 2, 1)[:, :, None, :], self.R[:, body].transpose(0, 2, 1)[:, None]
        )
        return np.asarray(W.transpose(0, 1, 3, 2).reshape(-1, 3))

    def friction_rate(self, joint: Joint, axis: str) -> Array:
        """Rates of a joint along one of its axes of friction, over all samples and unit motions.

        Of a spherical joint the relative angular velocity, base axes.
        """
        a, b = joint.predecessor, joint.successor
        w = self.J[:, b, 3:] - self.J[:, a, 3:]
        if axis == "ball":
            return np.asarray(w.ravel())
        R_a = self.R[:, a] @ np.asarray(joint.frame_predecessor.R, dtype=float)
        R_b = self.R[:, b] @ np.asarray(joint.frame_successor.R, dtype=float)
        second = joint.kind is JointKind.UNIVERSAL and axis == "ry"
        plane = joint.kind is JointKind.SPHERICAL_PLANAR
        direction = (R_b if second or plane else R_a)[:, :, "xyz".index(axis[1])]
        if axis[0] == "r":
            return np.asarray(np.einsum("si,sik->sk", direction, w).ravel())
        r_a = np.einsum("sij,j->si", self.R[:, a], np.asarray(joint.frame_predecessor.p, dtype=float))
        r_b = np.einsum("sij,j->si", self.R[:, b], np.asarray(joint.frame_successor.p, dtype=float))
        v_a = self.J[:, a, :3] + np.cross(self.J[:, a, 3:], r_a[:, :, None], axis=1)
        v_b = self.J[:, b, :3] + np.cross(self.J[:, b, 3:], r_b[:, :, None], axis=1)
        # Seen from the body that has the plane or the line.
        d = (self.p[:, b] + r_b) - (self.p[:, a] + r_a)
        owner = b if plane else a
        v = v_b - v_a - np.cross(self.J[:, owner, 3:], d[:, :, None], axis=1)
        return np.asarray(np.einsum("si,sik->sk", direction, v).ravel())

    @cached_property
    def rate(self) -> float:
        """The largest rate of a body, of points at the robot's size, 1/s at unit v."""
        return max(
            float(np.max(np.abs(self.J[:, :, 3:]))), float(np.max(np.abs(self.J[:, :, :3]))) / self.size
        )


def echelon(rows: Array) -> Array:
    """Rows (r, k) in reduced echelon form: the same space with leading ones, entries mostly whole."""
    rows = np.array(rows, dtype=float)
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) <= _NOTHING * np.max(np.abs(rows)):
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, column], rows[done])
        done += 1
    near = np.round(rows)
    return np.where(np.abs(rows - near) <= _NOTHING, near, rows)


@lru_cache(maxsize=32)
def sampled_twists(robot: Robot) -> BodyMotions:
    """Twists of all bodies at the sample states of the robot's plan."""
    R, p, J = [], [], []
    for x, y in plan_of(robot).samples:
        now = configuration(robot, x, y)
        U = np.asarray(rate_map(now), dtype=float)
        motion = now.motion
        R.append([pose.R for pose in motion.poses])
        p.append([pose.p for pose in motion.poses])
        J.append([np.asarray(motion.jacobian(body), dtype=float) @ U for body in range(len(robot.bodies))])
    return BodyMotions(
        np.array(R, dtype=float), np.array(p, dtype=float), np.array(J, dtype=float), float(robot.size)
    )


def neighbours(robot: Robot) -> list[tuple[int, int, int | None]]:
    """Pairs of bodies (a, b), those that a joint joins first, with that joint, each pair once.

    b is the successor of the joint, or the body of a leg where it ends at the nacelle, so that a is nearer to
    the base or on the nacelle.
    """
    nacelle = set(robot.nacelle.bodies)
    listed: dict[frozenset[int], tuple[int, int, int | None]] = {}
    for number, joint in enumerate(robot.joints):
        a, b = joint.predecessor, joint.successor
        if b in nacelle and a not in nacelle and a != BASE:
            a, b = b, a
        listed.setdefault(frozenset((a, b)), (a, b, number))
    for b in range(1, len(robot.bodies)):
        for a in range(b):
            listed.setdefault(frozenset((a, b)), (a, b, None))
    return list(listed.values())
