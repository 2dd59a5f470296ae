"""Kinds of controllers: what each declares, and the law that comes of it, for every name."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.gains import tuned
from nacelle.control.kind import row_size
from nacelle.control.law import law_of
from nacelle.control.named import CONTROLLERS, KINDS
from nacelle.spatial.physics import input_shapes
from support.library import library_robot


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_kind_holds_the_robot_where_it_is(name: str) -> None:
    """At rest at the desired pose the model's holding force is given, and the memory keeps its size."""
    robot, kind = library_robot("fivebar"), KINDS[name]()
    assert kind.name == name
    law = tuned(kind, robot, period=5e-4, bandwidth=5.0)
    x = nacelle.reference_pose(robot)
    shapes = input_shapes(law_of(kind), robot)
    assert shapes == {
        "z": (kind.memory(robot).size,),
        "q": (2,),
        "r": row_size(robot),
        "gains": law.gains.shape,
    }
    row = np.concatenate([x, np.zeros(4)])
    z = law.start(x)
    assert "stopped" in kind.memory(robot).names
    result = law_of(kind)(robot, z, law.coordinates(x), row, law.gains)
    assert np.shape(result["memory"]) == z.shape
    held = nacelle.inverse_dynamics(robot, x, np.zeros(2), np.zeros(2)).force
    expected = 0.0 * held if name == "sj" else held
    assert np.max(np.abs(np.asarray(result["force"], dtype=float) - expected)) < 1e-9


def test_the_same_kind_has_the_same_law() -> None:
    assert law_of(KINDS["sj"]()) is law_of(KINDS["sj"]())
    assert law_of(KINDS["cf-rb"]()) is not law_of(KINDS["cf-rb-friction"]())
