"""Operators of scalars that are objects: Python's + - * / and functions, by the name of the operation.

The names are those of a program's operations: "add", "sub", "mul", "div"; "sqrt", "sin" and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Operators:
    """Arithmetic; NumPy leaves that between arrays and such a scalar to the scalar."""

    __slots__ = ()
    __array_ufunc__ = None

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        """The operation on self and another scalar or an array of them, in the other order if swapped."""
        raise NotImplementedError  # each kind of scalar has its own

    def __add__(self, other: Any) -> Any:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("sub", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("mul", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("div", other, True)


class Functions(Operators):
    """Arithmetic and functions of one argument, as methods: NumPy calls them for arrays of objects."""

    __slots__ = ()

    def _unary(self, op: str) -> Any:
        """The function of self."""
        raise NotImplementedError  # each kind of scalar has its own

    def __abs__(self) -> Any:
        return self._unary("abs")

    def sqrt(self) -> Any:
        """Square root."""
        return self._unary("sqrt")

    def sin(self) -> Any:
        """Sine."""
        return self._unary("sin")

    def cos(self) -> Any:
        """Cosine."""
        return self._unary("cos")

    def tanh(self) -> Any:
        """Hyperbolic tangent."""
        return self._unary("tanh")

    def exp(self) -> Any:
        """Exponential."""
        return self._unary("exp")

    def sign(self) -> Any:
        """Sign, 0 at 0."""
        return self._unary("sign")

    def floor(self) -> Any:
        """The largest whole number that is not above it."""
        return self._unary("floor")


def map_entries(function: Callable[[Any], Any], array: NDArray[Any]) -> NDArray[Any]:
    """Apply a function to every entry; the result is an array of objects."""
    result = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        result[index] = function(entry)
    return result
