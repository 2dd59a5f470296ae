"""Problems sort and print."""

from __future__ import annotations

import pytest

from support.bench import BENCH, problems_of

pytestmark = pytest.mark.filterwarnings("error")


def test_problems_sort_and_print() -> None:
    problem = problems_of(BENCH.replace("  mass: 1 kg", "  mas: 1 kg"))[0]
    assert str(problem) == "<text>:9:3: nacelle.mas: unknown key 'mas' (did you mean 'mass'?)"
    assert problem.as_dict() == {
        "file": "<text>",
        "line": 9,
        "column": 3,
        "path": "nacelle.mas",
        "message": "unknown key 'mas'",
        "hint": "did you mean 'mass'?",
        "severity": "error",
    }
