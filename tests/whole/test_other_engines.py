"""Simulation beside Pinocchio: the same motion from its tree, its loops and its accelerations.

Only the pose and the twist at the start are handed over. Pinocchio carries all coordinates of the tree, each
platform with its six freedoms, and the rods that spin idly; nothing of nacelle's dynamics is used there.
"""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from support.pinocchio_motion import PinocchioMotion
from support.sprung import sprung

Array = np.ndarray

# Springs, and pushes that take the platform far through its workspace.
PUSHED = [
    ("gough-stewart", 2e4, [0.8, -0.5, 0.4, 1.0, -1.5, 2.0]),
    ("delta", 60.0, [1.5, 0.9, 0.6]),
    ("quattro", 100.0, [1.5, 0.8, -0.5, 3.0]),
]


def reduced(robot: nacelle.Robot, moved: PinocchioMotion, q: Array) -> tuple[Array, Array]:
    """From Pinocchio's configurations the poses x without orientation, and the orientations (quat_xyzw)."""
    joints = [robot.q_slices[robot.joint(name)].start for name in robot.motion.joint_names]
    return np.concatenate([q[:, :3], q[:, moved.engine.places.q[joints]]], axis=1), q[:, 3:7]


def largest(array: Array) -> float:
    return float(np.max(np.abs(array)))


def apart(name: str, stiffness: float, push: list[float], until: float) -> float:
    """How far the two motions are apart: positions over the platform's way, orientations, joints."""
    robot, x = sprung(name, stiffness)
    t = np.linspace(0.0, until, round(20.0 * until) + 1)
    plant = nacelle.RigidPlant(robot, friction=False)
    ours = nacelle.simulate(plant, x, push, until=until, samples=len(t), events=[])
    assert ours.ok
    moved = PinocchioMotion(robot)
    q, v = moved.move(x, np.array(push), t)
    assert max(largest(moved.loops(*now).gap) for now in zip(q, v, strict=True)) < 1e-12
    theirs, quat = reduced(robot, moved, q)
    if robot.motion.name == "se3":
        mine, turned = ours.x[:, :3], ours.x[:, 3:]
    else:
        mine, turned = ours.x, np.tile([0.0, 0.0, 0.0, 1.0], (len(t), 1))
    way = largest(np.ptp(mine[:, :3], axis=0))
    assert way > 0.1 * robot.size
    gaps = theirs - mine
    gaps[:, :3] /= way
    same_side = np.sign(np.sum(quat * turned, axis=1))[:, None]
    return max(largest(gaps), largest(same_side * quat - turned))


@pytest.mark.parametrize(("name", "stiffness", "push"), PUSHED)
def test_the_same_motion_in_pinocchio(name: str, stiffness: float, push: list[float]) -> None:
    assert apart(name, stiffness, push, 1.0) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stiffness", "push"), PUSHED)
def test_the_same_motion_in_pinocchio_over_ten_seconds(
    name: str, stiffness: float, push: list[float]
) -> None:
    assert apart(name, stiffness, push, 10.0) < 3e-11
