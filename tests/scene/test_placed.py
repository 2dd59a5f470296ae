"""What is drawn of a robot: struts, plates, arcs on a sphere, where nothing is described."""

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.scene.placed import scene
from support.library import library_robot


def bare(name):
    robot = library_robot(name)
    return replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))


def body_of(view, name):
    return next(part for part in view.bodies if part.name == name)


@pytest.mark.parametrize(("name", "corners"), [("gough-stewart", 6), ("3rps", 3), ("3rrr", 3)])
def test_platforms_without_shapes_are_plates(name, corners):
    robot = bare(name)
    view = scene(robot)
    solid = body_of(view, robot.bodies[1].name).solids[0]
    poses = inverse_kinematics(robot, reference_pose(robot)).bodies
    ends = np.array(
        [poses.R[1] @ joint.frame_successor.p + poses.p[1] for joint in robot.joints if joint.successor == 1]
    )
    assert len(np.unique(ends.round(9), axis=0)) == corners
    near = np.linalg.norm(solid.reshape(-1, 1, 3) - ends, axis=2).min(axis=0)
    np.testing.assert_allclose(near, 0.005 * view.extent, rtol=1e-6)


AGILE_EYE = """
format: nacelle/1
name: eye
motion: [rx, ry, rz]
nacelle: {name: camera, mass: 0.3 kg, com: 0 0 5 mm, inertia: 0.0003 0.0003 0.0002 kg*m^2}
templates:
  leg:
    bodies:
      proximal: {mass: 0.15 kg, com: 40 0 -40 mm, inertia: 0.0003 0.0004 0.0003 kg*m^2}
      distal: {mass: 0.1 kg, com: 0 -30 -30 mm, inertia: 0.0002 0.00015 0.00015 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: proximal, axis: x, active: true}
      mid: {type: revolute, parent: proximal, child: distal, axis: [0, 0, -1]}
    closures:
      eye: {type: revolute, parent: distal, child: camera, axis: [0, -1, 0]}
legs:
  - {repeat: leg, placements: [{}, {axis: [1, 1, 1], angle: 120 deg}, {axis: [1, 1, 1], angle: 240 deg}]}
"""


def test_spherical_mechanisms_are_drawn_on_a_sphere():
    """All joints meet in one point: links are arcs at one distance from it that end at the joints' axes."""
    robot = nacelle.loads(AGILE_EYE)
    view = scene(robot)
    radius = 0.5 * view.extent
    assert radius == pytest.approx(np.hypot(0.04, 0.04))
    for name in ("leg1.proximal", "leg3.distal"):
        points = body_of(view, name).points
        distance = np.linalg.norm(points, axis=1)
        assert np.all(np.abs(distance - radius) < 0.05 * radius)
        # Links of 90 degrees.
        assert np.ptp(points, axis=0).max() == pytest.approx(radius, rel=0.2)
    marks = [part for part in view.parts if part.kind == "joint"]
    assert len(marks) == 9
    assert all(np.linalg.norm(part.points.mean(axis=0)) == pytest.approx(radius, rel=0.05) for part in marks)
