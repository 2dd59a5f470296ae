"""Options that commands of identification share."""

from __future__ import annotations

import pytest

from nacelle.cli.identification.options import filters, sharing


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ([], None),
        (["legs"], "legs"),
        (["leg1, leg2"], [["leg1", "leg2"]]),
        (["a,mirror b", "c,d"], [["a", "mirror b"], ["c", "d"]]),
    ],
)
def test_legs_that_share(given: list[str] | None, expected: object) -> None:
    assert sharing(given) == expected


def test_filters() -> None:
    made = filters(20.0, 4, "reference")
    assert (made.cutoff, made.decimation, made.instruments) == (20.0, 4, "reference")
    assert filters(None, None).cutoff is None
