"""Fixtures of the comparison with other engines."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from nacelle.compile import Compiled, compile_function
from nacelle.kinematics import native as home

_compiled = home.compile_native


@cache
def traced(function: Any, robot: Any, **options: Any) -> Compiled:
    """A physics function as NumPy, line by line as it was traced: made in tenths of a second."""
    return compile_function(function, robot, options=options, target="numpy", minimise=False)


@pytest.fixture
def run_without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the physics as it is written, without minimising and compiling it: the other tests do that."""
    import_module("nacelle.verify.ours")
    for name, module in list(sys.modules.items()):
        if name.startswith("nacelle.") and getattr(module, "compile_native", None) is _compiled:
            monkeypatch.setattr(module, "compile_native", traced)
