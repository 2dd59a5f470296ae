"""Source: node, python, reference, template, yaml."""

from __future__ import annotations

from typing import Any

import pytest

from nacelle.errors import DescriptionError, NacelleError
from nacelle.model.source.node import FailedValue, Node, Source, is_key, is_text, node_from_python, path_text
from nacelle.model.source.reference import MAX_EXPANDED, Substitution
from nacelle.model.source.template import MAX_LEGS, Expander
from nacelle.model.source.yaml import read_yaml

# ---- Paths as texts, and what may be a key


def test_texts() -> None:
    assert path_text(("legs", 2, "joints", "a")) == "legs[2].joints.a"
    assert is_key("knee")
    assert not is_key("a\nb")
    assert is_text("é")
    assert not is_text("\ud800")


# ---- python
#
# Python data as the source of a description: what YAML would have given, or an error with its place.


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
    assert isinstance(result["x"], FailedValue)
    assert len(problems) == 1
    assert words in problems[0]


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


# ---- Templates and repeats give what the same legs written in full give

TEMPLATES = {
    "arm": {
        "parameters": {"place": None, "mass": "1 kg"},
        "bodies": {"rod": {"mass": "$mass", "com": ["$place", "$L/2", 0]}},
    }
}


def expanded(legs: Any, **root: Any) -> tuple[Any, list[str]]:
    data = {"name": "sample", "constants": {"L": 2.0}, "templates": TEMPLATES, "legs": legs, **root}
    expander = Expander(Source("<python>", node_from_python(data)))
    return expander.expand().plain(), [str(problem) for problem in expander.problems]


def rod(place: float, mass: str = "1 kg") -> dict[str, Any]:
    return {"rod": {"mass": mass, "com": [place, 1.0, 0]}}


def test_constants_may_use_those_before_them() -> None:
    data, problems = expanded([], constants={"L": 2.0, "half": "$L/2"}, gravity=[0, 0, "-$half"])
    assert not problems
    assert data["gravity"] == [0, 0, -1.0]
    _, problems = expanded([], constants={"half": "$L/2", "L": 2.0})
    assert len(problems) == 1
    assert "nothing is called $L" in problems[0]


def test_all_ways_to_count_legs_agree() -> None:
    given = {"with": {"place": 5.0}}
    third = [f"{k * 360.0 / 3!r} deg" for k in range(3)]
    legs = [
        {"name": f"leg{k + 1}", "bodies": rod(5.0), "placement": {"angle": angle}}
        for k, angle in enumerate(third)
    ]
    for way in ({"count": 3}, {"angles": third}, {"placements": [{"angle": angle} for angle in third]}):
        data, problems = expanded([{"repeat": "arm", **given, **way}])
        assert not problems
        assert data["legs"] == legs
    data, _ = expanded([{"repeat": "arm", **given, "angles": "0 90 deg", "prefix": "arm"}])
    assert [(leg["name"], leg["placement"]["angle"]) for leg in data["legs"]] == [
        ("arm1", "0 deg"),
        ("arm2", "90 deg"),
    ]


def test_a_table_gives_parameters_and_own_keys() -> None:
    rows = [{"name": "a", "place": 1.0}, {"name": "b", "place": 2.0, "mass": "3 kg", "branch": -1}]
    data, problems = expanded([{"repeat": "arm", "table": rows}])
    assert not problems
    assert data["legs"] == [
        {"name": "a", "bodies": rod(1.0)},
        {"name": "b", "bodies": rod(2.0, "3 kg"), "branch": -1},
    ]


@pytest.mark.parametrize(
    ("leg", "words"),
    [
        ({"template": "amr", "name": "a"}, "no template is called 'amr'"),
        ({"template": "arm", "name": "a"}, "parameter 'place' is not given"),
        ({"template": "arm", "name": "a", "with": {"place": 1, "mas": 2}}, "no parameter 'mas'"),
        ({"name": "a", "with": {"place": 1}, "joints": {}}, "'with' gives parameters to a template"),
        ({"repeat": "arm", "with": {"place": 1}}, "how many legs?"),
        ({"repeat": "arm", "with": {"place": 1}, "count": 2, "angles": "0 10 20 deg"}, "differ in length"),
        ({"repeat": "arm", "with": {"place": 1}, "count": MAX_LEGS + 1}, "whole number from 1 to"),
        ({"repeat": "arm", "with": {"place": 1}, "count": 1, "cuont": 1}, "unknown key 'cuont'"),
        ("arm", "a leg is a mapping"),
    ],
)
def test_what_is_wrong(leg: Any, words: str) -> None:
    _, problems = expanded([leg])
    assert len(problems) == 1
    assert words in problems[0]
