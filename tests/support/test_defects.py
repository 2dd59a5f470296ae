"""Planted defects and kept mutants lie where the code is now: renamed code takes them along."""

from __future__ import annotations

import ast
import json

import pytest

from support.defects import DEFECTS, Defect, text_with
from support.mutants import MUTANT_LIST, MUTATED_MODULES
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


def test_every_mutant_is_of_a_module_that_is_mutated() -> None:
    modules = {
        path.relative_to(PACKAGE.parent).as_posix()
        for name in MUTATED_MODULES
        for path in ([PACKAGE / name] if name.endswith(".py") else (PACKAGE / name).rglob("*.py"))
        if path.is_file()
    }
    mutants = json.loads(MUTANT_LIST.read_text(encoding="utf-8"))
    assert {mutant["module"] for mutant in mutants} <= modules
    assert len({tuple(mutant.values()) for mutant in mutants}) == len(mutants) == 300
    assert all((PACKAGE / name).exists() for name in MUTATED_MODULES)
