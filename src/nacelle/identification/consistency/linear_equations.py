"""All solutions of linear equations A z = b, with exact zeros and ones where the equations have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.spatial.scalar import Array

# What is left of a row below this part of it is rounding.
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Solutions:
    """All solutions z = z0 + Z u.

    Attributes:
        z0: (n,).
        Z: (n, free).
        free: places of the unknowns that are u.
    """

    z0: Array
    Z: Array
    free: tuple[int, ...]

    def nearby(self, z: Array) -> Array:
        """The solution z_0 + Z z_free (unknowns,) that agrees with z (unknowns,) in the free unknowns."""
        return np.asarray(self.z0 + self.Z @ z[list(self.free)])


def all_solutions(A: Array, b: Array, unit: Array) -> Solutions:
    """Solve A z = b: z = z_0 + Z u for free numbers u.

    By elimination with full pivoting (Gauss and Jordan), not by orthogonal matrices: an equation z_i = z_j
    or z_k = 0 then holds in every digit.

    Args:
        A: (equations, n).
        b: (equations,).
        unit: (n,) size of each unknown, by which pivots are compared.

    Raises:
        IdentificationError: if the equations contradict each other.
    """
    n = A.shape[1]
    rows = np.hstack([A * unit, b[:, None]])
    scale = np.max(np.abs(rows[:, :n]), axis=1, initial=0.0)
    empty = scale == 0.0
    if np.any(b[empty] != 0.0):
        raise IdentificationError("what is required of the parameters contradicts itself")
    rows = rows[~empty] / scale[~empty, None]
    pivots: list[tuple[int, int]] = []
    left = np.ones(len(rows), dtype=bool)
    while left.any():
        open_rows = np.flatnonzero(left)
        i, j = divmod(int(np.argmax(np.abs(rows[open_rows, :n]))), n)
        row = int(open_rows[i])
        if abs(rows[row, j]) < _NOTHING:
            break
        rows[row] /= rows[row, j]
        others = np.flatnonzero(rows[:, j])
        others = others[others != row]
        rows[others] -= np.outer(rows[others, j], rows[row])
        rows[others, j] = 0.0
        left[row] = False
        pivots.append((row, j))
    if np.any(np.abs(rows[left, n]) > _NOTHING * max(1.0, float(np.max(np.abs(rows[:, n]), initial=0.0)))):
        raise IdentificationError("what is required of the parameters contradicts itself")
    led = {j for _, j in pivots}
    free = [k for k in range(n) if k not in led]
    z0, Z = np.zeros(n), np.zeros((n, len(free)))
    Z[free, range(len(free))] = 1.0
    for row, j in pivots:
        z0[j] = rows[row, n] * unit[j]
        # In units of the unknowns, and exactly one where two of them are equal.
        Z[j] = -rows[row, free] * (unit[j] / unit[free])
    return Solutions(z0, Z, tuple(free))
