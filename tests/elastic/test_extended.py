"""Robots as trees of frames: which links can be flexible, planes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.elastic.extended import extended, plane_normal
from nacelle.elastic.forms import form_of
from nacelle.elastic.plant import ElasticPlant
from nacelle.errors import KinematicsError
from nacelle.spatial.pose import Pose
from support.flexible_robots import flexible, prrrp
from support.random_flexible import reframed


def turned_about(axis: int, degrees: float) -> Pose:
    from scipy.spatial.transform import Rotation

    return Pose(Rotation.from_euler("xyz"[axis], degrees, degrees=True).as_matrix(), np.zeros(3))


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
    for function in (extended, rate_choice, form_of, ElasticPlant):
        with pytest.raises(KinematicsError, match="no flexible link"):
            function(robot)
