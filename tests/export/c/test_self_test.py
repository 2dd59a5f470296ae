"""The self-test of a package fails where a function is wrong in the tenth digit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nacelle
from support.cc import COMPILERS
from support.library import library_robot
from support.packages import run_self_test

QUICK = ("-O1", "-fno-math-errno", "-fno-trapping-math")


@pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")
def test_a_wrong_function_fails_the_self_test(tmp_path: Path) -> None:
    done = nacelle.export(
        library_robot("prrrp"), "inverse_dynamics", out=tmp_path / "p", precision="double", self_test=False
    )
    source = done.out / "src" / "prrrp_inverse_dynamics.c"
    text = source.read_text()
    source.write_text(re.sub(r"(force\[1\] = )", r"\1(1 + 1e-9) * ", text))
    assert source.read_text() != text
    with pytest.raises(AssertionError, match="BAD"):
        run_self_test(done.out, QUICK)
