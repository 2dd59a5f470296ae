"""Legs in closed form, and the small geometric problems that they are made of, against brute force."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.kinematics.legs.serial import (
    aim_spherical,
    aim_universal,
    angle_equation,
    circle_to_point,
    line_to_point,
    rotate_z,
    slide_to_distance,
)
from nacelle.kinematics.legs.solution import closed_form_solutions, solve_leg
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve.spheres import driven_joint, leg_sphere
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.tree.spanning_tree import (
    CosineSine,
    coordinate_from_transform,
    joint_transforms,
    tree_kinematics,
)
from support.compare import assert_same
from support.random_robots.legs import CASES
from support.uncompiled import closure_error, poses_around

numbers = st.floats(-2.0, 2.0, allow_nan=False)
vectors = st.lists(numbers, min_size=3, max_size=3).map(np.array)
angles = st.floats(-3.1, 3.1)
signs = st.sampled_from([1, -1])
seeds = st.integers(0, 2**32 - 1)


def rotate_about_z(q: float, v: np.ndarray) -> np.ndarray:
    return Rotation.from_euler("z", q).apply(v)


def angle(turn: CosineSine) -> float:
    return float(np.arctan2(turn.s, turn.c))


def roots(f: object, count: int = 721) -> list[float]:
    """All roots of a function of an angle by sampling and bisection."""
    # No simple angle is on the grid, where it would be missed.
    grid = np.linspace(-np.pi, np.pi, count) + 0.00123456789
    values = [f(q) for q in grid]
    found = []
    for a, b, fa, fb in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True):
        if fa * fb < 0.0:
            found.append(brentq(f, a, b, xtol=1e-15, rtol=1e-14))
    return sorted(float(np.angle(np.exp(1j * q))) for q in found)


def largest_angle_gap(one: list[float], two: list[float]) -> float:
    """How far two sets of angles are apart, each angle of one from the nearest of the other."""
    gaps = np.abs(np.angle(np.exp(1j * (np.array(one)[:, None] - np.array(two)))))
    return float(max(np.max(np.min(gaps, axis=0)), np.max(np.min(gaps, axis=1))))


@settings(max_examples=60)
@given(numbers, numbers, numbers)
def test_balance(a: float, b: float, c: float) -> None:
    h = np.hypot(a, b)
    if h < 1e-3 or abs(abs(c) - h) < 1e-3 * h:
        return
    expected = roots(lambda q: a * np.cos(q) + b * np.sin(q) - c)
    both = [angle_equation(a, b, c, sign) for sign in (1, -1)] if abs(c) < h else []
    assert len(expected) == len(both)
    for value, margin in both:
        assert abs(value.c**2 + value.s**2 - 1.0) < 1e-13
        assert margin == pytest.approx(1.0 - (c / h) ** 2, abs=1e-12)
    # Roots close together are found less exactly.
    if both:
        assert largest_angle_gap([angle(value) for value, _ in both], expected) < 1e-13 / (1.0 - (c / h) ** 2)
    if abs(c) > h:
        with np.errstate(invalid="ignore"):
            value, margin = angle_equation(a, b, c, 1)
        assert margin < 0.0
        assert np.isnan(value.c)


@pytest.mark.slow
@settings(max_examples=60)
@given(vectors, angles, vectors, signs)
def test_circle_to_point(e: np.ndarray, q: float, rod: np.ndarray, sign: int) -> None:
    """An arm at q with a rod to w: both solutions keep the rod's length, and q is one of them."""
    w = rotate_about_z(q, e) + rod
    # The margin counts in the rod's length: beside an arm a rod of no length has no digits left.
    if np.hypot(*e[:2]) < 0.05 or np.hypot(*w[:2]) < 0.05 or np.linalg.norm(rod) < 1e-3:
        return
    length2 = float(rod @ rod)
    h = np.hypot(*e[:2]) * np.hypot(*w[:2])
    with np.errstate(invalid="ignore"):
        value, margin, seen = circle_to_point(e, w, length2, sign)
    if not margin >= 1e-6:
        return
    assert np.linalg.norm(w - rotate_about_z(angle(value), e)) ** 2 == pytest.approx(
        length2, abs=1e-12 * (h + 1)
    )
    np.testing.assert_allclose(
        rotate_about_z(angle(value), seen), w - rotate_about_z(angle(value), e), atol=1e-11 / margin
    )
    other = circle_to_point(e, w, length2, -sign)[0]
    # Seen from axes that lie a constant angle behind.
    ahead = CosineSine(np.cos(0.7), np.sin(0.7))
    again = circle_to_point(e, rotate_about_z(0.7, w), length2, sign, ahead)
    np.testing.assert_allclose([*again.value, again.margin], [*value, margin], atol=1e-12 / margin)
    np.testing.assert_allclose(again.rod, seen, atol=1e-12 / margin)
    found = [angle(value), angle(other)]
    assert min(abs(np.angle(np.exp(1j * (f - q)))) for f in found) < 1e-12 / margin
    expected = roots(lambda t: np.linalg.norm(w - rotate_about_z(t, e)) ** 2 - length2)
    if len(expected) == 2:
        assert largest_angle_gap(found, expected) < 1e-12 / margin


