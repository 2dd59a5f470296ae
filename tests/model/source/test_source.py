"""Source: node, python, reference, yaml."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.errors import DescriptionError, NacelleError
from nacelle.model.source.node import Failed, Node, Source, is_key, is_text, path_text
from nacelle.model.source.python import node_from_python
from nacelle.model.source.reference import MAX_EXPANDED, Substitution
from nacelle.model.source.yaml import read_yaml

# ---- Nodes remember where they are, and paths lead to them

TEXT = """\
name: arm
legs:
  - joints:
      knee: {type: revolute}
"""


def test_marks_are_those_of_the_text() -> None:
    source = read_yaml(TEXT, "arm.yaml")
    lines = TEXT.splitlines()
    mark, node = source.root.find(("legs", 0, "joints", "knee", "type"))
    assert node.plain() == "revolute"
    assert lines[mark.line - 1][mark.column - 1 :].startswith("type")
    # A path that leads nowhere ends at the last node that there is.
    mark, _ = source.root.find(("legs", 0, "closures"))
    assert mark.line == 3
    problem = source.problem(("legs", 0, "joints"), "faulty")
    assert (problem.file, problem.path, problem.line) == ("arm.yaml", "legs[0].joints", 3)


def test_all_nodes_are_walked() -> None:
    plain = [node.value for node in read_yaml(TEXT, "f").root.walk() if isinstance(node.value, str)]
    assert plain == ["arm", "revolute"]


def test_texts() -> None:
    assert path_text(("legs", 2, "joints", "a")) == "legs[2].joints.a"
    assert is_key("knee")
    assert not is_key("a\nb")
    assert is_text("é")
    assert not is_text("\ud800")


# ---- python
#
# Python data as the source of a description: what YAML would have given, or an error with its place.


def test_data_of_all_kinds_come_back_plain() -> None:
    data = {
        "name": "a",
        "legs": ({"at": np.array([1.0, 2.0])}, []),
        "on": True,
        "mass": np.float64(2.0),
        "no": None,
    }
    assert node_from_python(data).plain() == {
        "name": "a",
        "legs": [{"at": [1.0, 2.0]}, []],
        "on": True,
        "mass": 2.0,
        "no": None,
    }


def test_what_is_no_data_is_refused() -> None:
    looped: list[object] = []
    looped.append(looped)
    for value in ({"f": print}, looped, {1: object()}):
        with pytest.raises(NacelleError):
            node_from_python(value)


# ---- reference
#
# References to constants: names with a sign, a factor and a divisor, in numbers, texts and lists.

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


# ---- YAML 1.2 with places: numbers as numbers, keys once, faults with their line


def test_values_as_yaml_1_2_has_them() -> None:
    text = "a: 1e-1\nb: yes\nc: 016\nd: [1, 2.5, ~]\ne: 300 mm\n"
    assert read_yaml(text, "f").root.plain() == {
        "a": 0.1,
        "b": "yes",
        "c": 16,
        "d": [1, 2.5, None],
        "e": "300 mm",
    }


@pytest.mark.parametrize(
    ("text", "line"), [("a: 1\nb: 2\na: 3\n", 3), ("a: [1, 2\nb: 3\n", None), ("a:\n\t- 1\n", 2)]
)
def test_faults_name_their_line(text: str, line: int | None) -> None:
    with pytest.raises(DescriptionError) as caught:
        read_yaml(text, "robot.yaml")
    problem = caught.value.problems[0]
    assert problem.file == "robot.yaml"
    if line is not None:
        assert problem.line == line
