"""Flags: what is wrong with a sample of a batch, or worth a word."""

from __future__ import annotations

from enum import IntFlag
from typing import Any

import numpy as np

from nacelle.spatial.scalar import Array


class Flag(IntFlag):
    """What was found about a sample; several may hold at once.

    The first three leave NaN in the sample's results; the others only tell.
    """

    INVALID = 1
    """An input is not finite, or a quaternion has no length or one beyond all numbers."""
    UNREACHABLE = 2
    """A leg does not reach the pose, or the actuators' coordinates belong to no pose that was found."""
    SINGULAR = 4
    """The configuration is singular, so that the requested result is not determined."""
    NEAR_SINGULAR = 8
    """A singularity is near."""
    OUT_OF_LIMITS = 16
    """A joint is beyond its limits."""
    OTHER_BRANCH = 32
    """The loops are closed, but on a branch that is not connected with the reference pose."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        """Take entries of integer arrays as integers."""
        return cls(int(value)) if isinstance(value, np.integer) else super()._missing_(value)


FAILED = Flag.INVALID | Flag.UNREACHABLE | Flag.SINGULAR


def has_failed(flags: Array) -> Array:
    """Which samples (...) have no result, from flags (...)."""
    result: Array = (flags & int(FAILED)) != 0
    return result


def fold_columns(fold: np.ufunc, values: Array, first: Any) -> Array:
    """`fold` over the last, short axis of values (..., n), from `first`: (...).

    Column by column: NumPy reduces rows of a few numbers many times more slowly.
    """
    result = np.full(values.shape[:-1], first)
    for column in np.moveaxis(values, -1, 0):
        fold(result, column, out=result)
    return result


def is_finite(values: Array) -> Array:
    """Whether all entries over the last axis of values (..., n) are finite (...)."""
    finite = np.isfinite(values)
    # The usual case, and a reduction over all is many times as fast.
    if finite.all():
        return np.ones(values.shape[:-1], dtype=bool)
    return np.asarray(np.all(finite, axis=-1))


class Flagged:
    """A result with flags for every sample."""

    __slots__ = ()
    flags: Array

    @property
    def ok(self) -> Array:
        """Whether each sample (...) has a result within the limits, on the branch of the reference pose."""
        not_ok = int(FAILED | Flag.OUT_OF_LIMITS | Flag.OTHER_BRANCH)
        return np.asarray((self.flags & not_ok) == 0)


def describe_flags(flags: Any) -> str:
    """Flags of one sample as text, such as "unreachable, out of limits"."""
    return ", ".join(str(flag.name).lower().replace("_", " ") for flag in Flag if flag & int(flags))
