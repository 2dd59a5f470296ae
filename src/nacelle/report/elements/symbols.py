"""Symbols of the kinematic elements, in LaTeX."""

from __future__ import annotations

import re

from nacelle.report.formula import escaped

_BOLD = dict.fromkeys("xyzabcnefgrI", r"\mathbf{%s}") | {
    "w": r"\boldsymbol{\omega}",
    "T": r"\boldsymbol{\tau}",
    "t": r"\theta",
    "l": r"\ell",
}
_CODE = re.compile(r"<([A-Za-z])('*)([A-Za-z0-9#]*)>")


def tex(template: str, label: str = "", leg: str = "i") -> str:
    """A formula from a template: <x'2> is the rate of x of element 2 in a leg, # the label."""

    def symbol(match: re.Match[str]) -> str:
        letter, primes, index = match.groups()
        base = _BOLD.get(letter, letter)
        base = base % letter if "%s" in base else base
        index = index.replace("#", label)
        dotted = rf"\{'d' * len(primes)}ot{{{base}}}" if primes else base
        return f"{dotted}_{{{leg},{index}}}" if index else f"{dotted}_{{{leg}}}"

    return _CODE.sub(symbol, template)


def state_symbol(rate: str) -> str:
    """The symbol of a state from that of its rate."""
    return rate.replace(r"\dot{", "{", 1)


def short_name(name: str) -> str:
    """The last part of a name, such as elbow of leg1.elbow, for LaTeX."""
    return escaped(name.rpartition(".")[2])
