"""Functions of a package."""

from __future__ import annotations

from nacelle.compile import make_program
from nacelle.export.entry import CLOSING, Entry, pose_words
from support.library import library_robot


def test_values_alive_and_counts() -> None:
    program = make_program(lambda x: {"y": (x[0] + x[1]) * (x[2] + x[3])}, None, {"x": (4,)})
    entry = Entry("product", "a product of sums", program, {}, None)
    # Both sums are needed at once.
    assert entry.alive == 2
    assert (entry.count.add, entry.count.mul) == (2, 1)
    assert not entry.closes
    assert Entry(CLOSING, "", program, {}, None).closes


def test_words_of_poses() -> None:
    assert "unit length" in pose_words(library_robot("palida"))
    assert pose_words(library_robot("fivebar")) == "reduced pose x, y; m, rad"
