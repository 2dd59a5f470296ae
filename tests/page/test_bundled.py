"""What pages carry: a style and scripts that cannot end their own element, with their hashes."""

from __future__ import annotations

import base64
import hashlib

import pytest

from nacelle.page import bundled
from nacelle.page.markup import document


@pytest.mark.parametrize("name", bundled.SCRIPTS)
def test_scripts_end_no_element_and_are_allowed_by_their_hash(name: str) -> None:
    code = bundled.script(name)
    assert "</script" not in code.lower()
    assert "<!--" not in code
    page = document("t", scripts=(name,))
    (run,) = [part.partition("</script>")[0] for part in page.split("<script>")[1:]]
    assert base64.b64encode(hashlib.sha256(run.encode()).digest()).decode() in page.partition("<style>")[0]


def test_pages_without_scripts_run_none() -> None:
    page = document("a < b", "<p>c</p>")
    assert "<script" not in page
    assert "script-src 'none'" in page
    assert "<title>a &lt; b</title>" in page
    assert "</style" not in bundled.style()
