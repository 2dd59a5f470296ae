"""The target `torch`: operations of PyTorch against the reference."""

from __future__ import annotations

import sys

import pytest

from nacelle.emit.registry import target
from nacelle.emit.torch import function, torch
from nacelle.errors import CompileError
from support.random_programs import assert_steps, every_operation, expose, special_grid


@pytest.mark.extra
def test_special_values_of_every_operation() -> None:
    module = pytest.importorskip("torch", reason="PyTorch is not installed: nacelle[torch], make test-extras")
    program, inputs = every_operation(), special_grid()
    (values,) = function(expose(program))(*(module.from_numpy(array) for array in inputs))
    assert values.dtype == module.float64
    assert_steps(program, inputs, values.numpy())


def test_source_needs_no_torch() -> None:
    assert "import torch" in target("torch").source(every_operation())


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(CompileError, match=r"needs PyTorch \(pip install 'nacelle\[torch\]'\)"):
        torch()
