"""Compiling for libraries that differentiate: what is refused, before any work."""

from __future__ import annotations

import sys

import pytest

import nacelle
from nacelle.compile.differentiable import DIFFERENTIABLE
from support.library import library_robot


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_without_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(nacelle.CompileError, match=rf"nacelle\[{name}\]"):
        nacelle.compile(lambda x: x, inputs={"x": (2,)}, target=name)


def test_refused() -> None:
    pytest.importorskip("jax", reason="JAX is not installed: nacelle[jax]")
    robot = library_robot("3rps")
    model = nacelle.model(robot, "gravity_forces")
    with pytest.raises(nacelle.CompileError, match="leave geometry out of the parameters"):
        model.compile(target="jax", parameters="input")
    with pytest.raises(nacelle.CompileError, match="leave `derivatives` out"):
        model.compile(target="jax", parameters=["inertia"], derivatives=["g"])
