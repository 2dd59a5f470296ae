"""The target `jax`: operations of jax.numpy against the reference."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nacelle.emit.jax import function, jax
from nacelle.emit.registry import target
from nacelle.errors import CompileError
from support.random_programs import assert_steps, every_operation, expose, special_grid


def test_special_values_of_every_operation() -> None:
    """Operation by operation: XLA would flush subnormal numbers if it fused them."""
    pytest.importorskip("jax", reason="JAX is not installed: nacelle[jax]")
    program, inputs = every_operation(), special_grid()
    with jax().enable_x64(True), jax().disable_jit():
        normal = [np.where(np.abs(array) < 1e-290, 0.0, array) for array in inputs]
        (values,) = function(expose(program))(*(jax().numpy.asarray(array) for array in normal))
        assert values.dtype == np.float64
    assert_steps(program, normal, np.asarray(values))


def test_source_needs_no_jax() -> None:
    assert "import jax.numpy as jnp" in target("jax").source(every_operation())


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(CompileError, match=r"needs JAX \(pip install 'nacelle\[jax\]'\)"):
        jax()
