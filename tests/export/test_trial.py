"""Self-tests run at export: what passes, what fails, and what a package says where there is no compiler."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.control.named import controller
from nacelle.errors import ExportError
from nacelle.export import trial
from nacelle.export.c import package as c_package
from nacelle.export.trial import try_package
from support.cc import COMPILERS
from support.library import library_robot
from support.random_robots.inner_loops import draw
from support.stress_robots import STRESS

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
WALKLEG = Path(__file__).parents[1] / "robots" / "walkleg.yaml"
GOOD = {"src/a.c": "int one(void) { return 1; }\n", "test/self_test.c": "int main(void) { return 0; }\n"}


def ending(printed: str, status: int) -> dict[str, str]:
    """A package whose self-test prints and returns something."""
    main = f'#include <stdio.h>\nint main(void) {{ printf("{printed}"); return {status}; }}\n'
    return {**GOOD, "test/self_test.c": main}


@needs_compiler
def test_a_package_that_passes() -> None:
    done = try_package("a", "c", GOOD)
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
        try_package("a", "c", ending(lines, 1))
    with pytest.raises(ExportError, match=r"a_b \(double\), force: worst error inf") as raised:
        try_package("a", "c", ending("a_b   force   worst error inf, tolerated 4.4e-14: BAD\\n", 1))
    assert "leaves float out" not in str(raised.value)
    with pytest.raises(ExportError, match="ends with status 3"):
        try_package("a", "c", ending("", 3))
    with pytest.raises(ExportError, match=r"does not compile with .*src/a\.c"):
        try_package("a", "c", {**GOOD, "src/a.c": "int one(void) { return two; }\n"})


@needs_compiler
def test_without_a_compiler_that_works_it_has_not_been_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_RUNNING", 0.1)
    slow = {**GOOD, "test/self_test.c": "int main(void) { for (volatile int k = 1; k;) { } return 0; }\n"}
    assert try_package("a", "c", slow).data == {"run": False, "reason": "self_test takes longer than 0.1 s"}
    for name, words in (
        ("no-such-cc", "there was no compiler of C"),
        ("false", "makes no program that runs"),
    ):
        monkeypatch.setenv("CC", name)
        done = try_package("a", "c", GOOD)
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
            done = nacelle.export(robot, "jacobian", out=tmp_path / out, target=target, bare=True, **options)
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
    done = nacelle.export(robot, "inverse_dynamics", out=tmp_path / "p", controller=made)
    assert done.self_test is not None
    assert done.self_test.compiler
    readme = (done.out / "README.md").read_text()
    stated = re.search(r"the condition is (\S+) to (\S+); .*at worst (\S+) in double, (\S+) in float", readme)
    assert stated is not None
    least, most, double, single = map(float, stated.groups())
    assert 1.0 < least < 10.0 < 300.0 < most < 3000.0
    np.testing.assert_allclose([double / most, single / most], [2e-12, 2.3e-5], rtol=0.1)


OTHERS = ("3rps", "quattro", "nacelle with a loop", "loop inside a leg", "tilting head")


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
