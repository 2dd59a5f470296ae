"""Batches: many samples as one scalar, so that physics runs over a batch without being compiled.

A batch holds one float a sample. Arrays of batches are arrays of objects, like arrays of symbols, so a vector
has shape (3,) whatever its scalars are, and constants and batches mix freely. It is the uncompiled path: the
reference for compiled programs.
"""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.spatial.operators import Functions, map_entries

_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
_UNARY = {"abs": np.abs} | {
    op: getattr(np, op) for op in ("sqrt", "sin", "cos", "tanh", "exp", "sign", "floor")
}
_NUMBERS = (int, float, np.floating, np.integer)


class _SilentContext(threading.local):
    """For each thread a context in which NumPy keeps silent about overflow, division by zero and the like.

    Running an operation in it costs a tenth of `np.errstate`, which takes longer than the operation.
    """

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_silent = _SilentContext()


_new = object.__new__


class Batch(Functions):
    """A scalar that is an array of samples; arithmetic is sample by sample."""

    __slots__ = ("samples",)

    def __init__(self, samples: Any) -> None:
        self.samples: NDArray[np.float64] = np.asarray(samples, dtype=np.float64)

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        kind = type(other)
        if kind is Batch:
            value: Any = other.samples
        elif kind is float or isinstance(other, _NUMBERS):
            value = other
        elif isinstance(other, np.ndarray):
            return map_entries(lambda entry: self._binary(op, entry, swapped), other)
        else:
            return NotImplemented
        if swapped:
            samples = _silent.run(_BINARY[op], value, self.samples)
        else:
            samples = _silent.run(_BINARY[op], self.samples, value)
        if type(samples) is not np.ndarray:
            # One sample alone.
            return Batch(samples)
        batch = _new(Batch)
        batch.samples = samples
        return batch

    def __neg__(self) -> Batch:
        return Batch(-self.samples)

    def __bool__(self) -> bool:
        raise TypeError("a batch cannot decide a branch: use where(condition, a, b)")

    def __repr__(self) -> str:
        """Give the samples."""
        return f"Batch({self.samples})"

    def _unary(self, op: str) -> Batch:
        return Batch(_silent.run(_UNARY[op], self.samples))

    def atan2(self: Any, x: Any) -> Batch:
        """Angle of the point (x, self)."""
        return Batch(np.arctan2(_samples(self), _samples(x)))

    def minimum(self: Any, other: Any) -> Batch:
        """Smaller of two scalars."""
        return Batch(np.minimum(_samples(self), _samples(other)))

    def maximum(self: Any, other: Any) -> Batch:
        """Larger of two scalars."""
        return Batch(np.maximum(_samples(self), _samples(other)))

    def where(self: Any, a: Any, b: Any) -> Batch:
        """`a` where self > 0, `b` elsewhere."""
        return Batch(np.where(_samples(self) > 0, _samples(a), _samples(b)))

    @staticmethod
    def solve(A: NDArray[Any], b: NDArray[Any], kind: str) -> NDArray[Any]:
        """Solve A x = b sample by sample; singular samples give NaN."""
        from nacelle.spatial.solve import solve_batch

        A_batch, b_batch = to_samples(A), to_samples(b)
        if kind == "spd":
            A_batch = np.tril(A_batch) + np.swapaxes(np.tril(A_batch, -1), -1, -2)
        many = b.ndim > 1
        x = solve_batch(A_batch, b_batch if many else b_batch[..., None])
        return from_samples(x if many else x[..., 0], b.ndim)


def _samples(value: Any) -> Any:
    return value.samples if isinstance(value, Batch) else value


def from_samples(batch: Any, rank: int) -> NDArray[Any]:
    """Make an array of batches from samples that lead: (N, *shape) to shape, with `rank` axes of shape."""
    array = np.asarray(batch, dtype=np.float64)
    shape = array.shape[array.ndim - rank :]
    flat = array.reshape(*array.shape[: array.ndim - rank], -1)
    result = np.empty(flat.shape[-1], dtype=object)
    for k in range(flat.shape[-1]):
        result[k] = Batch(flat[..., k])
    return result.reshape(shape)


def to_samples(array: Any) -> NDArray[np.float64]:
    """Give an array of batches and numbers as samples that lead: shape to (N, *shape)."""
    cells = np.asarray(array, dtype=object)
    flat = [_samples(cell) for cell in cells.ravel()]
    shapes = [np.shape(samples) for samples in flat]
    batch = np.broadcast_shapes(*shapes) if shapes else ()
    columns = [np.broadcast_to(samples, batch) for samples in flat]
    stacked = np.stack(columns, axis=-1) if columns else np.zeros((*batch, 0))
    return np.asarray(stacked, dtype=np.float64).reshape(batch + cells.shape)
