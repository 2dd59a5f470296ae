"""Legs in closed form: recognition from numbers, branches, and what makes a form apply or not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.legs.solution import recipes, solve_leg
from nacelle.kinematics.legs.sphere import driven_joint, leg_sphere
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.spanning_tree import CosSin, joint_steps, read_step, tree_motion
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from support.compare import assert_same
from support.random_robots.legs import CASES, HEXAPOD_LEGS, TRANSLATING_LEGS
from support.uncompiled import open_loops, poses_around


def moved_frame(robot: Robot, joint: int, side: str, change: Callable[[Pose], Pose]) -> Robot:
    joints = list(robot.joints)
    joints[joint] = dataclasses.replace(joints[joint], **{side: change(getattr(joints[joint], side))})
    return dataclasses.replace(robot, joints=tuple(joints))


# ------------------------------------------------------------------------------------- recognition


@pytest.mark.parametrize("kind", [name for name, how in HEXAPOD_LEGS.items() if how[2] is not None])
def test_hexapod_forms(kind: str) -> None:
    robot = CASES[f"6 {kind}"](7).robot
    assert {leg_type(robot, leg).form for leg in robot.legs} == {HEXAPOD_LEGS[kind][2]}


@pytest.mark.parametrize("kind", TRANSLATING_LEGS)
def test_translating_forms(kind: str) -> None:
    robot = CASES[f"3 {kind}"](7).robot
    assert {leg_type(robot, leg).form for leg in robot.legs} == {TRANSLATING_LEGS[kind][2]}


@pytest.mark.parametrize("size", [1e-14, 1e-8])
@pytest.mark.parametrize("kind", ["RRPS", "PRRS", "RRRS with axes that meet", "RRRS with a pair first"])
def test_axes_must_meet(kind: str, size: float) -> None:
    """Two turns are a universal joint if their axes meet within 1e-12 of the size, and are perpendicular."""
    robot = CASES[f"6 {kind}"](2).robot
    leg = robot.legs[0]
    pair = {"RRPS": 1, "PRRS": 2, "RRRS with axes that meet": 2, "RRRS with a pair first": 1}[kind]
    second = leg.joints[pair]
    first = robot.joints[leg.joints[pair - 1]].frame_successor
    own = robot.joints[second].frame_predecessor
    across = np.cross(first.R[:, 2], own.R[:, 2])
    form = leg_type(robot, leg).form
    apart = moved_frame(
        robot, second, "frame_predecessor", lambda f: Pose(f.R, f.p + size * robot.size * across)
    )
    oblique = moved_frame(
        robot,
        second,
        "frame_predecessor",
        lambda f: Pose(Rotation.from_rotvec(size * across).as_matrix() @ f.R, f.p),
    )
    expected = form if size < 1e-12 else ""
    assert form
    assert leg_type(apart, apart.legs[0]).form == expected
    # Turned about the point in which the axes meet the frame's origin may leave the other axis as well.
    assert leg_type(oblique, oblique.legs[0]).form == expected
    # Along its own axis the frame may be anywhere.
    along = moved_frame(robot, second, "frame_predecessor", lambda f: Pose(f.R, f.p + 0.3 * f.R[:, 2]))
    assert leg_type(along, along.legs[0]).form == form


def test_unequal_rods_are_no_parallelogram() -> None:
    robot = CASES["3 RRPaR"](2).robot
    leg = robot.legs[0]
    fold = next(
        c
        for c in leg.closures
        if robot.joints[c].predecessor in leg.bodies and robot.joints[c].successor in leg.bodies
    )
    longer = moved_frame(robot, fold, "frame_predecessor", lambda f: Pose(f.R, f.p * (1 + 1e-6)))
    assert leg_type(robot, leg).form == "parallelogram"
    assert leg_type(longer, longer.legs[0]).form == ""


def test_a_closure_that_holds_no_point_has_no_form() -> None:
    """The same chain with a cylindrical end is not solved by its end's position."""
    from nacelle.model.joint import JointKind

    robot = CASES["6 UPS"](1).robot
    c = robot.legs[0].closures[0]
    joints = list(robot.joints)
    joints[c] = dataclasses.replace(joints[c], kind=JointKind.CYLINDRICAL)
    other = dataclasses.replace(robot, joints=tuple(joints))
    assert leg_type(other, other.legs[0]).form == ""


# ---------------------------------------------------------------------------------------- branches


