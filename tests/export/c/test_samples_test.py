"""The self-test of a controller sees a wrong sample."""

from __future__ import annotations

from pathlib import Path

import pytest

import nacelle
from nacelle.control.named import controller
from support.cc import COMPILERS
from support.controllers import QUICK
from support.library import library_robot
from support.packages import run_self_test


@pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
def test_a_wrong_sample_fails_the_self_test(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    made = controller(robot, "sj", bandwidth=10.0)
    done = nacelle.export(robot, out=tmp_path / "p", controller=made, precision="double", self_test=False)
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
