"""The order of operations for a thread with a hundred registers: candidates, and the best of them.

To the orders of the native target (`nacelle.emit.jit.order`) two are added:

- *depth first*: from the results, of two operands first the one that needs more values at once;
- *clusters*: always the small group of operations next that leaves the fewest values alive.

Each is made eager: an operation that frees a register comes as soon as its operands are there. The best is
the one with the fewest loads and stores of values that the registers do not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nacelle.emit.cuda.lower import Code
from nacelle.emit.cuda.residence import moves
from nacelle.emit.jit import order as native

# Operations of a cluster, and of a program up to which clusters are tried: they take seconds beyond.
_CLUSTER = 16
# The order of native code counts so many registers for its own use.
_SPARE = 2
_LONG = 4000


@dataclass(frozen=True)
class Flow:
    """Who needs what in a program.

    Attributes:
        given: the operations in the program's order.
        reads: for each the values that it reads, constants left out.
        needs: of these those that are operations.
        users: for every value the operations that read it.
    """

    given: list[int]
    reads: Mapping[int, tuple[int, ...]]
    needs: Mapping[int, tuple[int, ...]]
    users: Mapping[int, list[int]]


def flow_of(code: Code) -> Flow:
    """Who needs what among the operations of a program."""
    given = [k for k, step in enumerate(code) if step and step[0] not in ("const", "input")]
    reads = native.values_read(code, given)
    operations = set(given)
    users: dict[int, list[int]] = {k: [] for k in given}
    for k in given:
        for a in reads[k]:
            users.setdefault(a, []).append(k)
    return Flow(given, reads, {k: tuple(a for a in reads[k] if a in operations) for k in given}, users)


def ordered(code: Code, results: Sequence[int], registers: int) -> list[int]:
    """List the operations so that few loads and stores are needed with so many values in registers."""
    flow = flow_of(code)
    listed = [native.order(code, results, registers + _SPARE)]
    if len(flow.given) <= _LONG:
        wanted = [k for k in dict.fromkeys(results) if k in flow.needs]
        made = fewest_values_first(wanted, flow), clusters(flow)
        listed += [native.eager(order, flow.needs, flow.users) for order in made]
    return min(listed, key=lambda order: set_aside(order, flow, results, registers))


def set_aside(order: Sequence[int], flow: Flow, results: Iterable[int], registers: int) -> int:
    """Loads and stores of an order, those of inputs and results left out that every order has."""
    kept = {a for a in flow.users if a not in flow.needs} | set(results)
    return moves(order, flow.reads, kept, registers)


def fewest_values_first(results: Sequence[int], flow: Flow) -> list[int]:
    """From the results down, the operand that needs more values at once first (Sethi and Ullman 1970)."""
    label: dict[int, int] = {}
    for k in flow.given:
        below = sorted((label[a] for a in flow.needs[k]), reverse=True)
        label[k] = max((n + place for place, n in enumerate(below)), default=1)
    done: dict[int, None] = {}
    for root in results:
        _make(root, flow, label, done)
    return list(done)


def _make(root: int, flow: Flow, label: Mapping[int, int], done: dict[int, None]) -> None:
    """Add an operation and what it needs, operands of the highest label first."""
    stack = [root]
    while stack:
        k = stack[-1]
        missing = [a for a in flow.needs[k] if a not in done]
        if k not in done and missing:
            stack += sorted(missing, key=lambda a: (label[a], a))
            continue
        stack.pop()
        done[k] = None


def clusters(flow: Flow) -> list[int]:
    """Always next the operation, with all that it needs, that leaves the fewest values alive."""
    return _Clusters(flow).order()


class _Clusters:
    """Clusters that can be made next: for each operation that needs few others the values it leaves alive."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.done: dict[int, None] = {}
        self.left = {a: len(users) for a, users in flow.users.items()}
        self.figures: dict[int, tuple[int, int]] = {}

    def order(self) -> list[int]:
        """Make clusters until nothing is left."""
        limit = _CLUSTER
        self._weigh(self.flow.given, limit)
        while len(self.done) < len(self.flow.given):
            if not self.figures:
                limit *= 2
                self._weigh([k for k in self.flow.given if k not in self.done], limit)
                continue
            best = min(self.figures, key=lambda k: (self.figures[k], k))
            cluster: dict[int, None] = dict.fromkeys(self.done)
            size = len(cluster)
            _make(best, self.flow, {k: k for k in self.flow.given}, cluster)
            new = list(cluster)[size:]
            touched: dict[int, None] = {}
            for k in new:
                self.done[k] = None
                self.figures.pop(k, None)
                for a in self.flow.reads[k]:
                    self.left[a] -= 1
                    touched.update(dict.fromkeys(self.flow.users[a]))
                touched.update(dict.fromkeys(self.flow.users[k]))
            self._weigh([k for k in touched if k not in self.done], limit)
        return list(self.done)

    def _weigh(self, changed: Sequence[int], limit: int) -> None:
        """Weigh operations anew, and those above them as far as a cluster reaches."""
        queue, seen = list(changed), set(changed)
        while queue:
            k = queue.pop()
            cluster = self._cluster(k, limit)
            if cluster is None:
                self.figures.pop(k, None)
                continue
            self.figures[k] = (self._alive(cluster), len(cluster))
            above = [user for user in self.flow.users[k] if user not in seen]
            seen.update(above)
            queue += above

    def _cluster(self, root: int, limit: int) -> list[int] | None:
        """What has to be made for an operation, itself included; None if that is too much."""
        cluster, members = [root], {root}
        for k in cluster:
            for a in self.flow.needs[k]:
                if a not in self.done and a not in members:
                    if len(cluster) == limit:
                        return None
                    members.add(a)
                    cluster.append(a)
        return cluster

    def _alive(self, cluster: Sequence[int]) -> int:
        """By how much the number of values alive changes if a cluster is made; inputs are alive at first."""
        used: dict[int, int] = {}
        for k in cluster:
            for a in self.flow.reads[k]:
                used[a] = used.get(a, 0) + 1
        new = sum(self.left[k] > used.get(k, 0) for k in cluster)
        members = set(cluster)
        return new - sum(self.left[a] == count for a, count in used.items() if a not in members)
