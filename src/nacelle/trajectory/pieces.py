"""Any trajectory as Chebyshev polynomials between its knots, for code that knows no trajectories.

Between two times t_k and t_(k+1) every entry of [x; v; a] is

    sum over j of c_j T_j(u),      u = 2 (t - t_k) / (t_(k+1) - t_k) - 1,      T_j(cos w) = cos(j w)

m, rad, their rates and second derivatives, base axes. x, v and a have polynomials of their own, so that none
loses digits by differences. Coefficients follow from values at the nodes cos((i + 1/2) pi / N) of a piece,
which avoid its ends, where accelerations may jump. A piece whose last coefficients are not below rounding is
halved.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Sample, TrajectoryError

# Nodes of a piece, and of its coefficients those at the end that must have died out.
_NODES, _TAIL = 24, 4
# What has died out, over the largest entry of x, v or a; and what leaves no trace in a sum.
_SMALL, _NOTHING = 1e-13, 1e-15
# Halvings of a piece after which a trajectory has no such pieces.
_HALVINGS = 16
# The largest error between nodes, over the largest entry of x, v or a.
TOLERANCE = 1e-12


class Pieces(NamedTuple):
    """Pieces of a trajectory.

    Attributes:
        times: ends of the pieces (P + 1,), s.
        coefficients: of [x; v; a] in every piece (P, degree + 1, nx + 2 n).
        sizes: nx, n and n.
    """

    times: Array
    coefficients: Array
    sizes: tuple[int, int, int]

    def at(self, t: Array) -> Array:
        """[x; v; a] (m, nx + 2 n) at times (m,) within the pieces, by Clenshaw's recursion.

        In the type of the times: in single precision, too.
        """
        kind = t.dtype
        times, table = self.times.astype(kind), self.coefficients.astype(kind)
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(table) - 1)
        u = (kind.type(2.0) * (t - times[k]) / (times[k + 1] - times[k]) - kind.type(1.0))[:, None]
        last = before = np.zeros((len(t), table.shape[2]), dtype=kind)
        for j in range(table.shape[1] - 1, 0, -1):
            last, before = kind.type(2.0) * u * last - before + table[k, j], last
        return np.asarray(u * last - before + table[k, 0])


def trajectory_pieces(sample: Callable[[Array], Sample], knots: Array, *, checks: int = 997) -> Pieces:
    """The pieces of a motion that is smooth between knots (K,), s.

    Args:
        sample: the motion at times (m,), s.
        knots: times from the first to the last.
        checks: at how many times the pieces are compared with the motion.

    Raises:
        TrajectoryError: if it is not smooth there, or not finite.
    """

    def rows(t: Array) -> Array:
        return np.concatenate(sample(t), axis=-1)

    x, v, a = sample(0.5 * (knots[1:] + knots[:-1]))
    sizes = (x.shape[-1], v.shape[-1], a.shape[-1])
    # What an error counts relative to: the largest entry of each of x, v and a.
    probes = rows(np.linspace(knots[0], knots[-1], 8 * len(knots) + min(checks, 200)))
    groups = np.repeat(np.arange(3), sizes)
    largest = np.array([np.max(np.abs(probes[:, groups == group])) for group in range(3)])
    scale = np.maximum(largest, 1e-9)[groups]
    basis = np.cos((np.arange(_NODES) + 0.5) * np.pi / _NODES)
    transform = np.cos(np.arange(_NODES)[:, None] * np.arccos(basis)) * (2.0 / _NODES)
    transform[0] *= 0.5
    ends, parts = [float(knots[0])], []
    waiting = [(float(low), float(high), _HALVINGS) for low, high in pairwise(knots)]
    waiting.reverse()
    while waiting:
        low, high, halvings = waiting.pop()
        values = rows(0.5 * (low + high) + 0.5 * (high - low) * basis)
        coefficients = transform @ values
        if not np.isfinite(values).all() or (
            halvings == 0 and np.any(np.abs(coefficients[-_TAIL:]) > _SMALL * scale)
        ):
            raise TrajectoryError(
                f"the motion between {low:.6g} and {high:.6g} s is not smooth, or not finite"
            )
        if np.any(np.abs(coefficients[-_TAIL:]) > _SMALL * scale):
            middle = 0.5 * (low + high)
            waiting += [(middle, high, halvings - 1), (low, middle, halvings - 1)]
            continue
        ends.append(high)
        parts.append(coefficients)
    table = np.array(parts)
    counted = np.flatnonzero(np.any(np.abs(table) > _NOTHING * scale, axis=(0, 2)))
    pieces = Pieces(np.array(ends), table[:, : int(counted[-1]) + 1], sizes)
    between = np.linspace(ends[0], ends[-1], checks)[1:-1]
    error = float(np.max(np.abs(pieces.at(between) - rows(between)) / scale))
    if not error <= TOLERANCE:
        raise TrajectoryError(f"pieces of polynomials are off by {error:.1e} of the motion")
    return pieces
