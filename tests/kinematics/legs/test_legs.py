"""Legs: axes, chain, forms, parallelogram, path, serial, sphere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.kinematics.legs.axes import relation
from nacelle.kinematics.legs.chain import centred, end_frames, nacelle_end, serial_chain
from nacelle.kinematics.legs.forms import FORMS, askew, chain_form, is_three_prismatic
from nacelle.kinematics.legs.parallelogram import arm_offset, parallelogram
from nacelle.kinematics.legs.path import is_planar, route
from nacelle.kinematics.legs.serial import EndPoint, Roots, axis_motion
from nacelle.kinematics.legs.sphere import driven_joint, leg_sphere
from nacelle.kinematics.tree.configuration import configuration
from nacelle.kinematics.tree.spanning_tree import CosSin
from nacelle.model.joint import JointKind
from nacelle.model.read import read_text
from nacelle.sketch.sketch import sketch
from nacelle.spatial.pose import Pose
from support.uncompiled import any_robot, poses_around, solve_uncompiled

# ---- How two axes lie to each other, against the common perpendicular of the two lines


def placed(tilt: float, along: float, offset: float, spin: float) -> tuple[Pose, float, float]:
    """The second axis tilted about x and moved by `offset` along it: angle and distance of the lines."""
    turn = Rotation.from_euler("z", spin).as_matrix()
    R = turn @ Rotation.from_euler("x", tilt).as_matrix()
    p = turn @ [offset, 0.0, 0.0] + [0.0, 0.0, 0.3] + along * R[:, 2]
    z = R[:, 2]
    normal = np.cross([0.0, 0.0, 1.0], z)
    size = np.linalg.norm(normal)
    distance = abs(p @ normal) / size if size > 1e-9 else np.hypot(p[0], p[1])
    return Pose(R @ Rotation.from_euler("z", 0.4).as_matrix(), p), np.arctan2(size, abs(z[2])), distance


@pytest.mark.parametrize("spin", [0.0, 0.9, 2.3])
@pytest.mark.parametrize("offset", [0.0, 0.2, 1e-9])
@pytest.mark.parametrize("tilt", [0.0, np.pi, np.pi / 2, -np.pi / 2, 0.7, np.pi / 2 + 1e-9])
def test_relation(tilt: float, offset: float, spin: float) -> None:
    X, angle, distance = placed(tilt, 0.15, offset, spin)
    words = {0: ("coaxial", "parallel"), 1: ("crossing", "perpendicular"), 2: ("oblique", "oblique")}
    kind = 0 if angle < 1e-11 else 1 if abs(angle - np.pi / 2) < 1e-11 else 2
    assert relation(X, 1.0) == words[kind][int(distance > 1e-11)]


# ---- Legs as chains of single axes: put together, the frames lead to the leg's end


@pytest.mark.parametrize("name", ["fivebar", "3rrr", "prrrp"])
def test_a_chain_leads_to_the_end_of_its_leg(name: str) -> None:
    robot = any_robot(name)
    x = poses_around(robot, 1, 0, 0.02, 0.05)
    now = configuration(robot, x[0], solve_uncompiled(robot, x)[0])
    for leg in robot.legs:
        chain = serial_chain(robot, leg)
        assert chain is not None
        assert set(chain.letters) <= set("RP")
        assert len(chain.X) == len(chain.letters) + 1
        pose = chain.X[0]
        for k, joint in enumerate(chain.owners):
            start = sum(len(other.primitives) for other in robot.joints[:joint])
            pose = pose @ axis_motion(now.steps[start]) @ chain.X[k + 1]
        last = leg.bodies[-1]
        frame, body, there = end_frames(chain.target, last)
        assert (body, there) == nacelle_end(leg, chain.target)[:2]
        np.testing.assert_allclose(pose.p, (now.motion.poses[last] @ frame).p, atol=1e-12)
        np.testing.assert_allclose(pose.p, (now.motion.poses[body] @ there).p, atol=1e-9)


def test_a_universal_joint_is_two_axes_that_meet() -> None:
    """Centred, nothing lies between them."""
    robot = any_robot("gough-stewart")
    chain = serial_chain(robot, robot.legs[0])
    assert chain is not None
    assert chain.letters == "RRP"
    assert np.max(np.abs(centred(chain, 0).X[1].p)) < 1e-12


# ---- Closed forms: which legs of the library have one, and what each needs


@pytest.mark.parametrize(
    ("name", "kind", "roots"),
    [("gough-stewart", "strut", 2), ("fivebar", "rod", 2), ("hexaglide", "rod", 2)],
)
def test_forms_of_the_library(name: str, kind: str, roots: int) -> None:
    robot = any_robot(name)
    for leg in robot.legs:
        chain = serial_chain(robot, leg)
        assert chain is not None
        form = chain_form(chain, robot.size)
        assert form in FORMS
        assert FORMS[form].kind == kind
        assert FORMS[form].roots <= roots
        assert askew(FORMS[form].centred(chain), FORMS[form], robot.size) == ""
        assert not is_three_prismatic(robot, leg)


def test_a_leg_of_three_slides() -> None:
    robot = any_robot("c5-slides")
    assert any(is_three_prismatic(robot, leg) for leg in robot.legs)


@pytest.mark.slow
@pytest.mark.parametrize("legs", ["6-SPU", "6-PSU"])
def test_the_spin_of_a_leg_on_a_spherical_joint_comes_from_its_closure(legs: str) -> None:
    """At a universal end: its axes are perpendicular at every pose, not at the reference only."""
    robot = read_text(sketch("robot", legs, motion="se3").text)[0]
    rng = np.random.default_rng(5)
    x = nacelle.reference_pose(robot) + np.pad(rng.normal(size=(6, 3)) * 0.01, ((0, 0), (0, 4)))
    x[:, 3:6] += 0.02 * rng.normal(size=(6, 3))
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    R = joints.bodies[0]
    for joint in robot.joints:
        if joint.kind is JointKind.UNIVERSAL:
            first = R[:, joint.predecessor] @ joint.frame_predecessor.R[:, 0]
            second = R[:, joint.successor] @ joint.frame_successor.R[:, 1]
            assert np.max(np.abs(np.sum(first * second, axis=1))) < 1e-12


# ---- parallelogram
#
# Parallelograms: the end keeps its orientation in the hub, and the wrist lies where the arm says.


def test_the_end_stays_parallel_to_the_hub() -> None:
    robot = any_robot("orthoglide")
    x = poses_around(robot, 4, 0, 0.03, 0.0)
    y = solve_uncompiled(robot, x)
    for leg in robot.legs:
        found = parallelogram(robot, leg)
        assert found is not None
        R_hub_end, offset = arm_offset(robot, found)
        hub, end = (robot.joints[j].successor for j in (found.hub, found.end))
        length = None
        for k in range(4):
            poses = configuration(robot, x[k], y[k]).motion.poses
            np.testing.assert_allclose(poses[hub].R.T @ poses[end].R, R_hub_end, atol=1e-10)
            wrist = (poses[end] @ robot.joints[found.wrist].frame_predecessor).p
            rod = poses[hub].R.T @ (wrist - poses[hub].p) - offset
            length = length or np.linalg.norm(rod)
            assert abs(np.linalg.norm(rod) - length) < 1e-10


def test_other_legs_have_none() -> None:
    robot = any_robot("gough-stewart")
    assert all(parallelogram(robot, leg) is None for leg in robot.legs)


# ---- The way through a leg: groups of joints that act as one, from base to nacelle


@pytest.mark.parametrize(
    ("name", "trunk", "branches", "planar"),
    [
        ("gough-stewart", "UPS", (), False),
        ("fivebar", "RRS", (), True),
        ("3rrr", "RRR", (), True),
        ("palida", "UPS", (), False),
        ("delta", "R", ("SS", "SS"), None),
        ("hexaglide", "PUS", (), False),
    ],
)
def test_letters(name: str, trunk: str, branches: tuple[str, ...], planar: bool | None) -> None:
    robot = any_robot(name)
    for leg in robot.legs:
        found = route(robot, leg)
        assert "".join(group.letter for group in found.trunk) == trunk
        assert tuple("".join(g.letter for g in branch) for branch in found.branches) == branches
        assert found.trunk[0].before == 0
        if not branches:
            assert found.trunk[-1].after in robot.nacelle.bodies
        if planar is not None:
            assert is_planar(found.trunk) is planar


# ---- Serial legs: points seen from frames, motions of steps, and roots that are taken in order


def test_a_point_seen_from_a_frame() -> None:
    R = Rotation.random(random_state=0).as_matrix()
    p, o, offset = np.random.default_rng(0).normal(size=(3, 3))
    expected = R.T @ (p + offset - o)
    np.testing.assert_allclose(EndPoint(p, offset).seen(Pose(R, o)), expected, atol=1e-14)
    np.testing.assert_allclose(EndPoint(p, offset).from_arm(Pose(R, o)), expected, atol=1e-14)
    np.testing.assert_allclose(EndPoint(p + offset, None).seen(Pose(R, o)), expected, atol=1e-14)


def test_motions_of_steps() -> None:
    angle = 0.7
    turned = axis_motion(CosSin(np.cos(angle), np.sin(angle)))
    np.testing.assert_allclose(turned.R, Rotation.from_euler("z", angle).as_matrix(), atol=1e-15)
    assert not np.any(turned.p)
    moved = axis_motion(0.3)
    np.testing.assert_array_equal(moved.R, np.eye(3))
    np.testing.assert_array_equal(moved.p, [0.0, 0.0, 0.3])


def test_roots_are_taken_in_order() -> None:
    roots = Roots((1, -1), {4: (0.0, 0.0, 0.0, 1.0)}, 2.0)
    assert [roots.sign(), roots.sign()] == [1, -1]
    assert roots.take((0.5, 0.25)) == 0.5
    roots.lever(0.04, 4.0)
    assert roots.root_margins == [0.25, pytest.approx(0.01)]
    assert roots.reference(4).tolist() == [0.0, 0.0, 0.0, 1.0]


# ---- The sphere of a leg's end: the joint at the end lies on it at every pose


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "gough-stewart", "hexaglide"])
def test_the_end_lies_on_the_sphere(name: str) -> None:
    robot = any_robot(name)
    x = poses_around(robot, 3, 1, 0.02, 0.05)
    y = solve_uncompiled(robot, x)
    for k in range(3):
        now = configuration(robot, x[k], y[k])
        for leg in robot.legs:
            joint = driven_joint(robot, leg)
            assert joint is not None
            assert joint in {actuator.joint for actuator in robot.actuators}
            first = sum(len(other.primitives) for other in robot.joints[:joint])
            sphere = leg_sphere(robot, leg, now.steps[first])
            end = sphere.closure
            on_leg = end.predecessor in leg.bodies
            body, frame = (
                (end.predecessor, end.frame_predecessor) if on_leg else (end.successor, end.frame_successor)
            )
            place = (now.motion.poses[body] @ frame).p
            distance2 = float(np.sum((place - sphere.centre) ** 2))
            assert distance2 == pytest.approx(float(sphere.radius2), rel=1e-9)
