"""Exports: compilers, names, mistakes, inputs at states, folders, reference vectors, self-tests."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import make_program
from nacelle.control.named import controller
from nacelle.emit.names import identifier
from nacelle.errors import ExportError
from nacelle.export import trial
from nacelle.export.about import escape_markdown
from nacelle.export.c import package as c_package
from nacelle.export.compiler import Compiler, TimeLimitError, find_compiler, run_with_timeout
from nacelle.export.entries import LONGEST, check_request, entries, package_name
from nacelle.export.entry import Entry, ExportRequest
from nacelle.export.export import MANIFEST, TARGETS, check_file, select_target, write_file, write_folder
from nacelle.export.notice import LICENSE, SPDX, TERMS
from nacelle.export.states import model_inputs, random_states
from nacelle.export.trial import run_self_test
from nacelle.export.vectors import (
    TOLERANCES,
    closing_condition,
    error_tolerance,
    evaluate_rounded,
    reference_vectors,
    relation_error,
)
from nacelle.kinematics.solve.newton_steps import loop_closing_step
from support.cc import COMPILERS
from support.described import mechanism
from support.hostile_names import HOSTILE
from support.library import library_robot
from support.random_robots.inner_loops import draw
from support.stress_robots import STRESS
from support.targets import with_target

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
    assert not found.is_working()
    monkeypatch.setenv("CC", "no-such-cc")
    assert find_compiler("c") is None
    with pytest.raises(ExportError, match="there is no C\\+\\+ compiler 'no-such-c\\+\\+'"):
        find_compiler("c++", "no-such-c++")


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_compilers_of_this_machine(language: str, tmp_path: Path) -> None:
    found = find_compiler(language)
    if found is None:
        pytest.skip(f"there is no compiler of {language}")
    assert found.is_working()
    (tmp_path / "a.c").write_text("int f(void) { return wrong; }\n")
    with pytest.raises(ExportError, match=r"a\.c:1.*error.*wrong"):
        found.build(["-c", "a.c"], tmp_path, 60.0)


@pytest.mark.skipif(not shutil.which("sleep"), reason="there is no sleep")
def test_programs_that_take_too_long_or_do_not_start(tmp_path: Path) -> None:
    with pytest.raises(TimeLimitError, match=r"sleep takes longer than 0\.1 s"):
        run_with_timeout(["sleep", "20"], tmp_path, 0.1)
    with pytest.raises(ExportError, match="nothing does not run"):
        run_with_timeout(["./nothing"], tmp_path, 1.0)
    assert not Compiler("c", ("./nothing",)).is_working()


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
        (ExportRequest(()), "at least one model"),
        (ExportRequest(("jacobian", "jacobian")), "named twice"),
        (ExportRequest(("jacobian",), input="encoders"), "is one of inverse_dynamics"),
    ],
)
def test_what_cannot_be_exported(wanted: ExportRequest, words: str) -> None:
    with pytest.raises(nacelle.errors.ExportError, match=words):
        check_request(wanted)


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
    with pytest.raises(nacelle.errors.ExportError, match=message):
        nacelle.export(library_robot("fivebar"), models, out=tmp_path / "p", **with_target(options))
    assert not list(tmp_path.iterdir())


def test_models_that_a_robot_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(nacelle.KinematicsError, match="from encoders"):
        nacelle.export(library_robot("palida"), "inverse_dynamics", out=tmp_path / "p", input="encoders")
    assert not list(tmp_path.iterdir())


def test_geometry_of_legs_found_by_iteration(tmp_path: Path) -> None:
    with pytest.raises(nacelle.errors.ExportError, match="leave geometry out"):
        nacelle.export(
            library_robot("quattro"),
            "jacobian",
            out=tmp_path / "p",
            target=nacelle.io.CTarget(parameters="geometry"),
        )
    assert not list(tmp_path.iterdir())


def test_a_folder_in_use_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(nacelle.errors.ExportError, match="not empty"):
        nacelle.export(library_robot("fivebar"), "jacobian", out=tmp_path)


def test_the_same_export_twice_is_the_same(tmp_path: Path) -> None:
    robot = library_robot("prrrp")
    first = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "1")
    second = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "2")
    assert first.files == second.files
    for name in first.files:
        assert (first.out / name).read_bytes() == (second.out / name).read_bytes()


# ---- The notice of generated files


@pytest.mark.parametrize("target", TARGETS)
def test_every_file_of_source_has_its_notice(tmp_path: Path, target: str) -> None:
    robot = library_robot("fivebar")
    if target == "fmi":
        done = nacelle.export(robot, "inverse_kinematics", out=tmp_path / "p.fmu", target=target)
        with zipfile.ZipFile(done.out) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    else:
        law = controller(robot, "sj", period=5e-4, bandwidth=10.0) if target == "c" else None
        options = {"controller": law, "plant": law is not None, "self_test": False}
        models = {"c": "inverse_kinematics,kinematics", "linuxcnc": "kinematics"}.get(
            target, "inverse_kinematics"
        )
        done = nacelle.export(robot, models, out=tmp_path / "p", target=select_target(target, options))
        files = {name: (done.out / name).read_bytes() for name in done.files}
    terms = {name for name in files if name.lower().endswith(LICENSE.lower())}
    assert [files[name].decode() for name in terms] == [TERMS]
    # All else is data, a page or a binary.
    others = {
        name
        for name in files
        if Path(name).suffix in (".md", ".json", ".xml", ".so", ".dylib", ".dll", ".tbl")
    }
    for name in files.keys() - terms - others:
        assert SPDX in files[name].decode().splitlines()[0], name
    assert len(files) - len(terms | others) >= 2


# ---- Any text as words of a Markdown page: nothing in it is markup


def test_markup_is_taken_as_words() -> None:
    for text in ("a_b*c", "# head", "[x](y)", "`code`", "<b>", "a|b", "line\nbreak"):
        found = escape_markdown(text)
        assert "\n" not in found
        # What would mean something is escaped, or written as a character's number.
        assert not re.search(r"(?<!\\)[_*`\[<|]", found)
    assert escape_markdown("delta robot") == "delta robot"


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
    states = random_states(robot)
    entry = entries(robot, "p", ExportRequest(("inverse_dynamics",), source))[-1]
    inputs = model_inputs(states, {variable.name: variable.shape for variable in entry.program.inputs})
    rows = np.concatenate(list(inputs.values()), axis=1)
    found = evaluate_rounded(entry.program, rows, np.float64)[:, : len(robot.actuators)]
    wanted = nacelle.inverse_dynamics(robot, states.x, states.v, states.a).tau
    assert np.max(np.abs(found - wanted)) < 1e-12 * np.max(np.abs(wanted))


def test_vectors_are_numbers_of_single_precision() -> None:
    robot = library_robot("fivebar")
    entry = entries(robot, "p", ExportRequest(("inverse_dynamics",)))[0]
    found = reference_vectors(entry, random_states(robot))
    for values in found.inputs.values():
        assert np.array_equal(values, values.astype(np.float32))
    assert 0 < found.tolerance["double"]["force"] < 1e-12
    assert 0 < found.tolerance["float"]["force"] < 1e-3


def test_what_nothing_drives_is_left_out_of_vectors() -> None:
    robot = mechanism("cart_pole")
    states = random_states(robot, 3)
    free = nacelle.inverse_dynamics(robot, states.x, states.v, states.a, free=("cart.pivot",))
    np.testing.assert_array_equal(states.tau, free.tau)
    for entry in entries(robot, "p", ExportRequest(("forward_dynamics", "inverse_kinematics"))):
        found = reference_vectors(entry, states)
        assert all(np.isfinite(values).all() for values in found.outputs.values())


# ---- Writing packages: whole or not at all, and never over what others wrote

FILES = {
    "README.md": "page\n",
    "src/a.c": "int a;\n",
    MANIFEST: json.dumps({"files": ["src/a.c", "README.md"]}),
}


def listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_new_and_empty_folders(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        write_folder(tmp_path / name, FILES, False)
        assert listed(tmp_path / name) == set(FILES)
        assert (tmp_path / name / "src" / "a.c").read_text() == "int a;\n"
        assert (tmp_path / name).stat().st_mode & 0o755 == 0o755 & ~_umask()
    assert {path.name for path in tmp_path.iterdir()} == {"new", "empty"}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_others_wrote_stays(tmp_path: Path) -> None:
    write_folder(tmp_path / "p", FILES, False)
    (tmp_path / "p" / "mine.txt").write_text("mine")
    with pytest.raises(ExportError, match="not empty"):
        write_folder(tmp_path / "p", FILES, False)
    later = {"README.md": "other\n", "src/b.c": "int b;\n", MANIFEST: "{}"}
    write_folder(tmp_path / "p", later, True)
    assert listed(tmp_path / "p") == {*later, "mine.txt"}
    assert (tmp_path / "p" / "README.md").read_text() == "other\n"


def test_a_manifest_reaches_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "p").mkdir()
    names = ["../precious", str(tmp_path / "precious"), 7, ""]
    (tmp_path / "p" / MANIFEST).write_text(json.dumps({"files": names}))
    write_folder(tmp_path / "p", FILES, True)
    assert (tmp_path / "precious").read_text() == "precious"


def test_clear_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ExportError, match="no folder"):
        write_folder(tmp_path / "file", FILES, True)
    with pytest.raises(ExportError, match="there is no folder"):
        write_folder(tmp_path / "missing" / "p", FILES, False)
    with pytest.raises(ExportError, match="cannot write"):
        write_folder(tmp_path / ("x" * 300), FILES, False)


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(ExportError, match="No space left"):
        write_folder(tmp_path / "p", FILES, False)
    assert not list(tmp_path.iterdir())


def test_a_file_appears_whole_and_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "one.fmu"
    check_file(out, ".fmu", False)
    write_file(out, b"\0first")
    with pytest.raises(ExportError, match="there already"):
        check_file(out, ".fmu", False)
    check_file(out, ".fmu", True)
    write_file(out, b"\0second")
    assert out.read_bytes() == b"\0second"
    assert list(tmp_path.iterdir()) == [out]
    for wrong, words in (
        (tmp_path / "one.zip", r"to end in \.fmu"),
        (tmp_path / "no" / "one.fmu", "there is no folder"),
    ):
        with pytest.raises(ExportError, match=words):
            check_file(wrong, ".fmu", False)
    (tmp_path / "folder.fmu").mkdir()
    with pytest.raises(ExportError, match="is a folder"):
        check_file(tmp_path / "folder.fmu", ".fmu", True)
    with pytest.raises(ExportError, match="cannot write"):
        write_file(tmp_path / "no" / "one.fmu", b"")


# ---- Reference vectors: what is tolerated follows what a program does in a precision


def test_tolerances() -> None:
    eps = float(np.finfo(np.float64).eps)
    assert error_tolerance(0.0, np.float64) == float(f"{200.0 * eps:.1e}")
    assert error_tolerance(1e-9, np.float64) == 3e-8
    # A program that loses all digits, or gives no number, is held to a tenth.
    assert error_tolerance(1.0, np.float32) == error_tolerance(np.nan, np.float32) == 0.1


def test_inputs_of_a_function_of_its_own() -> None:
    """(1 + x) - 1 loses the digits that the numbers below 1 have in a precision."""
    program = make_program(lambda x: {"y": (1.0 + x[0] * x[0]) - 1.0}, None, {"x": (1,)}, minimise=False)
    given = {"x": np.full((3, 1), 1e-3)}
    entry = Entry("lossy", "", program, {}, None, at=lambda states: given)
    found = reference_vectors(entry, random_states(library_robot("fivebar"), 3))
    exact = float(np.float32(1e-3)) ** 2
    assert np.allclose(found.outputs["y"], exact, rtol=1e-15)
    off = abs(evaluate_rounded(program, given["x"][:1], np.float32)[0, 0] - exact) / exact
    assert off > 1e-3
    assert found.tolerance["float"]["y"] > 0.01
    assert found.tolerance["double"]["y"] < 1e-8


WALKLEG = Path(__file__).parents[1] / "robots" / "walkleg.yaml"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["walkleg", "3rps"])
def test_unknowns_are_off_by_the_condition_at_most(name: str) -> None:
    """|y - y*| <= c * error for any y near a solution, as the step's own error says, and some y attain it."""
    robot = nacelle.load(WALKLEG) if name == "walkleg" else library_robot(name)
    states = random_states(robot, 2)
    shapes = {"y": (states.y.shape[1],), "x": (states.x.shape[1],)}
    step = make_program(loop_closing_step, robot, shapes, minimise=False)
    condition = closing_condition(robot, states.x, states.y)
    rng, count = np.random.default_rng(0), 200
    for x, y, c in zip(states.x, states.y, condition, strict=True):
        best, way, size = 0.0, np.zeros_like(c), 1.0
        for _ in range(100):
            ways = way + size * c * rng.normal(size=(count, c.size))
            ways *= 1e-7 / np.max(np.abs(ways), axis=1, keepdims=True)
            columns = [*(y + ways).T, *(np.full(count, value) for value in x)]
            error = np.asarray(step.evaluate(columns)[-1])
            ratios = np.max(np.abs(ways) / c, axis=1) / error
            assert np.max(ratios) < 1.001
            size *= 1.3 if np.max(ratios) > best else 0.8
            if np.max(ratios) > best:
                best, way = float(np.max(ratios)), ways[np.argmax(ratios)]
                size = max(size, 1e-12)
            size = min(size, 1.0) if not np.any(way) else min(size, float(np.max(np.abs(way) / c)))
        assert best > 0.5


