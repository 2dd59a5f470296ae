"""Scene: animate, arrows, colours, faces, marks, motion."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nacelle
from nacelle import load
from nacelle.errors import KinematicsError, NacelleError, UnreachableError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.joint import JointKind
from nacelle.scene.animate import _motion, animate
from nacelle.scene.arrows import LONGEST, Arrows, PathLine
from nacelle.scene.colours import _NUMBERS, hexadecimal, rgb
from nacelle.scene.faces import box_faces, cylinder, outward_normals, plate, sphere
from nacelle.scene.marks import joint_marks
from nacelle.scene.motion import poses_along, rotations, still
from nacelle.shapes.placed import PlacedRobot
from nacelle.shapes.solid import Ball, Rod
from nacelle.spatial.pose import Pose, identity
from support.library import library_robot

# ---- Pages of robots from poses and from results


def test_pages_are_written_once(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    place = animate(robot, out=tmp_path / "a.html")
    before = place.read_text(encoding="utf-8")
    assert 'class="scene3d"' in before
    with pytest.raises(NacelleError, match="exists already"):
        animate(robot, out=place)
    assert place.read_text(encoding="utf-8") == before
    animate(robot, reference_pose(robot) + 0.01, out=place, overwrite=True)
    assert place.read_text(encoding="utf-8") != before


def test_results_give_their_times() -> None:
    robot = nacelle.load("fivebar")
    x = np.tile(reference_pose(robot), (1300, 1))
    result = SimpleNamespace(t=np.linspace(0.0, 2.6, 1300), x=x)
    motion = _motion(robot, result, None)
    assert len(motion.times) <= 600
    assert motion.times[0] == 0.0
    assert motion.times[-1] == pytest.approx(2.6, abs=0.01)
    assert _motion(robot, x[:3], None).times[1] == pytest.approx(0.04)
    with pytest.raises(NacelleError, match="shape"):
        _motion(robot, np.zeros((2, 2, 2)), None)


# ---- Arrows: one scale for a set, and shapes that fit


def test_the_longest_arrow_is_a_part_of_the_extent() -> None:
    vectors = np.zeros((3, 2, 3))
    vectors[1, 0] = [0.0, 30.0, 40.0]
    vectors[2, 1] = np.nan
    arrows = Arrows("f", np.zeros((3, 2, 3)), vectors)
    assert arrows.largest == 50.0
    assert arrows.scale(2.0) * 50.0 == pytest.approx(2.0 * LONGEST)
    assert Arrows("none", np.zeros((1, 1, 3)), np.zeros((1, 1, 3))).scale(1.0) == 0.0
    with pytest.raises(NacelleError, match=r"\(T, N, 3\)"):
        Arrows("f", np.zeros((3, 3)), np.zeros((3, 3)))


def test_traces_leave_out_what_is_not_finite() -> None:
    line = PathLine([[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0], [1.0, 0.0, 0.0]]).line
    np.testing.assert_array_equal(line, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


# ---- Colours by name and number


def test_names_are_those_of_css() -> None:
    from matplotlib.colors import CSS4_COLORS

    assert {name: f"#{number}" for name, number in _NUMBERS.items()} == {
        name: number.lower() for name, number in CSS4_COLORS.items()
    }


def test_colours() -> None:
    assert hexadecimal(" Orange ") == "#ffa500"
    assert hexadecimal("#AbC") == "#aabbcc"
    assert rgb("#ff0080") == (1.0, 0.0, 128 / 255)
    with pytest.raises(NacelleError, match="is no colour"):
        hexadecimal("red; background: url(x)")


@pytest.mark.parametrize(
    "solid",
    [
        cylinder(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1),
        cylinder(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1, end=0.0),
        sphere(np.array([1.0, 2.0, 3.0]), 0.2),
        box_faces(identity(), np.array([0.1, 0.2, 0.3]), 0.07),
        plate([np.zeros(3), np.array([0.3, 0.0, 0.1]), np.array([0.1, 0.4, 0.0])], 0.01, 0.05),
    ],
)
def test_solids_are_closed(solid):
    """Solids are closed and look outwards."""
    # The vector areas of the faces of a closed surface add up to nothing.
    areas = 0.5 * np.cross(solid[:, 2] - solid[:, 0], solid[:, 3] - solid[:, 1])
    out = outward_normals(solid)
    total = np.linalg.norm(areas, axis=1)[:, None] * out
    np.testing.assert_allclose(total.sum(axis=0), 0.0, atol=1e-12)


def test_marks_are_at_their_joints() -> None:
    """Marks of joints: where they are, and on which bodies."""
    for name in ("delta", "gough-stewart", "3rps"):
        robot = library_robot(name)
        bodies = inverse_kinematics(robot, reference_pose(robot)).bodies
        placed = PlacedRobot(robot, [Pose(R, p) for R, p in zip(*bodies, strict=True)])
        for j, joint in enumerate(robot.joints):
            for b, solid in joint_marks(placed, j):
                assert b in (joint.predecessor, joint.successor)
                if joint.kind is JointKind.PRISMATIC:
                    continue
                centre = solid.centre if isinstance(solid, Ball) else None
                if isinstance(solid, Rod):
                    centre = 0.5 * (solid.start + solid.stop)
                np.testing.assert_allclose(centre, placed.ends[j][1].p, atol=1e-9)
            if joint.kind is JointKind.REVOLUTE:
                ((_, pin),) = joint_marks(placed, j)
                assert isinstance(pin, Rod)
                axis = (pin.stop - pin.start) / np.linalg.norm(pin.stop - pin.start)
                np.testing.assert_allclose(abs(axis @ placed.ends[j][0].R[:, 2]), 1.0)


# ---- Motions of bodies: those of the inverse kinematics, held where a pose is out of reach


def test_bodies_are_where_the_kinematics_says() -> None:
    robot = load("gough-stewart")
    x = np.tile(reference_pose(robot), (5, 1))
    x[:, 0] += np.linspace(0.0, 0.1, 5)
    motion = poses_along(robot, np.arange(5.0), x)
    R, p = inverse_kinematics(robot, x).bodies
    np.testing.assert_allclose(rotations(motion.quaternion), R, atol=1e-12)
    np.testing.assert_array_equal(motion.position, p)
    assert motion.ok.all()
    assert np.all(np.sum(motion.quaternion[1:] * motion.quaternion[:-1], axis=-1) > 0.0)
    one = still(robot)
    np.testing.assert_allclose(one.position[0], p[0], atol=1e-12)


def test_poses_out_of_reach_are_held() -> None:
    robot = load("fivebar")
    x = np.tile(reference_pose(robot), (4, 1))
    x[0] += 9.0
    x[2] += 9.0
    motion = poses_along(robot, np.arange(4.0), x)
    np.testing.assert_array_equal(motion.ok, [False, True, False, True])
    np.testing.assert_array_equal(motion.position[0], motion.position[1])
    np.testing.assert_array_equal(motion.position[2], motion.position[1])
    with pytest.raises(UnreachableError):
        poses_along(robot, [0.0], x[:1])
    with pytest.raises(KinematicsError, match="times"):
        poses_along(robot, [0.0, 1.0], x[:1])
