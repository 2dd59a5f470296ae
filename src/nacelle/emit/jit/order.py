"""The order of operations of a program, and which of their values are held in registers.

Values that do not fit into registers are stored and loaded again. Finding the order with the fewest such
moves is hard, so a few orders are made, the moves that each would cost are counted, and the best is taken:

- *given*: as the program has them; a traced function was often written in a good order;
- *late*: the same, but an operation that frees no register waits until its value is wanted;
- *upward*: made from the results; always the operation that needs the fewest new values.

Each is then made *eager*: an operation that frees a register comes as soon as its operands are there.

A value stays in a register until it makes room. The one needed last goes first (Belady), but those that are
in memory anyway (inputs, constants, values stored before) go before those that would have to be stored: a
store takes the place of an operation on some processors, a load runs in parallel.

An order with few values alive has long runs in which every operation needs the one before it. Processors
look ahead by some dozen operations only. Here the next operation is chosen among those within a *window* of
that order whose operands are ready by then: the one from which the way to the results takes longest, mostly
one that leads to a quotient or a root. While many values are alive, it is the first one of that order.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from nacelle.program.program import Instruction

Needs = Mapping[int, tuple[int, ...]]


class Memory(NamedTuple):
    """What is known of memory in addition to the order.

    Attributes:
        stored: values that are in memory from the start.
        ends: positions before which no value stays in a register.
    """

    stored: Collection[int] = ()
    ends: Collection[int] = ()


EMPTY_MEMORY = Memory()
"""No value is in memory, and none has to be."""


def register_loads(
    sequence: Sequence[int], reads: Needs, registers: int, memory: Memory = EMPTY_MEMORY
) -> list[tuple[int, ...]]:
    """Choose for every operation which of its values are loaded from memory.

    Args:
        sequence: the order.
        reads: the values that each operation reads.
        registers: how many values are held.
        memory: what is in memory, and when.
    """
    uses: dict[int, list[int]] = {}
    for position in range(len(sequence) - 1, -1, -1):
        for a in reads[sequence[position]]:
            uses.setdefault(a, []).append(position)
    stored = set(memory.stored) | set(_values_across_cuts(sequence, uses, memory.ends))
    held: dict[int, int] = {}
    # By the next use, the latest first: values in memory, and the others.
    clean: list[tuple[int, int]] = []
    dirty: list[tuple[int, int]] = []
    fetched: list[tuple[int, ...]] = []

    def hold(a: int, next_use: int) -> None:
        held[a] = next_use
        heapq.heappush(clean if a in stored else dirty, (-next_use, a))

    def latest(heap: list[tuple[int, int]]) -> int:
        """The next use of the value in this heap that is needed last; -1 if it is empty."""
        while heap and (held.get(heap[0][1]) != -heap[0][0] or (heap is dirty) == (heap[0][1] in stored)):
            heapq.heappop(heap)
        return -heap[0][0] if heap else -1

    for position, k in enumerate(sequence):
        if position in memory.ends:
            held.clear()
        fetched.append(tuple(a for a in reads[k] if a not in held))
        for a in reads[k]:
            later = uses[a]
            later.pop()
            if later:
                hold(a, later[-1])
            else:
                held.pop(a, None)
        if k in uses:
            hold(k, uses[k][-1])
        while len(held) > registers:
            first, second = latest(clean), latest(dirty)
            # What is needed at once would only be loaded again.
            a = heapq.heappop(clean if first > position + registers // 2 or first >= second else dirty)[1]
            del held[a]
            stored.add(a)
    return fetched


def _values_across_cuts(
    sequence: Sequence[int], uses: Mapping[int, list[int]], ends: Collection[int]
) -> Iterable[int]:
    """Values that are used beyond the next end."""
    edges = sorted(ends)
    for position, k in enumerate(sequence):
        edge = bisect.bisect_right(edges, position)
        if k in uses and edge < len(edges) and uses[k][0] >= edges[edge]:
            yield k


def count_moves(
    sequence: Sequence[int],
    reads: Needs,
    resident: Collection[int],
    registers: int,
    memory: Memory = EMPTY_MEMORY,
) -> int:
    """Count the loads and stores of an order.

    Args:
        sequence: the order.
        reads: the values that each operation reads.
        resident: inputs and results, which have a place in memory in any case; others that are loaded are
            stored once. A store counts twice: processors store half as fast as they load.
        registers: how many values are held.
        memory: what is in memory, and when.
    """
    fetched = register_loads(sequence, reads, registers, memory)
    stored = {a for values in fetched for a in values}.difference(resident)
    return sum(map(len, fetched)) + 2 * len(stored)


# ---- the order of operations for a processor that waits: others run while a value is being made


# Cycles until a value may be used; other operations are sequences of instructions.
_CYCLES = {"add": 2, "sub": 2, "neg": 2, "mul": 3, "fma": 4, "fms": 4, "fnma": 4, "div": 12, "sqrt": 14}
_OTHER = 8
# Operations that are begun in a cycle.
_AT_ONCE = 2


def latency_order(
    sequence: Sequence[int], code: Sequence[Instruction | None], needs: Needs, window: int, registers: int
) -> list[int]:
    """Order operations so that their operands are ready.

    Args:
        sequence: an order with few values alive.
        code: the instructions.
        needs: the operations whose values each of them reads.
        window: how many operations beyond the first that is not done may be chosen.
        registers: how many values are held; inputs and constants take some of them, too.
    """
    users: dict[int, list[int]] = {k: [] for k in sequence}
    for k in sequence:
        for a in needs[k]:
            users[a].append(k)
    cycles = {k: _AT_ONCE * _CYCLES.get((code[k] or ("",))[0], _OTHER) for k in sequence}
    height: dict[int, int] = {}
    for k in reversed(sequence):
        height[k] = cycles[k] + max((height[user] for user in users[k]), default=0)
    missing = {k: len(needs[k]) for k in sequence}
    uses = {k: len(users[k]) for k in sequence}
    # Times are counted in operations begun.
    when = dict.fromkeys(sequence, 0)
    waiting: list[tuple[int, int, int]] = []
    highest: list[tuple[int, int, int]] = []
    earliest: list[tuple[int, int]] = []
    position_of = {k: position for position, k in enumerate(sequence)}
    done: dict[int, None] = {}
    most = 3 * registers // 4
    front = entered = alive = 0
    for now in range(len(sequence)):
        while sequence[front] in done:
            front += 1
        while entered < min(front + window, len(sequence)):
            k = sequence[entered]
            entered += 1
            if not missing[k]:
                heapq.heappush(waiting, (when[k], position_of[k], k))
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
        ready_at = max(now, when[k]) + cycles[k]
        for user in users[k]:
            missing[user] -= 1
            when[user] = max(when[user], ready_at)
            if not missing[user] and position_of[user] < entered:
                heapq.heappush(waiting, (when[user], position_of[user], user))
    return list(done)


# ---- the order of the operations of a straight-line program, chosen to keep few values alive


Code = Sequence[Instruction | None]

# For longer programs only one order is made: comparing them would take as long as compiling.
_LONG = 8000


def fewest_moves_order(code: Code, results: Sequence[int], registers: int) -> list[int]:
    """List the operations so that each comes after its operands and few moves are needed.

    Args:
        code: instructions; None marks one that is not needed. Constants and inputs are not listed.
        results: the values that are wanted.
        registers: how many values the machine holds.
    """
    order = [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
    reads = operands_read(code, order)
    operations = set(order)
    needs = {k: tuple(a for a in reads[k] if a in operations) for k in order}
    users: dict[int, list[int]] = {k: [] for k in order}
    for k in order:
        for a in needs[k]:
            users[a].append(k)
    if len(order) > _LONG:
        return eager_order(order, needs, users)
    starts = (order, _late_order(order, needs, users), _upward_order(order, needs, users))
    candidates = [order, *(eager_order(sequence, needs, users) for sequence in starts)]
    inputs = {k for k, step in enumerate(code) if step and step[0] == "input"}
    resident, memory = inputs.union(results), Memory(inputs)
    return min(candidates, key=lambda sequence: count_moves(sequence, reads, resident, registers, memory))


def operands_read(code: Code, order: Sequence[int], *, constants: bool = False) -> Needs:
    """Values that each operation reads, each once; constants among them, or not."""
    if constants:
        return {k: tuple(dict.fromkeys((code[k] or ())[1:])) for k in order}
    left_out = {k for k, step in enumerate(code) if step and step[0] == "const"}
    return {k: tuple(a for a in dict.fromkeys((code[k] or ())[1:]) if a not in left_out) for k in order}


def eager_order(sequence: Sequence[int], needs: Needs, users: Mapping[int, list[int]]) -> list[int]:
    """Move every operation that frees a register to where it first can be done."""
    uses = {k: len(users[k]) for k in sequence}
    missing = {k: len(needs[k]) for k in sequence}
    done: dict[int, None] = {}
    for first in sequence:
        stack = [first]
        while stack:
            k = stack.pop()
            if k in done:
                continue
            done[k] = None
            ready = []
            for a in needs[k]:
                uses[a] -= 1
                if uses[a] == 1:
                    ready += [user for user in users[a] if user not in done and not missing[user]]
            for user in users[k]:
                missing[user] -= 1
                if not missing[user]:
                    ready.append(user)
            stack += [user for user in ready if any(uses[a] == 1 for a in needs[user])]
    return list(done)


def _late_order(sequence: Sequence[int], needs: Needs, users: Mapping[int, list[int]]) -> list[int]:
    """Move every operation that frees no register to just before its first use."""
    last: dict[int, int] = {}
    position_of = {k: float(position) for position, k in enumerate(sequence)}
    for k in sequence:
        for a in needs[k]:
            last[a] = k
    for k in reversed(sequence):
        if users[k] and not any(last[a] == k for a in needs[k]):
            position_of[k] = min(position_of[user] for user in users[k]) - 0.5
    # Operands that were moved to the same place come first.
    done: dict[int, None] = {}
    for first in sorted(sequence, key=position_of.__getitem__):
        stack = [first]
        while stack:
            k = stack[-1]
            waiting = [a for a in needs[k] if a not in done]
            if waiting:
                stack += waiting
            else:
                stack.pop()
                done[k] = None
    return list(done)


def _upward_order(order: Sequence[int], needs: Needs, users: Mapping[int, list[int]]) -> list[int]:
    """Order from the results to the inputs."""
    uses = {k: len(users[k]) for k in order}
    alive: dict[int, int] = {}
    done: dict[int, None] = {}

    def urgency(k: int) -> tuple[int, int, int]:
        return sum(a not in alive for a in needs[k]) - (k in alive), -alive.get(k, -1), -k

    ready = [urgency(k) for k in order if not uses[k]]
    heapq.heapify(ready)
    while ready:
        k = -heapq.heappop(ready)[2]
        if k in done:
            continue
        done[k] = None
        for a in needs[k]:
            fresh = a not in alive
            alive.setdefault(a, len(done))
            uses[a] -= 1
            if not uses[a]:
                heapq.heappush(ready, urgency(a))
            if fresh:
                for user in users[a]:
                    if user not in done and not uses[user]:
                        heapq.heappush(ready, urgency(user))
    return list(done)[::-1]
