"""The order of the terms of a sum: those that are ready late come last.

A sum of many terms is added up one after the other. What its last term needs may take long to compute, a
quotient or another such sum; all else is added up by then, and the result waits for one sum only. Terms are
ordered by when they are ready at the earliest, on a machine that does any number of operations at a time; of
those that are no products the first one begins, because products are then added to something, each by one
fused operation. The order decides how sums round: it is part of the program, so that all targets round alike.
"""

from __future__ import annotations

from nacelle.program.cost import cost
from nacelle.program.graph import Graph
from nacelle.program.program import ARITY, Program
from nacelle.program.trace import linear

# How long operations take, in cycles of today's processors; others are calls.
_TIMES = {"const": 0, "input": 0, "neg": 0, "add": 2, "sub": 2, "mul": 3, "div": 12, "sqrt": 15}
_TIMES |= {"abs": 2, "min": 4, "max": 4, "where": 4, "sign": 6, "floor": 6}
_CALL = 40
# A product that is added to something is one operation with the sum.
_FUSED = 4


def late_terms_last(program: Program) -> Program:
    """Order the terms of all sums by when they are ready; as many operations as before, or fewer."""
    candidate = _Writer(program).write()
    return candidate if cost(candidate) <= cost(program) else program


class _Writer:
    """Writes a program again, sum by sum."""

    def __init__(self, program: Program) -> None:
        self.program, self.code = program, program.code
        self.graph = Graph()
        self.place: list[int] = []
        # When the nodes of the graph are ready.
        self.ready: list[int] = []
        uses = [0] * len(self.code)
        # Sums that are used once, by a sum, are part of that.
        self.inner = [False] * len(self.code)
        for k in program.results:
            uses[k] += 2
        for step in self.code:
            if ARITY[step[0]]:
                for a in step[1:]:
                    uses[a] += 1
        for step in self.code:
            if step[0] in ("add", "sub"):
                for a in step[1:]:
                    self.inner[a] = uses[a] == 1 and self.code[a][0] in ("add", "sub")
        self.single = [count == 1 for count in uses]

    def write(self) -> Program:
        """The program in this order."""
        graph, place = self.graph, self.place
        for k, (op, *a) in enumerate(self.code):
            if op == "const":
                place.append(graph.const(a[0]))
            elif op == "input":
                place.append(graph.input(a[0]))
            elif self.inner[k]:
                place.append(-1)
            elif op in ("add", "sub"):
                place.append(self._sum(k))
            else:
                place.append(graph.apply(op, *(place[c] for c in a)))
        p = self.program
        return linear(p.name, graph, p.inputs, p.outputs, [place[k] for k in p.results])

    def _sum(self, k: int) -> int:
        """A sum of all its terms."""
        terms: list[tuple[int, int, bool]] = []
        stack = [(k, False)]
        while stack:
            item, negative = stack.pop()
            if item != k and not self.inner[item]:
                terms.append((self._arrival(item), item, negative))
                continue
            op, a, b = self.code[item]
            stack += [(b, negative != (op == "sub")), (a, negative)]
        terms.sort()
        begin = next((term for term in terms if not self._is_product(term[1])), terms[0])
        terms.remove(begin)
        terms.insert(0, begin)
        graph = self.graph
        _, first, negative = terms[0]
        total = graph.neg(self.place[first]) if negative else self.place[first]
        for _, item, negative in terms[1:]:
            value = self.place[item]
            total = graph.sub(total, value) if negative else graph.add(total, value)
        return total

    def _is_product(self, k: int) -> bool:
        """Whether a term is a product that only this sum uses."""
        return self.code[k][0] == "mul" and self.single[k]

    def _arrival(self, k: int) -> int:
        """When a term can be added: a product that only this sum uses, when its factors are ready."""
        self._update()
        if self._is_product(k):
            _, a, b = self.code[k]
            return max(self.ready[self.place[a]], self.ready[self.place[b]])
        return self.ready[self.place[k]]

    def _update(self) -> None:
        """Say of all nodes of the graph when they are ready."""
        nodes, ready = self.graph.nodes, self.ready
        for op, *a in nodes[len(ready) :]:
            if not ARITY[op]:
                ready.append(0)
                continue
            when = [ready[b] for b in a]
            if op in ("add", "sub"):
                for place, b in enumerate(a):
                    if nodes[b][0] == "mul":
                        when[place] = max(ready[c] for c in nodes[b][1:]) + _FUSED - _TIMES[op]
            ready.append(max(when) + _TIMES.get(op, _CALL))
