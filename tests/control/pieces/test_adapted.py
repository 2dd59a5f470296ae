"""The parameters that are adapted, their scales and bounds."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.pieces.adapted import adapted_parameters, bounds, default_payload, parameter_scales
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.adaptive_runs import loaded_values
from support.library import library_robot


@pytest.mark.parametrize(("name", "com"), [("fivebar", (0.0, 0.0, 0.0)), ("3rrr", (0.02, -0.01, 0.0))])
def test_a_payload_is_within_what_is_adapted(name, com):
    """Forces of a robot with a payload are Y times the parameters that count it to the nacelle.

    The point of a five-bar has no mass of its own; legs that are described alike share their parameters.
    """
    robot = library_robot(name)
    loaded = nacelle.with_payload(robot, 0.4, com=com)
    base = adapted_parameters(robot)
    x = mechanism_of(robot).reference[0]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    Y = nacelle.regressor(robot, x, v, a, parameters=base).Y
    truth = nacelle.inverse_dynamics(loaded, x, v, a).force
    np.testing.assert_allclose(Y @ loaded_values(robot, loaded), truth, rtol=1e-9)


def test_bounds_hold_what_is_half_as_much_again_and_a_payload():
    """Of a model that is half or one and a half times the truth, the truth with a payload is within."""
    robot = library_robot("delta-codourey")
    base = adapted_parameters(robot)
    scale = parameter_scales(robot, base, default_payload(robot))
    low, high = bounds(base, scale, 2.0)
    assert np.all(low < base.values)
    assert np.all(base.values < high)
    truth = loaded_values(robot, nacelle.with_payload(robot, 0.6))
    for factor in (0.5, 1.5):
        model = nacelle.with_linear_parameters(robot, factor * nacelle.linear_parameters(robot).values)
        own = adapted_parameters(model)
        low, high = bounds(own, parameter_scales(model, own, default_payload(model)), 2.0)
        assert np.all(low <= truth)
        assert np.all(truth <= high)


def test_masses_stay_positive():
    """Sums of positive quantities have positive bounds; a first moment has both signs."""
    robot = library_robot("delta-codourey")
    base = adapted_parameters(robot)
    low, _ = bounds(base, parameter_scales(robot, base, 0.0), 2.0)
    by_name = dict(zip(base.names, low, strict=True))
    assert by_name["plate.m"] > 0.0
    assert by_name["leg*.shoulder.rz.coulomb"] > 0.0
    assert by_name["leg*.arm.mz"] < 0.0
