"""Rods between spherical joints that are not quite axisymmetric: neglected with the error stated, or held."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.kinematics.mechanism.idle import Spin
from nacelle.kinematics.mechanism.spins import asymmetry, axisymmetric
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import (
    inertia_about_com,
    is_axisymmetric,
    parameters_from_com,
    transform_parameters,
)
from support import described


def _uneven(change: float, spin: str = "") -> Robot:
    """A Delta whose rods have an inertia that is not axisymmetric and a centre of mass beside their axis."""
    robot = nacelle.load("delta")
    bodies = list(robot.bodies)
    for k, body in enumerate(bodies):
        if ".rod" in body.name:
            ten = np.array(body.inertia)
            I, com = inertia_about_com(ten), ten[1:4] / ten[0]
            I = I + change * np.max(I) * np.diag([0.5, 0.0, 0.5])
            ten = parameters_from_com(ten[0], com + 0.05 * change * np.array([0.0, 1.0, 0.0]), I)
            bodies[k] = dataclasses.replace(body, inertia=tuple(ten.tolist()), spin=spin)
    return dataclasses.replace(robot, bodies=tuple(bodies))


@pytest.mark.slow
def test_a_small_asymmetry_is_neglected_and_its_error_stated() -> None:
    robot = _uneven(5e-3)
    found = check_robot(robot)
    (warning,) = found.problems
    assert warning.severity == "warning"
    words = re.search(r"actuator by up to (\S+) of", warning.message)
    assert words is not None
    stated = float(words[1])
    near = found.require().robot
    assert near.bodies[3].inertia != robot.bodies[3].inertia
    assert check_robot(near).problems == ()
    # The whole inertia with the spins held, by the tree, against the axisymmetric one: a second opinion.
    rng = np.random.default_rng(2)
    x = near.reference.p + 0.1 * rng.uniform(-1, 1, (40, 3))
    v, a = np.zeros((40, 3)), 10.0 * near.size * rng.normal(size=(40, 3))
    exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree").force
    ours = nacelle.inverse_dynamics(near, x, v, a).force
    error = np.max(np.abs(exact - ours), axis=0) / np.max(np.abs(exact), axis=0)
    assert 0.2 * stated < np.max(error) < 5.0 * stated


def test_a_large_asymmetry_is_refused_unless_it_is_chosen() -> None:
    (*errors,) = check_robot(_uneven(0.2)).errors
    assert len(errors) == 6
    assert "spin: universal" in errors[0].hint
    assert not check_robot(_uneven(0.2, "neglect")).errors


@pytest.mark.slow
def test_a_universal_joint_holds_the_spin_far_from_its_singularity() -> None:
    found = check_robot(_uneven(0.2, "universal"))
    assert not found.errors
    assert found.mobility is not None
    assert found.mobility.idle_count == 0
    robot = found.robot
    assert sum(joint.kind == "universal" for joint in robot.joints) == 6
    # In the reference pose both angles are zero: the first axis is perpendicular to the rod.
    q = [value for joint in robot.tree_joints if joint.kind == "universal" for value in joint.guess]
    assert q == [0.0] * 12
    again = nacelle.loads(robot.to_yaml())
    assert again.hash == robot.hash
    state = (robot.reference.p + 0.05, [0.3, -0.2, 0.1], [1.0, 2.0, -1.0])
    tree = nacelle.inverse_dynamics(robot, *state, formulation="tree").force
    np.testing.assert_allclose(nacelle.inverse_dynamics(robot, *state).force, tree, rtol=1e-9)


def test_the_nearest_axisymmetric_inertia() -> None:
    rng = np.random.default_rng(4)
    B = rng.normal(size=(3, 3))
    I = B @ B.T
    I = np.eye(3) * np.trace(I) - I
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    spin = Spin(1, tuple(axis), (0.1, 0.2, 0.3))
    ten = parameters_from_com(2.0, np.array([0.3, 0.1, 0.4]), I)
    near = axisymmetric(ten, spin)
    about = transform_parameters(np.eye(3), -np.array(spin.point), near)
    assert is_axisymmetric(about, axis, 1.0, 1e-12)
    # No other axisymmetric inertia is nearer.
    best = np.linalg.norm(inertia_about_com(near) - I)
    along = np.outer(axis, axis)
    for A, C in rng.normal(size=(50, 2)) * 0.1:
        other = inertia_about_com(near) + A * (np.eye(3) - along) + C * along
        assert np.linalg.norm(other - I) >= best


def test_a_massless_body_has_no_asymmetry() -> None:
    robot = nacelle.load("fivebar")
    body = next(k for k, own in enumerate(robot.bodies) if own.massless)
    assert asymmetry(robot, Spin(body, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))) == 0.0


@pytest.mark.parametrize("choice", ["neglect", "universal"])
def test_the_choice_is_written_in_a_body_of_the_newer_format(choice: str) -> None:
    text = _uneven(0.2, choice).to_yaml()
    assert text.startswith("format: nacelle/2")
    with pytest.raises(nacelle.DescriptionError, match="write format: nacelle/2"):
        nacelle.loads(text.replace("nacelle/2", "nacelle/1"))
    assert not check_robot(nacelle.loads(text)).problems


def test_what_becomes_of_a_spin_is_told_at_its_body(tmp_path: Path) -> None:
    """A rod that is held, and a choice in a body that does not spin, each with its line."""
    text = (Path(described.__file__).parent / "tied_arm.yaml").read_text()
    text = text.replace("rod: {mass", "rod: {spin: universal, mass").replace(
        "post: {mass", "post: {spin: neglect, mass"
    )
    path = tmp_path / "arm.yaml"
    path.write_text(text)
    idle, held = sorted(nacelle.check(path).problems, key=lambda problem: problem.line)
    lines = text.splitlines()
    assert "does not spin idly" in idle.message
    assert "spin: neglect" in lines[idle.line - 1]
    assert "made universal" in held.message
    assert "spin: universal" in lines[held.line - 1]
    assert {idle.severity, held.severity} == {"warning"}
