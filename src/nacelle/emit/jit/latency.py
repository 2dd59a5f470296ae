"""The order of operations for a processor that waits: others run while a value is being made.

An order with few values alive has long runs in which every operation needs the one before it. Processors
look ahead by some dozen operations only. Here the next operation is chosen among those within a *window* of
that order whose operands are ready by then: the one from which the way to the results takes longest, mostly
one that leads to a quotient or a root. While many values are alive, it is the first one of that order.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from nacelle.emit.jit.residence import Needs
from nacelle.program.program import Instruction

# Cycles until a value may be used; other operations are sequences of instructions.
_CYCLES = {"add": 2, "sub": 2, "neg": 2, "mul": 3, "fma": 4, "fms": 4, "fnma": 4, "div": 12, "sqrt": 14}
_OTHER = 8
# Operations that are begun in a cycle.
_AT_ONCE = 2


def latency_order(
    listed: Sequence[int], code: Sequence[Instruction | None], needs: Needs, window: int, registers: int
) -> list[int]:
    """Order operations so that their operands are ready.

    Args:
        listed: an order with few values alive.
        code: the instructions.
        needs: the operations whose values each of them reads.
        window: how many operations beyond the first that is not done may be chosen.
        registers: how many values are held; inputs and constants take some of them, too.
    """
    users: dict[int, list[int]] = {k: [] for k in listed}
    for k in listed:
        for a in needs[k]:
            users[a].append(k)
    cycles = {k: _AT_ONCE * _CYCLES.get((code[k] or ("",))[0], _OTHER) for k in listed}
    height: dict[int, int] = {}
    for k in reversed(listed):
        height[k] = cycles[k] + max((height[user] for user in users[k]), default=0)
    missing = {k: len(needs[k]) for k in listed}
    uses = {k: len(users[k]) for k in listed}
    # Times are counted in operations begun.
    when = dict.fromkeys(listed, 0)
    waiting: list[tuple[int, int, int]] = []
    highest: list[tuple[int, int, int]] = []
    earliest: list[tuple[int, int]] = []
    place = {k: position for position, k in enumerate(listed)}
    done: dict[int, None] = {}
    most = 3 * registers // 4
    front = entered = alive = 0
    for now in range(len(listed)):
        while listed[front] in done:
            front += 1
        while entered < min(front + window, len(listed)):
            k = listed[entered]
            entered += 1
            if not missing[k]:
                heapq.heappush(waiting, (when[k], place[k], k))
        while waiting and waiting[0][0] <= now:
            _, position, k = heapq.heappop(waiting)
            heapq.heappush(highest, (-height[k], position, k))
            heapq.heappush(earliest, (position, k))
        while highest and highest[0][2] in done:
            heapq.heappop(highest)
        while earliest and earliest[0][1] in done:
            heapq.heappop(earliest)
        if not highest:
            k = heapq.heappop(waiting)[2]
        else:
            k = heapq.heappop(earliest)[1] if alive > most else heapq.heappop(highest)[2]
        done[k] = None
        alive += uses[k] > 0
        for a in needs[k]:
            uses[a] -= 1
            alive -= not uses[a]
        made = max(now, when[k]) + cycles[k]
        for user in users[k]:
            missing[user] -= 1
            when[user] = max(when[user], made)
            if not missing[user] and place[user] < entered:
                heapq.heappush(waiting, (when[user], place[user], user))
    return list(done)
