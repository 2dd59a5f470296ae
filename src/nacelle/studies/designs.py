"""Designs: points in the unit cube, a row for each variant and a column for each variable.

A design depends on its arguments and its seed alone. `rows` gives a part of it, byte for byte what the whole
design has there, so that blocks of a study can be evaluated on different machines. Grids, random points and
Sobol points make the rows that are requested; of Latin hypercubes, and of the two halves of Saltelli's
design, the whole is made first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.errors import StudyError
from nacelle.spatial.scalar import Array


def grid(levels: Sequence[int], rows: range | None = None) -> Array:
    """A full grid (n, P): all combinations of evenly spaced points, the last variable fastest.

    Args:
        levels: how many points every variable has (P), from 0 to 1; a single one is 0.5.
        rows: the rows requested, all if None.
    """
    rows = _check(math.prod(levels), rows)
    indices = np.unravel_index(np.arange(rows.start, rows.stop), tuple(levels))
    axes = [np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.5]) for n in levels]
    return np.stack([axis[i] for axis, i in zip(axes, indices, strict=True)], axis=-1)


def random_points(count: int, P: int, seed: int, rows: range | None = None) -> Array:
    """Independent points (n, P), uniform on [0, 1); a longer design begins with the shorter ones."""
    rows = _check(count, rows)
    # A point takes P numbers of the generator, which jumps to any of them at once.
    bits = np.random.PCG64(seed).advance(rows.start * P)
    return np.random.Generator(bits).random((len(rows), P))


def latin_hypercube(count: int, P: int, seed: int, rows: range | None = None) -> Array:
    """A Latin hypercube (n, P): each of `count` equal intervals of every variable holds one random point."""
    rows = _check(count, rows)
    random = np.random.default_rng(seed)
    intervals = random.permuted(np.tile(np.arange(float(count))[:, None], P), axis=0)
    return np.asarray((intervals + random.random((count, P))) / count)[rows.start : rows.stop]


def sobol(count: int, P: int, seed: int, rows: range | None = None) -> Array:
    """The first `count` points of a scrambled Sobol sequence (n, P), at most 2^30.

    Any count is possible, and a longer design begins with the shorter ones. Only where count is a power of
    two is the design balanced: every dyadic interval of a variable then holds equally many points, and means
    of smooth functions converge with about count^-1.5. Between powers of two they converge hardly faster
    than with count^-1.
    """
    rows = _check(count, rows)
    from scipy.stats import qmc

    # SciPy warns of other numbers of points than powers of two.
    drawn = 1 << max(len(rows) - 1, 0).bit_length()
    sequence = qmc.Sobol(P, scramble=True, seed=np.random.default_rng(seed))
    if rows.start:
        sequence.fast_forward(rows.start)
    return np.asarray(sequence.random(drawn)[: len(rows)])


@dataclass(frozen=True, eq=False)
class SaltelliDesign:
    """Points for Sobol indices: A, B, and for every variable k the matrix AB_k, A with column k of B.

    With f the values at all `points()`, f.reshape(P + 2, count) has the rows f_A, f_B, f_AB_1 ... f_AB_P.

    Attributes:
        A: independent points (count, P).
        B: as many others (count, P).
    """

    A: Array
    B: Array

    def __len__(self) -> int:
        """How many points all P + 2 matrices have together."""
        return len(self.A) * (int(self.A.shape[1]) + 2)

    def AB(self, k: int) -> Array:
        """The matrix A with column k of B (count, P)."""
        mixed = self.A.copy()
        mixed[:, k] = self.B[:, k]
        return mixed

    def points(self, rows: range | None = None) -> Array:
        """Points (n, P) of A, B, AB_0 ... AB_{P-1}, one matrix below the other; of all rows if None."""
        rows = _check(len(self), rows)
        block, i = np.divmod(np.arange(rows.start, rows.stop), len(self.A))
        points = np.where((block == 1)[:, None], self.B[i], self.A[i])
        mixed = np.flatnonzero(block > 1)
        k = block[mixed] - 2
        points[mixed, k] = self.B[i[mixed], k]
        return points


def saltelli(count: int, P: int, seed: int) -> SaltelliDesign:
    """Saltelli's design on `count` scrambled Sobol points in 2P dimensions; best a power of two."""
    points = sobol(count, 2 * P, seed)
    return SaltelliDesign(points[:, :P], points[:, P:])


def _check(count: int, rows: range | None) -> range:
    """The rows of a design that are requested."""
    rows = range(count) if rows is None else rows
    if count < 1 or not 0 <= rows.start <= rows.stop <= count or rows.step != 1:
        raise StudyError(f"{rows} are no rows of a design with {count} points: range(0, {count}) are all")
    return rows
