"""Packages of NumPy: their self-test, batches, and their functions against the Python API."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.export.states import seeded_states
from support.library import library_robot
from support.packages import hostile_fivebar, imported, run_python


@pytest.mark.parametrize("robot_name", ["palida", "fivebar"])
def test_self_test_and_python_api(tmp_path: Path, robot_name: str) -> None:
    robot = library_robot(robot_name)
    done = nacelle.export(robot, "inverse_dynamics,forward_dynamics", out=tmp_path / "p", target="numpy")
    assert run_python(done.out / f"{done.name}_self_test.py").endswith("all is well\n")
    module = imported(done.out / f"{done.name}.py")
    states = seeded_states(robot, 1500, seed=5)
    found = module.inverse_dynamics(states.x, states.v, states.a)
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a)
    assert np.max(np.abs(found["force"] - wanted.force)) < 1e-12 * np.max(np.abs(wanted.force))
    assert found["pivot"].shape == (1500,)
    assert np.max(np.abs(found["margins"] - wanted.margins)) < 1e-12
    again = module.forward_dynamics(states.x, states.v, found["force"])
    assert np.max(np.abs(again["acceleration"] - states.a)) < 1e-9 * np.max(np.abs(states.a))
    assert np.array_equal(again["margins"].shape, found["margins"].shape)


def test_batches_broadcast(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    done = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "p", target="numpy", bare=True)
    module = imported(done.out / "fivebar.py")
    x = nacelle.reference_pose(robot)
    twists = np.linspace(-1.0, 1.0, 12).reshape(2, 3, 2)
    found = module.inverse_dynamics(x, twists, np.zeros(2))
    assert found.shape == (2, 3, 2)
    alone = module.inverse_dynamics(x, twists[1, 2], [0.0, 0.0])
    assert alone.shape == (2,)
    assert np.array_equal(alone, found[1, 2])
    assert module.inverse_dynamics(x, np.zeros((0, 2)), np.zeros(2)).shape == (0, 2)
    with pytest.raises(ValueError, match="shape"):
        module.inverse_dynamics(x, np.zeros(3), np.zeros(2))


def test_legs_found_by_iteration(tmp_path: Path) -> None:
    robot = library_robot("3rps")
    done = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "p", target="numpy")
    assert done.name == "robot_3rps"
    assert run_python(done.out / "robot_3rps_self_test.py").endswith("all is well\n")
    module = imported(done.out / "robot_3rps.py")
    states = seeded_states(robot, seed=4)
    y, closed = module.close_legs_newton(module.START, states.x)
    assert np.all(closed)
    found = module.inverse_dynamics(states.x, y, states.v, states.a)["force"]
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a).force
    assert np.max(np.abs(found - wanted)) < 1e-9 * np.max(np.abs(wanted))
    _, closed = module.close_legs_newton(module.START, [states.x[0], np.full(3, np.nan)])
    assert closed.tolist() == [True, False]


def test_hostile_names(tmp_path: Path) -> None:
    done = nacelle.export(
        hostile_fivebar(), "inverse_dynamics", out=tmp_path / "p", target="numpy", input="elements"
    )
    for path in done.out.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.isascii()
        assert "evil" not in text
    assert run_python(done.out / "stdio_robot_self_test.py").endswith("all is well\n")
