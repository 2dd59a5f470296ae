"""Which values a thread holds in registers, and which are put aside in shared memory.

A value stays in a register until it makes room: the one needed last goes first (Belady). Unlike native code's
(`nacelle.emit.jit.residence`), no value is in memory beforehand: inputs are read once, into registers.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

Needs = Mapping[int, tuple[int, ...]]


def residence(
    listed: Sequence[int], reads: Needs, registers: int, ends: Collection[int] = ()
) -> list[tuple[int, ...]]:
    """Tell for every operation which of its values must come from memory.

    A value stays in a register until it makes room: the one needed last goes first (Belady).

    Args:
        listed: the order.
        reads: the values that each operation reads.
        registers: how many values the machine holds.
        ends: positions before which no value stays in a register.
    """
    uses: dict[int, list[int]] = {}
    for position in range(len(listed) - 1, -1, -1):
        for a in reads[listed[position]]:
            uses.setdefault(a, []).append(position)
    held: dict[int, int] = {}
    farthest: list[tuple[int, int]] = []
    fetched: list[tuple[int, ...]] = []
    for position, k in enumerate(listed):
        if position in ends:
            held.clear()
        fetched.append(tuple(a for a in reads[k] if a not in held))
        for a in reads[k]:
            later = uses[a]
            later.pop()
            if later:
                held[a] = later[-1]
                heapq.heappush(farthest, (-later[-1], a))
            else:
                held.pop(a, None)
        if k in uses:
            held[k] = uses[k][-1]
            heapq.heappush(farthest, (-held[k], k))
        while len(held) > registers:
            last, a = heapq.heappop(farthest)
            if held.get(a) == -last:
                del held[a]
    return fetched


def moves(listed: Sequence[int], reads: Needs, in_memory: Collection[int], registers: int) -> int:
    """Count the loads and stores of an order.

    Args:
        listed: the order.
        reads: the values that each operation reads.
        in_memory: inputs and results, which have a place in memory; other values that are loaded are stored
            once. A store counts twice: processors store half as fast as they load.
        registers: how many values the machine holds.
    """
    fetched = residence(listed, reads, registers)
    stored = {a for values in fetched for a in values}.difference(in_memory)
    return sum(map(len, fetched)) + 2 * len(stored)
