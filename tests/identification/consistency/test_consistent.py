"""Consistent parameters: possible for every body, as near to the estimate as another solver comes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.consistency import cone_program
from nacelle.identification.consistency.consistent import (
    MARGIN,
    WEIGHT,
    consistent_parameters,
    project_estimate,
)
from nacelle.identification.consistency.feasible_set import feasible_set
from nacelle.identification.consistency.identified import consistency_faults
from nacelle.identification.consistency.mass_matrix import smallest_inertia_ratio
from nacelle.identification.consistency.pseudo_inertia import matrix_order, pseudo_inertia
from nacelle.identification.consistency.roots import information_root_of_regression
from support.library import library_robot
from support.noisy_estimates import noisy_estimate, random_motion_states

# A slow motion in a small part of the workspace, and much noise.
POOR = {
    "fivebar": {"rate": 0.1, "span": 0.1, "noise": 0.25, "count": 40},
    "delta": {"rate": 0.1, "span": 0.1, "noise": 0.15, "count": 40},
    "palida": {"rate": 0.2, "noise": 0.1, "count": 40},
}


def _result(data, **options):
    return consistent_parameters(data.base, data.beta, data.root, **options)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta", pytest.param("palida", marks=pytest.mark.slow)])
def test_mass_matrices_where_the_ordinary_estimate_has_none(name):
    robot = library_robot(name)
    data = noisy_estimate(robot, **POOR[name])
    result = _result(data)
    poses = random_motion_states(robot, 60, 77)[0]
    assert np.min(smallest_inertia_ratio(data.base, data.beta, poses)) < 0.0
    # The margin holds for mass matrices, too.
    assert np.min(smallest_inertia_ratio(data.base, result.base_values, poses)) > MARGIN
    assert not consistency_faults(robot, result.values)
    # Forces are predicted as well as by the truth, and by the ordinary estimate within the noise.
    assert data.rms(result.base_values) < 1.0
    assert data.rms(result.base_values) - data.rms(data.beta) < 0.2
    assert result.distance == pytest.approx(np.linalg.norm(data.root @ (result.base_values - data.beta)))
    # The noise alone is farther: the estimate is from the truth by this.
    assert result.distance < np.linalg.norm(data.root @ (data.base.values - data.beta))
    assert result.active


def test_feasible_by_eigenvalues():
    """Every body keeps its margin of the description, by eigenvalues of P - e P_c."""
    data = noisy_estimate(library_robot("fivebar"), **POOR["fivebar"])
    result = _result(data, margin=0.02)
    described = nacelle.dynamics.linear_parameters(data.base.robot).values
    for k in range(1, 5):
        P, P_c = (pseudo_inertia(values[10 * k : 10 * k + 10]) for values in (result.values, described))
        L = np.linalg.inv(np.linalg.cholesky(P_c))
        least = np.linalg.eigvalsh(L @ (P - 0.02 * P_c) @ L.T)[0]
        assert least > -1e-12


def _objective(data, values, weight):
    """The program's objective, with the distance from the description by traces."""
    base = data.base
    z = values[[group[0] for group in base.choice.groups()]]
    total = np.sum((data.root @ (base.K @ z - data.beta)) ** 2)
    described = nacelle.dynamics.linear_parameters(base.robot)
    for k, body in enumerate(base.robot.bodies[1:]):
        if not body.massless:
            P_c = pseudo_inertia(described.values[10 * k : 10 * k + 10])
            X = np.linalg.solve(P_c, pseudo_inertia(values[10 * k : 10 * k + 10]) - P_c)
            total += weight * np.trace(X @ X)
    first = 10 * (len(base.robot.bodies) - 1)
    other, own = values[first:], described.values[first:]
    return total + weight * np.sum(((other - own) / own) ** 2)


