"""Symbols in LaTeX from short codes."""

from __future__ import annotations

from nacelle.report.elements.symbols import short_name, state_symbol, tex


def test_codes_become_symbols() -> None:
    assert tex("<x1>") == r"\mathbf{x}_{i,1}"
    assert tex("<x'#>", "2") == r"\dot{\mathbf{x}}_{i,2}"
    assert tex("<t''#>", "n", "3") == r"\ddot{\theta}_{3,n}"
    assert tex("a + <B>") == "a + B_{i}"


def test_states_and_names() -> None:
    assert state_symbol(tex("<x'1>")) == r"{\mathbf{x}}_{i,1}"
    assert short_name("leg_1.elbow_2") == r"elbow\_2"
