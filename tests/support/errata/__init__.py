"""Equations of the papers as they are printed and as they should be, each against an independent truth.

`python -m support.errata` (PYTHONPATH=tests) prints the table of `docs/errata.md`.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

import numpy as np


class Evidence(NamedTuple):
    """Relative errors of an equation as printed and as corrected, and what they are compared with."""

    equation: str
    quantity: str
    printed: float
    corrected: float


def relative_difference(value: object, truth: object) -> float:
    """The largest difference over the largest entry of the truth."""
    value, truth = np.asarray(value, dtype=float), np.asarray(truth, dtype=float)
    return float(np.max(np.abs(value - truth)) / np.max(np.abs(truth)))


PAPERS = ("cb1997", "oam", "agh2005", "ki2007", "bk2013")


def evidence_of(paper: str) -> list[Evidence]:
    """The evidence of one paper, by the name of its module here."""
    found: list[Evidence] = importlib.import_module(f"support.errata.{paper}").evidence()
    return found