def test_another_solver_comes_no_nearer():
    """Nonlinear least squares over Cholesky factors of all pseudo-inertias and roots of friction."""
    data = noisy_estimate(library_robot("fivebar"), **POOR["fivebar"])
    base = data.base
    result = _result(data)
    described = nacelle.dynamics.linear_parameters(base.robot).values
    bodies = range(1, 5)
    factors = [np.linalg.cholesky(pseudo_inertia(described[10 * k : 10 * k + 10])) for k in bodies]
    lower = np.tril_indices(4)
    places = np.array([group[0] for group in base.choice.groups()])
    first = 10 * 5

    rotor = np.array(
        ["rotor" in name for name in nacelle.dynamics.linear_parameters(base.robot).names[first:]]
    )

    def from_matrices(q):
        """All linear parameters from normalised pseudo-inertias and other parameters over the described."""
        values = np.zeros(len(described))
        for k, L_c, Q in zip(bodies, factors, q[:64].reshape(4, 4, 4), strict=True):
            P = L_c @ Q @ L_c.T
            S = P[:3, :3]
            I = np.trace(S) * np.eye(3) - S
            values[10 * k : 10 * k + 10] = [
                *(P[3, 3], *P[:3, 3]),
                *(I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]),
            ]
        values[first:] = described[first:] * q[64:]
        return values

    count = 64 + len(described) - first
    V = np.array([from_matrices(unit) for unit in np.eye(count)]).T
    one = np.concatenate([np.tile(np.eye(4).ravel(), 4), np.ones(count - 64)])
    rows = np.vstack([data.root @ base.K @ V[places], np.sqrt(WEIGHT) * np.eye(count)])
    sides = np.concatenate([data.root @ data.beta, np.sqrt(WEIGHT) * one])

    def matrices(theta):
        """Q = e 1 + L L^T and e or 0 + s^2, with their derivatives."""
        q, slope = np.zeros(count), np.zeros((count, len(theta)))
        for k, part in enumerate(theta[:40].reshape(4, 10)):
            L = np.zeros((4, 4))
            L[lower] = part
            q[16 * k : 16 * k + 16] = (MARGIN * np.eye(4) + L @ L.T).ravel()
            for entry, (i, j) in enumerate(zip(*lower, strict=True)):
                dL = np.zeros((4, 4))
                dL[i, j] = 1.0
                slope[16 * k : 16 * k + 16, 10 * k + entry] = (dL @ L.T + L @ dL.T).ravel()
        q[64:] = np.where(rotor, MARGIN, 0.0) + theta[40:] ** 2
        slope[range(64, count), range(40, len(theta))] = 2.0 * theta[40:]
        return q, slope

    start = np.concatenate([np.tile(np.eye(4)[lower], 4), np.ones(count - 64)])
    answer = scipy.optimize.least_squares(
        lambda theta: rows @ matrices(theta)[0] - sides,
        start,
        lambda theta: rows @ matrices(theta)[1],
        xtol=1e-12,
        ftol=1e-13,
        gtol=1e-12,
        max_nfev=1000,
    )
    theirs = from_matrices(matrices(answer.x)[0])
    ours = _objective(data, result.values, WEIGHT)
    assert 2.0 * answer.cost == pytest.approx(_objective(data, theirs, WEIGHT), rel=1e-9)
    assert ours <= 2.0 * answer.cost + 1e-6
    assert ours == pytest.approx(2.0 * answer.cost, rel=1e-4)
    assert np.linalg.norm(data.root @ base.K @ (theirs - result.values)[places]) < 0.02


def test_the_normal_equations_are_solved_and_wrong():
    """One sensor is 1e5 times better: K^T R^T R K loses what the other says, and its solver says "Solved"."""
    import clarabel

    data = noisy_estimate(library_robot("fivebar"), rate=0.3)
    base, better = data.base, data.sigma / np.array([1e5, 1.0])
    R = information_root_of_regression(data.Y, better)
    beta = base.values + np.linalg.lstsq(R, np.random.default_rng(0).normal(size=len(R)), rcond=None)[0]
    result = consistent_parameters(base, beta, R)
    assert result.accuracy < 1e-4
    assert result.distance < 0.1  # this estimate is nearly consistent

    space = feasible_set(base, R, prior=base.choice.values, margin=MARGIN)
    C, c = space.cone_rows()
    D, d = space.distance_system()
    solutions, RK = space.solutions, R @ base.K
    H, g = RK.T @ RK + WEIGHT * D.T @ D, -(RK.T @ (R @ beta) + WEIGHT * D.T @ d)
    quiet = clarabel.DefaultSettings()
    quiet.verbose = False
    answer = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(np.triu(solutions.Z.T @ H @ solutions.Z)),
        solutions.Z.T @ (H @ solutions.z0 + g),
        scipy.sparse.csc_matrix(-C @ solutions.Z),
        C @ solutions.z0 - c,
        [
            clarabel.NonnegativeConeT(len(space.signs.names)),
            *(clarabel.PSDTriangleConeT(matrix_order(len(cone.centre))) for cone in space.cones),
        ],
        quiet,
    ).solve()
    z = solutions.z0 + solutions.Z @ np.array(answer.x)
    assert str(answer.status) == "Solved"
    assert np.linalg.norm(R @ (base.K @ z - beta)) > 5.0


