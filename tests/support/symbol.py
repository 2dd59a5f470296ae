"""A tiny symbolic scalar: arithmetic and the primitives of the contract, and nothing else.

It holds a number only to be looked at by `value`; asking it for its truth, its order or its float
fails, as with a traced symbol, so that code which branches on a value is caught.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _is_array(other: Any) -> bool:
    """Whether arithmetic is NumPy's to do, entry by entry."""
    return isinstance(other, np.ndarray)


class Symbol:
    """An expression that knows what it evaluates to."""

    def __init__(self, value: float) -> None:
        self._value = np.float64(value)

    def _of(self, *others: Any) -> list[np.float64]:
        return [np.float64(o._value if isinstance(o, Symbol) else o) for o in (self, *others)]

    # Methods may be called with a number as self: minimum(0.0, symbol).
    def _call(self, function: Any, *others: Any) -> Symbol:
        return Symbol(function(*Symbol._of(self, *others)))

    def __add__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else Symbol._call(self, np.add, other)

    def __radd__(self, other: Any) -> Symbol:
        return Symbol._call(other, np.add, self)

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else Symbol._call(self, np.subtract, other)

    def __rsub__(self, other: Any) -> Symbol:
        return Symbol._call(other, np.subtract, self)

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else Symbol._call(self, np.multiply, other)

    def __rmul__(self, other: Any) -> Symbol:
        return Symbol._call(other, np.multiply, self)

    def __truediv__(self, other: Any) -> Any:
        return NotImplemented if _is_array(other) else Symbol._call(self, np.divide, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return Symbol._call(other, np.divide, self)

    def __neg__(self) -> Symbol:
        return Symbol(-self._value)

    def __abs__(self) -> Symbol:
        return Symbol(abs(self._value))

    def sqrt(self) -> Symbol:
        return Symbol(np.sqrt(self._value))

    def sin(self) -> Symbol:
        return Symbol(np.sin(self._value))

    def cos(self) -> Symbol:
        return Symbol(np.cos(self._value))

    def tanh(self) -> Symbol:
        return Symbol(np.tanh(self._value))

    def exp(self) -> Symbol:
        return Symbol(np.exp(self._value))

    def sign(self) -> Symbol:
        return Symbol(np.sign(self._value))

    def floor(self) -> Symbol:
        return Symbol(np.floor(self._value))

    def atan2(self, other: Any) -> Symbol:
        return Symbol._call(self, np.arctan2, other)

    def minimum(self, other: Any) -> Symbol:
        return Symbol._call(self, np.minimum, other)

    def maximum(self, other: Any) -> Symbol:
        return Symbol._call(self, np.maximum, other)

    def where(self, a: Any, b: Any) -> Symbol:
        return Symbol._call(self, lambda c, x, y: x if c > 0 else y, a, b)

    def _refuse(self, *_: Any) -> Any:
        raise TypeError("a symbol has no value to branch on")

    __bool__ = __float__ = __int__ = __index__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Symbol({self._value!r})"


def symbols(array: Any) -> np.ndarray:
    """An array of symbols with the given values."""
    numbers = np.asarray(array, dtype=float)
    result = np.empty(numbers.shape, dtype=object)
    for index in np.ndindex(numbers.shape):
        result[index] = Symbol(numbers[index])
    return result


def value(item: Any) -> float:
    """What a scalar evaluates to."""
    return float(item._value) if isinstance(item, Symbol) else float(item)


def values(array: Any) -> np.ndarray:
    """What an array of symbols and floats evaluates to."""
    items = np.asarray(array, dtype=object)
    result = np.empty(items.shape)
    for index in np.ndindex(items.shape):
        result[index] = value(items[index])
    return result
