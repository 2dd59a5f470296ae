"""What must hold exactly: possible bodies, pseudo-inertia matrices, roots of the information, signs."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.consistency import pseudo_inertia as pi
from nacelle.identification.consistency.consistent import consistent_parameters
from nacelle.identification.consistency.feasible_set import (
    bounds_by_index,
    equality_rows,
    is_nonnegative,
    shape_constraints,
    sign_constraints,
    sign_scales,
)
from nacelle.identification.consistency.identified import consistency_faults, identified_robot
from nacelle.identification.consistency.roots import (
    information_root_of_covariance,
    information_root_of_regression,
    standard_deviations,
)
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.rods import find_rods
from nacelle.model.payload import with_payload
from nacelle.spatial.inertia import inertia_faults, parameters_from_com, transform_parameters
from nacelle.spatial.rotation import skew
from support.library import NAMES, as_written, library_robot
from support.noisy_estimates import noisy_estimate


def _solve_consistent(robot, noise=0.1, **options):
    data = noisy_estimate(robot, noise=noise, count=30, **options)
    result = consistent_parameters(data.base, data.beta, data.root)
    moved = identified_robot(robot, result)
    assert nacelle.loads(moved.to_yaml()).hash == moved.hash
    return data, result, moved


def _delta(plate, rod):
    """A Delta with other inertias, about the centres of mass."""
    description = copy.deepcopy(as_written("delta"))
    description["platform"]["inertia"] = plate
    bodies = description["templates"]["leg"]["bodies"]
    for name in ("rod-a", "rod-b"):
        bodies[name]["inertia"] = rod
    return nacelle.build(description)


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("delta", "fivebar", "delta-codourey") else pytest.param(name, marks=pytest.mark.slow)
        for name in NAMES
    ],
)
def test_the_library_meets_its_own_requirements(name):
    base = nacelle.base_parameters(library_robot(name), assume="nothing")
    listed = shape_constraints(base)
    A, b = equality_rows(base, listed, base.choice.values)
    size = np.abs(A) @ np.abs(base.choice.values)
    assert np.all(np.abs(A @ base.choice.values - b) <= 1e-9 * size)
    assert [shape.massless for shape in listed] == [body.massless for body in base.robot.bodies[1:]]


def test_rods_stay_rods():
    robot = library_robot("delta")
    _, result, moved = _solve_consistent(robot)
    assert find_rods(mechanism_of(moved)) == find_rods(mechanism_of(robot))
    values = dict(zip(result.names, result.values, strict=True))
    assert values["leg1.rod-a.Iyy"] == values["leg1.rod-a.Izz"]
    assert values["leg1.rod-a.my"] == values["leg1.rod-a.Ixz"] == 0.0
    # They were moved, all the same.
    assert values["leg1.rod-a.m"] != 0.08


@pytest.mark.slow
@pytest.mark.parametrize("assume", ["undescribed", "zeros", "nothing"])
def test_flat_plates_and_thin_rods(assume):
    """A lamina, and rods without inertia about their axes: the boundary of the cone, as described."""
    robot = _delta([0.0006, 0.0006, 0.0012], [0.0, 0.0024, 0.0024])
    _, result, moved = _solve_consistent(robot, assume=assume)
    assert not consistency_faults(moved)
    values = dict(zip(result.names, result.values, strict=True))
    assert abs(values["leg1.rod-a.Ixx"]) < 1e-6
    if assume == "zeros":
        assert values["leg1.rod-a.Ixx"] == 0.0


def test_a_lamina_without_data_stays_one():
    robot = _delta([0.0006, 0.0006, 0.0012], [0.0, 0.0024, 0.0024])
    base = nacelle.base_parameters(robot)
    result = consistent_parameters(base, base.values, 1e3 * np.diag(1.0 / (np.abs(base.values) + 1e-3)))
    assert np.allclose(result.values, nacelle.dynamics.linear_parameters(robot).values, atol=1e-8)
    assert result.active == ()


@pytest.mark.slow
def test_a_platform_that_is_described_by_its_mass_alone():
    """Its inertia is free: data of a platform with one find it, with the struts' masses beside it."""
    description = copy.deepcopy(as_written("palida"))
    true = nacelle.build(description)
    description["platform"]["inertia"] = [0.0, 0.0, 0.0]
    data = noisy_estimate(nacelle.build(description), truth=true, noise=1e-3, count=40, shared="legs")
    result = consistent_parameters(data.base, data.beta, data.root)
    place = data.base.names.index("platform.Izz")
    truth = nacelle.base_parameters(true, shared="legs").values[place]
    assert result.base_values[place] == pytest.approx(truth, abs=4.0 * result.sigma[place])
    assert truth - data.base.values[place] > 20.0 * result.sigma[place]
    assert data.rms(result.base_values) < data.rms(data.beta) + 0.05


