"""The order in which a program's operations are written, and where their values are kept.

Constants and inputs are no operations: emitters write them where they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacelle.program.graph import depth_first
from nacelle.program.program import ARITY, Program


def operands(program: Program, k: int) -> tuple[int, ...]:
    """Give the instructions whose values instruction k uses."""
    op, *operands = program.code[k]
    return tuple(operands) if ARITY[op] else ()


def is_operation(program: Program, k: int) -> bool:
    """Say whether instruction k computes something."""
    return bool(ARITY[program.code[k][0]])


def live_operations(program: Program) -> list[int]:
    """List the operations that some result needs, in the program's order."""
    needed = bytearray(len(program.code))
    for k in program.results:
        needed[k] = 1
    for k in range(len(program.code) - 1, -1, -1):
        if needed[k]:
            for a in operands(program, k):
                needed[a] = 1
    return [k for k in range(len(program.code)) if needed[k] and is_operation(program, k)]


def _demand_order(program: Program) -> list[int]:
    """List the live operations each just before the first that uses it, depth first from the results."""
    order = depth_first(program.results, lambda k: operands(program, k))
    return [k for k in order if is_operation(program, k)]


def last_uses(program: Program, order: Sequence[int]) -> dict[int, int]:
    """Give for every operation the last place in the order that uses it (its own place if none)."""
    last: dict[int, int] = {}
    for position, k in enumerate(order):
        last[k] = position
        for a in operands(program, k):
            if is_operation(program, a):
                last[a] = position
    return last


def _total_lifetime(program: Program, order: Sequence[int]) -> int:
    """Sum of the lives of all values: how long they are kept, in operations."""
    position_of = {k: p for p, k in enumerate(order)}
    return sum(last - position_of[k] for k, last in last_uses(program, order).items())


def schedule(program: Program) -> list[int]:
    """Order the live operations so that values are made near their use.

    Of the program's own order and the one that follows the needs of the results, the one that keeps
    values for less time is taken.
    """
    return min(
        live_operations(program), _demand_order(program), key=lambda order: _total_lifetime(program, order)
    )


@dataclass(frozen=True)
class Slots:
    """Places in a work array, used again when their value is dead.

    Attributes:
        slot: for every value kept, its place.
        count: number of places.
    """

    slot: dict[int, int]
    count: int


def assign_slots(births: Sequence[tuple[int, int]], deaths: dict[int, int]) -> Slots:
    """Assign places by the lives of values.

    A place is free again *after* the step at which its value dies, so that a step never writes over one
    of its own arguments.

    Args:
        births: pairs of a step and a value made in it, steps ascending.
        deaths: the last step that uses each value.
    """
    slot: dict[int, int] = {}
    free: list[int] = []
    dying: dict[int, list[int]] = {}
    count = 0
    now = -1
    for step, value in births:
        for passed in range(max(now, 0), step):
            # The latest place freed comes first: it is still in the nearest cache.
            free.extend(dying.pop(passed, ()))
        now = step
        if free:
            slot_index = free.pop()
        else:
            slot_index = count
            count += 1
        slot[value] = slot_index
        dying.setdefault(max(deaths[value], step), []).append(slot_index)
    return Slots(slot, count)
