"""Reports of comparisons: what is not a number does not agree."""

from __future__ import annotations

import math

from nacelle.verify.report import EngineReport, Quantity


def test_agreement() -> None:
    good, bad = Quantity("force", 1e-12, 1e-9, 3), Quantity("mass matrix", 1e-6, 1e-9, 2)
    nothing = Quantity("energy", math.nan, 1e-9, 0)
    assert (good.ok, bad.ok, nothing.ok) == (True, False, False)
    assert EngineReport("e", "1", (good,), ()).ok
    assert not EngineReport("e", "1", (good, nothing), ()).ok
