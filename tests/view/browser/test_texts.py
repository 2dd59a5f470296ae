from __future__ import annotations

import numpy as np

from nacelle.view.browser.texts import dependent_html, loads_html, problems_html, sentence_html, verdict_html
from nacelle.view.loads import LoadRow, Loads
from nacelle.view.session import Standing, Verdict

NAME = "<img src=x onerror=alert(1)>"


def test_names_are_escaped() -> None:
    none = np.zeros((0, 3))
    given = Loads(NAME, none, none, none, (LoadRow(NAME, 1.0, None),), NAME)
    pages = [
        verdict_html(Verdict(Standing.OUT, NAME)),
        problems_html([NAME, NAME]),
        sentence_html(NAME),
        dependent_html({NAME: (1.0, "mm")}),
        loads_html(given, ("#000000", "#ffffff")),
    ]
    assert all("<img" not in page and "&lt;img" in page for page in pages)
    assert 'data-problems="2"' in pages[1]
    assert "force (N)" in pages[4]
    assert "moment" not in pages[4]
    assert problems_html([]) == sentence_html("") == dependent_html({}) == ""
