"""Minimising a program: factoring, pairing and shared reciprocals, in the order that pays most.

Each strategy is a sequence of passes over the algebraic form (`nacelle.program.algebra`); all of them
are tried, the cheapest result is taken, and they are tried again on it until nothing improves. The search
is deterministic and its budget is a number of programs evaluated, not a time.
"""

from __future__ import annotations

from collections.abc import Callable

from nacelle.program.algebra import Algebra, read, write
from nacelle.program.cost import cost
from nacelle.program.factor import factor
from nacelle.program.pair import pair_products, pair_sums
from nacelle.program.program import Program
from nacelle.program.trace import graph_of, linear

_PAIRS = 100_000

Pass = Callable[[Algebra], object]


def _sums(algebra: Algebra) -> int:
    return pair_sums(algebra, _PAIRS)


def _products(algebra: Algebra) -> int:
    return pair_products(algebra, _PAIRS)


STRATEGIES: tuple[tuple[Pass, ...], ...] = (
    (),
    (factor, _sums, _products),
    (_products, factor, _sums),
    (_sums, factor, _products),
    (_sums, _products, factor),
)


def minimise(program: Program, budget: int = 24) -> Program:
    """Give a program of the same value and the least weighted cost that was found.

    Args:
        program: any program.
        budget: how many candidate programs may be made.
    """
    best, best_cost = program, cost(program)
    evaluations = 0
    improved = True
    while improved and evaluations < budget:
        improved = False
        start = best
        for strategy in STRATEGIES:
            if evaluations >= budget:
                break
            evaluations += 1
            candidate = apply(start, strategy)
            candidate_cost = cost(candidate)
            if candidate_cost < best_cost:
                best, best_cost, improved = candidate, candidate_cost, True
    return best


def apply(program: Program, passes: tuple[Pass, ...]) -> Program:
    """Read a program into its algebraic form, run passes over it, write it back."""
    algebra = read(*graph_of(program))
    for step in passes:
        step(algebra)
    graph, roots = write(algebra)
    return linear(program.name, graph, program.inputs, program.outputs, roots)
