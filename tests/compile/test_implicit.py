"""Implicit steps around physics: kept in the cache, the same without a compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacelle.compile import compile_irk5, drivers
from nacelle.emit.irk5 import NumpyIrk5
from nacelle.emit.registry import target
from nacelle.emit.store import Store
from nacelle.simulation.flow import flow
from support.library import library_robot


def test_native_cached_and_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, store = library_robot("fivebar"), Store(tmp_path)
    arguments = ([0.0, 0.28, 0.3, 0.0], [[0.2, -0.1]], [0.0, 0.0, 0.0, 1.0])
    how = {"h": 0.01, "steps": 5}
    options = {"smooth": 0.01}
    native = compile_irk5(flow, robot, options=options, store=store)
    again = compile_irk5(flow, robot, options=options, store=store)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
    monkeypatch.setattr(drivers, "target_that_runs", lambda name: target("numpy"))
    plain = compile_irk5(flow, robot, options=options, store=store)
    assert isinstance(plain, NumpyIrk5)
    first, second, third = (driver.integrate(*arguments, **how) for driver in (native, again, plain))
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_allclose(third.x, first.x, rtol=0.0, atol=1e-9)
    assert first.evaluations == third.evaluations
    assert np.max(np.abs(first.x[-1] - arguments[0])) > 1e-2