def test_an_iteration_is_known_to_its_tolerance_times_the_condition() -> None:
    """Each state and unknown has its own limit; steps of 50 digits end at closed loops."""
    robot = nacelle.load(WALKLEG)
    states = random_states(robot)
    entry = entries(robot, "p", ExportRequest(("inverse_kinematics",)))[0]
    found = reference_vectors(entry, states)
    closed = found.closed
    assert closed is not None
    np.testing.assert_allclose(closed.y, states.y, atol=1e-4)  # poses are rounded to single precision
    rows = np.concatenate([closed.y, found.inputs["x"]], axis=1)
    for row in rows:
        assert entry.program.evaluate(row.tolist())[-1] < 1e-15
    assert np.max(closed.condition) > 100.0 * np.min(closed.condition)
    for real, eps in (("double", 2.3e-16), ("float", 1.2e-7)):
        t = closed.tolerance[real]
        assert t == TOLERANCES[real]
        assert 2.0 * t <= closed.limit[real] < 2.0 * t + 100.0 * eps
        assert closed.step[real] < 100.0 * eps
        assert closed.worst_error(real) == closed.limit[real] * np.max(closed.condition)
    most = np.max(closing_condition(robot, states.x, states.y))
    np.testing.assert_allclose(relation_error(states), 3e-5 * most, rtol=0.05)


