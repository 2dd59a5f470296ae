"""Placing a leg: turned, shifted and mirrored, on the base's side and on the platform's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nacelle.model.description.body import DisplaySpec, FlexibleSpec
from nacelle.model.description.frame import PlacementSpec
from nacelle.model.joint import Interval, Joint, JointKind, Primitive
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array

# Sines of angles between axes that are parallel.
_PARALLEL = 1e-9


class Placement(NamedTuple):
    """Where a leg is placed.

    Attributes:
        base: placement of its frames on the base.
        platform: placement of its frames on the platform.
        mirror: reflection (3, 3) of the whole leg before that, or None.
    """

    base: Pose = identity()
    platform: Pose = identity()
    mirror: Array | None = None


def read_placement(spec: PlacementSpec) -> Placement:
    """The placement of a leg."""
    base = spec.pose()
    platform = spec.platform.pose() if spec.platform is not None else Pose(base.R, np.zeros(3))
    mirror = None
    if spec.mirror is not None:
        mirror = np.eye(3)
        mirror["xyz".index(spec.mirror), "xyz".index(spec.mirror)] = -1.0
    return Placement(base, platform, mirror)


def joint_mirror(kind: JointKind) -> Array:
    """Reflection of a joint's own frame that keeps its coordinates.

    The inversion -1 commutes with every rotation, so turning joints keep their angles; a prismatic
    joint keeps its stroke under the reflection of x. Slides of the other kinds change sign.
    """
    return np.diag([-1.0, 1.0, 1.0]) if kind is JointKind.PRISMATIC else -np.eye(3)


def mirror_slides(joint: Joint) -> Joint:
    """Change the sign of the slides of cylindrical and C5 joints in a mirrored leg.

    With the coordinate its guess, its limits, the rest of its spring and a constant force change sign;
    all other friction is odd in the rate and stays.
    """
    if joint.kind is JointKind.PRISMATIC:
        return joint
    guess, start = list(joint.guess), 0
    limits, springs, friction = list(joint.limits), list(joint.springs), list(joint.friction)
    for k, primitive in enumerate(joint.primitives):
        if not primitive.is_rotation:
            guess[start] = -guess[start] + 0.0
            limits[k] = Interval(-limits[k].upper, -limits[k].lower)
            spring = springs[k]
            if spring is not None:
                springs[k] = replace(spring, rest=-spring.rest + 0.0)
            friction[k] = tuple(
                replace(term, coefficient=-term.coefficient) if term.basis == "constant" else term
                for term in friction[k]
            )
        start += primitive.nq
    return replace(
        joint, guess=tuple(guess), limits=tuple(limits), springs=tuple(springs), friction=tuple(friction)
    )


def mirror_branch_sign(joints: Sequence[Joint], closures: Sequence[Joint]) -> int:
    """Sign that the determinant of a leg's Jacobian changes by in the mirror image at the same joint values.

    Rows change with the axes of the closures' frames (`joint_mirror`), columns with slides
    (`mirror_slides`). Rows that are zero all the time, out of the plane of a planar leg, do not count.

    Args:
        joints: its tree joints, in order.
        closures: its closures.
    """
    R: dict[int, Array] = {}
    axes: dict[bool, list[Array]] = {True: [], False: []}
    flips = 0
    for joint in joints:
        at = R.get(joint.predecessor, np.eye(3)) @ joint.frame_predecessor.R.astype(float)
        R[joint.successor] = at @ joint.frame_successor.R.T.astype(float)
        for primitive in joint.primitives:
            directions = at.T if primitive is Primitive.SPHERICAL else [at[:, primitive.axis]]
            axes[primitive.is_rotation] += list(directions)
            flips += not primitive.is_rotation and joint.kind is not JointKind.PRISMATIC
    turns, slides = (np.reshape(axes[key], (-1, 3)) for key in (True, False))
    in_plane = np.linalg.matrix_rank(turns, tol=_PARALLEL) < 2 if len(turns) else True
    for closure in closures:
        side, frame = closure.predecessor, closure.frame_predecessor
        if side not in R:
            side, frame = closure.successor, closure.frame_successor
        e, sign = (R[side] @ frame.R.astype(float)).T, np.diag(joint_mirror(closure.kind))
        for what, *numbers in closure.locks:
            if what == "offset":
                still = np.linalg.norm(np.cross(turns, e[numbers[0]])) + np.linalg.norm(
                    slides @ e[numbers[0]]
                )
            else:
                still = np.linalg.norm(turns @ e[3 - sum(numbers)])
            if not in_plane or still > _PARALLEL:
                flips += np.prod(sign[numbers]) < 0.0
    return -1 if flips % 2 else 1


def place_display(shapes: list[DisplaySpec], mirror: Array | None) -> tuple[dict[str, Any], ...]:
    """Shapes as plain data, reflected with the leg."""
    result = []
    for shape in shapes:
        data = shape.model_dump(by_alias=True, exclude_none=True)
        if mirror is not None:
            for part, key in (("cylinder", "from"), ("cylinder", "to"), ("sphere", "at")):
                if part in data:
                    data[part][key] = tuple(float(v) + 0.0 for v in mirror @ np.array(data[part][key]))
            for part, spec in (("box", shape.box), ("mesh", shape.mesh)):
                if spec is not None:
                    data[part]["at"] = _mirror_frame(spec.at.pose(), mirror)
            if shape.mesh is not None:
                data["mesh"]["mirror"] = not shape.mesh.mirror
        result.append(data)
    return tuple(result)


def _mirror_frame(pose: Pose, mirror: Array) -> dict[str, Any]:
    """The frame of a reflected shape, as plain data.

    M (R x + p) = (M R D) (D x) + M p with D = diag(-1, 1, 1): M R D is a rotation, and D x is the shape
    with its own x turned around, which is the same for a box.
    """
    R = mirror @ pose.R @ np.diag([-1.0, 1.0, 1.0])
    return {
        "translation": tuple(float(v) + 0.0 for v in mirror @ pose.p),
        "rotation": {"matrix": tuple(tuple(float(v) + 0.0 for v in row) for row in R)},
    }


def place_beam(spec: FlexibleSpec, mirror: Array | None) -> dict[str, Any] | None:
    """How a link deforms as plain data, what is as by default left out, reflected with the leg."""
    data = spec.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True, exclude={"tips"})
    M = np.eye(3) if mirror is None else mirror
    for key in ("from", "to", "y"):
        if key in data:
            data[key] = tuple(float(v) + 0.0 for v in M @ np.array(data[key], dtype=float))
    tips = {} if spec.tips is None else {"from": spec.tips.start, "to": spec.tips.end}
    masses = {
        key: tuple(float(v) + 0.0 for v in transform_parameters(M, np.zeros(3), tip.ten()))
        for key, tip in tips.items()
        if tip is not None
    }
    return (data | ({"tips": masses} if masses else {})) or None
