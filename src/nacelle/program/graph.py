"""The expression graph: hash-consed, folded as it grows.

Every node is a tuple of an operation and the indices of earlier nodes; equal tuples are one node. While
it grows, constants are folded (x 0 = 0, x 1 = x, x - x = 0), signs are pulled outwards (negations are
free in every target), and commutative arguments are ordered, so that equal expressions meet. Constants that
differ by rounding alone are one (`nacelle.spatial.rounding`). A constant may be a recorded float, which is
computed from numbers given at run time (`nacelle.program.split`); it folds like any other.

In addition to the operations of a `Program` a graph has

    ("solve", kind, n, *A, *b)      the solution of A x = b, A row by row, and
    ("entry", solve, k)             its k-th component,

which are lowered late (`nacelle.program.solve`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nacelle.spatial.recorded import Recorded, record_operation
from nacelle.spatial.rounding import FOLDED_ULPS, Constants, folded_sum
from nacelle.spatial.trigonometry import sine_cosine

Node = tuple[Any, ...]

_ODD = frozenset(("sin", "tanh", "sign"))
_EVEN = frozenset(("cos", "abs"))


class _Table(dict[Node, int]):
    """The index of every node; one that is looked up for the first time is made."""

    __slots__ = ("_nodes", "_values")

    def __init__(self, nodes: list[Node], values: list[float | None]) -> None:
        super().__init__()
        self._nodes, self._values = nodes, values

    def __missing__(self, node: Node) -> int:
        index = self[node] = len(self._nodes)
        self._nodes.append(node)
        self._values.append(node[1] if node[0] == "const" else None)
        return index


class Graph:
    """An expression graph; nodes are indices into `nodes`."""

    __slots__ = ("_constants", "_floats", "_table", "nodes", "values")

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: list[Node] = []
        # The value of a node that is a constant, else None.
        self.values: list[float | None] = []
        self._table = _Table(self.nodes, self.values)
        self._constants = Constants(FOLDED_ULPS)
        # The node of every float that has been a constant.
        self._floats: dict[float, int] = {}

    def node(self, *node: Any) -> int:
        """Give the index of a node, new or old."""
        return self._table[node]

    def const(self, value: float) -> int:
        """A constant, as it has appeared within rounding; -0.0 is taken as 0.0, and all NaN are one."""
        plain = type(value) is float
        if plain:
            index = self._floats.get(value)
            if index is not None:
                return index
        number = value if isinstance(value, Recorded) else float(value)
        key: Node = (
            ("const", self._constants.unify(number) + 0.0) if number == number else ("const", math.nan)
        )
        index = self.node(*key)
        if plain:
            self._floats[value] = index
        return index

    def _value(self, a: int) -> float:
        """The value of a node that is a constant."""
        value = self.values[a]
        assert value is not None
        return value

    def input(self, k: int) -> int:
        """The k-th input scalar."""
        return self.node("input", k)

    def neg(self, a: int) -> int:
        """Negation: -(-x) is x."""
        value = self.values[a]
        if value is not None:
            return self.const(-value)
        node = self.nodes[a]
        return int(node[1]) if node[0] == "neg" else self._table["neg", a]

    def _split_sign(self, a: int) -> tuple[int, bool]:
        """Split off a negation: the node without it, and whether there was one."""
        node = self.nodes[a]
        if node[0] == "neg":
            return node[1], True
        value = self.values[a]
        if value is not None and value < 0.0:
            return self.const(-value), True
        return a, False

    def add(self, a: int, b: int) -> int:
        """Sum."""
        u, v = self.values[a], self.values[b]
        if u is None and v is None:
            nodes = self.nodes
            if nodes[a][0] != "neg" and a != b:
                second = nodes[b]
                if second[0] == "neg":
                    return self.sub(a, second[1])
                return self._table["add", a, b] if a < b else self._table["add", b, a]
        elif u is not None and v is not None:
            return self.const(folded_sum(u, v))
        elif u == 0.0:
            return b
        elif v == 0.0:
            return a
        x, x_negative = self._split_sign(a)
        y, y_negative = self._split_sign(b)
        if x_negative:
            return self.neg(self.add(x, y)) if y_negative else self.sub(y, x)
        if y_negative:
            return self.sub(x, y)
        if a == b:
            return self.mul(self.const(2.0), a)
        return self._table["add", a, b] if a < b else self._table["add", b, a]

    def sub(self, a: int, b: int) -> int:
        """Difference; a - b and b - a share a node."""
        u, v = self.values[a], self.values[b]
        if u is None and v is None:
            nodes = self.nodes
            if nodes[a][0] != "neg" and nodes[b][0] != "neg" and a != b:
                return self._table["sub", a, b] if a < b else self.neg(self._table["sub", b, a])
        elif u is not None and v is not None:
            return self.const(folded_sum(u, -v))
        if a == b:
            return self.const(0.0)
        if v == 0.0:
            return a
        if u == 0.0:
            return self.neg(b)
        x, x_negative = self._split_sign(a)
        y, y_negative = self._split_sign(b)
        if x_negative:
            return self.sub(y, x) if y_negative else self.neg(self.add(x, y))
        if y_negative:
            return self.add(x, y)
        return self._table["sub", a, b] if a < b else self.neg(self._table["sub", b, a])

    def mul(self, a: int, b: int) -> int:
        """Product; a chain of constants is one constant."""
        u, v = self.values[a], self.values[b]
        if u is not None:
            return self._scale(a, b) if v is None else self.const(u * v)
        if v is not None:
            return self._scale(b, a)
        first, second = self.nodes[a], self.nodes[b]
        if first[0] == "neg":
            return self.mul(first[1], second[1]) if second[0] == "neg" else self.neg(self.mul(first[1], b))
        if second[0] == "neg":
            return self.neg(self.mul(a, second[1]))
        return self._table["mul", a, b] if a < b else self._table["mul", b, a]

    def _scale(self, a: int, b: int) -> int:
        """Product of a constant a and b, which is not constant."""
        u = self._value(a)
        if u == 1.0:
            return b
        if u == 0.0:
            return a
        if u < 0.0:
            return self.neg(self._scale(self.const(-u), b))
        node = self.nodes[b]
        if node[0] == "neg":
            return self.neg(self._scale(a, node[1]))
        if node[0] == "mul" and self.values[node[1]] is not None:
            return self._scale(self.const(u * self._value(node[1])), node[2])
        return self._table["mul", a, b]

    def div(self, a: int, b: int) -> int:
        """Quotient; a constant divisor becomes a factor."""
        u, v = self.values[a], self.values[b]
        if v is not None and v != 0.0 and math.isfinite(1.0 / v):
            return self.const(u / v) if u is not None else self.mul(a, self.const(1.0 / v))
        if u == 0.0 and v is None:
            return a
        if a == b:
            return self.const(1.0)
        x, x_negative = self._split_sign(a)
        y, y_negative = self._split_sign(b)
        if x_negative or y_negative:
            quotient = self.div(x, y)
            return quotient if x_negative and y_negative else self.neg(quotient)
        return self.node("div", a, b)

    def unary(self, op: str, a: int) -> int:
        """A function of one argument; odd ones pass a sign on, even ones drop it."""
        value = self.values[a]
        if value is not None:
            folded = _fold_unary(op, value)
            if folded is not None:
                return self.const(folded)
        if op in _ODD or op in _EVEN:
            x, negative = self._split_sign(a)
            if negative:
                return self.neg(self.unary(op, x)) if op in _ODD else self.unary(op, x)
        if op == "abs" and self.nodes[a][0] in ("abs", "sqrt", "exp"):
            return a
        if op == "floor" and self.nodes[a][0] in ("floor", "sign"):
            return a
        return self.node(op, a)

    def binary(self, op: str, a: int, b: int) -> int:
        """Smaller, larger, or angle of two arguments."""
        u, v = self.values[a], self.values[b]
        constant = u is not None and v is not None
        if op != "atan2" and a == b:
            return a
        if constant and (isinstance(u, Recorded) or isinstance(v, Recorded)):
            return self.const(record_operation(op, self._value(a), self._value(b)))
        if op == "atan2":
            return self.const(math.atan2(u, v)) if u is not None and v is not None else self.node(op, a, b)
        if u is not None and v is not None and u == u and v == v:
            return self.const(min(u, v) if op == "min" else max(u, v))
        return self.node(op, a, b) if a < b else self.node(op, b, a)

    def where(self, condition: int, a: int, b: int) -> int:
        """`a` if condition > 0, else `b`."""
        value = self.values[condition]
        if value is not None and not isinstance(value, Recorded):
            return a if value > 0.0 else b
        if a == b:
            return a
        if value is not None and self.values[a] is not None and self.values[b] is not None:
            return self.const(record_operation("where", value, self._value(a), self._value(b)))
        return self.node("where", condition, a, b)

    def solve(self, kind: str, A: list[int], b: list[int]) -> list[int]:
        """Entries of the solution of A x = b, A row by row."""
        if all(self.values[k] == 0.0 for k in b):
            return [self.const(0.0)] * len(b)
        solution = self.node("solve", kind, len(b), *A, *b)
        return [self.node("entry", solution, k) for k in range(len(b))]

    def apply(self, op: str, *arguments: int) -> int:
        """Apply an operation of a `Program` by name."""
        if op == "add":
            return self.add(*arguments)
        if op == "mul":
            return self.mul(*arguments)
        if op == "sub":
            return self.sub(*arguments)
        if op == "div":
            return self.div(*arguments)
        if op == "neg":
            return self.neg(*arguments)
        if op == "where":
            return self.where(*arguments)
        return self.unary(op, *arguments) if len(arguments) == 1 else self.binary(op, *arguments)


def _fold_unary(op: str, value: float) -> float | None:
    """Value of a function at a constant; None where it is not a number there."""
    if isinstance(value, Recorded):
        return None if op == "sqrt" and value < 0.0 else record_operation(op, value)
    if op == "sqrt":
        return math.sqrt(value) if value >= 0.0 else None
    if op == "sign":
        return float((value > 0) - (value < 0)) if value == value else None
    if not math.isfinite(value):
        return None
    try:
        return float(_FUNCTIONS[op](value))
    except OverflowError:
        return None


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": lambda value: sine_cosine(value)[0],
    "cos": lambda value: sine_cosine(value)[1],
    "tanh": math.tanh,
    "exp": math.exp,
    "abs": abs,
    "floor": math.floor,
}


def children(node: Node) -> tuple[int, ...]:
    """Nodes that a node is made of."""
    op = node[0]
    if op in ("const", "input"):
        return ()
    if op == "solve":
        return node[3:]
    if op == "entry":
        return (node[1],)
    return node[1:]


def depth_first(roots: Sequence[int], below: Callable[[int], Iterable[int]]) -> list[int]:
    """What some roots need, each after what it is made of (`below`), which is made as late as can be."""
    order: list[int] = []
    state: dict[int, bool] = {}
    stack = list(reversed(roots))
    while stack:
        item = stack[-1]
        seen = state.get(item)
        if seen is None:
            new = [child for child in below(item) if not state.get(child)]
            if new:
                state[item] = False
                new.reverse()
                stack += new
                continue
        stack.pop()
        if not seen:
            state[item] = True
            order.append(item)
    return order


def reachable(graph: Graph, roots: list[int]) -> list[int]:
    """All nodes that some roots need, in the order in which they were made."""
    nodes = graph.nodes
    needed = [False] * len(nodes)
    for k in roots:
        needed[k] = True
    # Nodes are made of earlier ones.
    for k in range(max(roots, default=-1), -1, -1):
        if needed[k]:
            node = nodes[k]
            if len(node) == 3 and node[0] != "entry":
                needed[node[1]] = needed[node[2]] = True
                continue
            for child in children(node):
                needed[child] = True
    return [k for k, is_needed in enumerate(needed) if is_needed]


# ---- A graph whose first inputs are recorded constants: numbers that are given at run time, at a sample


class ParametricGraph(Graph):
    """A graph in which the first inputs have the values of a sample, recorded on a tape."""

    __slots__ = ("fixed", "tape")

    def __init__(self, sample: Sequence[float]) -> None:
        """Start with an empty tape; a zero stays zero."""
        super().__init__()
        self.tape = Graph()
        self.fixed = [
            Recorded(value, self.tape, self.tape.input(k)) if value else 0.0 for k, value in enumerate(sample)
        ]

    def input(self, k: int) -> int:
        """The k-th input scalar, or the constant in its place."""
        return self.const(self.fixed[k]) if k < len(self.fixed) else super().input(k)
