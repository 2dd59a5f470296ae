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
from collections.abc import Mapping, Sequence

from nacelle.emit.jit.residence import Needs, moves
from nacelle.program.program import Instruction

Code = Sequence[Instruction | None]

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
    inputs = {k for k, step in enumerate(code) if step and step[0] == "input"}
    return min(candidates, key=lambda listed: moves(listed, reads, inputs, results, registers))


def values_read(code: Code, given: Sequence[int], *, constants: bool = False) -> Needs:
    """Values that each operation reads, each once; constants among them, or not."""
    if constants:
        return {k: tuple(dict.fromkeys((code[k] or ())[1:])) for k in given}
    left_out = {k for k, step in enumerate(code) if step and step[0] == "const"}
    return {k: tuple(a for a in dict.fromkeys((code[k] or ())[1:]) if a not in left_out) for k in given}


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
