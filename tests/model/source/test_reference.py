"""References to constants: names with a sign, a factor and a divisor, in numbers, texts and lists."""

from __future__ import annotations

from typing import Any

import pytest

from nacelle.errors import DescriptionError
from nacelle.model.source.node import Failed, Node, Source
from nacelle.model.source.python import node_from_python
from nacelle.model.source.reference import MAX_EXPANDED, Substitution

SCOPE = {"L": Node(4.0), "a": Node("3, -5 mm"), "list": node_from_python([1.0, "2 m"]), "word": Node("red")}


def substituted(value: Any) -> tuple[Any, list[str]]:
    node = node_from_python(value)
    substitution = Substitution(Source("<text>", node))
    result = substitution.substitute(node, SCOPE, ())
    return result.plain(), [problem.message for problem in substitution.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$L", 4.0),
        ("-$L", -4.0),
        ("2.5*$L", 10.0),
        ("-3 * $L / 8", -1.5),
        ("$a", "3, -5 mm"),
        ("-$a/2", "-1.5 2.5 mm"),
        ("2*$list", [2.0, "4.0 m"]),
        ({"x": ["$L", "no reference"]}, {"x": [4.0, "no reference"]}),
    ],
)
def test_multiples(text: Any, expected: Any) -> None:
    assert substituted(text) == (expected, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$M", "nothing is called $M"),
        ("$L/0", "division by zero"),
        ("$L + 1", "not a reference"),
        ("2*$word", "cannot be scaled"),
    ],
)
def test_wrong_references(text: str, words: str) -> None:
    result, problems = substituted({"x": text})
    assert isinstance(result["x"], Failed)
    assert len(problems) == 1
    assert words in problems[0]


def test_the_scale_of_a_multiple_leads_back_to_what_was_written() -> None:
    substitution = Substitution(Source("<text>", Node("-$L/2")))
    node = substitution.substitute(Node("-$L/2"), SCOPE, ())
    assert node.origin.node is SCOPE["L"]
    assert node.origin.scale == -0.5


def test_no_text_grows_without_end() -> None:
    many = {"many": node_from_python([0.0] * 1000)}
    node = node_from_python(["$many"] * (MAX_EXPANDED // 1000 + 1))
    with pytest.raises(DescriptionError, match=f"more than {MAX_EXPANDED} values"):
        Substitution(Source("<text>", node)).substitute(node, many, ())
