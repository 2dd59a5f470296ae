"""Drafts of joints and of kinematic elements: bodies, kinds, and where the frames are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.model.build.draft import DraftError, alignment, draft_leg
from nacelle.model.description.joint import JointSpec
from nacelle.model.description.leg import LegSpec
from nacelle.model.joint import JointKind


def leg(**written: Any) -> LegSpec:
    return LegSpec.model_validate({"name": "leg", **written})


def test_the_axis_of_a_joint_becomes_z() -> None:
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    R = alignment(JointSpec(type="revolute", parent="base", child="arm", axis=axis.tolist()))
    np.testing.assert_allclose(R[:, 2], axis, atol=1e-15)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
    universal = JointSpec(type="universal", parent="base", child="arm", axes=["z", "x"])
    np.testing.assert_allclose(alignment(universal)[:, :2].T, [[0, 0, 1], [1, 0, 0]], atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "kinds", "end"),
    [
        ("bar", ["universal"], ("rod", 0.4)),
        ("spindle", ["universal", "revolute"], ("rod", 0.4)),
        ("telescopic", ["universal", "prismatic"], ("rod-moving", 0.0)),
        ("screw", ["universal", "prismatic", "revolute"], ("rod-moving", 0.0)),
    ],
)
def test_elements_are_chains_of_joints(kind: str, kinds: list[str], end: tuple[str, float]) -> None:
    """[OAM] section 3.1: each element from its input along its x to its end point."""
    direction = np.array([0.6, 0.0, 0.8])
    element: dict[str, Any] = {
        "type": kind,
        "name": "rod",
        "at": [0.1, 0.2, 0.3],
        "direction": direction.tolist(),
        "input": {"type": "universal", "axis": "y"},
    }
    if kind in ("bar", "spindle"):
        element["length"] = 0.4
    chain = draft_leg(leg(elements=[element], end={"type": "spherical"}), ("leg",))
    assert [joint.kind for joint in chain.joints] == [JointKind(name) for name in kinds]
    # All joints at zero: the frames on either side of a joint coincide, so the body's pose is their quotient.
    start, inner = chain.joints[0].frames
    R = start.R @ inner.R.T
    np.testing.assert_allclose(start.p, [0.1, 0.2, 0.3], atol=1e-16)
    np.testing.assert_allclose(R[:, 0], direction, atol=1e-15)
    np.testing.assert_allclose(start.R[:, 0], [0.0, 1.0, 0.0], atol=1e-15)  # the first axis of the joint
    (closure,) = chain.closures
    assert closure.bodies == (end[0], "")
    np.testing.assert_allclose(closure.frames[0].p, [end[1], 0.0, 0.0], atol=1e-16)


@pytest.mark.parametrize(
    ("direction", "axis", "entry", "words"),
    [
        ("x", "x", "universal", "lies along the element"),
        ([1, 0, 1], "x", "revolute", "not perpendicular"),
    ],
)
def test_inputs_that_cannot_be_placed(direction: Any, axis: str, entry: str, words: str) -> None:
    element = {
        "type": "bar",
        "name": "rod",
        "length": 0.4,
        "direction": direction,
        "input": {"type": entry, "axis": axis},
    }
    with pytest.raises(DraftError, match=words) as caught:
        draft_leg(leg(elements=[element]), ("leg",))
    assert caught.value.path == ("leg", "elements", 0, "input", "axis")


def test_an_end_belongs_to_elements() -> None:
    with pytest.raises(DraftError, match="end belongs to elements"):
        draft_leg(leg(end={"type": "spherical"}), ("leg",))
