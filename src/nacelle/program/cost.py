"""Counting operations, and what they cost.

The plain count: additions and subtractions are one class, products and quotients the other; squares and
products by constants count, negations do not; square roots, sines and cosines, signs and the rest are
listed apart. The weighted cost, which the passes minimise, prices an operation by its time relative to
a product.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nacelle.program.graph import Graph, reachable
from nacelle.program.program import Program

WEIGHTS = {
    "add": 1.0,
    "sub": 1.0,
    "mul": 1.0,
    "div": 12.0,
    "sqrt": 16.0,
    "sin": 40.0,
    "cos": 40.0,
    "atan2": 80.0,
    "tanh": 60.0,
    "exp": 40.0,
    "abs": 0.5,
    "min": 1.0,
    "max": 1.0,
    "where": 1.5,
    "sign": 2.0,
    "floor": 2.0,
    "neg": 0.0,
    "const": 0.0,
    "input": 0.0,
}


@dataclass(frozen=True)
class Count:
    """Operations of a program by class.

    Attributes:
        add: additions and subtractions.
        mul: products and quotients.
        div: the quotients among them.
        sqrt: square roots.
        trig: sines, cosines and arctangents.
        sign: signs.
        other: everything else (min, max, where, abs, tanh, exp, floor).
    """

    add: int = 0
    mul: int = 0
    div: int = 0
    sqrt: int = 0
    trig: int = 0
    sign: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """Additions, subtractions, products and quotients: the plain count."""
        return self.add + self.mul

    def __str__(self) -> str:
        """Give "1023 operations: 480 +/-, 543 x/÷ ..."."""
        text = f"{self.total} operations: {self.add} +/-, {self.mul} ×/÷"
        if self.div:
            text += f" ({self.div} ÷)"
        for name in ("sqrt", "trig", "sign", "other"):
            if getattr(self, name):
                text += f", {getattr(self, name)} {name}"
        return text


def count(program: Program) -> Count:
    """Count the operations of a program by the plain rule."""
    n = Counter(instruction[0] for instruction in program.code)
    return Count(
        add=n["add"] + n["sub"],
        mul=n["mul"] + n["div"],
        div=n["div"],
        sqrt=n["sqrt"],
        trig=n["sin"] + n["cos"] + n["atan2"],
        sign=n["sign"],
        other=n["min"] + n["max"] + n["where"] + n["abs"] + n["tanh"] + n["exp"] + n["floor"],
    )


def cost(program: Program) -> float:
    """Weighted cost of a program, in products."""
    return sum(WEIGHTS[instruction[0]] for instruction in program.code)


def cost_of(graph: Graph, roots: list[int]) -> float:
    """Weighted cost of what some roots of a graph need, in products."""
    return sum(WEIGHTS[graph.nodes[k][0]] for k in reachable(graph, roots))
