"""Any text as words of a Markdown page: nothing in it is markup."""

from __future__ import annotations

import re

from nacelle.export.markdown import plain


def test_markup_is_taken_as_words() -> None:
    for text in ("a_b*c", "# head", "[x](y)", "`code`", "<b>", "a|b", "line\nbreak"):
        found = plain(text)
        assert "\n" not in found
        # What would mean something is escaped, or written as a character's number.
        assert not re.search(r"(?<!\\)[_*`\[<|]", found)
    assert plain("delta robot") == "delta robot"
