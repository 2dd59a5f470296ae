"""Joints as written: their axes and their kinds."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from nacelle.model.description.fields import message_and_hint
from nacelle.model.description.joint import EndSpec, InputSpec, JointSpec
from nacelle.model.joint import JointKind

BETWEEN = {"parent": "base", "child": "arm"}


def test_the_plane_of_a_c5_joint_is_on_either_body() -> None:
    kinds = [
        JointSpec(type="planar-spherical", **BETWEEN, plane=plane).kind() for plane in ("parent", "child")
    ]
    assert kinds == [JointKind.PLANAR_SPHERICAL, JointKind.SPHERICAL_PLANAR]
    # The end of a leg of elements meets a plane of the nacelle.
    assert EndSpec(type="planar-spherical").kind() is JointKind.SPHERICAL_PLANAR
    assert EndSpec(type="universal").kind() is JointKind.UNIVERSAL


@pytest.mark.parametrize(
    ("written", "place", "words"),
    [
        ({"type": "universal", "axis": "z"}, ("axis",), "two axes"),
        ({"type": "universal", "axes": ["x", [1, 1, 0]]}, ("axes",), "perpendicular"),
        ({"type": "revolute", "axes": ["x", "y"]}, ("axes",), "one axis"),
        ({"type": "spherical", "axis": "z"}, ("axis",), "no axis"),
        ({"type": "revolut"}, ("type",), "expected 'revolute', 'prismatic'"),
        ({"type": "prismatic", "friction": {"coulomb": "1 N*m"}}, ("friction", "coulomb"), "force"),
    ],
)
def test_what_is_no_joint(written: dict[str, Any], place: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        JointSpec(**BETWEEN, **written)
    (error,) = caught.value.errors(include_url=False)
    assert error["loc"] == place
    assert words in message_and_hint(error)[0]


def test_elements_have_no_prismatic_input() -> None:
    assert InputSpec(type="universal", axis="y").axis == (0.0, 1.0, 0.0)
    with pytest.raises(ValidationError, match="expected 'revolute', 'universal'"):
        InputSpec.model_validate({"type": "prismatic"})
