"""Which anchors can be told: a strut's anchor slides along the strut unseen at one pose."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.vision.cylinders import visible_cylinders
from nacelle.vision.observer.identifiability import identifiable_anchors
from support.observed import camera_of
from support.sightings import poses


def test_anchors_of_struts():
    robot = nacelle.load("gough-stewart")
    camera = camera_of(robot)
    few = poses(robot, 3, np.random.default_rng(0))
    once = identifiable_anchors(robot, camera, few[:1])
    assert len(once.undetermined) == 6
    # The six lie along the six struts.
    R = nacelle.inverse_kinematics(robot, few[0]).bodies.R
    for k, leg in enumerate(robot.legs):
        strut = next(c for c in visible_cylinders(robot) if c.leg == k)
        along = np.zeros(18)
        along[3 * k : 3 * k + 3] = R[strut.body] @ strut.direction
        unseen = once.directions[:6]
        assert np.linalg.norm(unseen @ along) == pytest.approx(1.0, abs=1e-6), leg.name
    assert identifiable_anchors(robot, camera, few[:1], encoders=1e-5).undetermined == ()
    more = identifiable_anchors(robot, camera, few)
    assert more.undetermined == ()
    assert more.sigma[0] < 0.01


def test_one_cylinder_tells_little():
    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    cylinders = visible_cylinders(robot)
    said = identifiable_anchors(robot, camera_of(robot), [x], cylinders=cylinders[3:])
    assert len(said.undetermined) >= 2
    assert all("proximal-input" in words for words in said.undetermined)
    assert identifiable_anchors(robot, camera_of(robot), [x]).sigma[-1] < 1e-3
