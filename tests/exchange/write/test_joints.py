"""Joints of a robot as links: their motion, what acts along their axes, and what is reported as lost."""

import math

import numpy as np
import pytest

from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.write.joints import JointLinks
from nacelle.kinematics.limits import closure_coordinates
from nacelle.model.data import Actuator
from nacelle.model.joint import FrictionTerm, Joint, JointKind, Spring, Stop
from nacelle.spatial.pose import Pose, identity
from support.random_robots.numbers import coordinates, random_pose, relative_pose

KINDS = [kind for kind in JointKind if kind not in (JointKind.POINT, JointKind.COUPLING)]


@pytest.mark.parametrize("kind", KINDS)
def test_links_move_as_the_joint(kind: JointKind) -> None:
    rng = np.random.default_rng(3)
    first, second = random_pose(rng), random_pose(rng)
    joint = Joint("a", kind, 1, 2, first, second)
    values = list(coordinates(kind, rng))
    moved = relative_pose(kind, values)
    links = JointLinks({}, lambda name: name, ExchangeReport()).links(joint, "a", ("one", "two"), values)
    assert (links[0].parent, links[-1].child) == ("one", "two")
    for order in (links, [link.reversed() for link in reversed(links)]):
        pose = identity()
        for link in order:
            pose = pose @ link.pose()
        there = first @ moved @ second.inverse()
        want = there if order is links else there.inverse()
        np.testing.assert_allclose(pose.R, want.R, atol=1e-14)
        np.testing.assert_allclose(pose.p, want.p, atol=1e-14)
    back = relative_pose(kind, closure_coordinates(joint, moved.R, moved.p).tolist())
    np.testing.assert_allclose(back.R, moved.R, atol=1e-14)
    np.testing.assert_allclose(back.p, moved.p, atol=1e-14)


def test_what_acts_along_an_axis_goes_along() -> None:
    terms = (
        FrictionTerm("viscous", 1.0),
        FrictionTerm("coulomb", 2.0),
        FrictionTerm("cubic", 3.0),
        FrictionTerm("coulomb-smooth", 0.5, 0.1),
        FrictionTerm("stribeck", 4.0, 0.1),
    )
    joint = Joint(
        "leg.turn",
        JointKind.REVOLUTE,
        0,
        2,
        friction=(terms,),
        springs=(Spring(5.0, 0.3),),
        stops=(Stop(6.0, 7.0),),
        rotor_inertia=0.1,
        gear_ratio=3.0,
        limits=((4.0, 7.0),),
        drive_stiffness=100.0,
    )
    report = ExchangeReport()
    made = JointLinks({"leg.turn": Actuator("drive", 0, force=8.0)}, lambda name: name, report)
    (link,) = made.links(joint, "turn", ("base", "arm"), [-1.0])
    made.note_losses()
    (axis,) = link.axes
    assert (axis.damping, axis.coulomb, axis.quadratic, axis.cubic) == (1.0, 2.5, 0.0, 3.0)
    assert (axis.stiffness, axis.rest, axis.stop) == (5.0, 0.3, 6.0)
    assert axis.armature == pytest.approx(0.9)
    # A whole turn further on it is within the limits.
    assert axis.value == pytest.approx(2.0 * math.pi - 1.0)
    assert axis.motor is not None
    assert (axis.motor.name, axis.motor.gear, axis.motor.force) == ("drive", 3.0, 8.0)
    words = " ".join(report.losses)
    for word in ("smooth", "stribeck", "dampers of end stops", "elasticity of drives"):
        assert word in words
    assert len(report.losses) == 4


def test_friction_of_spherical_joints_is_viscous() -> None:
    report = ExchangeReport()
    terms = ((FrictionTerm("viscous", 1.0), FrictionTerm("coulomb", 2.0)),)
    joint = Joint(
        "ball", JointKind.SPHERICAL, 0, 2, Pose(np.eye(3), np.ones(3)), friction=terms, rotor_inertia=0.2
    )
    made = JointLinks({}, lambda name: name, report)
    (link,) = made.links(joint, "ball", ("base", "rod"), [0.0, 0.0, 0.0, 1.0])
    made.note_losses()
    assert (link.damping, link.armature) == (1.0, 0.2)
    assert "coulomb friction of spherical joints left out" in report.losses[0]
