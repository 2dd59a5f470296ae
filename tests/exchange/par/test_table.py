"""Entries of parameter files that are no numbers."""

import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.par.table import Expression


@pytest.mark.parametrize(
    "text", ["", "1 +", "9**9**9**9", "__import__('os')", "1e999", "(-8)**0.5", "'a'", "[1]", "True"]
)
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(DescriptionError, match="f:3:1"):
        _ = Expression(text, "f", 3).number
