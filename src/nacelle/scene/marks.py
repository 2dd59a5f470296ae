"""How joints are marked: pins along axes, crosses, balls, sleeves of slides; each on the body that holds it.

All in base axes, m, at the pose at which the robot is placed.
"""

from __future__ import annotations

import numpy as np

from nacelle.model.joint import Joint, JointKind
from nacelle.model.leg import BASE
from nacelle.scene.faces import faces
from nacelle.shapes.placed import PlacedRobot, slides_along
from nacelle.shapes.solid import Ball, Block, Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Lengths as parts of the robot's extent: a joint, and the largest one.
_JOINT = 0.011
_LARGEST = 0.03


def joint_marks(placed: PlacedRobot, j: int) -> list[tuple[int, Solid]]:
    """The solids that mark a joint, each with the index of its body; none for what is fixed."""
    joint, (fixed, moving) = placed.robot.joints[j], placed.ends[j]
    before, after = joint.predecessor, joint.successor
    r = _radius(placed, joint)
    if joint.kind is JointKind.FIXED:
        return []
    if placed.spherical:
        fixed, moving = Pose(fixed.R, placed.tip(j)), Pose(moving.R, placed.tip(j))
    if joint.kind is JointKind.REVOLUTE:
        return [(after, _pin(moving.p, moving.R[:, 2], r))]
    if slides_along(joint):
        return [_sleeve(placed, j)]
    if joint.kind is JointKind.UNIVERSAL:
        # The cross: a pin that turns in the predecessor, and one across it in the successor.
        return [
            (before, _pin(fixed.p, fixed.R[:, 0], 0.75 * r, 2.0)),
            (after, _pin(moving.p, moving.R[:, 1], 0.75 * r, 2.0)),
        ]
    if joint.kind in (JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR):
        # The ball slides on a plane: that of the predecessor, or that of the successor.
        on, ball = (fixed, moving) if joint.kind is JointKind.PLANAR_SPHERICAL else (moving, fixed)
        plane, owner = (before, after) if joint.kind is JointKind.PLANAR_SPHERICAL else (after, before)
        face = Block(Pose(on.R, ball.p), np.array([5.5 * r, 5.5 * r, 0.4 * r]))
        return [(owner, Ball(ball.p, 1.15 * r)), (plane, face)]
    return [(after, Ball(moving.p, 1.15 * r))]


def _pin(centre: Array, axis: Array, r: float, reach: float = 1.6) -> Rod:
    return Rod(centre - reach * r * axis, centre + reach * r * axis, r)


def _radius(placed: PlacedRobot, joint: Joint) -> float:
    """A joint is a little thicker than what passes through it, within reason."""
    r = _JOINT * placed.extent
    for b, frame in ((joint.predecessor, joint.frame_predecessor), (joint.successor, joint.frame_successor)):
        for solid in described_solids(placed.robot.bodies[b]):
            if isinstance(solid, Ball):
                if float(np.linalg.norm(frame.p - solid.centre)) < solid.radius:
                    r = max(r, 0.8 * solid.radius)
            elif isinstance(solid, Rod):
                start, bar = solid.start, solid.stop - solid.start
                length = float(np.linalg.norm(bar))
                foot = start + bar * np.clip((frame.p - start) @ bar / max(length, 1e-300) ** 2, 0.0, 1.0)
                near = float(np.linalg.norm(frame.p - foot)) < solid.radius
                if near and length > 3.0 * solid.radius:
                    r = max(r, 1.15 * solid.radius)
    return min(r, _LARGEST * placed.extent)


def _sleeve(placed: PlacedRobot, j: int) -> tuple[int, Solid]:
    """The mark of a slide: at the mouth of a tube, or through the slider on a rail."""
    joint, (fixed, moving) = placed.robot.joints[j], placed.ends[j]
    axis, size = fixed.R[:, 2], 1.3 * _JOINT * placed.extent
    mouth, r = _mouth(placed, j)
    if mouth is not None:
        centre = fixed.p + mouth * axis
        return joint.predecessor, Rod(centre - size * axis, centre + size * axis, r)
    spans = [
        (faces(solid, placed.extent).reshape(-1, 3) - moving.p) @ axis
        for solid in placed.described(joint.successor)
    ]
    # Longer than a described slider, or around the ball that is drawn without one.
    r, reach = 1.65 * _JOINT * placed.extent, 1.7 * size
    if spans:
        r = 0.95 * _JOINT * placed.extent
        reach = min(max(float(np.max(np.abs(span))) for span in spans), 0.1 * placed.extent) + 2.5 * r
    return joint.successor, Rod(moving.p - reach * axis, moving.p + reach * axis, r)


def _mouth(placed: PlacedRobot, j: int) -> tuple[float | None, float]:
    """Where along the axis the tube of a pair ends, and the radius of its collar; None on a rail."""
    joint, (fixed, _) = placed.robot.joints[j], placed.ends[j]
    if joint.predecessor == BASE:
        return None, 0.0
    axis, sign = fixed.R[:, 2], np.sign(placed.stroke(j)) or 1.0
    for solid in placed.described(joint.predecessor):
        if isinstance(solid, Rod):
            ends = [end - fixed.p for end in (solid.start, solid.stop)]
            low, high = sorted((float(axis @ end) for end in ends), key=lambda s: s * sign)
            if abs(high - low) > 0.99 * float(np.linalg.norm(ends[1] - ends[0])):
                return high, 1.15 * solid.radius
    pair = placed.telescope(j)
    return (None, 0.0) if pair is None else (pair.tube[1], 1.3 * _JOINT * placed.extent)
