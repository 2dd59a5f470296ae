"""Stiction from a description: friction is moved, not added."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.model.joint import FrictionTerm
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.simulation.drives.stiction import stiction_of
from nacelle.simulation.plant import RigidPlant
from support.cart import cart
from support.library import library_robot


def with_friction(*terms: FrictionTerm) -> nacelle.Robot:
    """The cart with friction in its actuated joint."""
    (first, *others) = cart().joints
    return dataclasses.replace(cart(), joints=(dataclasses.replace(first, friction=(terms,)), *others))


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_fast_sliding_is_as_described(name: str) -> None:
    """At rates far above the Stribeck rate a robot accelerates as with its Coulomb friction."""
    robot = library_robot(name)
    n = robot.motion.n
    stuck = stiction_of(robot)
    plant, plain = DrivenPlant(stuck.robot, Drives(stiction=stuck.friction)), RigidPlant(robot)
    s = plain.state(nacelle.reference_pose(robot) + 0.02, 0.5 * np.arange(1, n + 1))
    w = plant.encoders(np.append(s, np.zeros(plant.inputs)))[1]
    assert np.min(np.abs(w)) > 0.2
    pairs = zip(stuck.friction, w, strict=True)
    b = [model.level(rate) * np.sign(rate) / model.stiffness for model, rate in pairs]
    u = np.linspace(0.1, 0.4, plant.inputs)
    rates = plant.derivative()(np.append(s, b), u)
    np.testing.assert_allclose(rates[: len(s)], plain.derivative()(s, u), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rates[len(s) :], 0.0, atol=1e-12)


def test_numbers_are_those_of_the_paper() -> None:
    """For 1 N and 1 kg those of table 1 in Canudas de Wit et al. (1995)."""
    robot, (model,) = stiction_of(with_friction(FrictionTerm("coulomb", 1.0), FrictionTerm("viscous", 0.4)))
    assert model is not None
    assert (model.coulomb, model.static, model.rate) == (1.0, 1.5, 1e-3)
    assert model.stiffness == pytest.approx(1e5)
    assert model.damping == pytest.approx(np.sqrt(1e5))
    assert robot.joints[0].friction == ((FrictionTerm("viscous", 0.4),),)


def test_described_stribeck_friction_is_taken() -> None:
    terms = FrictionTerm("coulomb", 1.0), FrictionTerm("stribeck", 0.2, 0.03)
    robot, (model,) = stiction_of(with_friction(*terms), static=3.0)
    assert model is not None
    assert (model.static, model.rate) == (1.2, 0.03)
    assert robot.joints[0].friction == ((),)


def test_no_coulomb_friction_is_no_stiction() -> None:
    for robot in (cart(), with_friction(FrictionTerm("viscous", 0.4)), with_friction()):
        same, friction = stiction_of(robot)
        assert friction == (None,)
        assert same == robot
        plant = DrivenPlant(same, Drives(stiction=friction))
        assert plant.size == RigidPlant(robot).size


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"static": 0.9}, "static >= 1"),
        ({"rate": 0.0}, "rate must be above zero"),
        ({"stiffness": -1.0}, "stiffness must be above zero"),
    ],
)
def test_mistakes(options: dict, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        stiction_of(with_friction(FrictionTerm("coulomb", 1.0)), **options)


def test_friction_that_drives() -> None:
    for term in (FrictionTerm("coulomb", -1.0), FrictionTerm("stribeck", 1.0, 0.1)):
        with pytest.raises(nacelle.KinematicsError, match=r"stiction of rail\.motor needs Coulomb friction"):
            stiction_of(with_friction(term))
