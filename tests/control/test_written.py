"""What is written, from files, texts, mappings and the package."""

from __future__ import annotations

import pytest

from nacelle.control.written import read_written
from nacelle.errors import DescriptionError
from nacelle.model.description.fields import Strict


class Small(Strict):
    """A model with one key."""

    number: float


def test_from_everywhere(tmp_path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("number: 3\n")
    for source in (path, str(path), "number: 3\n", {"number": 3}, "three"):
        assert read_written(Small, source, {"three": {"number": 3}})[0].number == 3.0


def test_places_of_what_is_wrong() -> None:
    with pytest.raises(DescriptionError) as caught:
        read_written(Small, "number: 1\nnumbr: 2\n")
    assert [(one.line, one.column) for one in caught.value.problems] == [(2, 1)]
    with pytest.raises(DescriptionError, match="or one of three"):
        read_written(Small, "four", {"three": {"number": 3}})
