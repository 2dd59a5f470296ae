"""The spanning tree against Pinocchio: poses, inertias and twists of every body."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacelle.model.robot import Robot
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.tree.spanning_tree import CosineSine, angle_near, tree_kinematics
from support.compare import assert_same
from support.library import NAMES, library_robot
from support.pinocchio_tree import pinocchio_snapshot
from support.random_robots.described import RandomRobot, any_trees
from support.random_robots.loads import spatial_inertia
from support.random_robots.numbers import random_coordinates, random_pose

seeds = st.integers(0, 2**32 - 1)


def random_state(robot: Robot, seed: int) -> tuple[Pose, np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    platform = random_pose(rng)
    if robot.platform.kind == "point":
        # A point does not turn.
        platform = Pose(np.eye(3), platform.p)
    return platform, random_coordinates(robot, rng), rng.normal(size=robot.platform_nv + robot.nv), rng


def check(robot: Robot, seed: int) -> None:
    """Poses, twists and Jacobians; a rate moves a body if it is between body and base, and only then."""
    platform, q, u, rng = random_state(robot, seed)
    theirs = pinocchio_snapshot(robot, platform, q, u)
    motion = tree_kinematics(robot, platform, q)
    bodies = range(len(robot.bodies))
    assert_same([pose.R for pose in motion.poses], theirs.R, what="rotations")
    assert_same([pose.p for pose in motion.poses], theirs.p, what="positions")
    assert_same([motion.jacobian(k) @ u for k in bodies], theirs.twist, what="twists")
    assert_same([motion.jacobian(k) for k in bodies], theirs.jacobian, what="Jacobians")
    point = rng.normal(size=3)
    shifts = [np.block([[np.eye(3), -pin.skew(point - p)], [np.zeros((3, 3)), np.eye(3)]]) for p in theirs.p]
    assert_same(
        [motion.point_jacobian(k, point) for k in bodies], shifts @ theirs.jacobian, what="at a point"
    )
    for k in bodies:
        np.testing.assert_array_equal(motion.movers[k], np.any(np.abs(theirs.jacobian[k]) > 1e-9, axis=0))
    # The sum of V^T M V / 2 over the bodies: twists and inertias at once.
    energy = 0.0
    for k, body in enumerate(robot.bodies):
        twist = np.kron(np.eye(2), motion.poses[k].R).T @ motion.jacobian(k) @ u
        energy += 0.5 * twist @ spatial_inertia(np.array(body.inertia)) @ twist
    assert_same(energy, theirs.kinetic, what="kinetic energy")


@pytest.mark.parametrize("name", NAMES)
def test_library(name: str) -> None:
    for seed in range(3):
        check(library_robot(name), seed)


@settings(max_examples=30)
@given(any_trees(), seeds)
def test_random_trees(made: RandomRobot, seed: int) -> None:
    check(made.robot, seed)


@pytest.mark.slow
@settings(max_examples=30)
@given(any_trees(), seeds)
def test_inertias_of_random_trees(made: RandomRobot, seed: int) -> None:
    """What was drawn, given to Pinocchio, against what the reader made of the description."""
    robot = made.robot
    platform, q, _, _ = random_state(robot, seed)
    theirs = pinocchio_snapshot(robot, platform, q)
    poses = tree_kinematics(robot, platform, q).poses
    of_mass = {body.name for body in robot.bodies if body.mass}
    assert of_mass == set(made.inertias)
    for name, drawn in made.inertias.items():
        k = robot.body(name)
        ten = np.array(robot.bodies[k].inertia)
        local = pin.Inertia(drawn.mass, drawn.com, drawn.about_com)
        assert_same(robot.bodies[k].mass, drawn.mass)
        assert_same(ten[1:4] / ten[0], drawn.com, what="centre of mass")
        # I - m c^ c^ loses some digits where the body is far from its frame: relative to the inertia
        # about the frame, which is the larger one, the bound holds.
        assert_same(ten, local.toDynamicParameters(), what=name)
        assert_same(
            transform_parameters(poses[k].R, poses[k].p, ten),
            pin.SE3(theirs.R[k], theirs.p[k]).act(local).toDynamicParameters(),
            what=f"{name} in the base",
        )


def test_angles_are_read_within_half_a_turn_of_a_centre() -> None:
    for centre in np.linspace(-20.0, 20.0, 81):
        q = centre + np.linspace(-np.pi + 1e-9, np.pi - 1e-9, 31)
        found = [float(angle_near(CosineSine(np.cos(value), np.sin(value)), float(centre))) for value in q]
        np.testing.assert_allclose(found, q, rtol=0, atol=1e-13)
