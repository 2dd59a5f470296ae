"""Packages of CasADi: their syntax everywhere, their self-test where CasADi is installed."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

import nacelle
from support.library import library_robot
from support.packages import hostile_fivebar, run_python


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


def test_hostile_names(tmp_path: Path) -> None:
    done = nacelle.export(
        hostile_fivebar(), "inverse_dynamics", out=tmp_path / "p", target="casadi", input="elements"
    )
    for path in done.out.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.isascii()
        assert "evil" not in text
        compile(text, path.name, "exec")


@pytest.mark.extra
@pytest.mark.skipif(importlib.util.find_spec("casadi") is None, reason="CasADi comes with `make test-extras`")
@pytest.mark.parametrize("robot_name", ["palida", "fivebar", "3rps"])
def test_self_test(tmp_path: Path, robot_name: str) -> None:
    robot = library_robot(robot_name)
    models = "inverse_dynamics,forward_dynamics,jacobian"
    done = nacelle.export(robot, models, out=tmp_path / "p", target="casadi", smooth=0.05)
    assert run_python(done.out / f"{done.name}_casadi_self_test.py").endswith("all is well\n")