@settings(max_examples=60)
@given(vectors, numbers, vectors, signs)
def test_line_to_point(e: np.ndarray, q: float, rod: np.ndarray, sign: int) -> None:
    length2 = float(rod @ rod)
    if length2 < 1e-2 or abs(rod[2]) < 1e-2:
        return
    w = e + np.array([0.0, 0.0, q]) + rod
    values = {s: line_to_point(e, w, length2, s) for s in (1, -1)}
    for value, margin, seen in values.values():
        np.testing.assert_allclose(seen, w - e - [0.0, 0.0, value], atol=1e-11 / abs(rod[2]))
        assert margin == pytest.approx(rod[2] ** 2 / length2, rel=1e-9, abs=1e-12)
        assert np.linalg.norm(w - e - [0.0, 0.0, value]) ** 2 == pytest.approx(length2, rel=1e-11)
    # The sign is the side of the rod: + if the point on the slide lies beyond w.
    kept = values[-1 if rod[2] > 0 else 1].value
    assert kept == pytest.approx(q, abs=1e-11 / abs(rod[2]))
    with np.errstate(invalid="ignore"):
        out, margin, _ = line_to_point(e, e + np.array([np.sqrt(length2) + 0.1, 0.0, 0.0]), length2, sign)
    assert margin < 0.0
    assert np.isnan(out)


@settings(max_examples=60)
@given(vectors, seeds, numbers)
def test_stretch(o: np.ndarray, seed: int, length: float) -> None:
    z = np.random.default_rng(seed).normal(size=3)
    z /= np.linalg.norm(z)
    d = o + length * z
    square = float(d @ d)
    # The two lengths meet where d is perpendicular to the slide.
    if square < 1e-2 or abs(d @ z) < 1e-2:
        return
    values = {sign: slide_to_distance(o, z, square, sign) for sign in (1, -1)}
    for value, margin in values.values():
        assert np.linalg.norm(o + value * z) ** 2 == pytest.approx(square, rel=1e-11)
        assert margin == pytest.approx((d @ z) ** 2 / square, abs=1e-11)
    assert values[1 if d @ z > 0 else -1].value == pytest.approx(length, abs=1e-11 / abs(d @ z))


@settings(max_examples=80)
@given(seeds, angles, angles, vectors, signs)
def test_two_turns(seed: int, q1: float, q2: float, d: np.ndarray, sign: int) -> None:
    """Axes at any angle: the pair that was used is found by one of the two signs, and both reach u."""
    C = Rotation.random(random_state=seed).as_matrix()
    u = rotate_about_z(q1, C @ rotate_about_z(q2, d))
    if np.hypot(*d[:2]) < 0.1 or np.hypot(*u[:2]) < 0.1 or np.hypot(C[2, 0], C[2, 1]) < 0.1:
        return
    with np.errstate(invalid="ignore"):
        first, second, margin = aim_universal(C, d, u, sign)
    if margin < 1e-4:
        return
    again = rotate_z(first, C @ rotate_z(second, d))
    assert np.max(np.abs(again - u)) < 1e-11
    assert first.c**2 + first.s**2 == pytest.approx(1.0, abs=1e-10)
    pairs = [aim_universal(C, d, u, s)[:2] for s in (1, -1)]
    off = [
        max(abs(np.angle(np.exp(1j * (angle(a) - q1)))), abs(np.angle(np.exp(1j * (angle(b) - q2)))))
        for a, b in pairs
    ]
    assert min(off) < 1e-10 / margin


