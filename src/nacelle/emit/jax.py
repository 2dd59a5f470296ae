"""The target "jax": a program as a function of jax.numpy, to be traced and compiled by XLA."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from nacelle.emit.python import arrays
from nacelle.emit.registry import Target, register
from nacelle.errors import CompileError
from nacelle.program.program import Program

DIALECT = arrays.Dialect(
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


def jax() -> Any:
    """JAX.

    Raises:
        CompileError: if it is missing.
    """
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise CompileError(f"the target 'jax' needs JAX (pip install 'nacelle[jax]'): {error}") from None


def source(program: Program) -> str:
    """Write a program as a Python function of jax.numpy's arrays."""
    return arrays.source(program, DIALECT)


def function(program: Program) -> Callable[..., Any]:
    """A program as a function of arrays (..., size) that gives a tuple of such arrays, in the inputs' type.

    All inputs have the same type; batches broadcast.
    """
    columns = arrays.function(program, DIALECT)
    jnp = jax().numpy

    def evaluated(*values: Any) -> tuple[Any, ...]:
        batch = jnp.broadcast_shapes(*(value.shape[:-1] for value in values))
        kind = jnp.result_type(*values)

        def joined(parts: list[Any]) -> Any:
            if not parts:
                return jnp.zeros((*batch, 0), kind)
            return jnp.stack([jnp.broadcast_to(jnp.asarray(part, kind), batch) for part in parts], axis=-1)

        return tuple(joined(parts) for parts in columns(*values))

    return evaluated


register(Target("jax", source))
