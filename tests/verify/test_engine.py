"""Engines: how they are found, and in which order they get the joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.model.joint import Primitive
from nacelle.model.platform import Payload
from nacelle.spatial.scalar import Array
from nacelle.verify import engine
from nacelle.verify.engine import (
    Home,
    MissingEngineError,
    VerifyError,
    branch_by_branch,
    builder,
    lumps,
    steps_of,
)
from support.library import library_robot
from support.uncompiled import ALL, any_robot


@pytest.mark.parametrize("name", ALL)
def test_bodies_come_after_those_that_carry_them(name: str) -> None:
    robot = any_robot(name)
    order = branch_by_branch(robot)
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


def test_point_masses_and_thin_rods_keep_no_negative_moments_from_rounding() -> None:
    """Pinocchio refuses moments below zero, be they 1e-19 kg m^2; those that are truly negative stay."""
    robot = library_robot("fivebar")
    rng = np.random.default_rng(5)
    body = len(robot.bodies) - 1

    def piece(mass: float, com: Array, I: Array) -> Array:
        I = I + mass * (com @ com * np.eye(3) - np.outer(com, com))
        ten = (mass, *(mass * com), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])
        load = Payload("load", body, tuple(float(entry) for entry in ten))
        return lumps(replace(robot, payload=(load,)), body)[-1].about_com

    for _ in range(200):
        mass, com = rng.uniform(0.1, 5.0), rng.normal(size=3)
        u = rng.normal(size=3)
        u /= np.linalg.norm(u)
        for I in (np.zeros((3, 3)), 1e-3 * (np.eye(3) - np.outer(u, u))):
            found = piece(mass, com, I)
            assert np.linalg.eigvalsh(found)[0] >= 0.0 or np.all(np.diag(found) >= 0.0)
            np.testing.assert_allclose(found, I, atol=2e-14 * mass * (com @ com))
    wrong = np.diag([-1e-6, 1.0, 1.0])
    np.testing.assert_allclose(piece(1.0, np.zeros(3), wrong), wrong, atol=0.0)


def test_kinds_that_an_engine_lacks_are_refused_by_name() -> None:
    joint = library_robot("fivebar").joints[0]
    assert steps_of(joint, {Primitive.RZ: "RZ"}, "Engine") == ("RZ",)
    with pytest.raises(VerifyError, match=rf"joint '{joint.name}' is revolute, which is not built in Engine"):
        steps_of(joint, {Primitive.TZ: "PZ"}, "Engine")
