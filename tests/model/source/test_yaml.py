"""YAML 1.2 with places: numbers as numbers, keys once, faults with their line."""

from __future__ import annotations

import pytest

from nacelle.errors import DescriptionError
from nacelle.model.source.yaml import read_yaml


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
