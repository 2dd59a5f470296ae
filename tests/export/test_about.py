"""What packages say of themselves, in plain ASCII."""

from __future__ import annotations

from nacelle.export.about import CONVENTIONS, count_text, friction_words
from nacelle.export.entries import Wanted
from nacelle.program.cost import count
from nacelle.program.trace import trace


def test_counts_in_ascii() -> None:
    program = trace(lambda x: x[0] * x[1] / (x[0] + 1.0), {"x": (2,)}).program()
    text = count_text(count(program))
    assert text.isascii()
    assert "3 operations" in text
    assert all(line.isascii() for line in CONVENTIONS)


def test_friction() -> None:
    words = [
        friction_words(Wanted(("inverse_dynamics",), friction=f, smooth=s))
        for f, s in ((False, None), (True, None), (True, 0.1))
    ]
    assert len(set(words)) == 3
    assert "0.1" in words[2]
