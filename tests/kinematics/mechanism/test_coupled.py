"""Which coupled coordinates follow from the others, and how fast joints count."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.kinematics.mechanism.coupled import followers_of, winding
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.leg import PLATFORM
from support.described import mechanism
from support.random_robots import random_robot


@pytest.mark.parametrize("seed", range(8))
def test_couplings_hold_for_any_leaders(seed: int) -> None:
    robot = random_robot("coupled", seed)
    followers = followers_of(robot)
    rng = np.random.default_rng(seed)
    q = {j: float(rng.normal()) for j in followers.leaders}
    q |= followers.coordinates(q)
    assert len(followers.joints) == len(robot.couplings)
    for k in robot.couplings:
        joint = robot.joints[k]
        left = sum(factor * q[j] for j, factor in joint.terms) - joint.offset
        assert abs(left) < 1e-12 * max(1.0, *(abs(factor * q[j]) for j, factor in joint.terms))


def test_the_fast_joint_follows_and_coordinates_of_the_motion_do_not() -> None:
    screws = mechanism("ball_screws")
    names = [screws.joints[j].name for j in followers_of(screws).joints]
    assert names == [f"l{k}.screw" for k in range(1, 7)]
    wrist = mechanism("differential_wrist")
    assert {wrist.joints[j].name for j in followers_of(wrist).joints} == {"arm.left", "arm.right"}
    assert mechanism_of(wrist).ny == 0


def test_winding() -> None:
    """A screw of 2 pi / 0.01 rad/m and a bearing that takes its rotation off."""
    ratio = 2.0 * math.pi / 0.01
    J = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, ratio, -1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    assert winding(J, [0]) == pytest.approx([1.0, 1.0, ratio, ratio])


@pytest.mark.slow
def test_angles_of_coupled_joints_count_their_turns() -> None:
    robot = mechanism("belt_fivebar")
    x, _ = mechanism_of(robot).reference
    ik = nacelle.inverse_kinematics(robot, x)
    place = {joint.name: robot.q_slices[j].start for j, joint in enumerate(robot.tree_joints)}
    shoulder, motor = ik.q[place["left.shoulder"]], ik.q[place["left.motor"]]
    assert motor == pytest.approx(3.0 * (shoulder - math.radians(10.0)), abs=1e-12)
    assert abs(motor) > math.pi
    assert nacelle.forward_kinematics(robot, ik.actuators).x == pytest.approx(x, abs=1e-12)


def test_couplings_have_no_bodies() -> None:
    robot = mechanism("belt_fivebar")
    for k in robot.couplings:
        assert all(k not in robot.joints_at(body) for body in range(len(robot.bodies)))
    assert robot.joints_at(PLATFORM)


def test_couplings_that_hold_a_motion_are_named() -> None:
    """Two ratios between the same joints hold both; a third one, elsewhere, is not to blame."""
    text = """
format: nacelle/2
name: contradiction
motion: [a]
legs:
  - name: s
    bodies:
      one: {mass: 1 kg, com: 10 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
      two: {mass: 1 kg, com: 10 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
      wheel: {mass: 1 kg, com: 0 0 0 mm, inertia: 1e-4 1e-4 1e-4 kg*m^2}
    joints:
      a: {type: revolute, parent: base, child: one, axis: z, actuator: {}}
      b: {type: revolute, parent: one, child: two, at: 60 0 0 mm, axis: z}
      c: {type: revolute, parent: base, child: wheel, at: 0 60 0 mm, axis: z}
    couplings:
      k1: {joint: b, follows: a, ratio: 1}
      k2: {joint: b, follows: a, ratio: 2}
      k3: {joint: c, follows: a, ratio: 3}
"""
    with pytest.raises(
        DescriptionError, match=r"check the ratios of s\.k1, s\.k2: without one of them"
    ) as caught:
        nacelle.loads(text)
    assert "k3" not in str(caught.value)
