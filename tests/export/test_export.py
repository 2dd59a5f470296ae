"""Exports: compilers, names, mistakes, and inputs at states."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.emit.names import identifier
from nacelle.errors import ExportError
from nacelle.export.compiler import Compiler, TimeLimitError, find_compiler, run_within
from nacelle.export.entries import LONGEST, Wanted, entries, package_name
from nacelle.export.markdown import plain
from nacelle.export.states import inputs_at, seeded_states
from nacelle.export.vectors import rounded, vectors
from support.described import mechanism
from support.hostile_names import HOSTILE
from support.library import library_robot

# ---- Compilers: which one is found, what it says, and which of them make no programs


def test_a_compiler_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "my-cc"
    own.write_text("#!/bin/sh\necho one; echo two\n")
    own.chmod(0o755)
    monkeypatch.setenv("CC", f"{own} -m32 -g")
    found = find_compiler("c")
    assert found is not None
    assert found.command == (str(own), "-m32", "-g")
    assert found.name == "my-cc -m32 -g"
    assert found.version == "one"
    # It says that it has compiled, and has made nothing.
    assert not found.works()
    monkeypatch.setenv("CC", "no-such-cc")
    assert find_compiler("c") is None
    with pytest.raises(ExportError, match="there is no C\\+\\+ compiler 'no-such-c\\+\\+'"):
        find_compiler("c++", "no-such-c++")


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_compilers_of_this_machine(language: str, tmp_path: Path) -> None:
    found = find_compiler(language)
    if found is None:
        pytest.skip(f"there is no compiler of {language}")
    assert found.works()
    (tmp_path / "a.c").write_text("int f(void) { return wrong; }\n")
    with pytest.raises(ExportError, match=r"a\.c:1.*error.*wrong"):
        found.build(["-c", "a.c"], tmp_path, 60.0)


@pytest.mark.skipif(not shutil.which("sleep"), reason="there is no sleep")
def test_programs_that_take_too_long_or_do_not_start(tmp_path: Path) -> None:
    with pytest.raises(TimeLimitError, match=r"sleep takes longer than 0\.1 s"):
        run_within(["sleep", "20"], tmp_path, 0.1)
    with pytest.raises(ExportError, match="nothing does not run"):
        run_within(["./nothing"], tmp_path, 1.0)
    assert not Compiler("c", ("./nothing",)).works()


# ---- Functions of a package: names, inputs that are left, outputs to be watched


def test_names_of_packages() -> None:
    robot = library_robot("fivebar")
    for text in HOSTILE:
        name = package_name(dataclasses.replace(robot, name=text), None)
        assert identifier(name) == name
        assert len(name) <= LONGEST
        assert package_name(robot, name) == name
    assert package_name(dataclasses.replace(robot, name="random"), None) == "random_robot"
    assert package_name(library_robot("gough-stewart"), None) == "gough_stewart"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(()), "at least one model"),
        (Wanted(("jacobian", "jacobian")), "named twice"),
        (Wanted(("jacobian",), input="encoders"), "is one of inverse_dynamics"),
    ],
)
def test_what_cannot_be_exported(wanted: Wanted, words: str) -> None:
    with pytest.raises(nacelle.ExportError, match=words):
        wanted.check()


# ---- The function `export`: what it refuses, and the names that it makes


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


# ---- Any text as words of a Markdown page: nothing in it is markup


def test_markup_is_taken_as_words() -> None:
    for text in ("a_b*c", "# head", "[x](y)", "`code`", "<b>", "a|b", "line\nbreak"):
        found = plain(text)
        assert "\n" not in found
        # What would mean something is escaped, or written as a character's number.
        assert not re.search(r"(?<!\\)[_*`\[<|]", found)
    assert plain("delta robot") == "delta robot"


# ---- Inputs of models at states: every kind of input gives the forces of `inverse_dynamics`

CASES = [
    ("3rrr", "pose"),
    ("fivebar", "pose"),
    ("fivebar", "elements"),
    ("fivebar", "encoders"),
    ("delta-codourey", "elements"),
    ("delta-codourey", "encoders"),
    ("prrrp", "elements"),
    pytest.param("palida", "pose", marks=pytest.mark.slow),
    pytest.param("orthoglide", "pose", marks=pytest.mark.slow),
    pytest.param("3rps", "pose", marks=pytest.mark.slow),
]


@pytest.mark.costly
@pytest.mark.parametrize(("name", "source"), CASES)
def test_forces_are_those_of_the_api(name: str, source: str) -> None:
    robot = library_robot(name)
    states = seeded_states(robot)
    entry = entries(robot, "p", Wanted(("inverse_dynamics",), source))[-1]
    inputs = inputs_at(states, {variable.name: variable.shape for variable in entry.program.inputs})
    rows = np.concatenate(list(inputs.values()), axis=1)
    found = rounded(entry.program, rows, np.float64)[:, : len(robot.actuators)]
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a).force
    assert np.max(np.abs(found - wanted)) < 1e-12 * np.max(np.abs(wanted))


def test_vectors_are_numbers_of_single_precision() -> None:
    robot = library_robot("fivebar")
    entry = entries(robot, "p", Wanted(("inverse_dynamics",)))[0]
    found = vectors(entry, seeded_states(robot))
    for values in found.inputs.values():
        assert np.array_equal(values, values.astype(np.float32))
    assert 0 < found.tolerance["double"]["force"] < 1e-12
    assert 0 < found.tolerance["float"]["force"] < 1e-3


def test_what_nothing_drives_is_left_out_of_vectors() -> None:
    robot = mechanism("cart_pole")
    states = seeded_states(robot, 3)
    free = nacelle.inverse_dynamics(robot, states.x, states.v, states.a, free=("cart.pivot",))
    np.testing.assert_array_equal(states.tau, free.force)
    for entry in entries(robot, "p", Wanted(("forward_dynamics", "inverse_kinematics"))):
        found = vectors(entry, states)
        assert all(np.isfinite(values).all() for values in found.outputs.values())
