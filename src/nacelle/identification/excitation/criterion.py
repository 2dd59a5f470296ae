"""How well rows R (rows, parameters) determine the parameters: condition and determinant, with derivatives.

With the singular values R = U diag(s) V^T, s_1 the largest of p, and columns in units of the parameters,

    condition    s_1 / s_p                  a relative error of the forces grows by so much at most
    log-det      -log det(R^T R) / 2 = -sum of log s_i        (D-optimal: the volume of the confidence set)

The derivative of a function of the singular values is U diag(df/ds) V^T. The condition itself has none where
singular values meet, which is what its minimisation leads to; so the logarithm of

    (sum of s_i^q)^(1/q) (sum of s_i^-q)^(1/q)

is minimised, which is smooth and, as q grows, falls to the condition from above, by p^(2/q) at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array

CRITERIA = ("condition", "log-det")
# Singular values below this part of the largest are rounding.
_ROUNDING = 1e-13


class Value(NamedTuple):
    """A criterion and its derivative.

    Attributes:
        value: what is minimised.
        slope: its derivative by the rows (rows, parameters).
    """

    value: float
    slope: Array


def criterion(name: str, R: Array, order: float = 8.0) -> Value:
    """A criterion at rows R (rows, parameters), to be minimised.

    Args:
        name: "condition" or "log-det".
        R: the rows.
        order: q of the smooth condition.
    """
    U, s, Vt = np.linalg.svd(R, full_matrices=False)
    s = np.maximum(s, _ROUNDING * s[0])
    if name == "log-det":
        return Value(float(-np.sum(np.log(s))), -(U / s) @ Vt)
    up, down = (s / s[0]) ** order, (s[-1] / s) ** order
    value = np.log(s[0] / s[-1]) + (np.log(np.sum(up)) + np.log(np.sum(down))) / order
    slope = (up / np.sum(up) - down / np.sum(down)) / s
    return Value(float(value), (U * slope) @ Vt)


def condition(R: Array) -> float:
    """The condition number of rows (rows, parameters) in the 2-norm."""
    s = np.linalg.svd(R, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")
