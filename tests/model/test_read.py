"""Reading: one robot from YAML, text and Python data, and all problems at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacelle import robots
from nacelle.errors import DescriptionError, Problem
from nacelle.model.read import read_data, read_file, read_text, unique
from support.library import as_written, in_full


def test_file_text_and_data_are_one(tmp_path: Path) -> None:
    text = robots.text("fivebar")
    place = tmp_path / "fivebar.yaml"
    place.write_text(text, encoding="utf-8")
    hashes = {read_file(place)[0].hash, read_text(text)[0].hash, read_data(as_written("fivebar"))[0].hash}
    assert len(hashes) == 1
    assert read_data(in_full("fivebar"))[0].hash in hashes


def test_all_problems_at_once() -> None:
    text = robots.text("fivebar").replace("mass:", "mas:")
    with pytest.raises(DescriptionError) as caught:
        read_text(text)
    assert len(caught.value.problems) > 1
    assert all(problem.line > 0 for problem in caught.value.problems)


def test_problems_that_repeat_at_a_place_are_kept_once() -> None:
    one, two = Problem("f", 3, 1, "legs[0]", "bad"), Problem("f", 3, 1, "legs[1]", "bad")
    other = Problem("f", 1, 1, "name", "bad")
    found = unique([one, two, other])
    assert found[0] == other
    assert len(found) == 2
