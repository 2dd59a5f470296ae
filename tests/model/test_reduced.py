"""Places of coordinates in the reduced pose and twist."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.model.platform import Motion, parse_motion
from nacelle.model.reduced import ReducedLayout, layout_of


def test_se3() -> None:
    layout = ReducedLayout(parse_motion("se3"))
    assert (layout.n, layout.nx) == (6, 7)
    assert layout.x_names == ("x", "y", "z", "qx", "qy", "qz", "qw")
    assert layout.v_names == ("v_x", "v_y", "v_z", "v_rx", "v_ry", "v_rz")
    assert layout.a_names[3] == "a_rx"
    assert (layout.quaternion, layout.angular) == (slice(3, 7), slice(3, 6))
    assert layout.units == ("m", "m", "m", "", "", "", "")
    assert layout.v_units == ("m", "m", "m", "rad", "rad", "rad")
    assert (layout.linear_x, layout.linear_v) == ((0, 1, 2), (0, 1, 2))


def test_the_quaternion_stands_at_the_place_of_the_first_rotation() -> None:
    layout = ReducedLayout(Motion(("z", "rx", "ry", "rz", "swing")))
    assert layout.x_names == ("z", "qx", "qy", "qz", "qw", "swing")
    assert (layout.linear_x, layout.linear_v) == ((0, 5), (0, 4))
    assert layout.x_index("swing") == 5
    assert layout.v_index("swing") == 4
    assert layout.units[-1] == ""
    for name in ("rx", "qx", "y"):
        with pytest.raises(KeyError):
            layout.x_index(name)
    assert layout.v_index("ry") == 2
    with pytest.raises(KeyError):
        layout.v_index("qx")


@pytest.mark.parametrize("motion", ["xyz", "xy+rz", "xyz+rz", "z+rx+ry"])
def test_one_or_two_rotations_are_plain_numbers(motion: str) -> None:
    layout = layout_of(parse_motion(motion))
    assert layout.nx == layout.n
    assert layout.x_names == layout.motion.coordinates
    assert layout.quaternion is None
    assert layout.angular is None


@pytest.mark.parametrize("names", [("rx", "x", "ry", "rz"), ("rz", "ry", "rx"), ("rx", "rz", "ry")])
def test_rotations_stand_side_by_side(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="side by side"):
        ReducedLayout(Motion(names))


def test_a_joint_cannot_have_the_name_of_an_entry() -> None:
    with pytest.raises(ValueError, match="twice"):
        ReducedLayout(Motion(("rx", "ry", "rz", "qw")))


def test_parts_are_put_together_again() -> None:
    layout = ReducedLayout(Motion(("z", "rx", "ry", "rz", "swing")))
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(3, 2, 6)), rng.normal(size=(3, 2, 5))
    np.testing.assert_array_equal(layout.join_x(*layout.split_x(x)), x)
    np.testing.assert_array_equal(layout.join_v(*layout.split_v(v)), v)
    plain = ReducedLayout(parse_motion("xy+rz"))
    np.testing.assert_array_equal(plain.join_x(*plain.split_x(v[..., :3])), v[..., :3])
