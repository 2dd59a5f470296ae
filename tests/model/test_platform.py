"""Motion types: names, lists, and what is neither."""

from __future__ import annotations

import pytest

from nacelle.model.platform import AXES, NAMED_MOTIONS, MotionError, parse_motion


@pytest.mark.parametrize("name", sorted(NAMED_MOTIONS))
def test_named_motions(name: str) -> None:
    motion = parse_motion(name)
    assert motion.name == name
    assert motion.coordinates == NAMED_MOTIONS[name]
    assert motion.n == len(motion.coordinates) == len(motion.twist_axes)
    assert [AXES[k] for k in motion.twist_axes] == list(motion.coordinates)
    assert parse_motion(list(motion.coordinates)) == motion


def test_joints_of_the_nacelle_are_coordinates() -> None:
    motion = parse_motion(["x", "y", "z", "swing"])
    assert motion.joint_names == ("swing",)
    assert motion.twist_axes == (0, 1, 2)


@pytest.mark.parametrize("value", ["", "xyzw", ["x", "x"], []])
def test_what_is_no_motion(value: str | list[str]) -> None:
    with pytest.raises(MotionError):
        parse_motion(value)
