"""Which values are held in registers, and which are loaded from memory when they are read.

A value stays in a register until it makes room. The one needed last goes first (Belady), but those that are
in memory anyway (inputs, constants, values stored before) go before those that would have to be stored: a
store takes the place of an operation on some processors, a load runs beside them.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

Needs = Mapping[int, tuple[int, ...]]


class Residence(NamedTuple):
    """Where the values that operations read come from.

    Attributes:
        fetched: for every operation, the values that are loaded for it.
        anew: for some operations, a value that is loaded for it alone, while a register holds it as well.
    """

    fetched: list[tuple[int, ...]]
    anew: dict[int, int]


class Memory(NamedTuple):
    """What is known of memory beside the order.

    Attributes:
        stored: values that are in memory from the start.
        ends: positions before which no value stays in a register.
        consumed: for some operations, the operand whose register they write their value into. If it is
            needed again and is in memory, it is loaded anew, which saves a copy.
    """

    stored: Collection[int] = ()
    ends: Collection[int] = ()
    consumed: Mapping[int, int] = MappingProxyType({})


NOTHING = Memory()
"""No value is in memory, and none has to be."""


def residence(listed: Sequence[int], reads: Needs, registers: int, memory: Memory = NOTHING) -> Residence:
    """Choose for every operation which of its values come from memory.

    Args:
        listed: the order.
        reads: the values that each operation reads.
        registers: how many values are held.
        memory: what is in memory, and when.
    """
    uses: dict[int, list[int]] = {}
    for position in range(len(listed) - 1, -1, -1):
        for a in reads[listed[position]]:
            uses.setdefault(a, []).append(position)
    stored = set(memory.stored) | set(_crossing(listed, uses, memory.ends))
    held: dict[int, int] = {}
    # By the next use, the latest first: values in memory, and the others.
    clean: list[tuple[int, int]] = []
    dirty: list[tuple[int, int]] = []
    fetched: list[tuple[int, ...]] = []
    anew: dict[int, int] = {}

    def hold(a: int, next_use: int) -> None:
        held[a] = next_use
        heapq.heappush(clean if a in stored else dirty, (-next_use, a))

    def latest(heap: list[tuple[int, int]]) -> int:
        """The next use of the value in this heap that is needed last; -1 if it is empty."""
        while heap and (held.get(heap[0][1]) != -heap[0][0] or (heap is dirty) == (heap[0][1] in stored)):
            heapq.heappop(heap)
        return -heap[0][0] if heap else -1

    for position, k in enumerate(listed):
        if position in memory.ends:
            held.clear()
        loaded = [a for a in reads[k] if a not in held]
        for a in reads[k]:
            later = uses[a]
            later.pop()
            if later:
                hold(a, later[-1])
            else:
                held.pop(a, None)
        lost = memory.consumed.get(k)
        if lost in held and lost in stored:
            if lost in loaded:
                del held[lost]
            else:
                loaded.append(lost)
                anew[k] = lost
        fetched.append(tuple(loaded))
        if k in uses:
            hold(k, uses[k][-1])
        while len(held) > registers:
            first, second = latest(clean), latest(dirty)
            # What is needed at once would only be loaded again.
            a = heapq.heappop(clean if first > position + registers // 2 or first >= second else dirty)[1]
            del held[a]
            stored.add(a)
    return Residence(fetched, anew)


def _crossing(listed: Sequence[int], uses: Mapping[int, list[int]], ends: Collection[int]) -> Iterable[int]:
    """Values that are used beyond the next end."""
    edges = sorted(ends)
    for position, k in enumerate(listed):
        place = bisect.bisect_right(edges, position)
        if k in uses and place < len(edges) and uses[k][0] >= edges[place]:
            yield k


def moves(
    listed: Sequence[int], reads: Needs, inputs: Collection[int], results: Collection[int], registers: int
) -> int:
    """Count the loads and stores of an order.

    Args:
        listed: the order.
        reads: the values that each operation reads.
        inputs: values that are in memory from the start.
        results: values that are stored in any case; others that are loaded are stored once. A store counts
            twice: processors store half as fast as they load.
        registers: how many values are held.
    """
    fetched = residence(listed, reads, registers, Memory(inputs)).fetched
    stored = {a for values in fetched for a in values}.difference(inputs, results)
    return sum(map(len, fetched)) + 2 * len(stored)
