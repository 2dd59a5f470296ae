"""What must hold exactly: rods stay axisymmetric, points points, flat and thin bodies possible."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.support.library import NAMES, as_written, library_robot
from tests.support.noisy_estimates import noisy_estimate

import nacelle
from nacelle.identification.consistency.consistent import consistent_parameters
from nacelle.identification.consistency.faults import consistency_faults
from nacelle.identification.consistency.identified import identified_robot
from nacelle.identification.consistency.requirements import axisymmetry, equality_rows, shapes
from nacelle.kinematics.general.rods import find_rods
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.payload import with_payload


def _solved(robot, noise=0.1, **options):
    data = noisy_estimate(robot, noise=noise, count=30, **options)
    result = consistent_parameters(data.base, data.beta, data.root)
    moved = identified_robot(robot, result)
    assert nacelle.loads(moved.to_yaml()).hash == moved.hash
    return data, result, moved


def _delta(plate, rod):
    """A Delta with other inertias, about the centres of mass."""
    description = copy.deepcopy(as_written("delta"))
    description["nacelle"]["inertia"] = plate
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
    listed = shapes(base)
    A, b = equality_rows(base, listed, base.choice.values)
    size = np.abs(A) @ np.abs(base.choice.values)
    assert np.all(np.abs(A @ base.choice.values - b) <= 1e-9 * size)
    assert [shape.massless for shape in listed] == [body.massless for body in base.robot.bodies[1:]]


def test_rods_stay_rods():
    robot = library_robot("delta")
    _, result, moved = _solved(robot)
    assert find_rods(mechanism_of(moved)) == find_rods(mechanism_of(robot))
    values = dict(zip(result.names, result.values, strict=True))
    assert values["leg1.rod-a.Iyy"] == values["leg1.rod-a.Izz"]
    assert values["leg1.rod-a.my"] == values["leg1.rod-a.Ixz"] == 0.0
    # They were moved, all the same.
    assert values["leg1.rod-a.m"] != 0.08


def test_the_equations_of_an_axisymmetric_body():
    """A body of revolution about an axis askew satisfies them; turned a little it does not."""
    robot = library_robot("delta")
    spin = mechanism_of(robot).mobility.spinning[0]
    rows = axisymmetry(robot, spin)
    assert np.linalg.matrix_rank(rows) == 6
    own = np.array(robot.bodies[spin.body].inertia)
    assert np.max(np.abs(rows @ own)) < 1e-12
    own[5] += 1e-4
    assert np.max(np.abs(rows @ own)) > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("assume", ["undescribed", "zeros", "nothing"])
def test_flat_plates_and_thin_rods(assume):
    """A lamina, and rods without inertia about their axes: the boundary of the cone, as described."""
    robot = _delta([0.0006, 0.0006, 0.0012], [0.0, 0.0024, 0.0024])
    _, result, moved = _solved(robot, assume=assume)
    assert not consistency_faults(moved)
    values = dict(zip(result.names, result.values, strict=True))
    assert abs(values["leg1.rod-a.Ixx"]) < 1e-6
    if assume == "zeros":
        assert values["leg1.rod-a.Ixx"] == 0.0


def test_a_lamina_without_data_stays_one():
    robot = _delta([0.0006, 0.0006, 0.0012], [0.0, 0.0024, 0.0024])
    base = nacelle.base_parameters(robot)
    result = consistent_parameters(base, base.values, 1e3 * np.diag(1.0 / (np.abs(base.values) + 1e-3)))
    assert np.allclose(result.values, nacelle.linear_parameters(robot).values, atol=1e-8)
    assert result.active == ()


@pytest.mark.slow
def test_a_platform_that_is_described_by_its_mass_alone():
    """Its inertia is free: data of a platform with one find it, with the struts' masses beside it."""
    description = copy.deepcopy(as_written("palida"))
    true = nacelle.build(description)
    description["nacelle"]["inertia"] = [0.0, 0.0, 0.0]
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
        _, result, moved = _solved(robot, assume=assume)
        assert np.all(np.array(moved.bodies[1].inertia[1:]) == 0.0)
        assert result.values[0] > 0.0


@pytest.mark.slow
def test_bodies_without_mass_stay_so():
    robot = library_robot("delta-codourey")
    massless = [k for k, body in enumerate(robot.bodies) if body.massless]
    _, result, moved = _solved(robot, assume="nothing")
    assert [k for k, body in enumerate(moved.bodies) if body.massless] == massless
    assert not {robot.bodies[k].name for k in massless} & set(result.changes)


@pytest.mark.slow
def test_payloads_stay():
    robot = with_payload(library_robot("delta"), 0.5, com=(0.0, 0.01, -0.02), inertia=(1e-3, 1e-3, 1e-3))
    _, result, moved = _solved(robot)
    assert np.allclose(moved.payload[0].inertia, robot.payload[0].inertia, rtol=1e-14, atol=0.0)
    place = result.names.index("payload.payload.m")
    assert result.values[place] == 0.5


def test_assumptions_against_the_description():
    """A product of inertia, a first moment and a mass that are zero for good, though described."""
    robot = library_robot("fivebar")
    _, result, _ = _solved(
        robot, assume=["undescribed", "left.proximal.mx", "*.distal.Iyy", "right.proximal.m"]
    )
    values = dict(zip(result.names, result.values, strict=True))
    assert values["left.proximal.mx"] == 0.0
    assert all(values[f"right.proximal.{part}"] == 0.0 for part in ("m", "mx", "Izz", "Ixy"))
    # No inertia about y: mass on the y axis alone.
    assert values["left.distal.mx"] == values["left.distal.Ixz"] == 0.0
    assert values["left.distal.Ixx"] == values["left.distal.Izz"] > 0.0
