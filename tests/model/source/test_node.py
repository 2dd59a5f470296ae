"""Nodes remember where they are, and paths lead to them."""

from __future__ import annotations

from nacelle.model.source.node import is_key, is_text, path_text
from nacelle.model.source.yaml import read_yaml

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
