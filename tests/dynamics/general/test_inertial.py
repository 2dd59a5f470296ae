"""Weight and inertia of all bodies: the gradient of potential energy, each mass once."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.efforts import require_rods
from nacelle.dynamics.general.inertial import inertial_numbers, require_inertia
from nacelle.dynamics.general.models import along_twist
from nacelle.dynamics.general.required import Counted, Required
from nacelle.kinematics.general.legs import motion
from nacelle.model.robot import Robot
from support.compare import assert_same
from support.general_states import after, loaded, sampled

H = 1e-5


def height(robot: Robot, x: np.ndarray, step: np.ndarray) -> float:
    """Potential energy of all bodies in gravity."""
    poses = after(robot, x, step, np.zeros_like(step), 1.0).motion.poses
    total = 0.0
    for body, pose in zip(robot.bodies, poses, strict=True):
        p = np.array(body.inertia)
        total -= np.array(robot.gravity) @ (p[0] * pose.p + pose.R @ p[1:4])
    return float(total)


@pytest.mark.parametrize("name", ["3rrr", "delta"])
def test_weight_is_the_gradient_of_energy(name: str) -> None:
    """Links and a nacelle that turns; rods between spherical joints."""
    robot = loaded(name)
    legs, x, _ = sampled(robot)
    still = np.zeros(robot.motion.n)
    moving, into = motion(legs, still, still), Required(legs.placed)
    require_inertia(legs, moving, inertial_numbers(legs.placed), into)
    require_rods(legs, moving, into, Counted(friction=False))
    steps = H * np.eye(robot.motion.n)
    expected = [(height(robot, x, step) - height(robot, x, -step)) / (2.0 * H) for step in steps]
    assert_same(np.array(along_twist(legs, into), dtype=float), np.array(expected), 1e-7)


def test_masses_are_counted_once() -> None:
    """All that moves in the world: of numbers of nodes, bodies and rods the masses add up to the robot's."""
    robot = loaded("delta")
    legs, *_ = sampled(robot)
    numbers = inertial_numbers(legs.placed)
    total = sum(float(own[0]) for own in (*numbers.nodes.values(), *numbers.bodies.values()))
    total += 2.0 * sum(float(rod.masses[2]) for rod in legs.placed.rods)
    assert total == pytest.approx(sum(body.inertia[0] for body in robot.bodies[1:]))