@pytest.mark.parametrize("name", ["delta-codourey", "prrrp"])
def test_points_have_a_mass_alone(name):
    robot = library_robot(name)
    for assume in ("undescribed", "nothing"):
        _, result, moved = _solve_consistent(robot, assume=assume)
        assert np.all(np.array(moved.bodies[1].inertia[1:]) == 0.0)
        assert result.values[0] > 0.0


@pytest.mark.slow
def test_bodies_without_mass_stay_so():
    robot = library_robot("delta-codourey")
    massless = [k for k, body in enumerate(robot.bodies) if body.massless]
    _, result, moved = _solve_consistent(robot, assume="nothing")
    assert [k for k, body in enumerate(moved.bodies) if body.massless] == massless
    assert not {robot.bodies[k].name for k in massless} & set(result.changes)


@pytest.mark.slow
def test_payloads_stay():
    robot = with_payload(library_robot("delta"), 0.5, com=(0.0, 0.01, -0.02), inertia=(1e-3, 1e-3, 1e-3))
    _, result, moved = _solve_consistent(robot)
    assert np.allclose(moved.payload[0].inertia, robot.payload[0].inertia, rtol=1e-14, atol=0.0)
    place = result.names.index("payload.payload.m")
    assert result.values[place] == 0.5


def test_assumptions_against_the_description():
    """A product of inertia, a first moment and a mass that are zero for good, though described."""
    robot = library_robot("fivebar")
    _, result, _ = _solve_consistent(
        robot, assume=["undescribed", "left.proximal.mx", "*.distal.Iyy", "right.proximal.m"]
    )
    values = dict(zip(result.names, result.values, strict=True))
    assert values["left.proximal.mx"] == 0.0
    assert all(values[f"right.proximal.{part}"] == 0.0 for part in ("m", "mx", "Izz", "Ixy"))
    # No inertia about y: mass on the y axis alone.
    assert values["left.distal.mx"] == values["left.distal.Ixz"] == 0.0
    assert values["left.distal.Ixx"] == values["left.distal.Izz"] > 0.0


# ---- Pseudo-inertia matrices: sums over particles, the format's own check, frames and units

seeds = st.integers(0, 10**6)
ALL = (0, 1, 2)


