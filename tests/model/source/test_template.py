"""Templates and repeats give what the same legs written in full give."""

from __future__ import annotations

from typing import Any

import pytest

from nacelle.model.source.node import Source
from nacelle.model.source.python import node_from_python
from nacelle.model.source.template import MAX_LEGS, Expander

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


def test_constants_and_templates_are_gone() -> None:
    data, problems = expanded([{"template": "arm", "name": "left", "with": {"place": "-$L"}}])
    assert not problems
    assert data == {"name": "sample", "legs": [{"name": "left", "bodies": rod(-2.0)}]}


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
