"""The function `export`: what it refuses, and the names that it makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nacelle
from support.library import library_robot


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ("inverse_dynamic", {}, "did you mean 'inverse_dynamics'"),
        ("", {}, "no model is called ''"),
        ([], {}, "at least one model"),
        ("jacobian,jacobian", {}, "named twice"),
        ("jacobian", {"target": "fortran"}, "no target is called 'fortran'"),
        ("jacobian", {"precision": "half"}, "no precision is called 'half'"),
        ("jacobian", {"target": "numpy", "precision": "float"}, "options of C"),
        ("jacobian", {"input": "elements"}, "is one of inverse_dynamics"),
        ("inverse_dynamics", {"input": "encoder"}, "did you mean 'encoders'"),
        ("inverse_dynamics", {"smooth": 0.0}, "above zero"),
        ("jacobian", {"parameters": "masses"}, "no group 'masses'"),
        ("jacobian", {"name": "a-b"}, "cannot be the name"),
        ("jacobian", {"name": "test"}, "cannot be the name"),
        ("jacobian", {"name": "x" * 30}, "cannot be the name"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, models: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(nacelle.ExportError, match=message):
        nacelle.export(library_robot("fivebar"), models, out=tmp_path / "p", **options)
    assert not list(tmp_path.iterdir())


def test_models_that_a_robot_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(nacelle.KinematicsError, match="from encoders"):
        nacelle.export(library_robot("palida"), "inverse_dynamics", out=tmp_path / "p", input="encoders")
    assert not list(tmp_path.iterdir())


def test_geometry_of_legs_found_by_iteration(tmp_path: Path) -> None:
    with pytest.raises(nacelle.ExportError, match="leave geometry out"):
        nacelle.export(library_robot("quattro"), "jacobian", out=tmp_path / "p", parameters="geometry")
    assert not list(tmp_path.iterdir())


def test_a_folder_in_use_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(nacelle.ExportError, match="not empty"):
        nacelle.export(library_robot("fivebar"), "jacobian", out=tmp_path)


def test_the_same_export_twice_is_the_same(tmp_path: Path) -> None:
    robot = library_robot("prrrp")
    first = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "1")
    second = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "2")
    assert first.files == second.files
    for name in first.files:
        assert (first.out / name).read_bytes() == (second.out / name).read_bytes()
