"""The page of errata: its table is what the equations give, as printed and as corrected."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import nacelle
from support.errata import PAPERS, evidence_of
from support.errata.bk2013 import closure
from support.flexible.prrrp import EULER
from support.flexible_robots import prrrp

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
ROWS = {
    (row[0], row[1]): (float(row[2]), float(row[3]))
    for row in re.findall(r"^\| (\[\w+\][^|]*?) \| ([^|]*?) \| ([\d.e+-]+) \| ([\d.e+-]+) \|$", PAGE, re.M)
}


@pytest.mark.parametrize("paper", PAPERS)
def test_equations_as_printed_and_as_corrected(paper: str) -> None:
    for found in evidence_of(paper):
        printed, corrected = ROWS.pop((found.equation, found.quantity))
        assert printed == pytest.approx(found.printed, rel=0.06)
        assert found.printed > 0.05
        assert found.corrected < 1e-4
        assert max(found.corrected, corrected) < max(1e-9, 3.0 * min(found.corrected, corrected))


def test_the_closure_of_the_prrrp_has_no_inverse() -> None:
    """Six equations for seven rates: the platform turns freely about P."""
    assert closure().shape == (6, 7)
    freedom = np.linalg.svd(closure())[2][-1]
    np.testing.assert_allclose(freedom / freedom[-1], [0, 1, 0, 1, 0, 0, 1], atol=1e-12)


def test_the_weight_at_the_end_buckles_the_beams() -> None:
    """1 kg under gravity in the plane loads each beam with 7.4 N, more than Euler's load of 5.76 N."""
    factor = nacelle.buckling(prrrp((0.0, 0.0, -9.81)), [0.3, 0.264575131106459]).factors[0]
    assert pytest.approx(5.757, rel=1e-3) == EULER
    assert factor == pytest.approx(EULER / 7.4, rel=0.01)
