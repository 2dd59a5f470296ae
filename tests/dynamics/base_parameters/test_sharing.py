"""Legs that share parameters: identical ones, mirror images with signs, and what a description says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.base_parameters.base_parameters import base_parameters
from nacelle.dynamics.base_parameters.sharing import drop_broken_sharing
from nacelle.errors import ParameterError
from nacelle.model.linear_parameters import linear_parameters, with_linear_parameters
from support.library import library_robot

ROBOTS = Path(__file__).parents[2] / "robots"


def _mirrored_fivebar():
    """Its left leg is mirrored by the description: first moments, products of inertia and joint frames."""
    return nacelle.load(ROBOTS / "fivebar-mirror.yaml")


def _states(robot, count=4):
    rng = np.random.default_rng(5)
    x = np.tile(nacelle.reference_pose(robot), (count, 1))
    x[:, : min(3, robot.motion.n)] += 0.01 * robot.size * rng.normal(size=(count, min(3, robot.motion.n)))
    return x, *rng.normal(size=(2, count, robot.motion.n))


def _fully_mirrored(robot, shared):
    """The robot with general bodies in all legs, mirror images where they share parameters."""
    choice = base_parameters(robot, shared=shared).choice
    rng = np.random.default_rng(8)
    z = choice.values + 0.1 * rng.normal(size=len(choice.values)) * np.max(np.abs(choice.values))
    return with_linear_parameters(robot, choice.E @ z)


def test_legs_share_inertia_and_keep_friction_of_their_own() -> None:
    """Forces of legs that differ in friction alone take one set of inertia and all friction."""
    robot = library_robot("fivebar")
    alone, legs = base_parameters(robot), base_parameters(robot, shared="legs")
    p = linear_parameters(robot)
    own = np.array([name.endswith(("viscous", "coulomb")) for name in p.names])
    values = np.where(own, p.values * np.linspace(0.5, 2.0, len(own)), p.values)
    robot = with_linear_parameters(robot, values)
    base = base_parameters(robot, share="inertia")
    assert len(base.rigid) == len(legs.rigid) < len(alone.rigid)
    assert len(base.friction) == len(alone.friction) > len(legs.friction)
    x, v, a = _states(robot)
    Y = nacelle.regressor(robot, x, v, a, parameters=base).Y
    tau = nacelle.inverse_dynamics(robot, x, v, a).tau
    np.testing.assert_allclose(Y @ base.values, tau, atol=1e-9 * np.max(np.abs(tau)))
    with pytest.raises(ParameterError, match="share all or inertia"):
        base_parameters(robot, share="masses")


@pytest.mark.slow
@pytest.mark.parametrize("shared", ["mirrored", [["right", "mirror left"]]])
def test_columns_of_a_leg_that_the_description_mirrors(shared):
    """The reader reflects inertia, joints, springs and constant forces; signs are found from the geometry."""
    robot = _mirrored_fivebar()
    state = _states(robot)
    found = nacelle.regressor(robot, *state, shared=shared)
    force = nacelle.inverse_dynamics(robot, *state).tau
    np.testing.assert_allclose(found.Y @ found.parameters.values, force, rtol=1e-11, atol=1e-13)
    assert found.Y.shape[-1] == 34
    base = base_parameters(robot, shared=shared)
    assert len(base) == base.structural == 8
    # Identical they are not, and apart they have more.
    assert len(base_parameters(robot, shared="legs")) == len(base_parameters(robot)) == 15
    with pytest.raises(
        nacelle.errors.ParameterError, match=r"left\.proximal\.mx is -0\.04, right\.proximal\.mx is 0\.04"
    ):
        base_parameters(robot, shared=[["right", "left"]])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) for name in ("fivebar", "hexa", "palida")]
)
def test_general_bodies_in_mirrored_legs(name):
    """Signs of all ten parameters: such a robot moves as its mirror image does, by other forces alone."""
    robot = _fully_mirrored(library_robot(name), "mirrored")
    state = _states(robot)
    found = nacelle.regressor(robot, *state, shared="mirrored")
    force = nacelle.inverse_dynamics(robot, *state).tau
    size = np.max(np.abs(force))
    np.testing.assert_allclose(found.Y @ found.parameters.values, force, rtol=1e-11, atol=1e-11 * size)
    base = base_parameters(robot, shared="mirrored")
    assert len(base) == base.structural < len(base_parameters(robot, shared="legs"))


def test_a_mirrored_robot_moves_as_its_image():
    """Independent of the parameters' algebra: at the image of a motion each leg has the other's force."""
    robot = _fully_mirrored(library_robot("fivebar"), "mirrored")
    x, v, a = _states(robot)
    flip = np.array([-1.0, 1.0])
    own = nacelle.inverse_dynamics(robot, x, v, a).tau
    image = nacelle.inverse_dynamics(robot, flip * x, flip * v, flip * a).tau
    np.testing.assert_allclose(image, -own[:, ::-1], rtol=1e-10)
    # With equal bodies in the place of mirrored ones it does not.
    values = linear_parameters(robot).values.copy()
    names = linear_parameters(robot).names
    values[names.index("right.proximal.my")] *= -1.0
    other = with_linear_parameters(robot, values)
    image = nacelle.inverse_dynamics(other, flip * x, flip * v, flip * a).tau
    assert np.max(np.abs(image + nacelle.inverse_dynamics(other, x, v, a).tau[:, ::-1])) > 0.1


@pytest.mark.parametrize(
    ("name", "shared", "words"),
    [
        ("3rps", "mirrored", "ambiguous"),
        ("orthoglide", "mirrored", "no two legs of orthoglide are mirror images"),
        ("delta", [["leg1", "mirror leg2"]], r"leg2 is no mirror image of leg1: .* from where it would be"),
        ("fivebar", [["mirror left", "right"]], "the first leg of a list is the one that is mirrored"),
        ("fivebar", [["left"]], "two legs or more"),
        ("palida", [["strut1", "strut2"], ["strut3", "strut2"]], "'strut2' is listed twice"),
        ("palida", "mirored", "did you mean 'mirrored'"),
    ],
)
def test_refusals(name, shared, words):
    with pytest.raises(nacelle.errors.ParameterError, match=words):
        base_parameters(library_robot(name), shared=shared)


class TestKey:
    def test_it_is_the_default_and_no_part_of_the_hash(self):
        plain = library_robot("fivebar")
        robot = dataclasses.replace(plain, shared="legs")
        assert robot.hash == plain.hash
        assert len(base_parameters(robot)) == len(base_parameters(plain, shared="legs")) == 12
        assert len(base_parameters(robot, shared=False)) == len(base_parameters(plain)) == 21
        x = nacelle.reference_pose(robot)
        assert nacelle.regressor(robot, x).Y.shape == nacelle.regressor(plain, x, shared="legs").Y.shape
        assert nacelle.regressor(robot, x, shared=False).Y.shape == nacelle.regressor(plain, x).Y.shape

    def test_other_numbers_end_it(self):
        robot = dataclasses.replace(library_robot("fivebar"), shared=(("left", "right"),))
        assert drop_broken_sharing(robot).shared == robot.shared
        values = linear_parameters(robot).values.copy()
        values[linear_parameters(robot).names.index("left.distal.m")] *= 1.1
        assert drop_broken_sharing(with_linear_parameters(robot, values)).shared is None
