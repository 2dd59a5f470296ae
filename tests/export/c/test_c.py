"""Packages of C: their page, what is refused, and self-tests that fail where something is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import nacelle
from nacelle.control.named import controller
from nacelle.export.about import escape_markdown
from support.cc import COMPILERS
from support.controllers import QUICK, macro_value
from support.library import library_robot
from support.packages import run_self_test
from support.targets import with_target

# ---- What a package says of its controller and of its plant


@pytest.mark.slow
def test_the_page_and_the_manifest(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    made = controller(robot, "cf-rb", bandwidth=10.0, period=1e-3)
    done = nacelle.export(
        robot,
        "jacobian",
        out=tmp_path / "p",
        target=nacelle.io.CTarget(controller=made, plant=True, precision="float", self_test=False),
    )
    readme = (done.out / "README.md").read_text()
    manifest = json.loads((done.out / "nacelle.json").read_text())
    assert manifest["plant"] is True
    assert manifest["controller"]["name"] == "cf-rb"
    assert manifest["controller"]["period"] == 1e-3
    for what, fields in (("memory", made.kind.memory(robot)), ("gains", made.kind.gains(robot))):
        assert macro_value(done.out, f"FIVEBAR_CONTROLLER_{what}_SIZE".upper()) == fields.size
        for part, size in fields.sizes.items():
            place = fields.slice_of(part).start
            assert manifest["controller"][what][part] == [place, size]
            if size:
                assert f"| {what} | {escape_markdown(part)} | {place} | {size} |" in readme
                assert macro_value(done.out, f"FIVEBAR_CONTROLLER_{what}_AT_{part}".upper()) == place
    for call in ("fivebar_controller_step_f(&c", "fivebar_plant_f_rk4(state", "fivebar_plant_start_f(x"):
        assert call in readme
    assert set(done.counts) >= {"jacobian", "controller_law", "plant"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "numpy", "plant": True}, "written in C"),
        ({"plant": True, "parameters": "inertia"}, "leave the parameters out"),
        ({}, "at least one model"),
    ],
)
def test_what_is_refused(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(nacelle.errors.ExportError, match=message):
        nacelle.export(library_robot("fivebar"), out=tmp_path / "p", **with_target(options))


@pytest.mark.slow
def test_a_controller_of_another_robot_is_refused(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    other = robot.with_parameters(1.1 * robot.parameter_vector("inertia"), "inertia")
    with pytest.raises(nacelle.errors.ExportError, match="two packages"):
        nacelle.export(
            robot,
            out=tmp_path / "p",
            target=nacelle.io.CTarget(controller=controller(other, "sj", bandwidth=10.0)),
        )


# ---- The self-test of a controller sees a wrong sample


@pytest.mark.slow
@pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
def test_a_wrong_sample_fails_the_self_test(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    made = controller(robot, "sj", bandwidth=10.0)
    done = nacelle.export(
        robot,
        out=tmp_path / "p",
        target=nacelle.io.CTarget(controller=made, precision="double", self_test=False),
    )
    source = done.out / "src" / "fivebar_controller.c"
    text = source.read_text()
    for right, wrong in (
        ("c->memory[i] = memory[i];", "c->memory[i] = memory[i] * (1 + 1e-8);"),
        ("c->memory[i] = memory[i];", "c->memory[i] = (i == 7) ? 0 : memory[i];"),
        ("c->gains[i] = tuned[i];", "c->gains[i] = tuned[i] * (1 + 1e-8);"),
    ):
        source.write_text(text.replace(right, wrong))
        assert source.read_text() != text
        with pytest.raises(AssertionError, match="BAD"):
            run_self_test(done.out, QUICK)
    source.write_text(text)
    assert run_self_test(done.out, QUICK).endswith("all is well\n")


# ---- The self-test of a package fails where a function is wrong in the tenth digit

QUICK_OF_SELF_TEST = ("-O1", "-fno-math-errno", "-fno-trapping-math")


@pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
def test_a_wrong_function_fails_the_self_test(tmp_path: Path) -> None:
    done = nacelle.export(
        library_robot("prrrp"),
        "inverse_dynamics",
        out=tmp_path / "p",
        target=nacelle.io.CTarget(precision="double", self_test=False),
    )
    source = done.out / "src" / "prrrp_inverse_dynamics.c"
    text = source.read_text()
    source.write_text(re.sub(r"(force\[1\] = )", r"\1(1 + 1e-9) * ", text))
    assert source.read_text() != text
    with pytest.raises(AssertionError, match="BAD"):
        run_self_test(done.out, QUICK_OF_SELF_TEST)
