"""Numbers in XML, with errors at their places."""

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.fields import (
    finite_numbers,
    moments_of,
    number_attribute,
    possible_solid,
    rotation_of,
    unit_direction,
    vector_attribute,
)
from nacelle.exchange.graph import Solid
from nacelle.exchange.xml import parsed


def test_numbers_and_defaults() -> None:
    element = parsed(b'<a x="2.5" v="1 2 3" ixx="1" ixy="2" ixz="3" iyy="4" iyz="5" izz="6"/>', "f")
    assert (
        number_attribute(element, "x", 1.0),
        number_attribute(element, "y", 1.0),
        number_attribute(None, "x", 7.0),
    ) == (2.5, 1.0, 7.0)
    np.testing.assert_array_equal(vector_attribute(element, "v", (0.0, 0.0, 0.0)), [1, 2, 3])
    np.testing.assert_array_equal(vector_attribute(None, "v", (4.0, 5.0, 6.0)), [4, 5, 6])
    np.testing.assert_array_equal(moments_of(element), [[1, 2, 3], [2, 4, 5], [3, 5, 6]])
    np.testing.assert_allclose(unit_direction(element, np.array([0.0, 3.0, 4.0])), [0, 0.6, 0.8])
    np.testing.assert_array_equal(rotation_of(None), np.eye(3))


def test_what_no_body_has() -> None:
    flat, long = (
        Solid(1.0, np.ones(3), np.diag([1.0, 2.0, 3.0])),
        Solid(1.0, np.ones(3), np.diag([1.0, 2.0, 4.0])),
    )
    assert possible_solid(flat, parsed(b"<a/>", "f").fault) is flat
    with pytest.raises(DescriptionError, match=r"f:1:1.*triangle inequality.*mend the numbers"):
        possible_solid(long, parsed(b"<a/>", "f").fault)


@pytest.mark.parametrize("text", ["1 2", "1 2 x", "nan 0 0", "1 inf 0", ""])
def test_what_is_not_three_numbers(text: str) -> None:
    with pytest.raises(DescriptionError, match=r"f:1:1.*'v' must be 3 numbers"):
        finite_numbers(parsed(b"<a/>", "f"), text, 3, "'v'")
