"""Legs with a parallelogram: arm or slider, hub, two equal rods, an end that stays parallel to the hub.

The rods a and b turn about parallel axes on hub and end, whose sides are equal and lie along the hub's axis.
So the end only translates in the hub, R_hub_end is constant, and the wrist is at

    p_wrist = offset + rod,     offset = p_a + R_hub_end (p_wrist - p_end) constant, rod = Rot(axis, angle) d

in the hub: the leg is an arm d on a universal joint (hub's axis, rods' axis) whose centre is at the offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.legs.chain import TOLERANCE, are_parallel, are_perpendicular, is_on_axis
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, cross, divide, norm, plus, product


@dataclass(frozen=True)
class Parallelogram:
    """A leg with a hub, two rods and an end: its joints by their part."""

    root: int
    hub: int
    rod_a: int
    rod_b: int
    end: int
    fold: int
    wrist: int


def recognise_parallelogram(robot: Robot, leg: Leg) -> Parallelogram | None:
    """Read a leg as arm or slider, hub, parallelogram and a hinge on the platform parallel to the hub's.

    The two rods are equal and the two hinge lines as well, the hubs' axes lie along the short sides, so the
    end moves parallel to the hub, and the middle of the parallelogram's sides form an arm on a universal
    joint.
    """
    joints = robot.joints

    def behind(j: int) -> list[int]:
        """Tree joints on the body that a joint places."""
        return [k for k in leg.joints if joints[k].predecessor == joints[j].successor]

    root, *tree = leg.joints or (-1,)
    if len(tree) != 4 or len(leg.closures) != 2 or joints[root].predecessor != BASE:
        return None
    if any(joints[j].kind is not JointKind.REVOLUTE for j in (*tree, *leg.closures)):
        return None
    hubs = behind(root)
    rods = behind(hubs[0]) if len(hubs) == 1 else []
    # The end hangs on one of the rods; the other one is joined to it by a closure.
    rods.sort(key=lambda j: not behind(j))
    ends = [k for j in rods for k in behind(j)]
    if len(rods) != 2 or len(ends) != 1 or joints[root].kind not in (JointKind.PRISMATIC, JointKind.REVOLUTE):
        return None
    end = joints[ends[0]].successor
    folds = [
        c
        for c in leg.closures
        if (joints[c].predecessor, joints[c].successor) == (joints[rods[1]].successor, end)
    ]
    wrists = [c for c in leg.closures if joints[c].predecessor == end]
    if len(folds) != 1 or len(wrists) != 1:
        return None
    candidate = Parallelogram(root, hubs[0], rods[0], rods[1], ends[0], folds[0], wrists[0])
    return candidate if _is_parallelogram(robot, candidate, robot.size) else None


def _is_parallelogram(robot: Robot, p: Parallelogram, size: float) -> bool:
    """Whether equal sides and parallel axes make the leg a parallelogram indeed."""
    hub, rod_a, rod_b = (robot.joints[j] for j in (p.hub, p.rod_a, p.rod_b))
    end, fold, wrist = (robot.joints[j] for j in (p.end, p.fold, p.wrist))
    # For each body of the loop the frames of its two hinges: the sides are the ways between them.
    sides = {
        "hub": (rod_a.frame_predecessor, rod_b.frame_predecessor),
        "end": (end.frame_successor, fold.frame_successor),
        "a": (rod_a.frame_successor, end.frame_predecessor),
        "b": (rod_b.frame_successor, fold.frame_predecessor),
    }
    length = {name: float(np.linalg.norm(second.p - first.p)) for name, (first, second) in sides.items()}

    def along(hinge: Pose, first: Pose, second: Pose) -> bool:
        return is_on_axis(hinge.R.T @ (second.p - first.p), size)

    return (
        all(are_parallel(first.inverse() @ second) for first, second in sides.values())
        and are_perpendicular(hub.frame_successor.inverse() @ rod_a.frame_predecessor)
        and abs(length["hub"] - length["end"]) < TOLERANCE * size
        and abs(length["a"] - length["b"]) < TOLERANCE * size
        and along(hub.frame_successor, *sides["hub"])
        and along(wrist.frame_predecessor, *sides["end"])
    )


def arm_offset(robot: Robot, p: Parallelogram) -> tuple[Array, Array]:
    """Constant orientation (3, 3) of the end in the hub, and the wrist (3,), m, for rods of no length."""
    rod_a, rod_b = robot.joints[p.rod_a], robot.joints[p.rod_b]
    end, fold, wrist = (robot.joints[j] for j in (p.end, p.fold, p.wrist))
    width_hub = plus(rod_a.frame_predecessor.p, -rod_b.frame_predecessor.p)
    width_end = plus(end.frame_successor.p, -fold.frame_successor.p)

    def frame(x: Array, z: Array) -> Array:
        x = x * divide(1.0, norm(x))
        return np.stack([x, cross(z, x), z], axis=1)

    # The end's hinge axis seen in the hub: the rods keep the axes of their two hinges parallel.
    hinge_axis = product(rod_a.frame_successor.R.T, end.frame_predecessor.R[:, 2])
    z_hub = product(rod_a.frame_predecessor.R, hinge_axis)
    R_hub_end = product(frame(width_hub, z_hub), frame(width_end, end.frame_successor.R[:, 2]).T)
    reach = plus(wrist.frame_predecessor.p, -end.frame_successor.p)
    offset = plus(rod_a.frame_predecessor.p, product(R_hub_end, reach))
    return R_hub_end, offset


def arm_geometry(robot: Robot, p: Parallelogram) -> tuple[Pose, Array]:
    """The centre of the arm behind the root joint, and the rod (3,), m, in the axes of its own joint."""
    root, hub, rod_a, end = (robot.joints[j] for j in (p.root, p.hub, p.rod_a, p.end))
    _, offset = arm_offset(robot, p)
    to_hub = hub.frame_successor.inverse()
    # Behind the hub's turn its axis is z; the wrist is at a constant height over it.
    centre = Pose(np.eye(3), plus(product(to_hub.R, offset), to_hub.p))
    d = product(rod_a.frame_successor.R.T, plus(end.frame_predecessor.p, -rod_a.frame_successor.p))
    return root.frame_successor.inverse() @ hub.frame_predecessor @ centre, np.asarray(d)
