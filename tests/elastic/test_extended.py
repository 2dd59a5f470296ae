"""Robots as trees of frames: which links can be flexible, planes, ends, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.elastic.beam.ends import Carried
from nacelle.elastic.dynamics.plan import plan_of
from nacelle.elastic.extended import extended, plane_normal
from nacelle.elastic.forms import form_of
from nacelle.elastic.plant import ElasticPlant
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from support.flexible_robots import flexible, prrrp
from support.random_flexible import reframed


def turned_about(axis: int, degrees: float) -> Pose:
    from scipy.spatial.transform import Rotation

    return Pose(Rotation.from_euler("xyz"[axis], degrees, degrees=True).as_matrix(), np.zeros(3))


def test_ends_carry_what_their_joints_lock() -> None:
    free, locked = Carried(False, False, False), Carried(True, True, True)
    ends = {shapes.beam.name: shapes.ends for shapes in extended(flexible("delta", ("arm", "rod"))).shapes}
    assert ends["leg1.rod-a"] == (free, free)  # between spherical joints
    # At a motor all; at the end both rods sit on its y axis, about which they give no moment.
    assert ends["leg1.arm"] == (locked, Carried(True, False, True))
    ends = {shapes.beam.name: shapes.ends for shapes in extended(flexible("orthoglide")).shapes}
    assert ends["x-leg.rod-a"] == (Carried(True, True, False), Carried(True, True, False))
    planar = extended(flexible("fivebar")).shapes
    assert [shapes.ends[0].z for shapes in planar if "proximal" in shapes.beam.name] == [True, True]
    assert [shapes.ends[1].z for shapes in planar] == [False] * 4


def test_planes() -> None:
    np.testing.assert_array_equal(np.abs(plane_normal(prrrp())), [0.0, 1.0, 0.0])
    assert plane_normal(flexible("delta")) is None
    frame = extended(prrrp())
    assert frame.in_plane
    assert frame.names[:3] == ("leg1.2.axial-1", "leg1.2.bend-y-1", "leg1.2.bend-y-2")
    space = extended(prrrp(), planar=False)
    assert not space.in_plane
    assert space.ne > frame.ne


def test_a_section_across_the_plane_is_refused() -> None:
    robot = flexible("fivebar", section={"rectangle": (0.01, 0.02)})
    index = next(k for k, body in enumerate(robot.bodies) if "distal" in body.name)
    # Turned about the beam by a right angle it bends about its other axis; by 30 degrees about neither.
    extended(reframed(robot, index, turned_about(0, 90.0)))
    with pytest.raises(KinematicsError, match="does not lie in the plane"):
        extended(reframed(robot, index, turned_about(0, 30.0)))


def test_robots_without_flexible_links() -> None:
    robot = nacelle.load("fivebar")
    for function in (extended, plan_of, form_of, ElasticPlant):
        with pytest.raises(KinematicsError, match="no flexible link"):
            function(robot)


def driven_twice(robot: Robot, joint: str) -> Robot:
    """A robot with one more actuator."""
    extra = dataclasses.replace(robot.actuators[0], name="extra", joint=robot.joint(joint))
    return dataclasses.replace(robot, actuators=(*robot.actuators, extra))


def test_actuators_that_depend_on_each_other() -> None:
    robot = flexible("3rrr", ("leg1.coupler",))
    # The link's length is one freedom more: a fourth actuator moves apart from the three, a fifth does not.
    redundant = driven_twice(robot, "leg2.coupler-input")
    assert plan_of(redundant).na == 4
    with pytest.raises(KinematicsError, match="depend on each other"):
        plan_of(driven_twice(redundant, "leg3.coupler-input"))


def test_an_actuator_that_closes_a_loop() -> None:
    robot = flexible("3rrr", ("coupler",))
    closure = robot.joints[robot.tree].name
    with pytest.raises(KinematicsError, match="where a loop is cut"):
        plan_of(driven_twice(robot, closure))


def test_forms_that_do_not_exist() -> None:
    with pytest.raises(KinematicsError, match="condensed"):
        form_of(prrrp(), "condensd")
    with pytest.raises(KinematicsError, match="does not support"):
        form_of(flexible("orthoglide"), "condensed")
    assert form_of(flexible("orthoglide")).name == "assembled"
    assert form_of(flexible("fivebar", ("proximal",))).name == "general"
