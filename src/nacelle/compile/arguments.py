"""The arguments of a compiled function, by position or by name, with leading batch dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


def given_results(
    function: str,
    outputs: Mapping[str, tuple[int, ...]],
    batch: tuple[int, ...],
    out: Any,
    array_of: Callable[[str, Any], Any],
) -> dict[str, Any]:
    """The arrays by name that a caller gave for the results of a function.

    Args:
        function: its name, for messages.
        outputs: names and shapes of its results.
        batch: the batch dimensions of a call.
        out: an array where there is one result, or a mapping of arrays by name.
        array_of: the array of a name and what was given for it; refuses what cannot be written to.
    """
    given: Mapping[str, Any] = out if isinstance(out, Mapping) else {next(iter(outputs)): out}
    if set(given) != set(outputs):
        raise CompileError(f"out of {function} has {', '.join(given)}, not {', '.join(outputs)}")
    made = {name: array_of(name, given[name]) for name in outputs}
    for name, shape in outputs.items():
        if made[name].shape != batch + shape:
            raise CompileError(f"out {name!r} has shape {made[name].shape}, not {batch + shape}")
    return made


def writable(name: str, array: Any) -> NDArray[Any]:
    """An array of a caller that a result is written to, as it is."""
    flags = array.flags if isinstance(array, np.ndarray) and array.dtype == np.float64 else None
    if flags is None or not flags.c_contiguous or not flags.writeable:
        raise CompileError(f"out {name!r} must be a C-contiguous float64 array that can be written to")
    return array  # type: ignore[no-any-return]  # isinstance forgets Any
