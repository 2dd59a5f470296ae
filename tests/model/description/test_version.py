"""Versions of the format: old files stay, what is new is located, the oldest version is written."""

import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.model.description.version import NEW, NEWEST, OLDEST, _new_in, oldest_format

_PENDULUM = """\
format: nacelle/2
name: pendulum
motion: [arm.hip]
legs:
  - name: arm
    bodies: {rod: {mass: 1 kg, com: 100 0 0 mm}}
    joints:
      hip: {type: revolute, parent: base, child: rod, axis: y, active: true}
"""


def test_what_is_new_in_an_old_file_is_located() -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.loads(_PENDULUM.replace("nacelle/2", "nacelle/1"))
    places = [(p.line, p.path, p.hint) for p in caught.value.problems]
    assert places == [
        (1, "nacelle", "robots without a nacelle need format: nacelle/2"),
        (3, "motion[0]", "write format: nacelle/2"),
    ]


@pytest.mark.parametrize("name", ["delta", "h4"])
def test_an_old_robot_is_written_in_the_oldest_version(name: str) -> None:
    assert nacelle.load(name).to_yaml().startswith(f"format: {OLDEST}\n")


def test_a_new_robot_is_written_in_the_newest_version_and_keeps_its_hash() -> None:
    robot = nacelle.loads(_PENDULUM)
    text = robot.to_yaml()
    assert text.startswith(f"format: {NEWEST}\n")
    assert nacelle.loads(text).hash == robot.hash


def test_an_unknown_version_names_those_that_exist() -> None:
    with pytest.raises(DescriptionError, match="nacelle/1' or 'nacelle/2'"):
        nacelle.loads(_PENDULUM.replace("nacelle/2", "nacelle/3"))


def test_patterns_find_every_place() -> None:
    data = {
        "legs": [{"joints": {"a": {"stop": 1}}}, {"joints": {"b": {}}}],
        "nacelle": {"joints": {"c": {"stop": 2}}},
    }
    found = [path for _, path in _new_in(data)]
    assert found == [("legs", 0, "joints", "a", "stop"), ("nacelle", "joints", "c", "stop")]


def test_every_new_thing_has_words_and_the_absent_ones_are_keys_of_the_document() -> None:
    assert all(new.words and (not new.absent or len(new.path) == 1) for new in NEW)
    assert oldest_format({"nacelle": {"mass": 1}, "legs": [{}], "motion": ["x", "y"]}) == OLDEST
    assert oldest_format({"nacelle": {"mass": 1}, "legs": [{}], "motion": ["xy", "rz"]}) == NEWEST
