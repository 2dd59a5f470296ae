"""Starts at any pose in C: legs found by iteration are those of the Python API, or an error is returned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.control.named import controller
from nacelle.dynamics.poses import sample_poses
from nacelle.kinematics.kinematic_model import actuator_positions, closure_equations
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from support.cc import COMPILERS
from support.controllers import CController, at, library_of
from support.library import library_robot

pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "delta4", "quattro", "h4"])
def test_starts(tmp_path: Path, name: str) -> None:
    robot = library_robot(name)
    made = controller(robot, "sj")
    done = nacelle.export(robot, out=tmp_path / "p", controller=made, precision="double", self_test=False)
    library = library_of(done.out)
    assemble = getattr(library, f"{done.name}_assemble")
    c = CController(library, done.name, made)
    far = sample_poses(robot, 40, seed=4)
    # Struts reach everywhere: what no robot reaches is no pose.
    for x, reached in [(x, True) for x in far] + [(np.full(far.shape[1], np.nan), False)]:
        y = np.zeros(mechanism_of(robot).ny)
        status = assemble(at(np.array(x)), at(y))
        assert status == (0 if reached else 1)
        assert c.reset(x) == status
        if reached:
            assert np.array_equal(c.memory[: len(y)], y)
            # Idle spins of rods are as they come: what counts are closed loops, and the actuators.
            assert np.max(np.abs(native(closure_equations, robot)(x, y)["residual"])) < 1e-10
            active = native(actuator_positions, robot)(x, y)["q"]
            assert np.max(np.abs(active - made.coordinates(x))) < 1e-9
