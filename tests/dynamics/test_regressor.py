"""The linear form in the parameters: it gives the forces of inverse dynamics for any parameters."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.compact import regressor as general
from nacelle.dynamics import reference as tree
from nacelle.dynamics.physics import Physics
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.sample_states import closed_sample_states
from support import rigid_robots, stress_robots

BODY = 10


def _other(robot, seed=3):
    """The robot with other parameters; each body stays similar to itself, so that rods stay rods."""
    parameters = nacelle.dynamics.linear_parameters(robot)
    rng = np.random.default_rng(seed)
    count = BODY * (len(robot.bodies) - 1 + len(robot.payload))
    factors = np.concatenate(
        [
            np.repeat(rng.uniform(0.5, 1.5, count // BODY), BODY),
            rng.uniform(0.5, 1.5, len(parameters) - count),
        ]
    )
    return nacelle.dynamics.with_linear_parameters(robot, parameters.values * factors)


def _states(robot, count=2, seed=5):
    """States (x, y, v, a) near the reference."""
    rng = np.random.default_rng(seed)
    for x, y in closed_sample_states(robot)[1 : 1 + count]:
        v, a = rng.normal(size=(2, robot.motion.n))
        yield x, y, v, a


def _forces(module, robot, *state):
    Y = np.asarray(module.regressor(robot, *state)["Y"], dtype=float)
    return Y @ nacelle.dynamics.linear_parameters(robot).values


def _check(robot):
    none = np.zeros(robot.motion.n)
    for moved in (robot, _other(robot)):
        for x, y, v, a in _states(robot):
            force = np.asarray(tree.inverse(moved, x, y, v, a, none)["force"], dtype=float)
            for module in (general, tree):
                error = _forces(module, moved, x, y, v, a) - force
                assert np.max(np.abs(error)) <= 1e-11 * np.max(np.abs(force)), module.__name__


@pytest.mark.costly
@pytest.mark.parametrize("name", nacelle.robot_names())
def test_the_library(name):
    _check(nacelle.load(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(stress_robots.STRESS))
def test_stress_robots(name):
    _check(stress_robots.STRESS[name](1))


@pytest.mark.costly
@pytest.mark.parametrize("name", sorted(rigid_robots.RIGID))
def test_rigid_robots(name):
    _check(rigid_robots.RIGID[name].make(1))


def test_parameters_come_back():
    robot = stress_robots.STRESS["sprung five-bar"](2)
    parameters = nacelle.dynamics.linear_parameters(robot)
    assert any(name.endswith("stiffness*rest") for name in parameters.names)
    again = nacelle.dynamics.linear_parameters(_other(robot))
    assert again.names == parameters.names
    np.testing.assert_allclose(
        nacelle.dynamics.with_linear_parameters(robot, parameters.values).parameter_vector(),
        robot.parameter_vector(),
        rtol=1e-14,
    )
    with pytest.raises(nacelle.errors.ParameterError, match="linear parameters"):
        nacelle.dynamics.with_linear_parameters(robot, [1.0])
    with pytest.raises(nacelle.errors.ParameterError, match="not finite"):
        nacelle.dynamics.with_linear_parameters(robot, parameters.values * np.nan)


def test_payload_has_the_columns_of_its_body():
    robot = nacelle.with_payload(nacelle.load("delta"), 1.0, com=[0.01, 0.0, -0.02])
    x, y, v, a = next(_states(robot))
    Y = np.asarray(general.regressor(robot, x, y, v, a)["Y"], dtype=float)
    names = nacelle.dynamics.linear_parameters(robot).names
    platform = robot.bodies[1].name
    for name in ("m", "mx", "Ixx"):
        own, load = names.index(f"{platform}.{name}"), names.index(f"payload.payload.{name}")
        np.testing.assert_array_equal(Y[:, own], Y[:, load])


@pytest.mark.slow
@pytest.mark.parametrize("module", [general, tree])
@pytest.mark.parametrize(
    "name", ["3rrr", "palida", "3rps", "dymo", "platform with a loop", "redundant planar 4-RRR"]
)
def test_along_a_reference(name, module):
    robot = stress_robots.STRESS[name](1) if name in stress_robots.STRESS else nacelle.load(name)
    n = robot.motion.n
    p = nacelle.dynamics.linear_parameters(robot).values
    x, y, v, a = next(_states(robot))
    A = np.asarray(inverse_jacobian(robot, x, y)["J"], dtype=float)

    def along_twist(v_ref, a_ref, friction=False):
        Y = module.reference_regressor(robot, x, y, v, v_ref, a_ref, physics=Physics(friction))["Y"]
        return A.T @ (np.asarray(Y, dtype=float) @ p)

    zero = np.zeros(n)
    rest = along_twist(zero, zero)
    M = np.stack([along_twist(zero, unit) - rest for unit in np.eye(n)], axis=1)
    C = np.stack([along_twist(unit, zero) - rest for unit in np.eye(n)], axis=1)

    def mass(pose, unknown):
        return np.asarray(tree.inertia(robot, pose, unknown)["M"], dtype=float)

    np.testing.assert_allclose(M, mass(x, y), rtol=1e-9, atol=1e-11 * np.max(np.abs(M)))
    # The motion itself as the reference: inverse dynamics, friction included.
    force = np.asarray(tree.inverse(robot, x, y, v, a, zero)["force"], dtype=float)
    np.testing.assert_allclose(
        along_twist(v, a, friction=True), A.T @ force, rtol=1e-9, atol=1e-11 * np.max(np.abs(A.T @ force))
    )
    # dM/dt - 2 C is skew-symmetric, dM/dt from differences along the motion.
    step = 1e-4 / np.max(np.abs(v))
    moved = []
    for s in (step, -step):
        pose = nacelle.kinematics.integrate_pose(robot, x, s * v)
        moved.append(mass(pose, nacelle.inverse_kinematics(robot, pose, guess=y).y))
    skew = (moved[0] - moved[1]) / (2.0 * step) - 2.0 * C
    assert np.max(np.abs(skew + skew.T)) < 1e-4 * np.max(np.abs(C))


def test_api():
    robot = nacelle.load("fivebar")
    rng = np.random.default_rng(0)
    x = nacelle.reference_pose(robot) + rng.uniform(-0.02, 0.02, (5, 2))
    v, a = rng.normal(size=(2, 5, 2))
    found = nacelle.regressor(robot, x, v, a)
    force = nacelle.inverse_dynamics(robot, x, v, a)
    assert found.Y.shape == (5, 2, len(found.parameters))
    np.testing.assert_allclose(found.Y @ found.parameters.values, force.tau, rtol=1e-12)
    assert np.all(found.parallel_margin > 0.1)
    again = nacelle.regressor(robot, x, v, v_ref=v, a_ref=a)
    np.testing.assert_allclose(again.Y @ found.parameters.values, force.tau, rtol=1e-12)
    x[0] = 10.0
    far = nacelle.regressor(robot, x, v, a)
    assert np.all(np.isnan(far.Y[0]))
    assert far.flags[0] & nacelle.Flag.UNREACHABLE
    assert not np.any(np.isnan(far.Y[1:]))
    with pytest.raises(nacelle.UnreachableError):
        nacelle.regressor(robot, x[0])
    with pytest.raises(nacelle.KinematicsError, match="not both"):
        nacelle.regressor(robot, x[1], v[1], a[1], v_ref=v[1])


def test_weak_pivots_fall_back_to_the_tree():
    robot = nacelle.load("fivebar")
    # Near the base's line the distal links come into one line: a parallel singularity.
    poses = np.stack([np.zeros(400), np.linspace(0.02, 0.25, 400)], axis=1)
    rng = np.random.default_rng(1)
    v, a = rng.normal(size=(2, 2))
    force = nacelle.inverse_dynamics(robot, poses, v, a)
    weak = int(np.nanargmin(np.where(np.isnan(force.tau[:, 0]), np.inf, force.parallel_margin)))
    assert force.parallel_margin[weak] < 1e-4
    found = nacelle.regressor(robot, poses[weak], v, a)
    np.testing.assert_allclose(found.parallel_margin, force.parallel_margin[weak], rtol=1e-6)
    np.testing.assert_allclose(found.Y @ found.parameters.values, force.tau[weak], rtol=1e-8)
