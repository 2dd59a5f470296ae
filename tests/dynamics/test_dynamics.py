"""Dynamics.

actuators, compact form, element state, energy, equilibrium, forward, jacobian, joint axes, joint effort,
models, operating point, poses, reference motion, settings, sizing, state, wrench.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.dynamics import evaluation, forward
from nacelle.dynamics import tree_form as tree
from nacelle.dynamics.derivatives.derivatives import (
    POINT_SHAPES,
    OperatingPoint,
    operating_point,
    takes_operating_point,
)
from nacelle.dynamics.equilibrium import equilibrium, equilibrium_pose
from nacelle.dynamics.jacobian import sample_poses
from nacelle.dynamics.joint_effort import rotors
from nacelle.dynamics.models import NAMES, model
from nacelle.dynamics.physics import Physics, check_positive
from nacelle.dynamics.reference_motion import reference_motions
from nacelle.dynamics.state import state_at
from nacelle.dynamics.wrench import inertial_wrench
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import integrate_pose, solve_loops
from nacelle.model.joint import JointKind, Primitive
from nacelle.spatial.inertia import parameters_from_com
from nacelle.spatial.pose import Pose
from nacelle.tree.actuation import joint_axes, rate_rows
from support.compare import assert_same
from support.described import mechanism
from support.library import library_robot
from support.random_programs import evaluate
from support.stress_robots import STRESS
from support.uncompiled import named_robot, solve_uncompiled
from support.uncompiled import trajectory_states as states

# ---- Redundant actuation: forces of least norm


@pytest.mark.slow
def test_redundant_actuation() -> None:
    robot = named_robot("redundant")
    x, _, v, a = (array[0] for array in states(robot, np.array([0.3])))
    A = nacelle.jacobian(robot, x).inverse
    count, n = A.shape
    assert count > n
    least = nacelle.inverse_dynamics(robot, x, v, a)
    np.testing.assert_allclose(A.T @ least.tau, least.generalised_force, rtol=1e-10)
    np.testing.assert_allclose(least.tau, np.linalg.pinv(A.T) @ least.generalised_force, rtol=1e-9)
    weights = np.linspace(1.0, 3.0, count)
    weighted = nacelle.inverse_dynamics(robot, x, v, a, weights=weights).tau
    W = np.diag(1.0 / weights)
    expected = W @ A @ np.linalg.solve(A.T @ W @ A, least.generalised_force)
    np.testing.assert_allclose(weighted, expected, rtol=1e-9)
    preload = np.arange(1.0, count + 1.0)
    held = nacelle.inverse_dynamics(robot, x, v, a, preload=preload).tau
    inner = preload - A @ np.linalg.lstsq(A, preload, rcond=None)[0]
    np.testing.assert_allclose(held - least.tau, inner, atol=1e-9)
    np.testing.assert_allclose(A.T @ held, least.generalised_force, rtol=1e-9)


# ---- The compact form with the tree where its pivots are weak: one answer, whichever form gave it


def test_both_forms_give_one_answer() -> None:
    robot = named_robot("fivebar")
    x, y, flags = solve_loops(robot, sample_poses(robot, 4, seed=7))
    v, a = np.random.default_rng(0).normal(size=(2, 4, 2))
    states = (x, y, v, a, np.zeros((4, 2)))
    found = evaluation.evaluate_states("inverse", robot, states, flags)
    by_tree = evaluation.pivoted_model("inverse", robot)(*states)
    np.testing.assert_allclose(found["force"], by_tree["force"], rtol=1e-9)
    assert "pivot" not in found
    assert np.all((found["parallel_margin"] > 0.0) & (found["parallel_margin"] <= 1.0))
    assert np.all(by_tree["pivot"] > 0.0)


# ---- Inverse dynamics and regressor at an element state: as at its pose, with flags; wrong inputs


@pytest.mark.slow
def test_as_at_the_pose() -> None:
    robot = library_robot("fivebar")
    rng = np.random.default_rng(0)
    x = nacelle.reference_pose(robot) + 0.01 * rng.normal(size=(5, 2))
    v, a = rng.normal(size=(2, 5, 2))
    state = nacelle.papers.element_state(robot, x, v, a)
    exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree")
    found = nacelle.inverse_dynamics(robot, state)
    assert_same(found.tau, exact.tau, 1e-12)
    assert_same(found.x, x, 1e-12)
    assert np.array_equal(found.flags, exact.flags)
    Y = nacelle.regressor(robot, state)
    assert_same(Y.Y @ Y.parameters.values, exact.tau, 1e-11)
    rigid = nacelle.inverse_dynamics(robot, state, friction=False).tau
    assert_same(rigid, nacelle.inverse_dynamics(robot, x, v, a, friction=False).tau, 1e-12)


def test_singularities_of_the_equation_are_reported() -> None:
    """Towards the pose where both distal bars are on one line A becomes singular: the margin falls."""
    robot = library_robot("fivebar")
    start = nacelle.reference_pose(robot)
    heights = np.linspace(0.0, -0.2, 21)
    x = np.stack([start[0] + 0.0 * heights, start[1] + heights], axis=1)
    exact = nacelle.inverse_dynamics(robot, x)
    reached = exact.flags == 0
    found = nacelle.inverse_dynamics(robot, nacelle.papers.element_state(robot, x[reached]))
    assert np.count_nonzero(reached) > 3
    assert_same(found.tau, exact.tau[reached], 1e-11)
    order = np.argsort(exact.parallel_margin[reached])
    assert np.array_equal(np.argsort(found.parallel_margin), order)


def test_what_is_wrong_is_said() -> None:
    robot = library_robot("fivebar")
    state = nacelle.papers.element_state(robot, nacelle.reference_pose(robot))
    with pytest.raises(KinematicsError, match="no twist v: it has its own rates"):
        nacelle.inverse_dynamics(robot, state, np.zeros(2))
    with pytest.raises(KinematicsError, match="no reference a_ref"):
        nacelle.regressor(robot, state, a_ref=np.zeros(2))
    with pytest.raises(KinematicsError, match="one of fivebar, not of prrrp"):
        nacelle.inverse_dynamics(library_robot("prrrp"), state)


# ---- Equilibria: forces that hold a pose, poses that forces hold, and what is refused


def test_forces_hold_the_pose_and_the_pose_the_forces() -> None:
    """Under gravity in its plane a five-bar rests where inverse dynamics says so, and is led back there."""
    robot = dataclasses.replace(named_robot("fivebar"), gravity=(0.0, -9.81, 0.0))
    x = nacelle.reference_pose(robot)
    held = equilibrium(robot, x)
    np.testing.assert_allclose(held, nacelle.inverse_dynamics(robot, x).tau, rtol=1e-9)
    aside = integrate_pose(robot, x, np.array([0.004, -0.003]))
    np.testing.assert_allclose(aside - x, [0.004, -0.003], atol=1e-15)
    np.testing.assert_allclose(equilibrium_pose(robot, held, guess=aside), x, atol=1e-8)


@pytest.mark.slow
def test_faults_of_equilibria_are_told() -> None:
    robot = named_robot("delta-codourey")
    for arguments, words in (
        ({"tau": [0.0, 0.0]}, "3 actuators"),
        ({"tau": [0.0, 0.0, np.nan]}, "not finite"),
        ({"tau": np.zeros((2, 3))}, "one set of forces"),
        ({"guess": np.zeros((2, 3))}, "one pose"),
        ({"guess": [0.0, np.nan, 0.0]}, "not finite"),
        ({"guess": [0.0, 0.0]}, "shape"),
        ({"external": {"plates": np.zeros(6)}}, "no body"),
        ({"external": {"plate": np.zeros(3)}}, "shape"),
        ({"external": {"plate": [np.inf, 0, 0, 0, 0, 0]}}, "not finite"),
        ({"external": {"plate": np.zeros((2, 6))}}, "one set of wrenches"),
    ):
        with pytest.raises(nacelle.KinematicsError, match=words):
            equilibrium_pose(robot, **arguments)
    with pytest.raises(nacelle.UnreachableError):
        equilibrium_pose(robot, guess=[5.0, 0.0, 0.0])
    with pytest.raises(nacelle.UnreachableError):
        equilibrium(robot, [5.0, 0.0, 0.0])
    # Forces that nothing balances: a push far beyond the weight drives the plate out of reach.
    with pytest.raises(nacelle.KinematicsError, match=r"no pose|do not determine"):
        equilibrium_pose(robot, [500.0, 500.0, 500.0])


def test_a_batch_of_a_robot_with_a_motion_that_nothing_drives() -> None:
    """A pendulum rests hanging, wherever its cart is."""
    robot = mechanism("cart_pole")
    hanging = equilibrium_pose(robot, free="cart.pivot")
    poses = np.tile(hanging, (4, 1))
    poses[:, 0] = np.linspace(-0.1, 0.1, 4)
    np.testing.assert_allclose(equilibrium(robot, poses), 0.0, atol=1e-9)


# ---- forward
#
# Forward dynamics at the public API: M a + h = A^T tau, energies, and both kinds of coordinates.


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "redundant"])
def test_equation_of_motion(name: str) -> None:
    robot = named_robot(name)
    x = sample_poses(robot, 3, seed=5)
    rng = np.random.default_rng(1)
    v = rng.normal(size=(3, robot.motion.n)) * 0.2
    tau = rng.normal(size=(3, len(robot.actuators)))
    a = forward.forward_dynamics(robot, x, v, tau).a
    M, h = forward.mass_matrix(robot, x), forward.bias_forces(robot, x, v)
    A = nacelle.jacobian(robot, x).inverse
    left = np.einsum("kij,kj->ki", M, a) + h
    np.testing.assert_allclose(left, np.einsum("kji,kj->ki", A, tau), atol=1e-9 * np.abs(tau).max())
    kinetic = 0.5 * np.einsum("ki,kij,kj->k", v, M, v)
    np.testing.assert_allclose(forward.kinetic_energy(robot, x, v), kinetic, rtol=1e-10)


def test_gravity_is_the_slope_of_the_potential_energy() -> None:
    robot = named_robot("fivebar")
    x, h = sample_poses(robot, 2, seed=6), 1e-5
    steps = h * np.eye(2)[:, None]
    slope = (forward.potential_energy(robot, x + steps) - forward.potential_energy(robot, x - steps)) / (
        2 * h
    )
    np.testing.assert_allclose(forward.gravity_forces(robot, x), slope.T, rtol=1e-6)
    J = nacelle.jacobian(robot, x).direct
    on_actuators = forward.gravity_forces(robot, x, coordinates="actuators")
    np.testing.assert_allclose(on_actuators, np.einsum("kji,kj->ki", J, slope.T), rtol=1e-5)


# ---- joint axes
#
# Axes of joints: rates against differences of frames that move, and the power of efforts along them.

JOINTS = {
    joint.kind: joint
    for robot in (named_robot("everything"), named_robot("c5"), STRESS["planar-spherical joints"](1))
    for joint in robot.joints
}


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind is not JointKind.FIXED])
def test_rates_and_power(kind: JointKind) -> None:
    """A wrench along the axes has the power of efforts times rates, wherever both bodies are and move."""
    rng = np.random.default_rng(3)
    first, second = (Pose(Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)) for _ in range(2))
    (v1, w1), (v2, w2) = rng.normal(size=(2, 2, 3))
    for axis in joint_axes(JOINTS[kind], first, second):
        np.testing.assert_allclose(np.linalg.norm(axis.directions, axis=0), 1.0, rtol=1e-14)
        at_point = [v + np.cross(w, axis.point) for v, w in ((v1, w1), (v2, w2))]
        rates = axis.along(at_point[1] - at_point[0], w2 - w1)
        efforts = rng.normal(size=len(rates))
        f, n = axis.wrench(efforts)
        about_origin = n + np.cross(axis.point, f)
        power = f @ (v2 - v1) + about_origin @ (w2 - w1)
        assert power == pytest.approx(efforts @ rates, rel=1e-12, abs=1e-13)


# ---- joint effort
#
# Rates of all axes against differences of their coordinates, in the tree and where loops are cut.


def test_rates_are_those_of_the_coordinates() -> None:
    robot = STRESS["drives, springs and rotors at closures"](1)
    v, h = np.random.default_rng(4).normal(size=robot.motion.n), 1e-4
    x = mechanism_of(robot).reference[0] + h * np.arange(-2.0, 3.0)[:, None] * v
    states = [state_at(robot, *row, v) for row in zip(x, solve_uncompiled(robot, x), strict=True)]
    weights = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * h)
    compared = 0
    for index, joint in enumerate(robot.joints):
        rows = rate_rows(robot, states[2].now.motion, index)
        for number, primitive in enumerate(joint.primitives):
            if primitive is not Primitive.SPHERICAL:
                q = np.unwrap([float(state.now.coordinate(index, number)) for state in states])
                rate = float((rows[number] @ states[2].moving.u)[0])
                np.testing.assert_allclose(rate, weights @ q, rtol=0, atol=1e-8, err_msg=joint.name)
                compared += index >= robot.tree
    assert compared > 2
    assert all(inertia > 0.0 for _, inertia in rotors(robot))


# ---- Named models: what they take and give, and what there is not


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_those_of_the_program(name: str) -> None:
    found = model(named_robot("fivebar"), name)
    program = found.program(minimise=False)
    assert {variable.name: variable.shape for variable in program.inputs} == dict(found.inputs)
    assert set(found.meaning) >= set(found.inputs)


def test_the_model_is_what_the_api_computes() -> None:
    robot = named_robot("fivebar")
    x = nacelle.reference_pose(robot)
    v, a = np.array([0.2, -0.1]), np.array([1.0, 2.0])
    found = model(robot)
    values = {"x": x, "y": np.zeros(0), "v": v, "a": a, "load": np.zeros(2)}
    result = evaluate(found.program(), [values[name][None] for name in found.inputs])
    np.testing.assert_allclose(result[0][0], nacelle.inverse_dynamics(robot, x, v, a).tau, rtol=1e-9)


def test_what_there_is_not() -> None:
    robot = named_robot("fivebar")
    with pytest.raises(KinematicsError, match="did you mean"):
        model(robot, "inverse_dynamic")
    with pytest.raises(KinematicsError):
        model(robot, "jacobian", input="elements")


# ---- Operating points: forces and accelerations that belong together, from either of them


def test_forward_is_the_inverse_of_inverse() -> None:
    robot = named_robot("fivebar")
    x = sample_poses(robot, 4, seed=2)
    v, a = np.random.default_rng(0).normal(size=(2, 4, 2)) * 0.3
    first, flags = operating_point(robot, x, v, a=a)
    again, _ = operating_point(robot, x, v, tau=first.tau)
    assert not flags.any()
    np.testing.assert_allclose(first.tau, nacelle.inverse_dynamics(robot, x, v, a).tau, rtol=1e-12)
    np.testing.assert_allclose(again.a, a, atol=1e-9)


def test_a_point_travels_as_one() -> None:
    fields = takes_operating_point(lambda robot, point: point)(None, *range(5))
    assert fields == OperatingPoint(0, 1, 2, 3, 4)
    assert tuple(POINT_SHAPES) == OperatingPoint._fields


# ---- poses
#
# Poses that a robot can hold: reachable, within limits, far from singularities, the same for a seed.


def test_poses_are_fit_for_work() -> None:
    robot = named_robot("fivebar")
    x = sample_poses(robot, 50, seed=3)
    assert x.shape == (50, 2)
    assert np.array_equal(x, sample_poses(robot, 50, seed=3))
    assert not np.array_equal(x, sample_poses(robot, 50, seed=4))
    assert np.all(nacelle.inverse_kinematics(robot, x).flags == 0)
    assert np.all(nacelle.jacobian(robot, x).conditioning > 1e-3)
    assert np.ptp(x, axis=0).min() > 0.02 * robot.size


# ---- reference motion
#
# Motions of a reference: their weighted forces make M a_r + C v_r + g with M' - 2 C skew-symmetric.


def test_coriolis_forces_do_no_more_work_than_the_mass_matrix_takes() -> None:
    robot = named_robot("delta-codourey")
    mechanism = mechanism_of(robot)
    x, _ = mechanism.reference
    v, v_ref = np.array([0.3, -0.2, 0.5]), np.array([-0.4, 0.1, 0.2])
    still = np.zeros(3)

    def force(motions: list[tuple[float, np.ndarray, np.ndarray]], at: np.ndarray) -> np.ndarray:
        own = solve_uncompiled(robot, at[None])[0]
        return sum(
            weight * tree.generalised_force(state_at(robot, at, own, speed), a, Physics(friction=False))
            for weight, speed, a in motions
        )

    def with_reference(u: np.ndarray, speed: np.ndarray = v) -> np.ndarray:
        return force(reference_motions(mechanism, speed, u, still, still, still), x)

    gravity = force([(1.0, still, still)], x)
    # Along the motion itself the reference is the motion.
    assert_same(with_reference(v), force([(1.0, v, still)], x), 1e-10)
    # Linear in the reference.
    assert_same(with_reference(2.0 * v_ref) - gravity, 2.0 * (with_reference(v_ref) - gravity), 1e-9)

    # v_ref . (M' - 2 C) v_ref = 0, with M' by differences.
    def mass(at: np.ndarray) -> np.ndarray:
        zero = force([(1.0, still, still)], at)
        return np.stack([force([(1.0, still, e)], at) - zero for e in np.eye(3)], axis=1)

    h = 1e-5
    M_rate = (mass(x + h * v) - mass(x - h * v)) / (2 * h)
    coriolis = v_ref @ (with_reference(v_ref) - gravity)
    assert abs(v_ref @ M_rate @ v_ref - 2.0 * coriolis) < 1e-6 * abs(coriolis)


# ---- What the equations of motion include is checked where it is made


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "fast", None])
def test_rates_are_above_zero(value: object) -> None:
    with pytest.raises(KinematicsError, match="smooth"):
        check_positive(value, "smooth")
    if value is not None:
        with pytest.raises(KinematicsError):
            Physics(**{"smooth": value})


# ---- Sizing of motors along a motion


@pytest.mark.slow
def test_sizing_counts_what_the_motion_asks_for() -> None:
    robot = library_robot("delta")
    course = nacelle.Circle(nacelle.reference_pose(robot), 0.1, motion=robot.motion, duration=0.5)
    sizing = nacelle.dynamics.size_motors(robot, course, rate=400.0)
    assert len(sizing.times) == 201
    for k, load in enumerate(sizing.loads):
        assert load.peak_force == np.max(np.abs(sizing.tau[:, k]))
        assert load.rms_force < load.peak_force
        assert load.peak_power == np.max(sizing.tau[:, k] * sizing.rate[:, k])
        assert load.within
    frozen = nacelle.dynamics.size_motors(robot, nacelle.trajectory.time_scaled(course, 0.1))
    assert not all(load.within for load in frozen.loads)


WRENCH = np.array([20.0, -5.0, 30.0, 1.0, 2.0, -3.0])


@pytest.mark.slow
def test_sizing_takes_wrenches() -> None:
    robot = nacelle.load("delta")
    x = nacelle.reference_pose(robot)
    rest = nacelle.Line(x, x, motion=robot.motion, duration=0.1)
    found = nacelle.dynamics.size_motors(robot, rest, rate=100.0, external={"flange": WRENCH})
    expected = nacelle.inverse_dynamics(robot, x, external={"flange": WRENCH}).tau
    np.testing.assert_allclose([load.peak_force for load in found.loads], np.abs(expected), rtol=1e-12)


# ---- The wrench of a body against the sum over its mass points


@pytest.mark.parametrize("seed", range(5))
def test_a_body_is_its_mass_points(seed: int) -> None:
    """Newton for every point: a + w' x r + w x (w x r)."""
    rng = np.random.default_rng(seed)
    masses, r = rng.uniform(0.1, 1.0, 7), rng.normal(size=(7, 3))
    m, c = masses.sum(), masses @ r / masses.sum()
    from_c = r - c
    inertia = np.sum(masses * np.sum(from_c**2, axis=1)) * np.eye(3) - (masses * from_c.T) @ from_c
    a, w, w_dot = rng.normal(size=(3, 3))
    forces = masses[:, None] * (a + np.cross(w_dot, r) + np.cross(w, np.cross(w, r)))
    found = inertial_wrench(parameters_from_com(m, c, inertia), a, w, w_dot)
    np.testing.assert_allclose(found.f, forces.sum(axis=0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.n, np.cross(r, forces).sum(axis=0), rtol=0, atol=1e-12)
