"""Friction in a ball: along the motion, smooth where it is asked for, with a slope at rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import nacelle
from nacelle.dynamics.friction import axis_friction, spherical_friction
from nacelle.model.joint import FrictionTerm
from support.library import library_robot

TERMS = {
    "coulomb": FrictionTerm("coulomb", 0.7),
    "coulomb-smooth": FrictionTerm("coulomb-smooth", 0.4, 0.05),
    "stribeck": FrictionTerm("stribeck", 0.3, 0.2),
    "quadratic": FrictionTerm("quadratic", 0.2),
    "cubic": FrictionTerm("cubic", 0.1),
    "viscous": FrictionTerm("viscous", 0.5),
}
W = np.array([0.3, -0.2, 0.6])


@pytest.mark.parametrize("smooth", [None, 0.02])
@pytest.mark.parametrize("basis", [*TERMS, "all"])
def test_a_ball_rubs_along_its_motion_as_an_axis_does(basis: str, smooth: float | None) -> None:
    terms = tuple(TERMS.values()) if basis == "all" else (TERMS[basis],)
    for size in (1e-12, 1e-6, 1e-3, 0.05, 1.0):
        w = size * W / np.linalg.norm(W)
        along = axis_friction(terms, size, smooth)
        np.testing.assert_allclose(
            spherical_friction(terms, w, smooth), along * w / size, rtol=1e-9, atol=1e-15
        )
    np.testing.assert_array_equal(spherical_friction(terms, np.zeros(3), smooth), np.zeros(3))


@pytest.mark.parametrize("basis", [*TERMS, "constant"])
def test_the_slope_at_rest_is_that_of_an_axis(basis: str) -> None:
    """Differences over mpmath through rest."""
    smooth = 0.02
    term = FrictionTerm("constant", 0.7) if basis == "constant" else TERMS[basis]
    axis = FrictionTerm("coulomb", 0.7) if basis == "constant" else term
    with mpmath.workdps(60):
        h = mpmath.mpf("1e-30")
        expected = (axis_friction((axis,), h, smooth) - axis_friction((axis,), -h, smooth)) / (2 * h)
        for k in range(3):
            w = np.array([h if j == k else mpmath.mpf(0) for j in range(3)], dtype=object)
            slope = (spherical_friction((term,), w, smooth) - spherical_friction((term,), -w, smooth)) / (
                2 * h
            )
            for j in range(3):
                assert float(slope[j]) == pytest.approx(
                    float(expected) if j == k else 0.0, rel=1e-12, abs=1e-9
                )


def test_a_term_that_bends_by_itself_needs_no_smooth() -> None:
    term = TERMS["coulomb-smooth"]
    with mpmath.workdps(60):
        w = np.array([mpmath.mpf("1e-30"), mpmath.mpf(0), mpmath.mpf(0)], dtype=object)
        slope = spherical_friction((term,), w)[0] / w[0]
        assert float(slope) == pytest.approx(term.coefficient / term.scale, rel=1e-12)


def _models(robot: nacelle.Robot) -> dict[str, Callable[..., Any]]:
    """Everything public that takes the options of friction, at the reference pose."""
    x, v = nacelle.reference_pose(robot), np.zeros(robot.motion.n)
    tau = np.zeros(len(robot.actuators))
    return {
        "model": lambda **o: nacelle.model(robot, **o),
        "inverse_dynamics": lambda **o: nacelle.inverse_dynamics(robot, x, v, **o),
        "forward_dynamics": lambda **o: nacelle.forward_dynamics(robot, x, v, tau, **o),
        "bias_forces": lambda **o: nacelle.bias_forces(robot, x, v, **o),
        "joint_reactions": lambda **o: nacelle.joint_reactions(robot, x, v, **o),
        "linearise": lambda **o: nacelle.linearise(robot, x, **o),
        "dynamics_derivatives": lambda **o: nacelle.dynamics_derivatives(robot, x, v, **o),
        "RigidPlant": lambda **o: nacelle.RigidPlant(robot, **o),
        "export": lambda **o: nacelle.export(robot, "inverse_dynamics", out="never-written", **o),
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smooth": -1.0}, "smooth must be above zero, got -1"),
        ({"smooth": 0.0}, "smooth must be above zero, got 0"),
        ({"smooth": float("nan")}, "smooth must be above zero"),
        ({"smooth": "wide"}, "smooth must be a number above zero, got 'wide'"),
        ({"smooth": True}, "smooth must be a number above zero, got True"),
        ({"friction": "no"}, "friction is True or False, got 'no'"),
        ({"friction": None}, "friction is True or False, got None"),
    ],
)
def test_options_are_checked_wherever_they_are_taken(options: dict[str, Any], words: str) -> None:
    """A negative width would turn Coulomb friction into a force that drives."""
    for name, call in _models(nacelle.load("fivebar")).items():
        with pytest.raises(nacelle.NacelleError, match=words):
            print(name, call(**options))
    assert not Path("never-written").exists()


def test_passive_friction_acts_on_both_bodies() -> None:
    """Five-bar with friction in an elbow alone: by virtual power each motor feels the elbow's own rate."""
    robot = library_robot("fivebar")
    x, v = nacelle.reference_pose(robot) + np.array([0.03, 0.01]), np.array([0.4, -0.3])
    rubbed = [k for k, joint in enumerate(robot.joints) if any(joint.friction)]
    assert len(rubbed) >= 2
    with_friction = nacelle.inverse_dynamics(robot, x, v).force
    without = nacelle.inverse_dynamics(robot, x, v, friction=False).force
    J = nacelle.jacobian(robot, x)
    rates = nacelle.joint_motion(robot, x, v).rate
    G = nacelle.joint_jacobian(robot, x)
    expected = np.zeros(2)
    for k in rubbed:
        if k < robot.tree:
            place = robot.v_slices[k].start
            rate, row = rates[place], G[place]
        else:
            # The joint at the point turns by the difference of the two distal bars' rates.
            twists = nacelle.body_jacobian(robot, x)[:, 5]
            row = twists[robot.joints[k].successor] - twists[robot.joints[k].predecessor]
            rate = row @ v
        force = sum(
            term.coefficient * {"viscous": rate, "coulomb": np.sign(rate)}[term.basis]
            for term in robot.joints[k].friction[0]
        )
        expected += row * force
    np.testing.assert_allclose(with_friction - without, J.direct.T @ expected, rtol=1e-10)


