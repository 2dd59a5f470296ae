"""How a true robot differs from its model: anchors on the base, lengths of legs, zeros of encoders, warmth.

Leg i is fastened to the base at A_i in the model and at A_i + d_i + c (t - t_0) (A_i - A_0) in truth, d_i a
mistake of assembly (m), c the growth of a base that warms (1/s), A_0 the mean of the anchors. The joints that
a body of leg i carries are farther from the one that carries it by l_i times the mean of these distances, so
that parallelograms stay parallelograms. Encoders read q + z, z what their zeros are off by (rad or m).

    g(t) = [d_1 + c (t - t_0) (A_1 - A_0); ...; l_1; ...]           (4 legs,)    the numbers of the true robot

A leg moves as a whole with its anchor, so that it stays of its type. Not every direction is possible: a leg
of a planar robot cannot leave its plane, since the loops would not close. With D the derivative of the
closures' equations r by d_i and J that by all rates, d_i is possible where D d_i is in the range of J, at
the reference pose and near it; other parts of d_i are taken off.

`deviating_robot` puts the numbers, traced symbols too, into a robot: one program, compiled once, runs every
true robot, also while its anchors move.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.assembly import require_assembly, row_scale
from nacelle.kinematics.mechanism.closed import closed_near
from nacelle.kinematics.tree.closure import closure_state
from nacelle.kinematics.tree.number_tree import NumberTree
from nacelle.model.joint import Joint
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack

# A direction is possible if the closures are left open by less than this part of the way.
_POSSIBLE = 1e-6
# How far legs of the sample robot are moved, over the robot's size: what holds there holds nearby.
_SAMPLE = 0.01
# How far the platform is moved along its coordinates to look at other poses than the reference.
_REACH = (0.05, 0.02)


@dataclass(frozen=True, eq=False)
class Deviation:
    """What the true robot has otherwise than its model.

    Attributes:
        anchors: d, where each leg is fastened less where the model has it (legs, 3), base axes, m.
        lengths: l, how much longer the bodies of each leg are (legs,), 1.
        zeros: z, what each encoder reads less what is (actuators,), rad or m.
        growth: c, of the base, 1/s.
        begin: when it begins to grow, s.
    """

    anchors: Array
    lengths: Array
    zeros: Array
    growth: float = 0.0
    begin: float = 0.0

    @staticmethod
    def none(robot: Robot) -> Deviation:
        """A true robot that is its model."""
        legs = len(robot.legs)
        return Deviation(np.zeros((legs, 3)), np.zeros(legs), np.zeros(len(robot.actuators)))

    @staticmethod
    def drawn(
        robot: Robot,
        seed: int,
        *,
        anchors: float = 0.0,
        lengths: float = 0.0,
        zeros: float = 0.0,
        growth: float = 0.0,
        begin: float = 0.0,
    ) -> Deviation:
        """Draw one at random; equal seeds give equal directions, whatever the size.

        Args:
            robot: the model.
            seed: of the normal numbers.
            anchors: standard deviation of each coordinate of each anchor, m.
            lengths: standard deviation of the relative error of lengths, 1.
            zeros: standard deviation of the encoders' zeros, rad or m.
            growth: of the base, 1/s.
            begin: when it begins to grow, s.

        Raises:
            KinematicsError: if a size is negative or not finite.
        """
        sizes = {"anchors": anchors, "lengths": lengths, "zeros": zeros}
        for name, size in sizes.items():
            if not (np.isfinite(size) and size >= 0.0):
                raise KinematicsError(f"the size of the deviation of {name} is not negative, got {size:g}")
        rng = np.random.default_rng(seed)
        legs = len(robot.legs)
        d = np.einsum("kij,kj->ki", anchor_projectors(robot), rng.normal(size=(legs, 3)))
        return Deviation(
            anchors * d,
            lengths * rng.normal(size=legs),
            zeros * rng.normal(size=len(robot.actuators)),
            growth,
            begin,
        )

    def numbers(self, robot: Robot, time: float) -> Array:
        """Numbers g (4 legs,), m, at a time, s: displacements of anchors, base axes, then of lengths."""
        d = self.anchors
        if self.growth:
            d = d + (self.growth * max(0.0, time - self.begin)) * _outwards(robot)
        return np.concatenate([np.ravel(d), self.lengths])


def numbers_size(robot: Robot) -> int:
    """How many numbers g has."""
    return 4 * len(robot.legs)


def deviating_robot(robot: Robot, g: Any) -> Robot:
    """The true robot of numbers g (4 legs,); of traced symbols it is used to trace physics."""
    values = np.asarray(g)
    legs = len(robot.legs)
    owners = {body: k for k, leg in enumerate(robot.legs) for body in leg.bodies}
    spans = _spans(robot)

    def frame(body: int, own: Pose, other: int, outgoing: bool) -> Pose:
        if body in owners and outgoing:
            return Pose(own.R, _plus(own.p, values[3 * legs + owners[body]], spans[body]))
        if body == BASE and other in owners:
            k = 3 * owners[other]
            return Pose(own.R, pack([a + b for a, b in zip(own.p, values[k : k + 3], strict=True)]))
        return own

    def placed(j: int, joint: Joint) -> Joint:
        first, second = joint.predecessor, joint.successor
        return dataclasses.replace(
            joint,
            frame_predecessor=frame(first, joint.frame_predecessor, second, True),
            frame_successor=frame(second, joint.frame_successor, first, j >= robot.tree),
        )

    joints = tuple(placed(j, joint) for j, joint in enumerate(robot.joints))
    result = dataclasses.replace(robot, joints=joints)
    if values.dtype == object:
        object.__setattr__(result, "numeric", sample(robot))
        # Traced numbers decide nothing: what would look at their values takes the plain projection.
        object.__setattr__(result, "is_like_numeric", False)
    return result


def _spans(robot: Robot) -> dict[int, Array]:
    """From the joint that carries each body of a leg to the mean of the joints that it carries (3,), m."""
    carried: dict[int, list[Array]] = {}
    origin: dict[int, Array] = {}
    for j, joint in enumerate(robot.joints):
        carried.setdefault(joint.predecessor, []).append(joint.frame_predecessor.p)
        if j < robot.tree:
            origin[joint.successor] = joint.frame_successor.p
        else:
            carried.setdefault(joint.successor, []).append(joint.frame_successor.p)
    return {
        body: np.mean(carried[body], axis=0) - origin[body] if body in carried else np.zeros(3)
        for leg in robot.legs
        for body in leg.bodies
    }


def _plus(p: Array, factor: Any, span: Array) -> Array:
    """P + factor span over any scalar; coordinates along which there is no span stay numbers."""
    return pack([a + factor * b if b else a for a, b in zip(p.tolist(), span.tolist(), strict=True)])


@lru_cache(maxsize=32)
def sample(robot: Robot) -> Robot:
    """A true robot with numbers drawn at random, from which programs for all are made."""
    return deviating_robot(robot, sample_numbers(robot))


def sample_numbers(robot: Robot) -> Array:
    """Numbers g (4 legs,), m, of a small deviation, at which programs are traced."""
    rng = np.random.default_rng(7)
    legs = len(robot.legs)
    d = np.einsum("kij,kj->ki", anchor_projectors(robot), rng.uniform(0.3, 1.0, (legs, 3)) * robot.size)
    return np.concatenate([_SAMPLE * np.ravel(d), _SAMPLE * rng.uniform(0.3, 1.0, legs)])


@lru_cache(maxsize=32)
def anchor_projectors(robot: Robot) -> Array:
    """Projectors (legs, 3, 3) on the directions in which the anchor of each leg can be moved."""
    start = require_assembly(robot)
    rng = np.random.default_rng(3)
    states = [(start.platform, start.q, start.closures)]
    for reach in _REACH:
        near = closed_near(robot, start, reach, rng)
        if near is not None:
            states.append((near[0], near[1], near[3]))
    scale = row_scale(robot)[:, None]
    legs, step = len(robot.legs), 1e-2 * robot.size
    result = np.empty((legs, 3, 3))
    for k in range(legs):
        open_by = []
        for platform, q, closures in states:
            columns = []
            for axis in range(3):
                g = np.zeros(4 * legs)
                g[3 * k + axis] = step
                other = deviating_robot(robot, g)
                after = closure_state(other, NumberTree(other).motion(platform, q)).residual
                columns.append((after - closures.residual) / step)
            D, J = np.stack(columns, axis=1) / scale, closures.jacobian / scale
            open_by.append(D - J @ np.linalg.lstsq(J, D, rcond=1e-9)[0])
        result[k] = _null_space(np.concatenate(open_by) * robot.size)
    return result


def _null_space(A: Array) -> Array:
    """The projector (3, 3) on what A (rows, 3) takes to nothing."""
    _, values, rows = np.linalg.svd(np.concatenate([A, np.zeros((3, 3))]))
    null = rows[values < _POSSIBLE]
    return np.asarray(null.T @ null)


def _outwards(robot: Robot) -> Array:
    """Anchors less their mean (legs, 3), m, of the directions in which they can be moved."""
    places = []
    for leg in robot.legs:
        own = [
            joint.frame_predecessor.p if joint.predecessor == BASE else joint.frame_successor.p
            for joint in (robot.joints[j] for j in (*leg.joints, *leg.closures))
            if BASE in (joint.predecessor, joint.successor)
        ]
        if not own:
            raise KinematicsError(f"leg {leg.name!r} of {robot.name} is not fastened to the base")
        places.append(np.mean(own, axis=0))
    out = np.array(places) - np.mean(places, axis=0)
    return np.asarray(np.einsum("kij,kj->ki", anchor_projectors(robot), out))
