"""A payload from two runs: what is determined, what cancels, what cannot be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError, ParameterError
from nacelle.identification.estimation.payload import payload_from_runs
from nacelle.model.payload import with_payload
from nacelle.spatial.inertia import inertia_faults
from support.library import library_robot
from support.noisy_estimates import random_motion_states


@dataclass
class Run:
    coef_: np.ndarray
    covariance_: np.ndarray


def _runs(robot, load, *, noise=0.05, common=0.0, count=60, seed=5, **options):
    """Estimates without and with a payload on the same motion, with the same forces beside the model."""
    base = nacelle.base_parameters(robot, **options)
    x, v, a = random_motion_states(robot, count, seed)
    rng = np.random.default_rng(seed + 1000)
    Y = nacelle.regressor(robot, x, v, a, parameters=base).Y
    others = [nacelle.inverse_dynamics(each, x, v, a).tau for each in (robot, with_payload(robot, **load))]
    sigma = noise * np.sqrt(np.mean(others[0] ** 2))
    W = Y.reshape(-1, len(base))
    inverse = np.linalg.pinv(W)
    extra = common * sigma * rng.normal(size=others[0].shape)
    runs = []
    for force in others:
        measured = force + extra + sigma * rng.normal(size=force.shape)
        runs.append(Run(inverse @ measured.ravel(), sigma**2 * inverse @ inverse.T))
    return base, *runs


LOAD = {"mass": 2.0, "com": (0.02, -0.03, 0.05), "inertia": (0.01, 0.012, 0.011)}


@pytest.mark.slow
def test_all_ten_of_a_platform_that_rotates():
    robot = library_robot("palida")
    base, unloaded, loaded = _runs(robot, LOAD, noise=0.005, shared="legs")
    found = payload_from_runs(base, unloaded, loaded)
    truth = np.array(with_payload(robot, **LOAD).payload[0].inertia)
    assert found.determined == ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
    assert np.all(np.abs(found.least_squares_values - truth) < 4.0 * found.sigma)
    assert found.mass == pytest.approx(2.0, abs=4.0 * found.sigma[0])
    assert np.allclose(found.com, LOAD["com"], atol=0.01)
    assert not inertia_faults(found.values)
    assert found.is_significant
    assert found.is_explained()
    assert found.freedom == len(base) - 10


@pytest.mark.slow
def test_the_mass_alone_of_one_that_does_not():
    """A Delta; in the frame of its tool, what is not determined is a point at its origin."""
    robot = library_robot("delta")
    base, unloaded, loaded = _runs(robot, LOAD | {"mass": 0.4, "on": "flange"})
    found = payload_from_runs(base, unloaded, loaded, carrier_name="flange")
    assert found.determined == ("m",)
    assert found.mass == pytest.approx(0.4, abs=4.0 * found.sigma[0])
    assert np.allclose(found.com, 0.0, atol=1e-6)
    assert np.allclose(found.inertia, 0.0, atol=1e-6)
    moved = found.robot_with_payload("part")
    assert np.allclose(moved.payload[0].inertia[1:4], found.mass * np.array([0.0, 0.0, -0.03]), atol=1e-6)
    assert nacelle.loads(moved.to_yaml()).payload[0].name == "part"


@pytest.mark.slow
def test_deviations_are_what_they_say():
    """Over many runs the error of the mass has the standard deviation that is given."""
    robot = library_robot("fivebar")
    base, unloaded, _ = _runs(robot, {"mass": 0.1}, assume="nothing")
    L = np.linalg.cholesky(unloaded.covariance_)
    heavier = base.values + 0.1 * base.K[:, base.choice.names.index("tip.m")]
    errors = []
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(size=(2, len(base))) @ L.T
        runs = [
            Run(mean + e, unloaded.covariance_) for mean, e in zip((base.values, heavier), noise, strict=True)
        ]
        found = payload_from_runs(base, *runs)
        errors.append((found.least_squares_values[0] - 0.1) / found.sigma[0])
    assert 0.75 < np.std(errors) < 1.3
    assert abs(np.mean(errors)) < 0.4


def test_what_the_model_leaves_out_cancels():
    """Common forces, twenty times the noise: each estimate is off by them, their difference is not."""
    robot = library_robot("fivebar")
    base, unloaded, loaded = _runs(robot, {"mass": 0.1}, noise=0.005, common=20.0, assume="nothing")
    sigma = np.sqrt(np.diag(unloaded.covariance_))
    assert np.max(np.abs(unloaded.coef_ - base.values)[sigma > 0] / sigma[sigma > 0]) > 20.0
    found = payload_from_runs(base, unloaded, loaded)
    assert found.mass == pytest.approx(0.1, abs=4.0 * found.sigma[0])


def test_something_else_has_changed():
    robot = library_robot("fivebar")
    base, unloaded, loaded = _runs(robot, {"mass": 0.1}, noise=0.005, assume="nothing")
    assert payload_from_runs(base, unloaded, loaded).is_explained()
    place = base.names.index("left.proximal-input.rz.viscous")
    loaded.coef_[place] += 20.0 * np.sqrt(loaded.covariance_[place, place])
    assert not payload_from_runs(base, unloaded, loaded).is_explained()


@pytest.mark.slow
def test_noise_makes_no_impossible_payload():
    robot = library_robot("palida")
    base, unloaded, loaded = _runs(robot, LOAD, noise=0.2, shared="legs")
    found = payload_from_runs(base, unloaded, loaded)
    assert inertia_faults(found.least_squares_values)
    assert not inertia_faults(found.values)
    assert found.distance > 0.0
    assert found.accuracy < 1e-3


@pytest.mark.slow
def test_what_cannot_be():
    robot = library_robot("delta")
    base, unloaded, loaded = _runs(robot, LOAD)
    with pytest.raises(IdentificationError, match=r"less mass than the unloaded one.*are they exchanged"):
        payload_from_runs(base, loaded, unloaded)
    with pytest.raises(ParameterError, match="delta has no 'gripper'; known: flange, plate"):
        payload_from_runs(base, unloaded, loaded, carrier_name="gripper")
    short = Run(unloaded.coef_[:3], unloaded.covariance_)
    with pytest.raises(IdentificationError, match="both runs need estimates of the 25 base parameters"):
        payload_from_runs(base, short, short)
    blind = Run(unloaded.coef_, np.diag(np.full(len(base), np.inf)))
    with pytest.raises(IdentificationError, match="do not determine the mass of a payload on 'plate'"):
        payload_from_runs(base, blind, blind)
    zeros = nacelle.base_parameters(robot, assume="zeros")
    with pytest.raises(IdentificationError, match=r"assume mx, my, .* of 'plate' to be zero"):
        payload_from_runs(zeros, unloaded, loaded)
    found = payload_from_runs(base, unloaded, loaded)
    assert found.on == "plate"
    carrying = payload_from_runs(nacelle.base_parameters(found.robot_with_payload()), unloaded, loaded)
    with pytest.raises(IdentificationError, match="has a payload 'payload' already"):
        carrying.robot_with_payload()


def test_no_payload():
    robot = library_robot("fivebar")
    base, unloaded, _ = _runs(robot, {"mass": 0.1}, assume="nothing")
    found = payload_from_runs(base, unloaded, unloaded)
    assert not found.is_significant
    assert 0.0 < found.mass < found.sigma[0]
