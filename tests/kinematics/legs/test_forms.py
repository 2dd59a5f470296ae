"""Closed forms: which legs of the library have one, and what each needs."""

from __future__ import annotations

import pytest

from nacelle.kinematics.legs.chain import serial_chain
from nacelle.kinematics.legs.forms import FORMS, askew, chain_form, is_three_prismatic
from support.uncompiled import any_robot


@pytest.mark.parametrize(
    ("name", "kind", "roots"),
    [("gough-stewart", "strut", 2), ("fivebar", "rod", 2), ("hexaglide", "rod", 2)],
)
def test_forms_of_the_library(name: str, kind: str, roots: int) -> None:
    robot = any_robot(name)
    for leg in robot.legs:
        chain = serial_chain(robot, leg)
        assert chain is not None
        form = chain_form(chain, robot.size)
        assert form in FORMS
        assert FORMS[form].kind == kind
        assert FORMS[form].roots <= roots
        assert askew(FORMS[form].centred(chain), FORMS[form], robot.size) == ""
        assert not is_three_prismatic(robot, leg)


def test_a_leg_of_three_slides() -> None:
    robot = any_robot("c5-slides")
    assert any(is_three_prismatic(robot, leg) for leg in robot.legs)
