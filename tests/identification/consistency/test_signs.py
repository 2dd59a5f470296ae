"""Signs of friction, rotors and springs; bounds by name."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.support.library import as_written, library_robot
from tests.support.noisy_estimates import noisy_estimate

import nacelle
from nacelle.identification.consistency.consistent import consistent_parameters
from nacelle.identification.consistency.signs import bounds_of, is_nonnegative, sign_scales, signs_of


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
    signs = signs_of(base, z, scale, margin=0.1, limits={})
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
    signs = signs_of(base, base.choice.values, scale, margin=0.1, limits={})
    least = dict(zip(signs.names, signs.least, strict=True))
    assert least["left.proximal-input.rotor_inertia"] == 0.1
    assert least["left.proximal-input.rz.coulomb"] == 0.0


def test_bounds_by_pattern():
    base = nacelle.base_parameters(library_robot("palida"), shared="legs")
    limits = bounds_of(base, {"strut3.2.m": (1.0, 9.0), "*.2.m": (None, 8.0)})
    (place,) = limits
    assert base.choice.names[place] == "strut*.2.m"
    assert limits[place] == (1.0, 8.0)