def _scaled_robot(robot, length, mass):
    """A robot of revolute joints, larger and heavier, gravity too; and the scale of its parameters."""
    powers = {"m": 0, "mx": 1, "my": 1, "mz": 1}

    def factor(name):
        part = name.rpartition(".")[2]
        if part in ("px", "py", "pz") or name.startswith("gravity"):
            return length
        if part[0] == "R" or part == "gear_ratio":
            return 1.0
        return mass * length ** powers.get(part, 2)

    moved = robot.with_parameters(
        robot.parameter_vector() * np.array([factor(name) for name in robot.parameter_names()])
    )
    at = robot.reference._replace(p=length * robot.reference.p)
    names = nacelle.dynamics.linear_parameters(robot).names
    return dataclasses.replace(moved, reference=at), np.array([factor(name) for name in names])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", pytest.param("delta", marks=pytest.mark.slow)])
@settings(max_examples=4, deadline=None)
@given(st.floats(-2.0, 3.0), st.floats(-4.0, 4.0))
def test_scale_does_not_matter(name, log_length, log_mass):
    length, mass = 10.0**log_length, 10.0**log_mass
    robot = library_robot(name)
    data = noisy_estimate(robot, **POOR[name])
    result = _result(data)
    larger, factors = _scaled_robot(robot, length, mass)
    base = nacelle.base_parameters(larger)
    assert base.kept == data.base.kept
    own = factors[[base.choice.groups()[k][0] for k in base.kept]]
    other = consistent_parameters(base, data.beta * own, data.root / own)
    assert other.distance == pytest.approx(result.distance, rel=1e-4)
    unit = np.abs(nacelle.dynamics.linear_parameters(robot).values)
    by_body = unit[: 10 * (len(robot.bodies) - 1)].reshape(-1, 10)
    unit[: by_body.size] = np.repeat(by_body[:, :1], 10, axis=1).ravel()  # kg, of lengths below a metre
    assert np.all(np.abs(other.values / factors - result.values) <= 2e-3 * unit)


def test_a_consistent_estimate_stays():
    """Clean data: no cone is active, and what the data determine is moved by no part of its deviation."""
    robot = library_robot("fivebar")
    data = noisy_estimate(robot, noise=1e-3, count=60)
    result = _result(data)
    assert result.active == ()
    assert result.distance < 1e-3
    assert np.max(np.abs(result.changed_parameters)) < 1e-3
    # A hundred times the weight moves it a hundred times as far, still by nothing.
    assert _result(data, weight=100 * WEIGHT).distance < 0.1


def test_closest_to_the_description_where_nothing_is_known():
    robot = library_robot("delta")
    base = nacelle.base_parameters(robot)
    result = consistent_parameters(base, base.values * 0.0, np.zeros((1, len(base))))
    assert np.allclose(result.values, nacelle.dynamics.linear_parameters(robot).values, rtol=1e-5, atol=1e-9)
    assert result.distance == 0.0
    assert np.all(np.isinf(result.sigma))
    assert np.all(result.changed_parameters == 0.0)


def test_what_the_forces_do_not_show_is_that_of_the_prior():
    """With an exact estimate of another robot the result is as close to the prior as the truth, or closer."""
    robot = library_robot("fivebar")
    values = nacelle.dynamics.linear_parameters(robot).values
    heavier = nacelle.dynamics.with_linear_parameters(robot, 1.2 * values)
    data = noisy_estimate(robot, truth=heavier, noise=1e-4)
    near, far = _result(data), _result(data, prior=heavier)
    for result in (near, far):
        assert np.allclose(result.base_values, 1.2 * data.base.values, rtol=0.02, atol=1e-4)
    assert max(near.changes.values()) < 0.2 * 2.0 + 1e-3
    assert max(far.changes.values()) < 0.05
    assert np.allclose(_result(data, prior=1.2 * values).values, far.values)


def test_lifting_by_a_covariance():
    data = noisy_estimate(library_robot("fivebar"), **POOR["fivebar"])
    by_root, by_covariance = _result(data), project_estimate(data.base, data.beta, data.covariance)
    assert by_covariance.distance == pytest.approx(by_root.distance, rel=1e-4)
    assert np.allclose(by_covariance.changed_parameters, by_root.changed_parameters, atol=1e-3)
    assert np.allclose(by_root.sigma, np.sqrt(np.diag(data.covariance)))
    assert by_root.names == nacelle.dynamics.linear_parameters(data.base.robot).names


@pytest.mark.slow
def test_shared_legs_and_assumptions():
    robot = library_robot("delta")
    data = noisy_estimate(robot, noise=0.1, shared="legs", assume="zeros")
    result = _result(data)
    values = dict(zip(result.names, result.values, strict=True))
    assert len({values[f"leg{k}.arm.Iyy"] for k in range(1, 4)}) == 1
    assert values["leg1.arm.Iyy"] != 0.006 + 0.8 * 0.09**2
    assert values["plate.Ixy"] == 0.0
    assert not consistency_faults(robot, result.values)
    assert {f"leg{k}.rod-b" for k in range(1, 4)} <= set(result.changes)


