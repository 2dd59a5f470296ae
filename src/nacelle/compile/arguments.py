"""The arguments of a compiled function, by position or by name, with leading batch dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.errors import CompileError, did_you_mean


def arguments_of(
    function: str,
    inputs: Mapping[str, tuple[int, ...]],
    arrays: Sequence[Any],
    named: Mapping[str, Any],
    *,
    partly: bool = False,
) -> list[Any]:
    """The arguments of a function in order, given by position or by name; all of them unless `partly`."""
    names = list(inputs)
    if len(arrays) > len(names):
        raise CompileError(f"{function} takes {len(names)} inputs ({', '.join(names)}), got {len(arrays)}")
    values = dict(zip(names, arrays, strict=False))
    for name, value in named.items():
        if name not in inputs:
            what = "input or output" if partly else "input"
            raise CompileError(f"{function} has no {what} {name!r}; {did_you_mean(name, names)}")
        if name in values:
            raise CompileError(f"the input {name!r} of {function} is given twice")
        values[name] = value
    # An input without entries, such as y of a robot without iteration, need not be given.
    if not partly:
        values = {**{name: np.zeros(inputs[name]) for name in names if 0 in inputs[name]}, **values}
    missing = [name for name in names if name not in values]
    if missing and not partly:
        raise CompileError(f"{function} needs the inputs {', '.join(missing)}")
    return [values[name] for name in names if name in values]


def batched(
    function: str, inputs: Mapping[str, tuple[int, ...]], values: Sequence[Any]
) -> tuple[list[NDArray[Any]], list[tuple[int, ...]]]:
    """The inputs of a function as arrays, and the batch dimensions of each, which broadcast."""
    arrays, batches = [], []
    for (name, shape), value in zip(inputs.items(), values, strict=True):
        array = np.asarray(value, dtype=np.float64)
        rank = len(shape)
        if array.shape[array.ndim - rank :] != shape or array.ndim < rank:
            raise CompileError(
                f"the input {name!r} of {function} has shape (..., "
                f"{', '.join(map(str, shape))}), got {array.shape}"
            )
        arrays.append(array)
        batches.append(array.shape[: array.ndim - rank])
    try:
        np.broadcast_shapes(*batches)
    except ValueError:
        words = ", ".join(f"{name} {b}" for name, b in zip(inputs, batches, strict=True))
        raise CompileError(f"the batch dimensions do not broadcast: {words}") from None
    return arrays, batches
