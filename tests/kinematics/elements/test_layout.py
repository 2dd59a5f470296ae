"""Which variables the element state of a robot has."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.elements.layout import in_space, leg_layout
from nacelle.kinematics.elements.placement import element_layout, reason_without_elements
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.leg_robots import CASES
from support.library import library_robot


@pytest.mark.parametrize(
    ("name", "some", "number"),
    [
        ("fivebar", {"left_arm": (3, 2), "left_rod": (3, 2)}, 4),
        ("gough-stewart", {"leg1_strut": (3, 3), "leg1_length": (3,)}, 12),
        ("delta", {"leg1_arm": (3, 3), "leg1_rod": (3, 3)}, 6),
        ("orthoglide", {"x-leg_slide": (3,), "x-leg_rod": (3, 3)}, 6),
        ("c5", {"leg1_slide": (3,)}, 9),
    ],
)
def test_variables(name: str, some: dict[str, tuple[int, ...]], number: int) -> None:
    shapes = element_layout(mechanism_of(library_robot(name))).shapes
    assert some.items() <= shapes.items()
    assert len(shapes) == number


def test_rods_that_stay_parallel_are_one() -> None:
    layout = leg_layout(mechanism_of(library_robot("delta")))
    assert layout.of_rod[0, 0] == layout.of_rod[0, 1] == "leg1_rod"


def test_planar_directions_are_spread() -> None:
    layout = element_layout(mechanism_of(library_robot("fivebar")))
    rows = in_space(layout, np.arange(6.0).reshape(3, 2))
    assert rows.shape == (3, 3)
    assert np.array_equal(rows[:, list(layout.axes)], np.arange(6.0).reshape(3, 2))
    assert np.count_nonzero(rows) == 5


def test_a_leg_that_is_cut_elsewhere_says_so() -> None:
    reason = reason_without_elements(mechanism_of(CASES["6 UPS cut at the slide"](1).robot))
    assert "is cut at its joint" in reason
    assert "from the base to the nacelle" in reason
