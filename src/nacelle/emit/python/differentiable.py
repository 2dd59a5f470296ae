"""The targets "jax" and "torch": a program as a function of arrays of a library that differentiates.

JAX traces it and XLA compiles it; PyTorch does one operation after the other.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nacelle.distribution import install_command
from nacelle.emit.python import arrays
from nacelle.emit.registry import Target, register
from nacelle.errors import CompileError
from nacelle.program.program import Program

Stack = Callable[[list[Any]], Any]
"""Makes an array (..., size) of its columns, which may be numbers."""


@dataclass(frozen=True)
class ArrayLibrary:
    """A library of arrays.

    Attributes:
        name: of its module, and of the target.
        title: what it is called.
        dialect: how it is written.
        stack: what puts columns together, from the module and the inputs, which say the batch and the type.
    """

    name: str
    title: str
    dialect: arrays.Dialect
    stack: Callable[[Any, Sequence[Any]], Stack]

    def module(self) -> Any:
        """The library.

        Raises:
            CompileError: if it is missing.
        """
        try:
            return importlib.import_module(self.name)
        except ImportError as error:
            needed = f"{self.title} ({install_command(self.name)})"
            raise CompileError(f"the target {self.name!r} needs {needed}: {error}") from None

    def source(self, program: Program) -> str:
        """Write a program as a Python function of the library's arrays."""
        return arrays.function_source(program, self.dialect)

    def function(self, program: Program) -> Callable[..., tuple[Any, ...]]:
        """A program as a function of arrays (..., size) that gives a tuple of such arrays.

        All inputs have one type, and on PyTorch one device and one batch (N, size); so have the results.
        Batches of JAX broadcast.
        """
        columns, module = arrays.make_function(program, self.dialect), self.module()

        def evaluate(*values: Any) -> tuple[Any, ...]:
            stack = self.stack(module, values)
            return tuple(stack(parts) for parts in columns(*values))

        return evaluate


def _stack_jax(module: Any, values: Sequence[Any]) -> Stack:
    jnp = module.numpy
    batch = jnp.broadcast_shapes(*(value.shape[:-1] for value in values))
    kind = jnp.result_type(*values)

    def stack(parts: list[Any]) -> Any:
        if not parts:
            return jnp.zeros((*batch, 0), kind)
        return jnp.stack([jnp.broadcast_to(jnp.asarray(part, kind), batch) for part in parts], axis=-1)

    return stack


def _stack_torch(module: Any, values: Sequence[Any]) -> Stack:
    count, like = len(values[0]), {"dtype": values[0].dtype, "device": values[0].device}

    def stack(parts: list[Any]) -> Any:
        if not parts:
            return module.zeros((count, 0), **like)
        return module.stack([module.as_tensor(part, **like).expand(count) for part in parts], dim=-1)

    return stack


_JAX_DIALECT = arrays.Dialect(
    "import jax.numpy as jnp",
    "jnp",
    {
        # Numbers are divided as IEEE 754 says, where Python raises.
        "div": "jnp.divide({}, {})",
        "where": "jnp.where(jnp.greater({}, 0.0), {}, {})",
        "abs": "jnp.absolute({})",
        "atan2": "jnp.arctan2({}, {})",
        "min": "jnp.minimum({}, {})",
        "max": "jnp.maximum({}, {})",
    },
)

_TORCH_HEAD = '''
import torch


def _tensor(x):
    """A number as a tensor without dimensions, which takes type and device of others."""
    return x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64)


def _sign(x):
    """-1, 0 or 1; NaN stays NaN."""
    return torch.where(torch.isnan(x), x, torch.sign(x))
'''

_TORCH_DIALECT = arrays.Dialect(
    _TORCH_HEAD,
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

JAX = ArrayLibrary("jax", "JAX", _JAX_DIALECT, _stack_jax)
TORCH = ArrayLibrary("torch", "PyTorch", _TORCH_DIALECT, _stack_torch)
LIBRARIES = {library.name: library for library in (JAX, TORCH)}
"""Libraries whose functions have derivatives, by the names of their targets."""

for _library in LIBRARIES.values():
    register(Target(_library.name, _library.source))
