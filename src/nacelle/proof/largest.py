"""The largest box, cylinder or sphere of positions around a pose that is proved inside.

A shape of the size s is proved inside, for all required orientations, if all boxes that cover it are, those
left out that do not touch it. The size is found by bisection: of two sizes the smaller is proved, the larger
not, with as many boxes as allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import did_you_mean
from nacelle.kinematics.pose_input import check_poses, reference_pose
from nacelle.model.platform import AXES
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.proof.equations import ProofError
from nacelle.proof.region import Margins, PoseRegion, pose_region
from nacelle.proof.workspace import INSIDE, OUTSIDE, decide, halve_boxes
from nacelle.spatial.scalar import Array

SHAPES = ("box", "cylinder", "sphere")


class ProvenShape(NamedTuple):
    """A shape that is proved inside.

    Attributes:
        shape: "box", "cylinder" (its axis along z) or "sphere".
        size: half the side, or the radius and half the height, m; 0 if none was proved.
        beyond: the least size that was not proved, m.
        boxes: how many boxes prove it.
        region: its poses: the box about the shape, with the orientations.
    """

    shape: str
    size: float
    beyond: float
    boxes: int
    region: PoseRegion | None


def largest_shape(
    robot: Robot,
    largest: float,
    *,
    shape: str = "box",
    orientations: Mapping[str, tuple[float, float]] | None = None,
    at: Any = None,
    margins: Margins | None = None,
    boxes: int = 100_000,
    steps: int = 10,
) -> ProvenShape:
    """The largest shape of positions around a pose that is proved inside the workspace.

    Args:
        robot: the robot.
        largest: the size from which is searched downwards, m.
        shape: "box" with equal sides, "cylinder" as high as wide, about z, or "sphere".
        orientations: (lowest, highest) of coordinates that all positions are to allow, rad.
        at: the pose (nx,) in the middle; the reference pose if None.
        margins: from singularities; `Margins()` if None.
        boxes: how many boxes are evaluated at most for each size.
        steps: how many sizes are tried.

    Raises:
        ProofError: if the shape or a coordinate is not one, or the size is not above zero.
    """
    if shape not in SHAPES:
        raise ProofError(f"no shape is called {shape!r}; {did_you_mean(shape, SHAPES)}")
    if not largest > 0.0 or steps < 1 or boxes < 1:
        raise ProofError(f"largest = {largest}, steps = {steps} and boxes = {boxes} must be above zero")
    layout, start = (
        layout_of(robot.motion),
        check_poses(robot, reference_pose(robot) if at is None else at)[0],
    )
    names = [name for name in layout.x_names if name in AXES[:3]]
    if not names:
        raise ProofError(f"{robot.name} has no translations")
    low, high, result = 0.0, largest, ProvenShape(shape, 0.0, largest, 0, None)
    size = largest
    for _ in range(steps):
        over = {
            name: (start[layout.x_index(name)] - size, start[layout.x_index(name)] + size) for name in names
        }
        region = pose_region(robot, {**over, **(orientations or {})}, start, margins)
        count = _count_inside(region, shape, len(names), boxes)
        if count:
            low, result = size, ProvenShape(shape, size, high, count, region)
        else:
            high = size
        if low == largest:
            break
        size = 0.5 * (low + high)
    return result._replace(beyond=high if result.size < largest else float("inf"))


def _count_inside(region: PoseRegion, shape: str, positions: int, most: int) -> int:
    """How many boxes prove that all poses of a shape are inside; 0 if they do not."""
    middle = region.box[:positions].mean(axis=1)
    size = 0.5 * float(np.diff(region.box[0])[0])
    boxes = region.box[None]
    holding = np.zeros((1, len(region.sign_names) + 1), dtype=bool)
    evaluated = proved = 0
    while len(boxes):
        evaluated += len(boxes)
        if evaluated > most:
            return 0
        decision = decide(region, boxes, holding)
        if np.any((decision.code == OUTSIDE) & _are_within(boxes[:, :positions], middle, size, shape)):
            return 0
        proved += int(np.count_nonzero(decision.code == INSIDE))
        left = decision.code != INSIDE
        boxes = halve_boxes(boxes[left], decision.side[left].astype(int))
        holding = np.repeat(decision.holding[left], 2, axis=0)
        touching = _nearest(boxes[:, :positions], middle, shape) <= size * (1.0 + 1e-12)
        boxes, holding = boxes[touching], holding[touching]
    return proved


def _nearest(boxes: Array, middle: Array, shape: str) -> Array:
    """Distances (N,) from the middle to boxes (N, k, 2), as the shape measures them."""
    gaps = np.maximum(np.maximum(boxes[..., 0] - middle, middle - boxes[..., 1]), 0.0)
    return _measure(gaps, shape)


def _are_within(boxes: Array, middle: Array, size: float, shape: str) -> Array:
    """Whether the middles of boxes (N, k, 2) are in the shape."""
    return np.asarray(_measure(np.abs(boxes.mean(axis=-1) - middle), shape) <= size)


def _measure(gaps: Array, shape: str) -> Array:
    if shape == "box":
        return np.asarray(gaps.max(axis=-1))
    if shape == "sphere" or gaps.shape[-1] < 3:
        return np.asarray(np.sqrt((gaps**2).sum(axis=-1)))
    return np.asarray(np.maximum(np.sqrt((gaps[..., :2] ** 2).sum(axis=-1)), gaps[..., 2]))
