"""Consistency: what cannot be, what is written, nearest points, unusual robots."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle.dynamics.base_parameters.sampling import parameter_units, sampled_regressor
from nacelle.errors import IdentificationError, ParameterError
from nacelle.identification.consistency import nearest
from nacelle.identification.consistency.cone_program import nearest_in_cones
from nacelle.identification.consistency.consistent import MARGIN, consistent_parameters
from nacelle.identification.consistency.feasible_set import feasible_set, solve_all
from nacelle.identification.consistency.identified import (
    consistency_faults,
    identified_robot,
    is_consistent,
    write_identified,
)
from nacelle.identification.consistency.mass_matrix import mass_matrices, smallest_inertia_ratio
from nacelle.identification.consistency.pseudo_inertia import pack_symmetric
from nacelle.identification.consistency.roots import information_root_of_regression
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.rods import find_rods
from nacelle.model.joint import Spring
from nacelle.model.payload import with_payload
from nacelle.spatial.inertia import inertia_faults
from support import stress_robots
from support.library import NAMES, library_robot
from support.noisy_estimates import noisy_estimate, random_motion_states

# ---- The nearest parameters in cones: an estimate inside stays, one outside goes to the boundary

BASE = nacelle.base_parameters(library_robot("fivebar"))

PRIOR = BASE.choice.values

SPACE = feasible_set(BASE, np.eye(len(BASE)), prior=PRIOR, margin=0.01)

UNITS = np.diag(1.0 / np.maximum(np.abs(PRIOR), 1e-3))


def test_a_negative_mass_meets_the_boundary() -> None:
    """No feasible point on the way to the middle of the cones is nearer to the estimate."""
    wanted = PRIOR.copy()
    wanted[BASE.choice.names.index("left.distal.m")] = -0.5
    h = UNITS @ wanted
    solution = nearest_in_cones(SPACE, UNITS, h, 1e-12)
    assert min(SPACE.eigenvalues(solution.z)) > -1e-9
    assert min(SPACE.eigenvalues(solution.z)) < 1e-3
    assert max(solution.multiplier_sizes) > 0.1
    distance = np.linalg.norm(UNITS @ solution.z - h)
    random = np.random.default_rng(0)
    for _ in range(200):
        other = SPACE.project_into_cones(solution.z + 0.05 * random.normal(size=len(PRIOR)) * np.abs(PRIOR))
        assert np.linalg.norm(UNITS @ other - h) > distance - 1e-6


# ---- Why parameters belong to no robot


@pytest.mark.parametrize("name", NAMES)
def test_the_library_is_consistent(name):
    assert is_consistent(library_robot(name))


def _with(name, changes):
    robot = library_robot(name)
    own = nacelle.dynamics.linear_parameters(robot)
    values = own.values.copy()
    for key, value in changes.items():
        values[own.names.index(key)] = value
    return robot, values


@pytest.mark.parametrize(
    ("robot", "changes", "place", "words"),
    [
        ("fivebar", {"left.proximal.m": -0.4}, "left.proximal", "mass is negative"),
        ("fivebar", {"left.proximal.m": 0.0}, "left.proximal", "mass is zero but"),
        ("fivebar", {"left.distal.mx": 1.0}, "left.distal", "not positive"),
        ("fivebar", {"left.distal.Ixx": 1.0}, "left.distal", "triangle inequality"),
        ("fivebar", {"left.distal.Izz": np.nan}, "left.distal.Izz", "not a finite number"),
        (
            "delta-codourey",
            {"plate.mx": 0.1, "plate.Iyy": 1.0, "plate.Izz": 1.0},
            "plate",
            "a point has a mass alone",
        ),
        ("delta", {"leg1.rod-a.Iyy": 0.009599}, "leg1.rod-a", "spins idly"),
        (
            "fivebar",
            {"left.distal-input.rz.viscous": -1e-3},
            "left.distal-input.rz.viscous",
            "negative: -0.001",
        ),
        (
            "fivebar",
            {"left.proximal-input.rotor_inertia": -1e-3},
            "left.proximal-input.rotor_inertia",
            "negative",
        ),
    ],
)
def test_what_cannot_be(robot, changes, place, words):
    given, values = _with(robot, changes)
    faults = consistency_faults(given, values)
    assert list(faults) == [place]
    assert words in faults[place]
    assert not is_consistent(given, values)


def test_an_impossible_payload():
    robot = with_payload(library_robot("delta"), 0.5)
    values = nacelle.dynamics.linear_parameters(robot).values.copy()
    values[nacelle.dynamics.linear_parameters(robot).names.index("payload.payload.m")] = -0.5
    assert list(consistency_faults(robot, values)) == ["payload.payload"]


def test_another_number_of_values():
    with pytest.raises(IdentificationError, match="62 linear parameters"):
        is_consistent(library_robot("fivebar"), np.zeros(3))


# ---- The robot with identified parameters, and its file


@pytest.mark.slow
def test_a_file_that_is_read_as_the_same_robot(tmp_path):
    robot = with_payload(library_robot("delta"), 0.5, com=(0.0, 0.01, -0.02))
    data = noisy_estimate(robot, noise=0.1)
    result = consistent_parameters(data.base, data.beta, data.root)
    moved = identified_robot(robot, result, name="my-delta")
    file = tmp_path / "my-delta.yaml"
    write_identified(moved, file)
    check = nacelle.check(file)
    assert check.errors == ()
    assert check.robot.hash == moved.hash
    assert check.robot.name == "my-delta"
    assert np.allclose(nacelle.dynamics.linear_parameters(check.robot).values, result.values, rtol=1e-12)
    # All but the identified numbers is as before.
    assert np.allclose(moved.payload[0].inertia, robot.payload[0].inertia, rtol=1e-14, atol=0.0)
    assert np.array_equal(moved.parameter_vector("geometry"), robot.parameter_vector("geometry"))
    assert [joint.limits for joint in moved.joints] == [joint.limits for joint in robot.joints]
    assert moved.actuators == robot.actuators
    assert nacelle.dynamics.linear_parameters(moved).names == nacelle.dynamics.linear_parameters(robot).names
    # Its forces are those of the base parameters.
    force = nacelle.inverse_dynamics(moved, data.x[:5]).tau
    Y = nacelle.regressor(robot, data.x[:5], parameters=data.base).Y
    assert np.allclose(force, Y @ result.base_values, rtol=1e-9)
    with pytest.raises(FileExistsError):
        write_identified(moved, file, new=True)


def test_an_impossible_robot_is_refused():
    robot = library_robot("fivebar")
    values = nacelle.dynamics.linear_parameters(robot).values.copy()
    values[10] = -1.0
    with pytest.raises(IdentificationError, match=r"left.proximal: the mass is negative.*Lift the estimate"):
        identified_robot(robot, values)
    with pytest.raises(ParameterError):
        identified_robot(robot, values[:5])


def test_nothing_is_written_that_the_format_refuses(tmp_path):
    robot = library_robot("fivebar")
    values = nacelle.dynamics.linear_parameters(robot).values.copy()
    values[10] = -1.0
    with pytest.raises(IdentificationError, match="would be refused"):
        write_identified(nacelle.dynamics.with_linear_parameters(robot, values), tmp_path / "robot.yaml")
    assert list(tmp_path.iterdir()) == []


def test_a_preload_without_stiffness():
    robot = library_robot("fivebar")
    sprung = dataclasses.replace(robot.joints[0], springs=(Spring(2.0, 0.1),))
    robot = dataclasses.replace(robot, joints=(sprung, *robot.joints[1:]))
    names = nacelle.dynamics.linear_parameters(robot).names
    values = nacelle.dynamics.linear_parameters(robot).values.copy()
    values[next(k for k, name in enumerate(names) if name.endswith(".stiffness"))] = 0.0
    with pytest.raises(IdentificationError, match="a spring without stiffness has no rest"):
        identified_robot(robot, values)


# ---- All solutions of linear equations: against the null space of NumPy, exact where they can be


@pytest.mark.parametrize("A", [[[1.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]])
def test_a_contradiction_is_an_error(A):
    with pytest.raises(IdentificationError, match="contradicts itself"):
        solve_all(np.array(A), np.array([1.0, 3.0]), np.ones(2))


# ---- Mass matrices of base parameters, against those of the robot


@pytest.mark.costly
@pytest.mark.parametrize(
    "name", ["fivebar", "delta", *(pytest.param(name, marks=pytest.mark.slow) for name in ("3rps", "h4"))]
)
def test_mass_matrices_of_the_description(name):
    robot = library_robot(name)
    base = nacelle.base_parameters(robot)
    x = random_motion_states(robot, 5, 3)[0]
    M = nacelle.mass_matrix(robot, x)
    assert np.allclose(mass_matrices(base, base.values, x), M, rtol=1e-7, atol=1e-9 * np.max(np.abs(M)))
    assert np.allclose(smallest_inertia_ratio(base, 2.0 * base.values, x), 2.0)
    assert smallest_inertia_ratio(base, -base.values, x[0]) == pytest.approx(-1.0)


# ---- nearest
#
# The nearest point under cones: against projections in closed form; its bound holds for any answer.

seeds = st.integers(0, 10**6)


@settings(max_examples=20)
@given(seeds, st.sampled_from([{}, {"equilibrate": False}, {"size": 10.0}]))
def test_the_nearest_positive_semidefinite_matrix(seed, options):
    """To a symmetric X it is X without its negative eigenvalues."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 4))
    X = X + X.T
    x, half = pack_symmetric(X), rng.normal(size=3)
    # X + dX with t = (d half, dX): b - A t = (half, x) + t.
    b = np.concatenate([half, x])
    answer = nearest.nearest_point(-np.eye(13), b, 3, [10], **options)
    values, vectors = np.linalg.eigh(X)
    clipped = pack_symmetric((vectors * np.maximum(values, 0.0)) @ vectors.T)
    truth = np.concatenate([np.maximum(half, 0.0), clipped]) - b
    assert np.allclose(answer.t, truth, atol=1e-6)
    bound = nearest.distance_bound(truth, answer.multipliers, -np.eye(13), b)
    assert np.linalg.norm(answer.t - truth) <= bound + 1e-6
    # Complementary: the multipliers are what was taken away.
    assert np.allclose(answer.multipliers, truth, atol=1e-5)


