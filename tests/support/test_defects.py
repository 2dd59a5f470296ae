"""Planted defects lie where the code is now: renamed code takes them along."""

from __future__ import annotations

import ast

import pytest

from support.defects import DEFECTS, Defect, text_with
from support.tiers import ROOT

PACKAGE = ROOT / "src/nacelle"


def test_every_right_text_stands_once_and_the_wrong_one_is_python() -> None:
    for defect in DEFECTS:
        changed = text_with(defect, ROOT / "src")
        assert ast.dump(ast.parse(changed)) != ast.dump(
            ast.parse((PACKAGE / defect.module).read_text(encoding="utf-8"))
        )
        assert all((ROOT / "tests" / folder).is_dir() for folder in defect.folders), defect.what


@pytest.mark.parametrize("text", ["no such text", "import"])
def test_a_text_that_is_not_there_once_is_refused(text: str) -> None:
    with pytest.raises(AssertionError, match=r"units\.py has .* \d+ times"):
        text_with(Defect("none", "model/units.py", text, "", ()), ROOT / "src")
