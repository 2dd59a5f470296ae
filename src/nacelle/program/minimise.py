"""Minimising a program: factoring, pairing and shared reciprocals, in the order that pays most.

Each strategy is a sequence of passes over the algebraic form (`nacelle.program.algebra`); all of them
are tried, the cheapest result is taken, and they are tried again on it until nothing improves. The search
is deterministic and its budget is a number of instructions read, not a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Strategy:
    """How a program is read, and the passes over it."""

    keep: bool
    spread: bool
    passes: tuple[Pass, ...]


STRATEGIES = (
    Strategy(True, False, (factor, _sums, _products)),
    Strategy(False, False, (factor, _sums, _products)),
    Strategy(False, True, (factor, _sums, _products)),
    Strategy(False, True, (_sums, factor, _products)),
    Strategy(True, True, (_products, factor, _sums)),
    Strategy(True, False, (_products, _sums, factor)),
)


def minimise(program: Program, budget: int = 60_000) -> Program:
    """Give a program of the same value and the least weighted cost that was found.

    Args:
        program: any program.
        budget: how many instructions may be read into candidates; at least two candidates are made.
    """
    best, best_cost = program, cost(program)
    spent = made = 0
    improved = True
    while improved:
        improved = False
        start = best
        for strategy in STRATEGIES:
            if made >= 2 and spent + len(start.code) > budget:
                break
            made += 1
            spent += len(start.code)
            candidate = apply(start, strategy)
            candidate_cost = cost(candidate)
            if candidate_cost < best_cost:
                best, best_cost, improved = candidate, candidate_cost, True
    return best


def apply(program: Program, strategy: Strategy) -> Program:
    """Read a program into its algebraic form, run passes over it, write it back."""
    algebra = read(*graph_of(program), keep=strategy.keep, spread=strategy.spread)
    for step in strategy.passes:
        step(algebra)
        algebra.prune()
    graph, roots = write(algebra)
    return linear(program.name, graph, program.inputs, program.outputs, roots)
