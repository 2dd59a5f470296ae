"""Elements and their motion basis: names, and where each state is in u."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.elements.rates import Rate
from nacelle.kinematics.elements.reading import element_legs
from nacelle.kinematics.elements.structure import KinematicElement, split_states
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


def test_states_are_cut_out_of_the_basis() -> None:
    elements = (
        KinematicElement("slider", "T", 2, ("d",)),
        KinematicElement("bar", "B", 3, ("x", "theta")),
        KinematicElement("end", "B", 1, ()),
    )
    u = Rate(np.eye(5), np.arange(5.0), -np.arange(5.0))
    slider, bar, end = split_states(elements, u)
    assert float(slider["d"].now) == 0.0
    assert bar["x"].now.tolist() == [1.0, 2.0, 3.0]
    assert float(bar["theta"].next) == -4.0
    assert end == {}


def test_parts_come_after_the_own_elements() -> None:
    """[OAM] section 3.2: a strut of a Gough-Stewart robot carries a sixth of the platform."""
    for leg in element_legs(mechanism_of(any_robot("gough-stewart"))):
        assert [element.letter for element in leg.all_elements] == ["T", "B"]
        assert leg.all_elements[-1] is leg.parts[0].element
        assert leg.parts[0].element.share == 1.0 / 6.0
        first, second = leg.rods[0].hold.axes
        assert (first.on_successor, second.on_successor) == (False, True)
