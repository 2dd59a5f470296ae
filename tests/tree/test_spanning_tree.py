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
from nacelle.tree.spanning_tree import CosSin, read_angle, tree_motion
from support.compare import assert_same
from support.library import NAMES, library_robot
from support.pinocchio_tree import PinocchioTree, pinocchio_tree
from support.random_robots.described import RandomRobot, any_tree, any_trees
from support.random_robots.loads import spatial_inertia
from support.random_robots.numbers import random_coordinates, random_pose

seeds = st.integers(0, 2**32 - 1)


def random_state(robot: Robot, seed: int) -> tuple[Pose, np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return (
        random_pose(rng),
        random_coordinates(robot, rng),
        rng.normal(size=robot.platform_nv + robot.nv),
        rng,
    )


def tree_for(robot: Robot, platform: Pose) -> PinocchioTree:
    return pinocchio_tree(robot, platform.R)


def check(robot: Robot, seed: int) -> None:
    """Poses, twists and Jacobians; a rate moves a body if it is between body and base, and only then."""
    platform, q, u, rng = random_state(robot, seed)
    theirs = tree_for(robot, platform).state(platform, q, u)
    motion = tree_motion(robot, platform, q)
    bodies = range(len(robot.bodies))
    expected = [theirs.pose(k) for k in bodies]
    assert_same([pose.R for pose in motion.poses], [pose.rotation for pose in expected], what="rotations")
    assert_same([pose.p for pose in motion.poses], [pose.translation for pose in expected], what="positions")
    assert_same([motion.jacobian(k) @ u for k in bodies], [theirs.twist(k) for k in bodies], what="twists")
    assert_same([motion.jacobian(k) for k in bodies], [theirs.jacobian(k) for k in bodies], what="Jacobians")
    point = rng.normal(size=3)
    assert_same(
        [motion.point_jacobian(k, point) for k in bodies],
        [theirs.point_jacobian(k, point) for k in bodies],
        what="Jacobians at a point",
    )
    for k in bodies:
        moved = np.any(np.abs(theirs.jacobian(k)) > 1e-9, axis=0)
        np.testing.assert_array_equal(motion.movers[k], moved)


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
    theirs = tree_for(robot, platform).state(platform, q)
    poses = tree_motion(robot, platform, q).poses
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
            theirs.pose(k).act(local).toDynamicParameters(),
            what=f"{name} in the base",
        )


@pytest.mark.parametrize("seed", range(8))
def test_kinetic_energy(seed: int) -> None:
    """Sum of V^T M V / 2 over the bodies against Pinocchio's kinetic energy: twists and inertias at once."""
    made = any_tree(seed)
    robot = made.robot
    platform, q, u, _ = random_state(robot, seed)
    tree = tree_for(robot, platform)
    model = tree.model
    for name, drawn in made.inertias.items():
        frame = model.frames[tree.frames[robot.body(name)]]
        body = pin.Inertia(drawn.mass, drawn.com, drawn.about_com)
        model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
    data = model.createData()
    x, v = tree.configuration(platform, q), tree.velocity_map(platform) @ u
    expected = pin.computeKineticEnergy(model, data, x, v)
    motion = tree_motion(robot, platform, q)
    energy = 0.0
    for k, body in enumerate(robot.bodies):
        turn = np.kron(np.eye(2), motion.poses[k].R)
        twist = turn.T @ motion.jacobian(k) @ u
        energy += 0.5 * twist @ spatial_inertia(np.array(body.inertia)) @ twist
    assert_same(energy, expected)


def test_angles_are_read_within_half_a_turn_of_a_centre() -> None:
    for centre in np.linspace(-20.0, 20.0, 81):
        q = centre + np.linspace(-np.pi + 1e-9, np.pi - 1e-9, 31)
        found = [float(read_angle(CosSin(np.cos(value), np.sin(value)), float(centre))) for value in q]
        np.testing.assert_allclose(found, q, rtol=0, atol=1e-13)