# ---- Self-tests run at export: what passes, what fails, and what a package says where there is no compiler

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
GOOD = {"src/a.c": "int one(void) { return 1; }\n", "test/self_test.c": "int main(void) { return 0; }\n"}


def ending(printed: str, status: int) -> dict[str, str]:
    """A package whose self-test prints and returns something."""
    main = f'#include <stdio.h>\nint main(void) {{ printf("{printed}"); return {status}; }}\n'
    return {**GOOD, "test/self_test.c": main}


@needs_compiler
def test_a_package_that_passes() -> None:
    done = run_self_test("a", "c", GOOD)
    assert done.compiler
    assert done.data == {"run": True, "passed": True, "compiler": done.compiler, "host": False}
    assert f"passed when the package was written: {done.compiler}" in done.sentence


@needs_compiler
def test_the_worst_error_is_named() -> None:
    lines = (
        "a_b     force   worst error 3.0e-14, tolerated 4.4e-14: good\\n"
        "a_b_f   pivot   worst error 2.0e-04, tolerated 1.0e-04: BAD\\n"
        "a_c_f_newton y / condition  worst error 3.0e-03, tolerated 2.0e-05: BAD\\n"
    )
    words = (
        r"nothing is written: a_c_f_newton \(float\), y / condition: worst error 3\.0e-03, tolerated 2\.0e-05"
    )
    with pytest.raises(ExportError, match=rf"{words}; 2 bad in all .*precision double leaves float out"):
        run_self_test("a", "c", ending(lines, 1))
    with pytest.raises(ExportError, match=r"a_b \(double\), force: worst error inf") as raised:
        run_self_test("a", "c", ending("a_b   force   worst error inf, tolerated 4.4e-14: BAD\\n", 1))
    assert "leaves float out" not in str(raised.value)
    with pytest.raises(ExportError, match="ends with status 3"):
        run_self_test("a", "c", ending("", 3))
    with pytest.raises(ExportError, match=r"does not compile with .*src/a\.c"):
        run_self_test("a", "c", {**GOOD, "src/a.c": "int one(void) { return two; }\n"})


