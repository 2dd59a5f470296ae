"""The style: series that differ in black and white, names as users wrote them."""

from __future__ import annotations

from itertools import combinations

from nacelle.report.draw import style
from support.hostile_names import HOSTILE


def test_series_differ_without_colours() -> None:
    looks = [style.series_look(k) for k in range(28)]
    for one, other in combinations(looks, 2):
        assert (one["linestyle"], one.get("marker")) != (other["linestyle"], other.get("marker"))
    assert len(set(style.COLOURS)) == 7


def test_units_are_in_labels() -> None:
    assert style.axis_label("acceleration", "m/s^2") == "acceleration (m/s²)"
    assert style.axis_label("margin", "") == f"margin ({style.NO_UNIT})"


def test_any_name_can_be_written() -> None:
    for name in (*HOSTILE, "$x$", "_hidden"):
        words = style.picture_name(name)
        assert len(words) <= 28
        assert "\n" not in words
        assert not words.startswith("_")
        assert "$" not in words.replace(r"\$", "")