def test_numbers_that_are_none():
    with pytest.raises(IdentificationError, match="the cone solver"):
        nearest.nearest_point(np.array([[np.nan]]), np.array([1.0]), 1, [])


# ---- unusual robots
#
# Robots that are no families: redundant drives, springs, loops in platforms and legs, idle struts.

QUICK = ("redundant point on three legs", "sprung five-bar", "shared carriage", "loop inside a leg")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in stress_robots.STRESS],
)
@pytest.mark.parametrize("noise", [1e-3, 0.1])
@pytest.mark.thinned
def test_a_robot_that_can_be_written(name, noise):
    robot = stress_robots.STRESS[name](1)
    base = nacelle.base_parameters(robot)
    Y = (sampled_regressor(robot) / parameter_units(robot) @ base.choice.E)[:, list(base.kept)]
    clean = Y @ base.values
    sigma = noise * np.sqrt(np.mean(clean**2))
    force = clean + sigma * np.random.default_rng(9).normal(size=len(Y))
    size = np.linalg.norm(Y, axis=0)
    beta = np.linalg.lstsq(Y / size, force, rcond=None)[0] / size
    result = consistent_parameters(base, beta, information_root_of_regression(Y, sigma))
    assert result.accuracy < 1e-3
    moved = identified_robot(robot, result)
    assert nacelle.loads(moved.to_yaml()).hash == moved.hash
    assert find_rods(mechanism_of(moved)) == find_rods(mechanism_of(robot))
    # A body keeps its margin: less that it is still one.
    for body, own in zip(moved.bodies[1:], robot.bodies[1:], strict=True):
        assert not inertia_faults(np.array(body.inertia) - 0.999 * MARGIN * np.array(own.inertia))
    # The truth can be built, so that nothing that can is farther from the estimate than it.
    root = information_root_of_regression(Y, sigma)
    assert result.distance <= np.linalg.norm(root @ (base.values - beta)) + 1e-3