@needs_compiler
def test_without_a_compiler_that_works_it_has_not_been_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_RUNNING", 0.1)
    slow = {**GOOD, "test/self_test.c": "int main(void) { for (volatile int k = 1; k;) { } return 0; }\n"}
    assert run_self_test("a", "c", slow).data == {"run": False, "reason": "self_test takes longer than 0.1 s"}
    for name, words in (
        ("no-such-cc", "there was no compiler of C"),
        ("false", "makes no program that runs"),
    ):
        monkeypatch.setenv("CC", name)
        done = run_self_test("a", "c", GOOD)
        assert not done.compiler
        assert words in done.reason
        assert "has not been run yet" in done.sentence


@pytest.mark.costly
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_manifest_and_readme_say_whether_it_was_run(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = library_robot("prrrp")
    cases: list[tuple[str, dict[str, Any], bool]] = [("left", {"self_test": False}, False), ("no", {}, False)]
    cases += [("run", {}, True)] if COMPILERS else []
    for out, options, passed in cases:
        with monkeypatch.context() as context:
            if out == "no":
                context.setenv("CC", "no-such-cc")
                context.setenv("CXX", "no-such-c++")
            done = nacelle.export(
                robot, "jacobian", out=tmp_path / out, bare=True, **with_target({"target": target} | options)
            )
        readme = (done.out / "README.md").read_text()
        said = json.loads((done.out / "nacelle.json").read_text())["self_test"]
        assert done.self_test is not None
        assert said == done.self_test.data
        assert said["run"] is passed
        assert ("The self-test passed when" in readme) is passed
        assert ("The self-test has not been run yet" in readme) is not passed
        assert "<!--" not in readme
        assert "self_test" in readme  # how it is run


@pytest.mark.costly
@needs_compiler
@pytest.mark.parametrize(("right", "wrong"), [(r" - ", " + "), (r"(\d\.\d+)(f?) \* ", r"1.001\2 * \1\2 * ")])
@pytest.mark.parametrize("real", ["double", "float"])
def test_a_wrong_program_is_not_written(
    right: str, wrong: str, real: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sign, and a constant by a thousandth, in one precision."""
    true = c_package.c_definition

    def with_defect(program: Any, options: Any, header: str) -> tuple[str, int]:
        text, stack = true(program, options, header)
        if options.real != real:
            return text, stack
        head, body = text.split("{", 1)
        changed = re.sub(right, wrong, body, count=1)
        assert changed != body
        return head + "{" + changed, stack

    monkeypatch.setattr(c_package, "c_definition", with_defect)
    with pytest.raises(ExportError, match=rf"nothing is written: \w+ \({real}\), .*: worst error"):
        nacelle.export(library_robot("fivebar"), "inverse_dynamics", out=tmp_path / "p", bare=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@needs_compiler
def test_a_leg_of_bad_condition(tmp_path: Path) -> None:
    """Loops that are nearly flat at some states, and a controller that is reset in float, too."""
    robot = nacelle.load(WALKLEG)
    made = controller(robot, "cf-rb", bandwidth=10.0)
    done = nacelle.export(
        robot, "inverse_dynamics", out=tmp_path / "p", target=nacelle.io.CTarget(controller=made)
    )
    assert done.self_test is not None
    assert done.self_test.compiler
    readme = (done.out / "README.md").read_text()
    stated = re.search(r"the condition is (\S+) to (\S+); .*at worst (\S+) in double, (\S+) in float", readme)
    assert stated is not None
    least, most, double, single = map(float, stated.groups())
    assert 1.0 < least < 10.0 < 300.0 < most < 3000.0
    np.testing.assert_allclose([double / most, single / most], [2e-12, 2.3e-5], rtol=0.1)


OTHERS = ("3rps", "quattro", "platform with a loop", "loop inside a leg", "tilting head")


@needs_compiler
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in OTHERS])
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_legs_found_by_iteration(name: str, target: str, tmp_path: Path) -> None:
    robot = STRESS[name](3) if name in STRESS else library_robot(name)
    done = nacelle.export(robot, "inverse_dynamics,inverse_kinematics", out=tmp_path / "p", target=target)
    assert "close_legs" in done.counts
    assert done.self_test is not None
    assert done.self_test.compiler


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 14))])
def test_random_loops_inside_legs(seed: int, tmp_path: Path) -> None:
    """Bars, parallelograms and cylinders."""
    done = nacelle.export(draw(seed).robot, "inverse_kinematics", out=tmp_path / "p")
    assert "close_legs" in done.counts
    assert done.self_test is not None
    assert done.self_test.compiler
