"""A leg whose joints are all fixed: a central post with a ball on it, as many wrists and simulators have."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.verify import verify
from support.central_post import POST
from support.compare import relative_error


def test_dynamics_with_a_leg_without_freedoms() -> None:
    """Forces, accelerations and energies belong together; the post itself moves nothing."""
    robot = nacelle.loads(POST)
    rng = np.random.default_rng(5)
    q = np.concatenate([0.1 * rng.normal(size=(20, 3)), np.ones((20, 1))], axis=1)
    x = q / np.linalg.norm(q, axis=1, keepdims=True)
    v, a = rng.normal(size=(2, 20, 3))
    found = nacelle.inverse_dynamics(robot, x, v, a)
    assert not np.any(found.flags)
    moved = nacelle.forward_dynamics(robot, x, v, found.force)
    assert relative_error(moved.acceleration, a) < 1e-10
    tree = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree")
    assert relative_error(found.force, tree.force) < 1e-10
    heavier = nacelle.loads(POST.replace("column: {mass: 5 kg", "column: {mass: 50 kg"))
    assert relative_error(nacelle.inverse_dynamics(heavier, x, v, a).force, found.force) < 1e-12


def test_a_leg_without_freedoms_is_never_singular() -> None:
    robot = nacelle.loads(POST)
    measured = nacelle.singularities(robot, nacelle.reference_pose(robot))
    assert measured.serial[[leg.name for leg in robot.legs].index("mast")] == 1.0
    assert 0.0 < measured.parallel < 1.0


def test_other_engines_agree() -> None:
    assert verify(nacelle.loads(POST), against="pinocchio", states=5).ok
