"""The target that runs a program: any of the registry, NumPy where there is no compiler."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.compile import targets
from nacelle.compile.targets import target_that_runs, tiles
from nacelle.emit.registry import Target, TargetError, target
from nacelle.errors import CompileError
from nacelle.program.trace import trace


def test_numpy_needs_no_compiler() -> None:
    kernel = tiles(trace(lambda x: x * x, {"x": (3,)}).program())
    x, y = np.random.default_rng(0).normal(size=(2, 1500, 3))
    kernel.run([x], [y], 1)
    np.testing.assert_array_equal(y, x * x)


def test_names() -> None:
    assert target_that_runs("numpy").name == "numpy"
    with pytest.raises(CompileError, match="fortran"):
        target_that_runs("fortran")
    with pytest.raises(CompileError, match="gives source only"):
        target_that_runs("c")


def test_without_llvmlite_numpy_takes_the_place_of_the_jit(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Target:
        if name == "jit":
            raise TargetError("llvmlite is not installed")
        return target(name)

    said: list[str] = []
    monkeypatch.setattr(targets, "target", missing)
    monkeypatch.setattr(targets, "warn_once", said.append)
    assert target_that_runs("jit").name == "numpy"
    assert "llvmlite is not installed" in said[0]
