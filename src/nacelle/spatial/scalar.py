"""The scalar contract: one set of primitives for floats, batches, traced symbols and mpmath numbers.

Physics is written with arrays of *scalars*. A scalar is

- a float,
- a *batch*, many samples as one scalar (`nacelle.spatial.batch`),
- a float that remembers how it was made (`nacelle.spatial.recorded`),
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

from nacelle.spatial.recorded import Recorded, is_recorded, record_operation
from nacelle.spatial.rounding import cancelling_array_sum, cancelling_sum, ordered_product, ordered_sum

Scalar: TypeAlias = Any
Array: TypeAlias = NDArray[Any]


def pack(entries: Any) -> Array:
    """Make an array from nested sequences of scalars: of floats if all of them are, else of objects."""
    array = np.array(entries)
    if array.dtype == object:
        return array
    return np.array(entries, dtype=object) if is_recorded(entries) else array.astype(float, copy=False)


_FLOATS = (float, int, np.floating, np.integer)


def is_zero(value: Scalar) -> bool:
    """Whether a scalar is the number 0, also as a constant of a trace."""
    # Most are floats, and this is asked of every number.
    if type(value) is float or isinstance(value, _FLOATS):
        return bool(value == 0.0)
    return getattr(value, "constant", None) == 0.0


def _apply(name: str, *arguments: Scalar) -> Scalar:
    """Call the primitive `name` on scalars, or entry by entry on arrays of them."""
    if any(isinstance(a, Recorded) for a in arguments) and all(isinstance(a, _FLOATS) for a in arguments):
        return record_operation(_RECORDED.get(name, name), *arguments)
    if all(isinstance(a, _FLOATS) or (isinstance(a, np.ndarray) and a.dtype != object) for a in arguments):
        return _FUNCTIONS[name](*arguments)
    if any(isinstance(a, np.ndarray) for a in arguments):
        return _apply_entrywise(name, arguments)
    mpmath = sys.modules.get("mpmath")
    if mpmath is not None and all(isinstance(a, mpmath.mpf | float | int) for a in arguments):
        return _mpmath(mpmath, name, *arguments)
    method = _METHODS.get(name, name)
    if hasattr(arguments[0], method):
        return getattr(arguments[0], method)(*arguments[1:])
    owner = next(type(a) for a in arguments if hasattr(a, method))
    return getattr(owner, method)(*arguments)


def _apply_entrywise(name: str, arguments: tuple[Scalar, ...]) -> Array:
    """Apply a primitive entry by entry; single scalars go with every entry."""
    shape = np.broadcast_shapes(*(a.shape for a in arguments if isinstance(a, np.ndarray)))
    spread = [np.broadcast_to(a, shape) if isinstance(a, np.ndarray) else a for a in arguments]
    result = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        result[index] = _apply(name, *(a[index] if isinstance(a, np.ndarray) else a for a in spread))
    return result


def _where(condition: Any, a: Any, b: Any) -> Any:
    if any(isinstance(value, np.ndarray) for value in (condition, a, b)):
        return np.where(condition > 0, a, b)
    return a if condition > 0 else b


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        *("sqrt", "sin", "cos", "tanh", "exp", "arctan2", "absolute", "sign", "floor"),
        *("minimum", "maximum"),
    )
} | {"where": _where}
_RECORDED = {"absolute": "abs", "arctan2": "atan2", "minimum": "min", "maximum": "max"}
_METHODS = {"absolute": "__abs__", "arctan2": "atan2"}


def _mpmath(mpmath: Any, name: str, *arguments: Any) -> Any:
    """A primitive on mpmath numbers, under the names that mpmath has for it."""
    if name == "where":
        return _where(*arguments)
    if name in ("minimum", "maximum"):
        if any(mpmath.isnan(a) for a in arguments):
            return mpmath.nan
        return (min if name == "minimum" else max)(arguments)
    return getattr(mpmath, {"absolute": "fabs", "arctan2": "atan2"}.get(name, name))(*arguments)


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


def floor(x: Scalar) -> Scalar:
    """The largest whole number that is not above x; NaN and infinities stay what they are."""
    return _apply("floor", x)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two scalars; NaN if either is NaN."""
    return _apply("minimum", a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two scalars; NaN if either is NaN."""
    return _apply("maximum", a, b)


def where(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Choose `a` where `condition` > 0 and `b` elsewhere; both are evaluated."""
    return _apply("where", condition, a, b)


def sample_values(values: Any) -> Array:
    """Scalars as floats, for decisions: symbols of numbers that are given at run time have a sample value.

    Raises:
        TypeError: if one is a symbol of something else.
    """
    flat = [_sample_value(value) for value in np.ravel(np.asarray(values, dtype=object))]
    return np.array(flat, dtype=float).reshape(np.shape(values))


def _sample_value(value: Scalar) -> float:
    sample = getattr(value, "sample", value)
    return float(value if sample is None else sample)


def fold_constants(values: Array) -> Array:
    """Scalars of which symbols of plain constants are floats; an array of floats if all of them are."""
    if values.dtype != object:
        return values
    flat = [getattr(value, "folded", value) for value in values.ravel()]
    return pack(flat).reshape(values.shape) if flat else values


def divide(a: Scalar, b: Scalar) -> Scalar:
    """Quotient a / b; a float divided by zero gives an infinity or NaN, as in every target."""
    if isinstance(a, float | int) and isinstance(b, float | int):
        if b:
            return float(a) / float(b)
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))
    return a / b


