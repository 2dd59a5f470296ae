"""The command `base`: what is printed is the base parameters of Python."""

from __future__ import annotations

import nacelle
from support.command import run, run_json
from support.library import library_robot


def test_printed_and_as_json() -> None:
    base = nacelle.base_parameters(library_robot("fivebar"), shared="legs")
    text = run("base", "fivebar", "--shared", "legs").stdout
    assert f"{len(base)} base parameters of {len(base.choice.names)}" in text
    assert "which is what the rules of mechanics leave" in text
    data = run_json("base", "fivebar", "--shared", "legs")
    assert data == base.data() | {"robot": data.get("robot", base.data().get("robot"))}


def test_wrong_words_get_a_suggestion() -> None:
    result = run("base", "fivebar", "--shared", "mirored", code=1)
    assert "did you mean 'mirrored'" in result.output
    assert "Traceback" not in result.output
