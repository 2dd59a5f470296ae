"""Packages of Python: names, self-tests, batches, and their functions against the API."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.compile import make_program
from nacelle.export.entry import Entry
from nacelle.export.python import PythonNames
from nacelle.export.states import random_states
from support.library import library_robot
from support.packages import hostile_fivebar, import_file, run_python

# ---- Names and docstrings of functions written in Python


def test_names_are_words_of_python_and_apart() -> None:
    program = make_program(
        lambda a, b, c: {"out": a[0] + b[0] + c[0]}, None, {"np": (1,), "class": (1,), "v'": (1,)}
    )
    made = PythonNames(Entry("total", "a sum", program, {"np": "first, m"}, None))
    assert len(set(made.inputs)) == 3
    assert all(name.isidentifier() for name in made.inputs)
    assert "np" not in made.inputs
    assert "class" not in made.inputs
    assert not any(
        name.startswith(made.prefix) and name[len(made.prefix) :].isdigit() for name in made.inputs
    )
    text = "\n".join(made.write_docstring("Compute", "..."))
    assert text.count('"""') == 2
    assert "(..., 1); first, m." in text
    assert "Args:" in text
    assert "Returns:" in text


# ---- Packages of CasADi: their syntax everywhere, their self-test where CasADi is installed


@pytest.mark.slow
def test_the_source_stands_alone(tmp_path: Path) -> None:
    done = nacelle.export(
        library_robot("3rps"), "inverse_dynamics,mass_matrix", out=tmp_path / "p", target="casadi"
    )
    tree = ast.parse((done.out / "robot_3rps_casadi.py").read_text())
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["close_legs", "inverse_dynamics", "mass_matrix"]
    # CasADi is imported when a function is built, and nothing else is.
    outside = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in outside] == ["from functools import lru_cache"]
    compile((done.out / "robot_3rps_casadi_self_test.py").read_text(), "self_test", "exec")


@pytest.mark.parametrize("target", ["casadi", "numpy"])
def test_hostile_names(tmp_path: Path, target: str) -> None:
    done = nacelle.export(
        hostile_fivebar(), "inverse_dynamics", out=tmp_path / "p", target=target, input="elements"
    )
    for path in done.out.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.isascii()
        assert "evil" not in text
        compile(text, path.name, "exec")
    if target == "numpy":
        assert run_python(done.out / "stdio_robot_self_test.py").endswith("all is well\n")


@pytest.mark.extra
@pytest.mark.skipif(importlib.util.find_spec("casadi") is None, reason="CasADi comes with `make test-extras`")
@pytest.mark.parametrize("robot_name", ["palida", "fivebar", "3rps"])
def test_self_test(tmp_path: Path, robot_name: str) -> None:
    robot = library_robot(robot_name)
    models = "inverse_dynamics,forward_dynamics,jacobian"
    done = nacelle.export(robot, models, out=tmp_path / "p", target="casadi", smooth=0.05)
    assert run_python(done.out / f"{done.name}_casadi_self_test.py").endswith("all is well\n")


# ---- Packages of NumPy: their self-test, batches, and their functions against the Python API


@pytest.mark.slow
@pytest.mark.parametrize("robot_name", ["palida", "fivebar"])
def test_self_test_and_python_api(tmp_path: Path, robot_name: str) -> None:
    robot = library_robot(robot_name)
    done = nacelle.export(robot, "inverse_dynamics,forward_dynamics", out=tmp_path / "p", target="numpy")
    assert run_python(done.out / f"{done.name}_self_test.py").endswith("all is well\n")
    module = import_file(done.out / f"{done.name}.py")
    states = random_states(robot, 1500, seed=5)
    found = module.inverse_dynamics(states.x, states.v, states.a)
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a)
    assert np.max(np.abs(found["force"] - wanted.tau)) < 1e-12 * np.max(np.abs(wanted.tau))
    assert found["pivot"].shape == (1500,)
    assert np.max(np.abs(found["margins"] - wanted.margins)) < 1e-12
    again = module.forward_dynamics(states.x, states.v, found["force"])
    assert np.max(np.abs(again["acceleration"] - states.a)) < 1e-9 * np.max(np.abs(states.a))
    assert np.array_equal(again["margins"].shape, found["margins"].shape)


def test_batches_broadcast(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    done = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "p", target="numpy", bare=True)
    module = import_file(done.out / "fivebar.py")
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


@pytest.mark.slow
def test_legs_found_by_iteration(tmp_path: Path) -> None:
    robot = library_robot("3rps")
    done = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "p", target="numpy")
    assert done.name == "robot_3rps"
    assert run_python(done.out / "robot_3rps_self_test.py").endswith("all is well\n")
    module = import_file(done.out / "robot_3rps.py")
    states = random_states(robot, seed=4)
    y, closed = module.close_legs_newton(module.START, states.x)
    assert np.all(closed)
    found = module.inverse_dynamics(states.x, y, states.v, states.a)["force"]
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a).tau
    assert np.max(np.abs(found - wanted)) < 1e-9 * np.max(np.abs(wanted))
    _, closed = module.close_legs_newton(module.START, [states.x[0], np.full(3, np.nan)])
    assert closed.tolist() == [True, False]


# ---- The self-test of a package in Python fails where a function is wrong


def test_a_wrong_function_fails(tmp_path: Path) -> None:
    done = nacelle.export(library_robot("prrrp"), "jacobian", out=tmp_path / "p", target="numpy")

    def run() -> subprocess.CompletedProcess[str]:
        (script,) = done.out.rglob("*test*.py")
        return subprocess.run(
            [sys.executable, script.name], cwd=script.parent, capture_output=True, text=True, check=False
        )

    good = run()
    assert good.returncode == 0, good.stdout + good.stderr
    assert "all is well" in good.stdout
    (module,) = done.out.rglob("prrrp.py")
    text = module.read_text(encoding="utf-8")
    assert "np.sqrt(" in text
    module.write_text(text.replace("np.sqrt(", "1.000001 * np.sqrt(", 1), encoding="utf-8")
    bad = run()
    assert bad.returncode == 1
    assert "BAD" in bad.stdout