def _cloud(rng, count=6):
    """Ten parameters and particles of a body."""
    dm, r = rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3))
    I = sum(-m * skew(p) @ skew(p) for m, p in zip(dm, r, strict=True))
    ten = np.array([dm.sum(), *(dm @ r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    return ten, dm, r


@given(seeds)
def test_a_sum_over_particles(seed):
    ten, dm, r = _cloud(np.random.default_rng(seed))
    points = np.column_stack([r, np.ones(len(r))])
    assert np.allclose(pi.pseudo_inertia(ten), (points * dm[:, None]).T @ points, rtol=1e-12)


@given(seeds)
def test_positive_where_the_format_accepts(seed):
    """Random principal moments, possible or not: both checks say the same."""
    rng = np.random.default_rng(seed)
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    ten = parameters_from_com(
        rng.uniform(0.1, 2), rng.normal(size=3), R @ np.diag(rng.uniform(-0.2, 1, 3)) @ R.T
    )
    least = np.linalg.eigvalsh(pi.pseudo_inertia(ten))[0]
    if abs(least) > 1e-6:
        assert (least > 0.0) == (not inertia_faults(ten))


@given(seeds, st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_the_distance_depends_on_no_frame_and_no_unit(seed, length, mass):
    rng = np.random.default_rng(seed)
    (ten, *_), (other, *_) = _cloud(rng), _cloud(rng)
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    R = R * np.sign(np.linalg.det(R))
    p = rng.normal(size=3)
    unit = mass * length ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])

    def distance(a, b):
        B = pi.normaliser(a, ALL)
        return np.linalg.norm(B @ (pi.pseudo_inertia(b) - pi.pseudo_inertia(a)) @ B.T)

    moved = [transform_parameters(R, p, body) * unit for body in (ten, other)]
    assert distance(*moved) == pytest.approx(distance(ten, other), rel=1e-6)
    # The same by traces, without a factor: tr((P^-1 D)^2).
    P, D = pi.pseudo_inertia(ten), pi.pseudo_inertia(other - ten)
    X = np.linalg.solve(P, D)
    assert distance(ten, other) ** 2 == pytest.approx(np.trace(X @ X), rel=1e-6)


def test_thickness_of_flat_thin_and_full_bodies():
    rod = parameters_from_com(2.0, np.array([0.1, 0, 0]), np.diag([0.0, 0.02, 0.02]))
    plate = parameters_from_com(2.0, np.zeros(3), np.diag([0.01, 0.02, 0.03]))
    box = parameters_from_com(2.0, np.zeros(3), np.diag([0.02, 0.02, 0.03]))
    point = np.array([2.0, *np.zeros(9)])
    assert pi.required_thickness(box, ALL, 1.0) == 0.0
    for body in (rod, plate, point):
        more = pi.required_thickness(body, ALL, 1.0)
        assert more > 0.0
        full = pi.add_thickness(body, ALL, more)
        assert np.linalg.eigvalsh(pi.central_second_moments(full))[0] == pytest.approx(more, rel=1e-6)
        assert pi.normaliser(full, ALL).shape == (4, 4)
    along = pi.add_thickness(point, (0,), 0.5)
    assert along[4:].tolist() == [0.0, 0.0, 0.5, 0.0, 0.0, 0.5]
    assert pi.required_thickness(point, (), 1.0) == 0.0


# ---- Roots of the information, against inverses of covariances

rng = np.random.default_rng(4)
Y = rng.normal(size=(30, 2, 5)) * np.array([1.0, 1e-3, 10.0, 1e3, 0.1])
SIGMA = np.array([0.5, 20.0])
W = (Y / SIGMA[:, None]).reshape(-1, 5)
C = np.linalg.inv(W.T @ W)


@pytest.mark.parametrize(
    "root",
    [information_root_of_regression(Y, SIGMA), information_root_of_covariance(C)],
    ids=["regression", "covariance"],
)
def test_roots_of_the_same_estimate(root):
    for _ in range(3):
        d = rng.normal(size=5) * np.sqrt(np.diag(C))
        assert np.sum((root @ d) ** 2) == pytest.approx(d @ W.T @ W @ d, rel=1e-9)
    assert np.allclose(standard_deviations(root), np.sqrt(np.diag(C)), rtol=1e-9)


def test_what_was_not_estimated_has_no_weight():
    larger = np.full((6, 6), 0.0)
    larger[:5, :5] = C
    larger[5, 5] = np.inf
    root = information_root_of_covariance(larger)
    assert root.shape == (5, 6)
    assert np.all(root[:, 5] == 0.0)
    sigma = standard_deviations(root)
    assert np.isinf(sigma[5])
    assert np.allclose(sigma[:5], np.sqrt(np.diag(C)))


def test_a_covariance_that_lost_a_direction():
    """Two estimates that are correlated entirely: their difference is known, to 1e-5 of their deviations."""
    root = information_root_of_covariance(np.outer([2.0, 4.0], [2.0, 4.0]))
    assert np.linalg.norm(root @ [2.0, 4.0]) == pytest.approx(1.0)
    assert 1e4 < np.linalg.norm(root @ [2.0, -4.0]) < 1e6


def test_a_combination_that_nothing_determines():
    """Only the sum of the first two is seen."""
    root = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    assert standard_deviations(root).tolist() == [np.inf, np.inf, 0.25]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: information_root_of_covariance(np.zeros((2, 3))), "square"),
        (lambda: information_root_of_covariance(np.diag([1.0, 0.0])), "variance of base parameter 1 is zero"),
        (lambda: information_root_of_covariance([[1.0, 2.0], [2.0, 1.0]]), "negative eigenvalues"),
        (lambda: information_root_of_regression([[np.nan]]), "not finite"),
    ],
)
def test_what_is_no_information(call, words):
    with pytest.raises(IdentificationError, match=words):
        call()


