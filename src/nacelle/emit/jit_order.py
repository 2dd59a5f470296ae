"""The order of the operations of a straight-line program, chosen to keep few values alive."""

from __future__ import annotations

from collections.abc import Sequence

from nacelle.program.program import Instruction


def order(code: Sequence[Instruction | None], results: Sequence[int], registers: int) -> list[int]:
    """List the operations so that each comes after its operands.

    Args:
        code: instructions; None marks one that is not needed. Constants and inputs are not listed.
        results: the values that are wanted.
        registers: how many values the machine holds.
    """
    return [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