@pytest.mark.slow
def test_sign_of_zero_and_smooth_friction() -> None:
    robot = library_robot("delta")
    x = nacelle.reference_pose(robot)
    rest = nacelle.inverse_dynamics(robot, x).force
    np.testing.assert_allclose(rest, nacelle.inverse_dynamics(robot, x, friction=False).force, rtol=1e-14)
    v = np.array([1e-6, 0.0, 0.0])
    hard = nacelle.inverse_dynamics(robot, x, v).force
    soft = nacelle.inverse_dynamics(robot, x, v, smooth=1e-3).force
    softest = nacelle.inverse_dynamics(robot, x, v, smooth=1e-12).force
    assert np.max(np.abs(hard - rest)) > 0.1
    assert np.max(np.abs(soft - rest)) < 0.01
    np.testing.assert_allclose(softest, hard, rtol=1e-12)


@pytest.mark.slow
def test_smooth_friction_of_spherical_joints_is_none_at_rest() -> None:
    """In compiled programs, too: the smallest rate is not lost among equal numbers."""
    robot = nacelle.load("h4")
    x = nacelle.reference_pose(robot)
    force = nacelle.inverse_dynamics(robot, x, smooth=1e-3).force
    np.testing.assert_allclose(force, nacelle.equilibrium(robot, x), rtol=1e-9)
