"""Virtual motions: one actuator at unit rate and the others at rest, so that powers are forces."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.virtual_power import VirtualPower, wrench_power
from nacelle.kinematics.actuation import actuator_rows
from nacelle.kinematics.tree.rates import rate_map
from nacelle.spatial.linear_form import LinearForm
from support.compare import assert_same
from support.general_states import loaded, sampled


@pytest.mark.parametrize("name", ["fivebar", "delta", "3rps"])
def test_unit_rates_of_actuators(name: str) -> None:
    """Rates of the tree for the twist of each virtual motion; by the transposed equations and directly."""
    legs, *_ = sampled(loaded(name))
    now = legs.placed.now
    U = np.asarray(rate_map(now), dtype=float)
    J = np.asarray(actuator_rows(now.robot, now.motion), dtype=float) @ U
    for k, motion in enumerate(VirtualPower(legs).motions):
        v = np.array([float(motion.w[rate]) for rate in legs.plan.mechanism.independent])
        assert_same(J @ v, np.eye(len(v))[k], 1e-9)
        for rate, value in motion.u.items():
            assert abs(float(value) - U[rate] @ v) < 1e-8


def test_forces_along_rates_add_up() -> None:
    legs, *_ = sampled(loaded("fivebar"))
    power = VirtualPower(legs)
    rate = next(iter(power.motions[0].u))
    power.add({rate: LinearForm({0: 2.0, 1: 3.0})}, {}, 0.5)
    for motion, force in zip(power.motions, power.force, strict=True):
        expected = {0: motion.u[rate], 1: 1.5 * motion.u[rate]}
        terms = force.terms if isinstance(force, LinearForm) else {}
        assert all(abs(terms.get(k, 0.0) - value) < 1e-15 for k, value in expected.items())
    v, w, f, n = np.arange(12.0).reshape(4, 3)
    assert wrench_power(v, w, f, n) == v @ f + w @ n
