"""The order of the operations of a straight-line program, chosen to keep few values alive.

Values that do not fit into registers are stored and loaded again. Finding the order with the fewest such
moves is hard, so a few orders are made, the moves that each would cost are counted, and the best is taken:

- *given*: as the program has them; a traced function was often written in a good order;
- *late*: the same, but an operation that frees no register waits until its value is wanted;
- *upward*: made from the results; always the operation that needs the fewest new values.

Each is then made *eager*: an operation that frees a register comes as soon as its operands are there.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

from nacelle.program.program import Instruction

Code = Sequence[Instruction | None]

# Registers that hold constants and what is just being made.
SPARE = 2

# For longer programs only one order is made: comparing them would take as long as compiling.
_LONG = 8000


def order(code: Code, results: Sequence[int], registers: int) -> list[int]:
    """List the operations so that each comes after its operands and few moves are needed.

    Args:
        code: instructions; None marks one that is not needed. Constants and inputs are not listed.
        results: the values that are wanted.
        registers: how many values the machine holds.
    """
    given = [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
    reads = values_read(code, given)
    operations = set(given)
    needs = {k: tuple(a for a in reads[k] if a in operations) for k in given}
    users: dict[int, list[int]] = {k: [] for k in given}
    for k in given:
        for a in needs[k]:
            users[a].append(k)
    if len(given) > _LONG:
        return eager(given, needs, users)
    starts = (given, _late(given, needs, users), _upward(given, needs, users))
    candidates = [given, *(eager(listed, needs, users) for listed in starts)]
    kept = {k for k, step in enumerate(code) if step and step[0] == "input"} | set(results)
    return min(candidates, key=lambda listed: moves(listed, reads, kept, registers - SPARE))


Needs = Mapping[int, tuple[int, ...]]


def values_read(code: Code, given: Sequence[int]) -> Needs:
    """Values that each operation reads, each once; constants cost no register."""
    constants = {k for k, step in enumerate(code) if step and step[0] == "const"}
    return {k: tuple(a for a in dict.fromkeys((code[k] or ())[1:]) if a not in constants) for k in given}


def eager(listed: Sequence[int], needs: Needs, users: Mapping[int, list[int]]) -> list[int]:
    """Move every operation that frees a register to where it first can be done."""
    uses = {k: len(users[k]) for k in listed}
    missing = {k: len(needs[k]) for k in listed}
    done: dict[int, None] = {}
    for first in listed:
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


def _late(listed: Sequence[int], needs: Needs, users: Mapping[int, list[int]]) -> list[int]:
    """Move every operation that frees no register to just before its first use."""
    last: dict[int, int] = {}
    place = {k: float(position) for position, k in enumerate(listed)}
    for k in listed:
        for a in needs[k]:
            last[a] = k
    for k in reversed(listed):
        if users[k] and not any(last[a] == k for a in needs[k]):
            place[k] = min(place[user] for user in users[k]) - 0.5
    # Operands that were moved to the same place come first.
    done: dict[int, None] = {}
    for first in sorted(listed, key=place.__getitem__):
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


def _upward(given: Sequence[int], needs: Needs, users: Mapping[int, list[int]]) -> list[int]:
    """Order from the results to the inputs."""
    uses = {k: len(users[k]) for k in given}
    alive: dict[int, int] = {}
    done: dict[int, None] = {}

    def urgency(k: int) -> tuple[int, int, int]:
        return sum(a not in alive for a in needs[k]) - (k in alive), -alive.get(k, -1), -k

    ready = [urgency(k) for k in given if not uses[k]]
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