def plus(a: Scalar, b: Scalar) -> Scalar:
    """Sum of two scalars, or of two arrays of them entry by entry; floats that cancel to rounding give 0."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != object and b.dtype != object:
            return cancelling_array_sum(a, b)
        a, b = np.broadcast_arrays(a, b)
        result = np.empty(a.shape, dtype=object)
        for index in np.ndindex(a.shape):
            result[index] = plus(a[index], b[index])
        return result
    return cancelling_sum(a, b) if isinstance(a, float) and isinstance(b, float) else a + b


def product(A: Array, B: Array) -> Array:
    """Product A B of matrices or vectors; sums of floats run in order, and are 0 where they cancel.

    The result does not depend on the machine's linear algebra, in the last bit neither: constants of
    programs are made with it.
    """
    if A.shape[-1] == 0:
        return np.asarray(A @ B)
    left, right = (A if A.ndim > 1 else A[None]), (B if B.ndim > 1 else B[:, None])
    if A.dtype != object and B.dtype != object:
        product = ordered_product(left, right)
    else:
        product = np.empty((left.shape[0], right.shape[1]), dtype=object)
        columns = [list(right[:, j]) for j in range(right.shape[1])]
        for i in range(left.shape[0]):
            row = list(left[i])
            for j, column in enumerate(columns):
                product[i, j] = sum_of_products(row, column)
    return np.asarray(product.reshape(A.shape[:-1] + B.shape[1:]))


def sum_of_products(row: list[Scalar], column: list[Scalar]) -> Scalar:
    """Sum of x y over two lists of one length, in order; floats that cancel to rounding give 0."""
    terms = [x * y for x, y in zip(row, column, strict=True)]
    if terms and isinstance(terms[0], float) and all(isinstance(term, float) for term in terms):
        return ordered_sum(terms)
    summed = terms[0]
    for term in terms[1:]:
        summed = summed + term
    return summed


def sparse_product(A: Array, B: Array) -> Array:
    """Product A B of matrices of which most entries are the number 0: these are passed over.

    The sums are those of `product` of traced matrices; where nothing is left to add they are 0.0.
    """
    rows, columns = [nonzero(row) for row in A], [nonzero(column) for column in B.T]
    result = np.full((len(rows), len(columns)), 0.0, dtype=object)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            common = [k for k in row if k in column]
            if common:
                result[i, j] = sum_of_products([row[k] for k in common], [column[k] for k in common])
    return result


def nonzero(values: Array) -> dict[int, Scalar]:
    """Entries of a vector that are not the number 0, by their places in order."""
    return {k: value for k, value in enumerate(values.tolist()) if not is_zero(value)}


def dot(a: Array, b: Array) -> Scalar:
    """Inner product of two vectors, sum of a_i b_i in order; floats that cancel to rounding give 0."""
    return sum_of_products(a.tolist(), b.tolist())


def cross(a: Array, b: Array) -> Array:
    """Cross product a x b of two vectors of length three; floats that cancel to rounding give 0."""
    if a.ndim == b.ndim == 1 and a.dtype != object and b.dtype != object:
        (u, v, w), (x, y, z) = a.tolist(), b.tolist()
        return np.array(
            [cancelling_sum(v * z, -w * y), cancelling_sum(w * x, -u * z), cancelling_sum(u * y, -v * x)]
        )
    return pack(
        [
            plus(a[1] * b[2], -(a[2] * b[1])),
            plus(a[2] * b[0], -(a[0] * b[2])),
            plus(a[0] * b[1], -(a[1] * b[0])),
        ]
    )


def norm(v: Array) -> Scalar:
    """Euclidean length of a vector, sqrt(a . a)."""
    return sqrt(dot(v, v))
