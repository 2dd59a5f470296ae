"""Coordinates that nothing drives, and joints that could be coordinates, in words."""

import pytest

import nacelle
from support.described import mechanism


def test_the_mechanism_speaks_of_its_joints() -> None:
    m = nacelle.mobility(mechanism("arm"))
    assert m.sentences()[0] == "The mechanism has 3 independent motions: arm.turn, arm.shoulder, arm.motor."
    assert not any("nacelle" in sentence for sentence in m.sentences())


def test_what_nothing_drives_is_named() -> None:
    m = nacelle.mobility(mechanism("carriage"))
    assert m.is_underactuated
    assert m.unfelt
    assert m.undriven == ("pendulum.swing",)
    check = nacelle.check("tests/support/described/carriage.yaml")
    assert not check.errors
    assert "nothing drives pendulum.swing: 3 actuators for 4 motions" in check.problems[0].message


def test_a_motion_that_does_not_fit_suggests_one() -> None:
    text = mechanism("arm").to_yaml().replace("arm.turn, ", "", 1)
    with pytest.raises(
        nacelle.DescriptionError, match=r"write motion: \[arm\.shoulder, arm\.motor, arm\.turn"
    ):
        nacelle.loads(text)
