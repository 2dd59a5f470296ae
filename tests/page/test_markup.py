"""Words stay words: escaped, without signs that a page cannot hold; numbers without a value are words."""

from __future__ import annotations

import html
import math

from hypothesis import given
from hypothesis import strategies as st

from nacelle.page.markup import element, number, percent, table, text


@given(st.text())
def test_any_text_is_shown_as_it_is(words: str) -> None:
    marked = text(words)
    assert not set(marked) & set("<>\"'")
    kept = [
        a == b
        for a, b in zip(html.unescape(marked).replace("\r", " "), words.replace("\r", " "), strict=False)
    ]
    plain = [letter.isprintable() for letter in words]
    assert all(same for same, shown in zip(kept, plain, strict=False) if shown)
    marked.encode("utf-8")


def test_numbers() -> None:
    assert number(math.nan) == "not known"
    assert number(math.inf) == "unbounded"
    assert number(-math.inf) == "unbounded below"
    assert number(-0.0) == "0"
    assert number(-1234.5678) == "-1235"
    assert percent(0.01234) == "1.2 %"
    assert percent(math.inf) == "unbounded"
    assert percent(4.03) == "403 %"
    assert percent(1e6) == "over 10 000 %"


def test_elements_and_tables() -> None:
    assert element("p", "a", kind="x<y", id="") == '<p class="x&lt;y">a</p>'
    made = table(["[name]a", "b>", "c"], [["1", "2", "3"]], ["poor"])
    assert (
        '<th class="name" scope="col">a</th><th class="number" scope="col">b</th><th scope="col">c</th>'
        in made
    )
    assert '<tr class="poor"><td class="name">1</td><td class="number">2</td><td>3</td></tr>' in made
