"""Texts of parameter files: lists of expressions with their lines."""

import math
from pathlib import Path

import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.par.table import Expression, read_par_table

TEXT = b"""(* SYMORO+, 1 rue de la No\xeb *)
(* Robotname = 'arm' *)
NL = 3   (* links *)
Ant = {0, 1,
  2}
alpha = {0, Pi/2, -atan2(1, 2) + 2*sqrt(4)}
G = {0,0,G3}
"""


def test_lists_with_lines(tmp_path: Path) -> None:
    path = tmp_path / "arm.par"
    path.write_bytes(TEXT)
    table = read_par_table(path)
    assert (table.name, table.count("NL", 0), table.count("NJ", 7)) == ("arm", 3, 7)
    assert [entry.number for entry in table.column("ant", 3)] == [0.0, 1.0, 2.0]
    assert [entry.line for entry in table.lists["ant"]] == [4, 4, 5]
    values = [entry.number for entry in table.column("alpha", 3)]
    assert values == [0.0, math.pi / 2, -math.atan2(1, 2) + 4.0]
    assert [entry.number for entry in table.column("gamma", 2)] == [0.0, 0.0]
    with pytest.raises(DescriptionError, match=r"arm\.par:7:1: 'G3' has the symbol G3, which has no value"):
        _ = table.lists["G"][2].number
    with pytest.raises(DescriptionError, match=r"arm\.par:4:1: ant has 3 entries and needs 4"):
        table.column("ant", 4)


@pytest.mark.parametrize(
    "text", ["", "1 +", "9**9**9**9", "__import__('os')", "1e999", "(-8)**0.5", "'a'", "[1]", "True"]
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(DescriptionError, match="f:3:1"):
        _ = Expression(text, "f", 3).number


def test_variables_with_offsets() -> None:
    assert Expression("th1", "f", 1).offset == 0.0
    assert math.isclose(Expression("th2 - Pi/2", "f", 1).offset, -math.pi / 2)
    assert Expression("0.5", "f", 1).offset == 0.5
    for text in ("2*th1", "th1 + th2", "-th1"):
        with pytest.raises(DescriptionError, match="is not a symbol with an offset"):
            _ = Expression(text, "f", 1).offset
