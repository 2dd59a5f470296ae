"""The bodies of a leg over its motion basis: those of the tree, and what keeps the leg together is zero."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.formulations.elements.motion import element_motion
from nacelle.kinematics.elements.chain import end_zeros, free_rates, leg_bodies, motion_basis
from nacelle.kinematics.elements.geometry import ElementGeometry
from nacelle.kinematics.elements.rates import resting
from support.element_robots import samples
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "orthoglide", "delta4", "c5"])
def test_constraints_hold_along_the_motion(name: str) -> None:
    """Rates that are zero are so with their derivatives, and bodies move as the tree says."""
    robot = any_robot(name)
    state, a, _ = samples(robot)[0]
    at = ElementGeometry(robot, state.now.motion.poses)
    motion = element_motion(state, a)
    for moved in motion.legs:
        made = leg_bodies(at, moved.leg, moved.u)
        nacelle = motion.nacelle[moved.leg.rods[0].nacelle]
        zeros = [*made.zeros, *end_zeros(at, moved.leg, made.ends, nacelle)]
        for zero in zeros:
            assert np.max(np.abs(zero.now)) < 1e-11
            assert np.max(np.abs(zero.next)) < 1e-9
        for body, rigid in made.bodies.items():
            twist = state.moving.velocity.twists[body]
            p = state.now.motion.poses[body].p
            np.testing.assert_allclose(rigid.w.now, twist[3:], atol=1e-10)
            np.testing.assert_allclose(rigid.at(p).now, twist[:3] + np.cross(twist[3:], p), atol=1e-10)


def test_free_rates() -> None:
    """A driven bar with a rod between spherical joints needs q' alone, a strut its five."""
    state, a, _ = samples(any_robot("hexa"))[0]
    legs = [moved.leg for moved in element_motion(state, a).legs]
    assert all(free_rates(leg) == 1 + sum("theta" in e.basis for e in leg.elements[1:]) for leg in legs)
    state, a, _ = samples(any_robot("gough-stewart"))[0]
    moved = element_motion(state, a).legs[0]
    assert free_rates(moved.leg) == 5
    own = moved.u[0:5]
    at = ElementGeometry(state.robot, state.now.motion.poses)
    assert motion_basis(at, moved.leg, own, resting(6)) is own
