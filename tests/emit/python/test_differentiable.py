"""The targets `jax` and `torch`: operations of jax.numpy and PyTorch against the reference."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nacelle.emit.python.differentiable import JAX, LIBRARIES, TORCH
from nacelle.emit.registry import target
from nacelle.errors import CompileError
from support.random_programs import assert_steps, every_operation, special_grid, with_all_outputs


def test_special_values_of_every_operation_of_jax() -> None:
    """Operation by operation: XLA would flush subnormal numbers if it fused them."""
    module = pytest.importorskip("jax", reason="JAX is not installed: nacelle-robotics[jax]")
    program, inputs = every_operation(), special_grid()
    with module.enable_x64(True), module.disable_jit():
        normal = [np.where(np.abs(array) < 1e-290, 0.0, array) for array in inputs]
        (values,) = JAX.function(with_all_outputs(program))(
            *(module.numpy.asarray(array) for array in normal)
        )
        assert values.dtype == np.float64
    assert_steps(program, normal, np.asarray(values))


@pytest.mark.extra
def test_special_values_of_every_operation_of_torch() -> None:
    module = pytest.importorskip(
        "torch", reason="PyTorch is missing: nacelle-robotics[torch], make test-extras"
    )
    program, inputs = every_operation(), special_grid()
    (values,) = TORCH.function(with_all_outputs(program))(*(module.from_numpy(array) for array in inputs))
    assert values.dtype == module.float64
    assert_steps(program, inputs, values.numpy())


@pytest.mark.parametrize(
    ("name", "title", "line"),
    [("jax", "JAX", "import jax.numpy as jnp"), ("torch", "PyTorch", "import torch")],
)
def test_without_the_library(name: str, title: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Source needs it not; a function says how it is installed."""
    monkeypatch.setitem(sys.modules, name, None)
    assert line in target(name).source(every_operation())
    with pytest.raises(CompileError, match=rf"needs {title} \(pip install 'nacelle-robotics\[{name}\]'\)"):
        LIBRARIES[name].module()