def test_bounds():
    robot = library_robot("fivebar")
    data = noisy_estimate(robot, **POOR["fivebar"])
    free = dict(zip(_result(data).names, _result(data).values, strict=True))
    bounds = {"*.proximal.m": (0.39, 0.41), "left.distal.m": (0.2, 0.2), "*.viscous": (None, 1.0)}
    result = _result(data, bounds=bounds)
    values = dict(zip(result.names, result.values, strict=True))
    assert values["left.distal.m"] == 0.2
    for leg in ("left", "right"):
        assert 0.39 - 1e-9 <= values[f"{leg}.proximal.m"] <= 0.41 + 1e-9
    assert not 0.39 <= free["left.proximal.m"] <= 0.41 or not 0.39 <= free["right.proximal.m"] <= 0.41
    assert any(name.endswith("proximal.m") for name in result.bounded)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"left.proximal.mass": (0, 1)}, "no parameter 'left.proximal.mass'.*did you mean"),
        ({"left.proximal.m": (2, 1)}, "the lower one, 2, is above the upper one, 1"),
        ({"left.proximal.m": (-2.0, -1.0)}, "no parameters meet all bounds at once"),
        ({"left.proximal.m": (0.1, 0.1), "left.proximal.mx": (0.05, None)}, None),
    ],
)
def test_bounds_that_cannot_be(bounds, words):
    data = noisy_estimate(library_robot("fivebar"), count=20)
    if words is None:  # another body, but a possible one
        assert not consistency_faults(data.base.robot, _result(data, bounds=bounds).values)
        return
    with pytest.raises(IdentificationError, match=words):
        _result(data, bounds=bounds)


def test_bounds_against_what_must_hold():
    """The rods of a Delta are axisymmetric."""
    data = noisy_estimate(library_robot("delta"), count=20)
    with pytest.raises(IdentificationError, match="contradicts itself"):
        _result(data, bounds={"leg1.rod-a.my": (0.1, 0.1)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimate": np.zeros(3)}, "has shape \\(3,\\).*21 base parameters"),
        ({"root": np.zeros((4, 4))}, "needs 21 columns"),
        ({"estimate": np.full(21, np.nan)}, "the estimate has numbers that are not finite"),
        ({"root": np.full((1, 21), np.inf)}, "the root of the information has numbers"),
        ({"weight": 0.0}, "weight is positive"),
        ({"margin": 1.0}, "margin from 0"),
        ({"prior": np.zeros(4)}, "a prior has the 62 linear parameters"),
        ({"prior": np.zeros(62)}, "mass of 0 kg in the description or prior"),
    ],
)
def test_what_cannot_be_used(change, words):
    base = nacelle.base_parameters(library_robot("fivebar"))
    given = {"estimate": base.values, "root": np.eye(len(base))} | change
    with pytest.raises(IdentificationError, match=words):
        consistent_parameters(base, **given)


@pytest.mark.costly
@pytest.mark.parametrize("precision", [1e-6, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("factor", [1.0, 100.0])
def test_estimates_far_from_the_description(factor, precision):
    """However far and however certain."""
    data = noisy_estimate(library_robot("fivebar"), count=30)
    result = consistent_parameters(data.base, factor * data.base.values, precision * data.root)
    assert not consistency_faults(data.base.robot, result.values)
    if precision >= 1.0:
        assert np.allclose(result.base_values, factor * data.base.values, rtol=1e-2, atol=1e-3 * factor)


def test_an_estimate_that_no_robot_comes_near_to():
    """A robot of negative masses; where that is certain beyond the digits of floats, no answer is trusted."""
    data = noisy_estimate(library_robot("fivebar"), count=30)
    result = consistent_parameters(data.base, -10.0 * data.base.values, data.root)
    assert result.distance > 1000.0
    assert not consistency_faults(data.base.robot, result.values)
    with pytest.raises(IdentificationError, match="no trustworthy solution"):
        consistent_parameters(data.base, -10.0 * data.base.values, 1e8 * data.root)


def test_a_solver_that_fails(monkeypatch):
    """An answer far from the solution is refused by its bound, whatever its status."""
    data = noisy_estimate(library_robot("fivebar"), **POOR["fivebar"])
    real = cone_program.nearest_point

    def wrong(*args, **options):
        answer = real(*args, **options)
        return dataclasses.replace(answer, t=2.0 * answer.t, multipliers=0.5 * answer.multipliers)

    monkeypatch.setattr(cone_program, "nearest_point", wrong)
    with pytest.raises(IdentificationError, match=r"no trustworthy solution.*the cone solver says"):
        _result(data)
