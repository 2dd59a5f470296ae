"""Base parameters on a data sheet."""

from __future__ import annotations

import nacelle
from nacelle.report.sheet.parameters import parameters
from nacelle.report.sheet.subject import subject_of


def test_counts_are_those_of_the_base_parameters() -> None:
    base = nacelle.base_parameters(nacelle.load("fivebar"))
    page = parameters(subject_of("fivebar")).markup()
    assert f"All {len(base)} base parameters" in page
    assert page.count("<tr>") == len(base) + 1
