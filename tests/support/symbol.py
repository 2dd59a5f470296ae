"""Traced symbols of which the values are known, to compare code over symbols with the same over floats.

Asked for its truth, its order or its float a symbol fails, so that code which branches on a value is caught.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.program.graph import Graph
from nacelle.program.program import apply
from nacelle.program.trace import Symbol

_GRAPH = Graph()
_NUMBERS: list[float] = []


def symbol(number: float) -> Symbol:
    """A symbol with a value."""
    _NUMBERS.append(float(number))
    return Symbol(_GRAPH, _GRAPH.input(len(_NUMBERS) - 1))


def symbols(array: Any) -> np.ndarray:
    """An array of symbols with the given values."""
    numbers = np.asarray(array, dtype=float)
    result = np.empty(numbers.shape, dtype=object)
    for index in np.ndindex(numbers.shape):
        result[index] = symbol(numbers[index])
    return result


def value(item: Any) -> float:
    """What a scalar evaluates to."""
    return float(values(item))


def values(array: Any) -> np.ndarray:
    """What an array of symbols and floats evaluates to."""
    items = np.asarray(array, dtype=object)
    ahead = [item.index for item in items.flat if isinstance(item, Symbol)]
    arguments: dict[int, tuple[int, ...]] = {}
    while ahead:
        node = ahead.pop()
        if node not in arguments:
            op, *rest = _GRAPH.nodes[node]
            arguments[node] = () if op in ("const", "input") else tuple(rest)
            ahead += arguments[node]
    found: dict[int, float] = {}
    with np.errstate(all="ignore"):
        # Arguments of a node come before it.
        for node in sorted(arguments):
            op, first, *_ = _GRAPH.nodes[node]
            if op in ("const", "input"):
                found[node] = float(first) if op == "const" else _NUMBERS[first]
            else:
                found[node] = float(apply(op, *(found[k] for k in arguments[node])))
    numbers = [found[item.index] if isinstance(item, Symbol) else float(item) for item in items.flat]
    return np.array(numbers).reshape(items.shape)
