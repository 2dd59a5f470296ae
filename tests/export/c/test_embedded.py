"""The profile `embedded` of C: nothing but float, its stack along calls, and what it refuses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import nacelle
from nacelle.control.named import controller
from nacelle.errors import ExportError
from nacelle.export.c.embedded import FLAGS, LIBRARY, WARNINGS, StackUse, measure_stack
from nacelle.export.compiler import find_compiler
from support.cc import COMPILERS
from support.library import library_robot

needs_gcc = pytest.mark.skipif("gcc" not in COMPILERS, reason="gcc is not installed")


@needs_gcc
@pytest.mark.parametrize(
    "name", ["fivebar", *(pytest.param(name, marks=pytest.mark.slow) for name in ("delta", "quattro"))]
)
def test_it_is_float_without_a_warning_and_its_stack_has_a_bound(tmp_path: Path, name: str) -> None:
    robot = library_robot(name)
    law = controller(robot, "cf-rb-friction") if name != "quattro" else None
    target = nacelle.io.CTarget(profile="embedded", controller=law, self_test=False)
    done = nacelle.export(robot, "kinematics,inverse_dynamics", out=tmp_path / "p", target=target)
    sources = sorted(map(str, (done.out / "src").glob("*.c")))
    command = ["gcc", *FLAGS, *WARNINGS, "-Werror", "-Iinclude", "-c", *sources, "test/self_test.c"]
    printed = subprocess.run(command, cwd=done.out, capture_output=True, text=True, check=False)
    assert printed.returncode == 0, printed.stderr[:4000]
    texts = {file: (done.out / file).read_text() for file in done.files}
    assert not re.search(r"\bdouble\b|(?<![\w.])\d+\.\d*(e[+-]?\d+)?(?![\w.])", sources_text(texts))
    gcc = find_compiler("c", "gcc")
    assert gcc is not None
    stack = measure_stack(texts, gcc)
    assert f"{done.name}_inverse_f" in stack.entries
    assert f"{done.name}_joints_at_f" not in stack.entries
    for entry in stack.entries:
        assert stack.frames[entry] <= stack.depth(entry) < 4096
    assert stack.depth(f"{done.name}_forward_f") > stack.frames[f"{done.name}_forward_f"]
    outside = frozenset[str]().union(*stack.calls.values()) - stack.frames.keys()
    # glibc has both in one.
    outside = frozenset(name.replace("sincosf", "sinf") for name in outside)
    assert outside <= set(LIBRARY)
    # What the README lists is what the code calls, or has as an instruction.
    listed = re.search(r"Of `math\.h` it calls (.*?);", texts["README.md"])
    assert listed is not None
    assert outside <= set(re.findall(r"`(\w+)`", listed[1])) <= set(LIBRARY)


def sources_text(texts: dict[str, str]) -> str:
    """The code of all sources, without remarks."""
    code = "\n".join(text for file, text in sorted(texts.items()) if file.startswith(("src/", "include/")))
    return re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)


def test_the_stack_is_that_of_the_deepest_chain() -> None:
    frames = {"a": 8, "b": 16, "c": 64, "d": 4}
    calls = {"a": frozenset({"b", "c"}), "b": frozenset({"d", "sinf"})}
    stack = StackUse("gcc", "", frames, calls)
    assert stack.entries == ("a",)
    assert [stack.depth(name) for name in "abcd"] == [72, 20, 64, 4]
    endless = StackUse("gcc", "", frames, calls | {"d": frozenset({"a"})})
    with pytest.raises(ExportError, match="a calls itself"):
        endless.depth("a")


def test_options_that_it_excludes() -> None:
    assert nacelle.io.CTarget(profile="embedded").precision == "float"
    with pytest.raises(ExportError, match=r"no profile of C is called 'embeded'; .*embedded"):
        nacelle.io.CTarget(profile="embeded")
    for options in ({"precision": "double"}, {"batch": True}):
        with pytest.raises(ExportError, match="computes in float"):
            nacelle.io.CTarget(profile="embedded", **options)
