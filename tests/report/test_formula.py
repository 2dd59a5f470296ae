"""Texts in formulas: LaTeX escaped and plain."""

from __future__ import annotations

from nacelle.report.formula import escaped, formula_text


def test_escaped() -> None:
    assert escaped("a_b & 50% #1") == r"a\_b \& 50\% \#1"
    assert escaped("γ_i") == r"\ensuremath{\gamma}\_i"
    assert escaped("λ") == r"\ensuremath{\lambda}"
    assert escaped("☃\x07") == "??"
    assert escaped("a\nb") == "a b"


def test_plain() -> None:
    assert formula_text(
        r"\dot{\mathbf{x}}_{i,2} = \frac{\dot{B}_{i} - \ell_{i,1} \mathbf{y}}{\ell_{i,2}}"
    ) == ("x'_i,2 = (B'_i - l_i,1 y) / (l_i,2)")
    assert formula_text(r"[\mathbf{x}_{i,1}]_{\times}^{T} \boldsymbol{\tau}^{*}") == "[x_i,1]×ᵀ τ*"
    assert formula_text(r"2 \cdot 10^{-5}") == "2e-5"
    assert formula_text(r"\tau_{\text{" + escaped("a_b{c}[d]") + "}}") == "τ_a_b{c}[d]"
