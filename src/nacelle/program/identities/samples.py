"""Samples of the inputs of a program, at which its values are compared."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

Row = tuple[Decimal, ...]


@dataclass(frozen=True, eq=False)
class PreciseInputs:
    """Inputs with 50 digits, a row each.

    Inputs that depend on one another (what iteration finds at a pose, entries of a rotation) must do so to
    all these digits; all others are random. Four rows or more prove an identity: two on either side of a
    `where` that is to take part in one.

    Attributes:
        proof: rows at which identities are sought.
        check: other rows, at which the result is compared with the program as it was.
        sizes: for every input the size that its rounding is relative to, 1 rad for an angle that may be 0.
    """

    proof: tuple[Row, ...]
    check: tuple[Row, ...]
    sizes: tuple[float, ...]
