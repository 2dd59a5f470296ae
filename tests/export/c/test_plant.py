"""Plants in C: the same motion as that of `simulate`, encoders and starts of the Python API."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.poses import sample_poses
from nacelle.simulation.plant import RigidPlant
from support.cc import COMPILERS
from support.controllers import QUICK, at, library_of, macro
from support.library import library_robot
from support.packages import run_self_test

pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar", "3rps", "palida"])
def test_the_plant_of_python(tmp_path: Path, name: str) -> None:
    robot = library_robot(name)
    done = nacelle.export(
        robot, out=tmp_path / "p", plant=True, smooth=0.01, precision="double", self_test=False
    )
    assert run_self_test(done.out, QUICK).endswith("all is well\n")
    library, plant = library_of(done.out), RigidPlant(robot, smooth=0.01)
    x = sample_poses(robot, 1, seed=2)[0]
    force = np.random.default_rng(1).uniform(-1.0, 1.0, len(robot.actuators))
    state = np.full(macro(done.out, f"{done.name}_PLANT_STATE_SIZE".upper()), np.nan)
    assert getattr(library, f"{done.name}_plant_start")(at(x), at(state)) == 0
    assert np.max(np.abs(state - plant.state(x, np.zeros(robot.motion.n)))) < 1e-10
    start = state.copy()
    rk4 = getattr(library, f"{done.name}_plant_rk4")
    rk4.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double]
    rk4.argtypes += [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    assert rk4(at(state), at(force), 0, 1e-4, 50, 0, None, None) == 0
    wanted = plant.driver().integrate(start, force[None], h=1e-4, steps=50)[-1]
    assert np.max(np.abs(state - wanted)) < 1e-11
    q, v = np.full(len(robot.actuators), np.nan), np.full(robot.motion.n, np.nan)
    getattr(library, f"{done.name}_plant_encoders")(at(state), at(q))
    getattr(library, f"{done.name}_plant_pose")(at(state), at(x), at(v))
    pose, twist = plant.split(wanted)
    assert np.allclose(x, pose, atol=1e-12)
    assert np.allclose(v, twist, atol=1e-11)
    assert np.allclose(q, nacelle.inverse_kinematics(robot, pose).actuators, atol=1e-11)
    nowhere = np.full(len(x), np.nan)
    assert getattr(library, f"{done.name}_plant_start")(at(nowhere), at(state)) == 1
