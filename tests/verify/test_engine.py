"""Engines: how they are found, and in which order they get the joints."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.model.joint import JointKind
from nacelle.verify import engine
from nacelle.verify.engine import (
    Home,
    MissingEngineError,
    VerifyError,
    builder,
    depth_first,
    lumps,
    steps_of,
)
from support.library import library_robot
from support.uncompiled import ALL, any_robot


@pytest.mark.parametrize("name", ALL)
def test_bodies_come_after_those_that_carry_them(name: str) -> None:
    robot = any_robot(name)
    order = depth_first(robot)
    assert sorted(order) == list(range(robot.tree))
    placed = {0, 1}
    for j in order:
        assert robot.joints[j].predecessor in placed
        placed.add(robot.joints[j].successor)


def test_names_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VerifyError, match="did you mean 'mujoco'"):
        builder("mujocco")
    monkeypatch.setitem(engine.ENGINES, "other", Home("nacelle.verify.nowhere", "no_such_package", "other"))
    with pytest.raises(MissingEngineError, match="nacelle"):
        builder("other")


def test_pieces_have_the_inertia_of_the_body() -> None:
    """Steiner's theorem back to the body's origin."""
    robot = any_robot("delta")
    for body in range(1, len(robot.bodies)):
        ten = np.array(robot.bodies[body].inertia, dtype=float)
        found = lumps(robot, body)
        assert sum(lump.mass for lump in found) == pytest.approx(ten[0])
        I = sum(
            lump.about_com + lump.mass * (lump.com @ lump.com * np.eye(3) - np.outer(lump.com, lump.com))
            for lump in found
        )
        np.testing.assert_allclose(np.diag(I), ten[[4, 6, 9]], atol=1e-12)


def test_kinds_that_an_engine_lacks_are_refused_by_name() -> None:
    joint = library_robot("fivebar").joints[0]
    assert steps_of(joint, {JointKind.REVOLUTE: ("RZ",)}, "Engine") == ("RZ",)
    with pytest.raises(VerifyError, match=rf"joint '{joint.name}' is revolute, which is not built in Engine"):
        steps_of(joint, {JointKind.PRISMATIC: ("PZ",)}, "Engine")
