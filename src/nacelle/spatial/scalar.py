"""The scalar contract: one set of primitives for floats, lanes, traced symbols and mpmath numbers.

Physics is written with arrays of *scalars*. A scalar is

- a float,
- a *lane*, many samples as one scalar (`nacelle.spatial.lane`),
- an object of any class with arithmetic operators and with methods named as the primitives below
  (a traced symbol),
- an mpmath number.

Arrays of floats are plain NumPy arrays, arrays of the others have the type object; their shapes are the
same. Physics never writes in place and never branches on a value: `where` chooses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scalar: TypeAlias = Any
Array: TypeAlias = NDArray[Any]

_MPMATH_NAMES = {"absolute": "fabs", "arctan2": "atan2"}
_METHOD_NAMES = {"absolute": "__abs__", "arctan2": "atan2"}


def pack(entries: Any) -> Array:
    """Make an array from nested sequences of scalars: of floats if all of them are, else of objects."""
    array = np.array(entries)
    return array if array.dtype == object else array.astype(float, copy=False)


def _apply(name: str, *arguments: Scalar) -> Scalar:
    """Call the primitive `name` on scalars of one kind, or entry by entry on arrays of objects."""
    if any(isinstance(a, np.ndarray) and a.dtype == object for a in arguments):
        return np.frompyfunc(lambda *entries: _apply(name, *entries), len(arguments), 1)(*arguments)
    if all(isinstance(a, float | int | np.floating | np.integer | np.ndarray) for a in arguments):
        function: Callable[..., Any] = getattr(np, name)
        return function(*arguments)
    mpmath = sys.modules.get("mpmath")
    if mpmath is not None and any(isinstance(a, mpmath.mpf) for a in arguments):
        return getattr(mpmath, _MPMATH_NAMES.get(name, name))(*arguments)
    owner = next(a for a in arguments if hasattr(a, _METHOD_NAMES.get(name, name)))
    if arguments[0] is owner:
        return getattr(owner, _METHOD_NAMES.get(name, name))(*arguments[1:])
    return getattr(type(owner), _METHOD_NAMES.get(name, name))(*arguments)


def sqrt(x: Scalar) -> Scalar:
    """Square root."""
    return _apply("sqrt", x)


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in radians."""
    return _apply("sin", x)


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in radians."""
    return _apply("cos", x)


def tanh(x: Scalar) -> Scalar:
    """Hyperbolic tangent."""
    return _apply("tanh", x)


def exp(x: Scalar) -> Scalar:
    """Exponential."""
    return _apply("exp", x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y), in (-pi, pi]."""
    return _apply("arctan2", y, x)


def absolute(x: Scalar) -> Scalar:
    """Absolute value."""
    return _apply("absolute", x)


def sign(x: Scalar) -> Scalar:
    """Return -1, 0 or 1; zero has the sign 0 in every target."""
    return _apply("sign", x)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two scalars."""
    return _apply2("minimum", a, b, min)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two scalars."""
    return _apply2("maximum", a, b, max)


def _apply2(name: str, a: Scalar, b: Scalar, fallback: Callable[[Any, Any], Any]) -> Scalar:
    """Call a two-sided primitive; numbers that know no such method are compared."""
    mpmath = sys.modules.get("mpmath")
    if mpmath is not None and (isinstance(a, mpmath.mpf) or isinstance(b, mpmath.mpf)):
        return fallback(a, b)
    return _apply(name, a, b)


def where(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Choose `a` where `condition` > 0 and `b` elsewhere; both are evaluated."""
    numbers = (float, int, np.floating, np.integer)
    if isinstance(condition, numbers) and isinstance(a, numbers) and isinstance(b, numbers):
        return a if condition > 0 else b
    if isinstance(condition, np.ndarray) and condition.dtype != object:
        return np.where(condition > 0, a, b)
    mpmath = sys.modules.get("mpmath")
    if mpmath is not None and isinstance(condition, mpmath.mpf | float | int):
        return a if condition > 0 else b
    return _apply("where", condition, a, b)


def divide(a: Scalar, b: Scalar) -> Scalar:
    """Quotient a / b; a float divided by zero gives an infinity or NaN, as in every target."""
    if isinstance(a, float | int) and isinstance(b, float | int):
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))
    return a / b


def dot(a: Array, b: Array) -> Scalar:
    """Inner product of two vectors, sum of a_i b_i."""
    return a @ b


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two vectors of length three."""
    return pack(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    )


def norm(v: Array) -> Scalar:
    """Euclidean length of a vector."""
    return sqrt(dot(v, v))
