"""The target "torch": a program as a function of PyTorch's tensors, one operation after the other."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from nacelle.emit.python import arrays
from nacelle.emit.registry import Target, register
from nacelle.errors import CompileError
from nacelle.program.program import Program

_HEAD = '''
import torch


def _tensor(x):
    """A number as a tensor without dimensions, which takes type and device of others."""
    return x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64)


def _sign(x):
    """-1, 0 or 1; NaN stays NaN."""
    return torch.where(torch.isnan(x), x, torch.sign(x))
'''

DIALECT = arrays.Dialect(
    _HEAD,
    "torch",
    {
        "div": "_tensor({}) / {}",
        "where": "torch.where(_tensor({}) > 0.0, _tensor({}), _tensor({}))",
        "atan2": "torch.atan2(_tensor({}), _tensor({}))",
        "min": "torch.minimum(_tensor({}), _tensor({}))",
        "max": "torch.maximum(_tensor({}), _tensor({}))",
        "sign": "_sign(_tensor({}))",
    }
    | {op: f"torch.{op}(_tensor({{}}))" for op in ("abs", "sqrt", "sin", "cos", "tanh", "exp", "floor")},
    ("_tensor", "_sign"),
)


def torch() -> Any:
    """PyTorch.

    Raises:
        CompileError: if it is missing.
    """
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise CompileError(
            f"the target 'torch' needs PyTorch (pip install 'nacelle[torch]'): {error}"
        ) from None


def source(program: Program) -> str:
    """Write a program as a Python function of tensors."""
    return arrays.source(program, DIALECT)


def function(program: Program) -> Callable[..., Any]:
    """A program as a function of tensors (N, size) that gives a tuple of such tensors.

    All inputs have the same type and device; so have the results.
    """
    columns = arrays.function(program, DIALECT)
    module = torch()

    def evaluated(*values: Any) -> tuple[Any, ...]:
        first = values[0]
        like = {"dtype": first.dtype, "device": first.device}

        def joined(parts: list[Any]) -> Any:
            if not parts:
                return module.zeros((len(first), 0), **like)
            return module.stack([module.as_tensor(part, **like).expand(len(first)) for part in parts], dim=-1)

        return tuple(joined(parts) for parts in columns(*values))

    return evaluated


register(Target("torch", source))
