"""Check of encoder zeros."""

from __future__ import annotations

from nacelle.identification.data.checks.correction import Correction
from nacelle.identification.data.checks.findings import Finding
from nacelle.identification.data.checks.judge import Judge, Verdict
from nacelle.identification.data.measurement import Measurement


def check_zeros(
    measurement: Measurement, judge: Judge, correction: Correction, verdict: Verdict
) -> list[Finding]:
    """Find encoders that count from another zero."""
    return []