# ---- Signs of friction, rotors and springs; bounds by name


def test_which_parameters_have_a_sign():
    for name in ("leg.j.rz.viscous", "leg.j.rz.coulomb-smooth", "j.rotor_inertia", "j.tx.stiffness"):
        assert is_nonnegative(name)
    for name in ("leg.body.Ixy", "leg.j.rz.constant", "leg.j.rz.stribeck", "j.tx.stiffness*rest"):
        assert not is_nonnegative(name)


def _five_bar(friction):
    description = copy.deepcopy(as_written("fivebar"))
    description["templates"]["arm"]["elements"][0]["input"]["friction"] = friction
    return nacelle.build(description)


def test_stribeck_with_coulomb():
    """The sum of both is not negative where the rate is small; each row says so."""
    robot = _five_bar({"coulomb": 0.08, "stribeck": -0.02, "constant": -0.01, "scale": 0.3})
    base = nacelle.base_parameters(robot)
    z = base.choice.values
    scale = sign_scales(base, np.eye(len(base)), z)
    signs = sign_constraints(base, z, scale, margin=0.1, limits={})
    assert np.all(signs.rows @ z >= signs.least)
    stribeck = base.choice.names.index("left.proximal-input.rz.stribeck")
    z = z.copy()
    z[stribeck] = -0.09
    broken = [
        name for name, row, least in zip(signs.names, signs.rows, signs.least, strict=True) if row @ z < least
    ]
    assert broken == ["left.proximal-input.rz.stribeck"]
    assert not any(name.endswith("constant") for name in signs.names)


def test_friction_that_would_push_is_zero():
    data = noisy_estimate(library_robot("fivebar"), noise=0.1, rate=0.3)
    beta = data.beta.copy()
    place = data.base.names.index("left.proximal-input.rz.viscous")
    beta[place] = -10.0 * np.sqrt(data.covariance[place, place])
    result = consistent_parameters(data.base, beta, data.root)
    assert result.values[result.names.index("left.proximal-input.rz.viscous")] >= 0.0
    assert "left.proximal-input.rz.viscous" in result.bounded


@pytest.mark.slow
def test_friction_that_is_described_as_zero_can_be_found():
    robot = _five_bar({"viscous": 0.0, "coulomb": 0.08})
    true = _five_bar({"viscous": 0.02, "coulomb": 0.08})
    data = noisy_estimate(robot, truth=true, noise=0.01)
    result = consistent_parameters(data.base, data.beta, data.root)
    assert abs(result.values[result.names.index("left.proximal-input.rz.viscous")] - 0.02) < 2e-3


def test_rotors_keep_a_part():
    base = nacelle.base_parameters(library_robot("fivebar"))
    scale = sign_scales(base, np.eye(len(base)), base.choice.values)
    signs = sign_constraints(base, base.choice.values, scale, margin=0.1, limits={})
    least = dict(zip(signs.names, signs.least, strict=True))
    assert least["left.proximal-input.rotor_inertia"] == 0.1
    assert least["left.proximal-input.rz.coulomb"] == 0.0


def test_bounds_by_pattern():
    base = nacelle.base_parameters(library_robot("palida"), shared="legs")
    limits = bounds_by_index(base, {"strut3.2.m": (1.0, 9.0), "*.2.m": (None, 8.0)})
    (place,) = limits
    assert base.choice.names[place] == "strut*.2.m"
    assert limits[place] == (1.0, 8.0)
