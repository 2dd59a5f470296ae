"""Constants of a program: numbers that differ by rounding alone are one constant.

A constant that is computed in two ways (a product of cosines, an inertia seen from two legs), or on two
machines (BLAS, libm and NumPy's vector instructions round differently), comes out with other last bits. No
decision about a program may hang on these: whether two constants are equal, whether a sum of them vanishes,
whether a factor is 1. So two numbers count as one below a margin of `ULPS` units in the last place, far above
what rounding makes of equal numbers and far below what tolerances of a robot make of different ones; the
first one that appears, in the order of the program, is the value of all.
"""

from __future__ import annotations

import struct

from nacelle.spatial.rounding import ULPS

# Buckets of 2 ** _SHIFT units: a neighbour within the margin is in the same bucket or the next one.
_SHIFT = 5
# Factors that cost nothing, or that write the same number in every program.
_EXACT = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)

_pack, _unpack = struct.Struct("<d").pack, struct.Struct("<q").unpack


def _place(size: float) -> int:
    """Number of a positive float among all floats: neighbours differ by one."""
    return int(_unpack(_pack(size))[0])


class Constants:
    """The constants that a program has so far."""

    __slots__ = ("_buckets", "_seen")

    def __init__(self) -> None:
        """Start with small whole numbers and halves."""
        self._buckets: dict[int, list[tuple[int, float]]] = {}
        self._seen: dict[float, float] = {0.0: 0.0}
        for value in _EXACT:
            self.one(value)

    def one(self, value: float) -> float:
        """The constant that a number is: an earlier one within the margin, or a new one; signs are apart."""
        size = abs(value)
        same = self._seen.get(size)
        if same is None:
            same = self._seen[size] = self._find(size)
        return -same if value < 0.0 else same

    def _find(self, size: float) -> float:
        if not size < float("inf"):
            return size
        place = _place(size)
        bucket = place >> _SHIFT
        nearest: tuple[int, float] | None = None
        for k in (bucket - 1, bucket, bucket + 1):
            for other, value in self._buckets.get(k, ()):
                distance = abs(other - place)
                if distance <= ULPS and (nearest is None or distance < nearest[0]):
                    nearest = (distance, value)
        if nearest is not None:
            return nearest[1]
        self._buckets.setdefault(bucket, []).append((place, size))
        return size