def all_solutions(robot: Robot, k: int, platform: Pose, q: np.ndarray) -> list[np.ndarray]:
    """Coordinates of the tree with one leg solved by each recipe."""
    leg = robot.legs[k]
    found = []
    for recipe in recipes(robot, leg, q):
        solution = solve_leg(robot, leg, recipe, {0: Pose(np.eye(3), np.zeros(3)), 1: platform})
        assert all(margin > 0.0 for margin in solution.root_margins)
        own = q.copy()
        for j, steps in solution.steps.items():
            values = [read_step(step, robot.joints[j], number) for number, step in enumerate(steps)]
            own[robot.q_slices[j]] = np.hstack(values)
        found.append(own)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "6 UPS",
        "6 RUS",
        "6 PUS",
        "6 URS",
        "6 RSS",
        "6 PSS",
        "planar RRR",
        "planar RPR",
        "3 PRPaR",
        "3 R[US|US]",
    ],
)
def test_every_branch_closes_the_leg(name: str) -> None:
    """All choices of roots close the loop, and they differ from each other."""
    robot = CASES[name](4).robot
    mechanism = mechanism_of(robot)
    found = all_solutions(robot, 0, mechanism.assembly.platform, mechanism.assembly.q)
    for q in found:
        assert open_loops(robot, mechanism.assembly.platform, q) < 1e-12
    flat = np.array([[*np.cos(q), *np.sin(q)] for q in found])
    gaps = np.max(np.abs(flat[:, None] - flat), axis=-1) + np.eye(len(flat))
    assert np.min(gaps) > 1e-3
    # One of them is the reference; the recipe that was chosen is that one.
    chosen = solve_leg(
        robot, robot.legs[0], mechanism.legs[0].recipe, dict(enumerate(mechanism.assembly.motion.poses))
    )
    for j, steps in chosen.steps.items():
        wanted = joint_steps(robot.joints[j], mechanism.assembly.q[robot.q_slices[j]])
        for step, expected in zip(steps, wanted, strict=True):
            if isinstance(step, CosSin):
                assert abs(step.c - expected.c) + abs(step.s - expected.s) < 1e-11


def test_other_branch_by_other_guess() -> None:
    """Guesses pick the branch: a knee that starts on the other side stays there, at every pose."""
    robot = CASES["planar RRR"](4).robot
    mechanism = mechanism_of(robot)
    q = next(
        q
        for q in all_solutions(robot, 0, mechanism.assembly.platform, mechanism.assembly.q)
        if np.max(np.abs(q - mechanism.assembly.q)) > 1e-2
    )
    joints = list(robot.joints)
    for j in robot.legs[0].joints:
        joints[j] = dataclasses.replace(joints[j], guess=tuple(q[robot.q_slices[j]]))
    other = dataclasses.replace(robot, joints=tuple(joints))
    found = mechanism_of(other)
    assert found.legs[0].recipe.signs != mechanism.legs[0].recipe.signs
    assert found.legs[1].recipe == mechanism.legs[1].recipe
    assert_same(found.assembly.q, q, 1e-10)


# ----------------------------------------------------------------------------------------- spheres


@pytest.mark.parametrize(
    "name",
    [
        "3 R[SS|SS]",
        "3 P[US|US]",
        "3 PRPaR",
        "3 RRPaR",
        "3 UPU",
        "6 UPS with an offset slide",
        "6 RUS",
        "6 PSS",
    ],
)
def test_spheres_of_the_legs(name: str) -> None:
    """With the driven joint at its place the leg's end lies on the sphere."""
    from nacelle.kinematics.tree.configuration import configuration

    robot = CASES[name](4).robot
    mechanism = mechanism_of(robot)
    x = poses_around(robot, 1, seed=1)[0]
    now = configuration(robot, x, np.zeros(0))
    poses = tree_motion(robot, mechanism.chart.pose(x), now.q).poses
    for leg in robot.legs:
        driven = driven_joint(robot, leg)
        assert driven in [a.joint for a in robot.actuators]
        step = joint_steps(robot.joints[driven], now.q[robot.q_slices[driven]])[0]
        sphere = leg_sphere(robot, leg, step)
        on_plate = (
            sphere.closure.frame_predecessor
            if sphere.closure.predecessor == 1
            else sphere.closure.frame_successor
        )
        W = (poses[1] @ on_plate).p
        assert np.sum((W - sphere.centre) ** 2) == pytest.approx(sphere.radius2, rel=1e-12)