@settings(max_examples=60)
@given(vectors, seeds)
def test_ball_aim(d: np.ndarray, seed: int) -> None:
    """Takes d to u by the shortest turn from the reference: by the angle between the two directions."""
    if np.linalg.norm(d) < 0.05:
        return
    rng = np.random.default_rng(seed)
    reference = Rotation.random(random_state=rng)
    u = Rotation.random(random_state=rng).apply(d)
    d0 = reference.apply(d)
    cosine = float(d0 @ u / (d @ d))
    if cosine < -1.0 + 1e-4:
        return
    quat = aim_spherical(d, u, reference.as_quat())
    found = Rotation.from_quat(quat)
    assert np.linalg.norm(quat) == pytest.approx(1.0, abs=1e-13)
    assert np.max(np.abs(found.apply(d) - u)) < 1e-10
    # The size of a rotation loses digits near none and near half a turn.
    turn = float((found * reference.inv()).magnitude())
    assert turn == pytest.approx(np.arccos(np.clip(cosine, -1.0, 1.0)), abs=1e-6)


# ---- Legs in closed form: recognition from numbers, branches, and what makes a form apply or not


def moved_frame(robot: Robot, joint: int, side: str, change: Callable[[Pose], Pose]) -> Robot:
    joints = list(robot.joints)
    joints[joint] = dataclasses.replace(joints[joint], **{side: change(getattr(joints[joint], side))})
    return dataclasses.replace(robot, joints=tuple(joints))


# ------------------------------------------------------------------------------------- recognition


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
    for recipe in closed_form_solutions(robot, leg, q):
        solution = solve_leg(robot, leg, recipe, {0: Pose(np.eye(3), np.zeros(3)), 1: platform})
        assert all(margin > 0.0 for margin in solution.root_margins)
        own = q.copy()
        for j, steps in solution.steps.items():
            values = [
                coordinate_from_transform(step, robot.joints[j], number) for number, step in enumerate(steps)
            ]
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
    found = all_solutions(robot, 0, mechanism.assembly.platform, mechanism.assembly.q_tree)
    for q in found:
        assert closure_error(robot, mechanism.assembly.platform, q) < 1e-12
    flat = np.array([[*np.cos(q), *np.sin(q)] for q in found])
    gaps = np.max(np.abs(flat[:, None] - flat), axis=-1) + np.eye(len(flat))
    assert np.min(gaps) > 1e-3
    # One of them is the reference; the recipe that was chosen is that one.
    chosen = solve_leg(
        robot, robot.legs[0], mechanism.legs[0].closed_form, dict(enumerate(mechanism.assembly.motion.poses))
    )
    for j, steps in chosen.steps.items():
        wanted = joint_transforms(robot.joints[j], mechanism.assembly.q_tree[robot.q_slices[j]])
        for step, expected in zip(steps, wanted, strict=True):
            if isinstance(step, CosineSine):
                assert abs(step.c - expected.c) + abs(step.s - expected.s) < 1e-11


def test_other_branch_by_other_guess() -> None:
    """Guesses pick the branch: a knee that starts on the other side stays there, at every pose."""
    robot = CASES["planar RRR"](4).robot
    mechanism = mechanism_of(robot)
    q = next(
        q
        for q in all_solutions(robot, 0, mechanism.assembly.platform, mechanism.assembly.q_tree)
        if np.max(np.abs(q - mechanism.assembly.q_tree)) > 1e-2
    )
    joints = list(robot.joints)
    for j in robot.legs[0].joints:
        joints[j] = dataclasses.replace(joints[j], guess=tuple(q[robot.q_slices[j]]))
    other = dataclasses.replace(robot, joints=tuple(joints))
    found = mechanism_of(other)
    assert found.legs[0].closed_form.signs != mechanism.legs[0].closed_form.signs
    assert found.legs[1].closed_form == mechanism.legs[1].closed_form
    assert_same(found.assembly.q_tree, q, 1e-10)


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
    from nacelle.kinematics.configuration import configuration

    robot = CASES[name](4).robot
    mechanism = mechanism_of(robot)
    x = poses_around(robot, 1, seed=1)[0]
    now = configuration(robot, x, np.zeros(0))
    poses = tree_kinematics(robot, mechanism.chart.pose(x), now.q_tree).poses
    for leg in robot.legs:
        driven = driven_joint(robot, leg)
        assert driven in [a.joint for a in robot.actuators]
        step = joint_transforms(robot.joints[driven], now.q_tree[robot.q_slices[driven]])[0]
        sphere = leg_sphere(robot, leg, step)
        on_plate = (
            sphere.closure.frame_predecessor
            if sphere.closure.predecessor == 1
            else sphere.closure.frame_successor
        )
        W = (poses[1] @ on_plate).p
        assert np.sum((W - sphere.centre) ** 2) == pytest.approx(sphere.radius2, rel=1e-12)
