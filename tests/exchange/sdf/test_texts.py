"""Values in the texts of SDF elements."""

import math

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.sdf.texts import is_true, limit_value, pose_of, unit_axis, value, word
from nacelle.exchange.xml import parsed


def test_words_numbers_and_directions() -> None:
    element = parsed(b"<a><n> 2.5 </n><far>-inf</far><yes>true</yes><xyz>0 3 4</xyz></a>", "a")
    assert (word(element, "yes"), word(element, "no", "?")) == ("true", "?")
    assert (is_true(element, "yes"), is_true(None, "yes")) == (True, False)
    assert (value(element, "n", 1.0), limit_value(element, "far", 1.0), value(element, "m", 7.0)) == (
        2.5,
        -math.inf,
        7.0,
    )
    np.testing.assert_allclose(unit_axis(element), [0, 0.6, 0.8])
    np.testing.assert_array_equal(unit_axis(parsed(b"<axis/>", "a")), [0, 0, 1])


def test_poses_in_all_their_forms() -> None:
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    half = math.sqrt(0.5)
    for text in (
        f"<pose>1 2 3 0 0 {math.pi / 2}</pose>",
        '<pose degrees="true">1 2 3 0 0 90</pose>',
        f'<pose rotation_format="quat_xyzw">1 2 3 0 0 {half} {half}</pose>',
    ):
        pose = pose_of(parsed(text.encode(), "a"))
        np.testing.assert_allclose(pose.R, quarter, atol=1e-15)
        np.testing.assert_array_equal(pose.p, [1, 2, 3])
    with pytest.raises(DescriptionError, match="a quaternion of zeros"):
        pose_of(parsed(b'<pose rotation_format="quat_xyzw">1 2 3 0 0 0 0</pose>', "a"))
