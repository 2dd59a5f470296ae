"""Problems sort and print."""

from __future__ import annotations

import pytest

from nacelle.errors import did_you_mean, format_count
from support.bench import BENCH, problems_of

pytestmark = pytest.mark.filterwarnings("error")


def test_problems_sort_and_print() -> None:
    problem = problems_of(BENCH.replace("  mass: 1 kg", "  mas: 1 kg"))[0]
    assert str(problem) == "<text>:9:3: platform.mas: unknown key 'mas' (did you mean 'mass'?)"
    assert problem.as_dict() == {
        "file": "<text>",
        "line": 9,
        "column": 3,
        "path": "platform.mas",
        "message": "unknown key 'mas'",
        "hint": "did you mean 'mass'?",
        "severity": "error",
    }


def test_a_list_of_names_that_is_cut_says_so() -> None:
    assert did_you_mean("q", ["one", "two"]) == "known: one, two"
    assert did_you_mean("q", [f"name{k}" for k in range(21)]).endswith("name19 and more")


def test_numbers_of_things() -> None:
    assert format_count(1, "leg") == "1 leg"
    assert format_count(3, "body", "bodies") == "3 bodies"
