"""Minimising a program: factoring, pairing and shared reciprocals, in the order that pays most.

Each strategy is a sequence of passes over the algebraic form (`nacelle.program.algebra`); all of them
are tried, the cheapest result is taken, and they (of a long program those that have won) are tried on it
again until nothing improves. The search is deterministic; its budget is a number of instructions read, not a
time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nacelle.program.algebra.algebra import Algebra
from nacelle.program.algebra.read import ReadGraph, read_algebra, source
from nacelle.program.algebra.write import write_algebra
from nacelle.program.cost import cost, cost_of
from nacelle.program.factor import factor
from nacelle.program.graph import Graph
from nacelle.program.pair import pair_products, pair_sums
from nacelle.program.program import Program
from nacelle.program.trace import graph_of, linear

_PAIRS = 100_000
_BUDGET = 60_000
_SHORT = 700

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


STRATEGIES: tuple[Strategy, ...] = (
    Strategy(True, False, (factor, _sums, _products)),
    Strategy(False, False, (factor, _sums, _products)),
    Strategy(False, True, (factor, _sums, _products)),
    Strategy(False, True, (_sums, factor, _products)),
    Strategy(True, True, (_products, factor, _sums)),
    Strategy(True, False, (_products, _sums, factor)),
)


def minimise(program: Program, budget: int = _BUDGET) -> Program:
    """Give a program of the same value and the least weighted cost that was found.

    Args:
        program: any program.
        budget: how many instructions may be read into candidates; at least two candidates are made.
    """
    return Minimiser().minimise(program, budget)


class Minimiser:
    """Minimises programs that are alike; with long ones only strategies that won with the first go on.

    The first strategy wins nearly always with long programs, and the others take most of the time; short ones
    are tried in all ways.
    """

    def __init__(self) -> None:
        """Start with all strategies."""
        self._strategies = STRATEGIES

    def minimise(self, program: Program, budget: int = _BUDGET) -> Program:
        """Give a program of the same value and the least weighted cost that was found; see `minimise`."""
        best, best_cost = program, cost(program)
        spent = made = 0
        improved = True
        while improved:
            improved = False
            start, ways = best, Ways(best)
            is_short = len(start.code) < _SHORT
            winners = [STRATEGIES[0]]
            for strategy in STRATEGIES if is_short else self._strategies:
                if made >= 2 and spent + len(start.code) > budget:
                    break
                made += 1
                spent += len(start.code)
                graph, roots = ways.written(strategy)
                candidate_cost = cost_of(graph, roots)
                if candidate_cost < best_cost:
                    best = linear(program.name, graph, program.inputs, program.outputs, roots)
                    best_cost, improved = candidate_cost, True
                    winners.append(strategy)
            if self._strategies is STRATEGIES and not is_short:
                self._strategies = tuple(dict.fromkeys(winners))
        return best


def run_passes(program: Program, strategy: Strategy) -> Program:
    """Read a program into its algebraic form, run passes over it, write it back."""
    graph, roots = Ways(program).written(strategy)
    return linear(program.name, graph, program.inputs, program.outputs, roots)


class Ways:
    """The ways in which one program is read: strategies that read it alike share that."""

    def __init__(self, program: Program) -> None:
        """Read the program as a graph."""
        self._source: ReadGraph = source(*graph_of(program))
        self._read: dict[tuple[bool, bool], Algebra] = {}

    def written(self, strategy: Strategy) -> tuple[Graph, list[int]]:
        """The graph that a strategy makes of the program, and its roots."""
        way = (strategy.keep, strategy.spread)
        algebra = self._read.get(way)
        if algebra is None:
            algebra = self._read[way] = read_algebra(self._source, *way)
        algebra = algebra.copy()
        for k, step in enumerate(strategy.passes):
            if k:
                algebra.prune()
            step(algebra)
        return write_algebra(algebra)
