"""Optimisers that request points and are given what was computed there.

    search = optimiser("nsga2", OptimisationProblem(variables=8, objectives=2, budget=4000))
    while not search.done:
        points = search.ask()
        search.tell(points, *evaluate(points))

SciPy, cma, pymoo and Optuna do the work. Each is a generator here that yields points and receives an
`Evaluation`; where a library has no ask and tell, it runs in a thread of its own that waits whenever another
one runs. Points depend on the seed alone: one thread works at a time, with one thread of BLAS.

Constraints follow Deb's rules (2000): what is feasible is better than what is not, of two infeasible points
the one with the smaller sum of violations; what has failed, with a value that is not finite, is worst of all.
SLSQP, which works with gradients, has each constraint on its own.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

import numpy as np

from nacelle.distribution import install_command
from nacelle.errors import StudyError, did_you_mean
from nacelle.one_thread import one_blas_thread
from nacelle.spatial.scalar import Array
from nacelle.studies.designs import latin_hypercube


@dataclass(frozen=True)
class OptimisationProblem:
    """What an optimiser has to know of a problem: sizes, and how long it may search.

    Attributes:
        variables: P, each from 0 to 1.
        objectives: M, all to be minimised.
        constraints: C, violations that must not be positive.
        budget: how many points may be evaluated.
        population: points of a generation; of "slsqp" how many starts there are, of "tpe" how many points
            are asked for at once.
        seed: of everything random, 0 to 2^32 - 1.
    """

    variables: int
    objectives: int = 1
    constraints: int = 0
    budget: int = 1000
    population: int = 40
    seed: int = 0


class Gradients(NamedTuple):
    """Derivatives by the variables, of objectives (n, M, P) and violations (n, C, P)."""

    objectives: Array
    violations: Array


class Evaluation(NamedTuple):
    """What was computed at points: objectives (n, M), violations (n, C), and gradients of both."""

    objectives: Array
    violations: Array
    gradients: Gradients | None = None


class Optimiser(Protocol):
    """A search that requests points until it is done.

    Attributes:
        wants_gradient: whether `tell` needs gradients.
    """

    wants_gradient: bool

    @property
    def done(self) -> bool:
        """Whether no points are left: the search has ended, or the next ones exceed the budget."""

    def ask(self) -> Array:
        """The next points (n, P), the same ones until they are evaluated."""

    def tell(
        self, points: Array, objectives: Array, violations: Array, gradients: Gradients | None = None
    ) -> None:
        """Take what was computed at the points of `ask`: objectives (n, M), violations (n, C)."""


_Search = Generator[Array, Evaluation, None]


class _Generations:
    """The optimiser that a generator of points is."""

    def __init__(self, problem: OptimisationProblem, search: _Search, wants_gradient: bool) -> None:
        self.wants_gradient = wants_gradient
        self._problem, self._search, self._left = problem, search, problem.budget
        self._points: Array | None = None
        self._advance(None)
        if self.done:
            raise StudyError(f"a budget of {problem.budget} points is less than the first generation")

    @property
    def done(self) -> bool:
        return self._points is None

    def ask(self) -> Array:
        if self._points is None:
            raise StudyError("the search is done: it has no more points")
        return self._points.copy()

    def tell(
        self, points: Array, objectives: Array, violations: Array, gradients: Gradients | None = None
    ) -> None:
        if self._points is None or not np.array_equal(points, self._points):
            raise StudyError("these are not the points that ask() gave")
        if self.wants_gradient and gradients is None:
            raise StudyError("this search needs gradients of the objectives and violations")
        n, M, C = len(points), self._problem.objectives, self._problem.constraints
        shapes = [array.shape for array in (objectives, violations, *(gradients or ()))]
        right = [(n, M), (n, C), (n, M, points.shape[1]), (n, C, points.shape[1])][: len(shapes)]
        if shapes != right:
            raise StudyError(f"objectives, violations (and gradients) have shapes {shapes}, not {right}")
        self._advance(Evaluation(objectives, violations, gradients))

    @one_blas_thread
    def _advance(self, evaluation: Evaluation | None) -> None:
        points = _send(self._search, evaluation)
        self._points = None if points is None or len(points) > self._left else np.clip(points, 0.0, 1.0)
        if self._points is None:
            self._search.close()
        else:
            self._left -= len(self._points)


def optimiser(name: str, problem: OptimisationProblem) -> Optimiser:
    """A search by its name.

    Args:
        name: of one objective "de" (SciPy's differential evolution), "slsqp" (SciPy's SLSQP with gradients
            from a Latin hypercube of starts), "cmaes" (cma, started anew where it has converged) or "pso"
            (pymoo); of any number "nsga2", "nsga3" (pymoo), "tpe" or "optuna-nsga2" (Optuna).
        problem: what is optimised.

    Raises:
        StudyError: if the name is unknown, its library missing, or the problem not of its kind.
    """
    if name not in _SEARCHES:
        raise StudyError(f"unknown optimiser {name!r} ({did_you_mean(name, _SEARCHES)})")
    if problem.objectives != 1 and name in _SINGLE:
        many = [known for known in _SEARCHES if known not in _SINGLE]
        raise StudyError(f"{name!r} minimises one objective, not {problem.objectives}: use {', '.join(many)}")
    if problem.population < (least := 1 if name in ("slsqp", "tpe") else max(5, problem.objectives)):
        raise StudyError(f"{name!r} needs a population of at least {least}, not {problem.population}")
    return _Generations(problem, _SEARCHES[name](problem), name == "slsqp")


# ---- what libraries are given


# Sums of violations that are worse than any objective, and than any sum.
_INFEASIBLE, _FAILED = 1e30, 1e60


def _rank(evaluation: Evaluation) -> Evaluation:
    """Finite objectives, and sums of violations (n, 1): 0 where feasible, highest where failed."""
    F, G = evaluation.objectives, evaluation.violations
    good = np.isfinite(F).all(axis=1, keepdims=True) & ~np.isnan(G).any(axis=1, keepdims=True)
    total = np.minimum(np.maximum(G, 0.0).sum(axis=1, keepdims=True), _INFEASIBLE)
    return Evaluation(np.where(good, F, 0.0), np.where(good, total, _FAILED))


def _order(evaluation: Evaluation) -> Array:
    """One number for each point (n) whose order is that of Deb's rules."""
    F, violation, _ = _rank(evaluation)
    return np.where(violation > 0.0, _INFEASIBLE * (1.0 + violation), F)[:, 0]


def _send(search: Generator[Array, Any, None], answer: Any) -> Array | None:
    """The next points of a generator; None where it has ended."""
    try:
        return next(search) if answer is None else search.send(answer)
    except StopIteration:
        return None


def _optional(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise StudyError(
            f"{library} is missing: {install_command('optimise')} ({error}). "
            "The methods de and slsqp do without: they minimise one objective, such as a weighted sum "
            "of several, {expression: peak - 2 * volume}"
        ) from None


# ---- SciPy, which calls functions


def _calls(solve: Callable[[Callable[[Array], Any]], object]) -> Generator[Array, Any, None]:
    """What a solver calls its function with; it waits in a thread for what it returns."""
    requests: SimpleQueue[Any] = SimpleQueue()
    answers: SimpleQueue[Any] = SimpleQueue()

    def evaluate(points: Array) -> Any:
        requests.put(np.array(points))
        if (answer := answers.get()) is None:
            raise GeneratorExit
        return answer

    def run() -> None:
        try:
            solve(evaluate)
            requests.put(None)
        except BaseException as error:
            requests.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        while (request := requests.get()) is not None:
            if isinstance(request, BaseException):
                raise request
            answers.put((yield request))
    finally:
        answers.put(None)


def _differential_evolution(problem: OptimisationProblem) -> _Search:
    from scipy.optimize import differential_evolution

    starts = latin_hypercube(problem.population, problem.variables, problem.seed)

    def solve(evaluate: Callable[[Array], Evaluation]) -> None:
        differential_evolution(
            lambda x: _order(evaluate(x.T)),
            [(0.0, 1.0)] * problem.variables,
            init=starts,
            seed=np.random.default_rng((problem.seed, 1)),
            vectorized=True,
            updating="deferred",
            polish=False,
            maxiter=problem.budget,
            # Until the budget is used: a population that has failed alike has not converged.
            tol=0.0,
            atol=-1.0,
        )

    return _calls(solve)


def _slsqp(problem: OptimisationProblem) -> _Search:
    """All starts at once: the points of a generation are those that the runs wait for."""
    starts = latin_hypercube(problem.population, problem.variables, problem.seed)
    runs = [_calls(partial(_run_slsqp, start)) for start in starts]
    waiting = {k: next(run) for k, run in enumerate(runs)}
    while waiting:
        F, G, gradients = yield np.array(list(waiting.values()))
        assert gradients is not None
        dF, dG = gradients
        columns = [np.array(column, dtype=float) for column in (F[:, 0], G, dF[:, 0], dG)]
        failed = [not all(np.isfinite(column[i]).all() for column in columns) for i in range(len(F))]
        # High and flat, so that line searches turn back.
        for column, value in zip(columns, (_INFEASIBLE, 0.0, 0.0, 0.0), strict=True):
            column[failed] = value
        rows = [_Row(*row) for row in zip(*columns, strict=True)]
        points = {k: _send(runs[k], row) for k, row in zip(waiting, rows, strict=True)}
        waiting = {k: x for k, x in points.items() if x is not None}


class _Row(NamedTuple):
    """A point of SLSQP: objective, violations (C), and gradients (P), (C, P)."""

    f: float
    g: Array
    df: Array
    dg: Array


def _run_slsqp(start: Array, evaluate: Callable[[Array], _Row]) -> None:
    from scipy.optimize import minimize

    # SciPy requests values, constraints and gradients one after the other.
    @lru_cache(maxsize=1)
    def evaluate_once(point: bytes) -> _Row:
        return evaluate(np.frombuffer(point))

    def at(x: Array) -> _Row:
        return evaluate_once(np.clip(x, 0.0, 1.0).tobytes())

    first = at(start)
    # The tolerance is one of the objective: relative to its size, or to how far it can change.
    size = max(abs(first.f), float(np.abs(first.df).sum())) or 1.0
    minimize(
        lambda x: at(x).f / size,
        start,
        jac=lambda x: at(x).df / size,
        bounds=[(0.0, 1.0)] * len(start),
        constraints={"type": "ineq", "fun": lambda x: -at(x).g, "jac": lambda x: -at(x).dg},
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 1000},
    )


# ---- cma, pymoo and Optuna, which ask and tell


def _cmaes(problem: OptimisationProblem) -> _Search:
    cma, random = _optional("cma"), np.random.default_rng(problem.seed)
    options = {
        "bounds": [0.0, 1.0],
        "popsize": problem.population,
        "verbose": -9,
        # Random numbers of this search alone: cma would seed those of NumPy's global generator.
        "randn": lambda *shape: random.standard_normal(shape),
        "seed": math.nan,
    }
    start = np.full(problem.variables, 0.5)
    while True:
        search = cma.CMAEvolutionStrategy(start, 0.25, options)
        while not search.stop():
            points = search.ask()
            search.tell(points, _order((yield np.array(points))))
        start = random.random(problem.variables)


def _pymoo(problem: OptimisationProblem, module: str, name: str) -> _Search:
    algorithm = getattr(_optional(f"pymoo.algorithms.{module}"), name)
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination

    options: dict[str, Any] = {"pop_size": problem.population}
    if name == "NSGA3":
        from pymoo.util.ref_dirs import get_reference_directions

        # As many parts of an axis as give no more directions than points.
        M, n = problem.objectives, problem.population
        parts = max(k for k in range(1, n) if math.comb(k + M - 1, M - 1) <= n)
        options["ref_dirs"] = get_reference_directions("das-dennis", M, n_partitions=parts)
    search = algorithm(**options)
    sizes = {"n_var": problem.variables, "n_obj": problem.objectives, "n_ieq_constr": 1}
    search.setup(Problem(**sizes, xl=0.0, xu=1.0), termination=NoTermination(), seed=problem.seed)
    while (population := search.ask()) is not None and len(population):
        F, violation, _ = _rank((yield population.get("X")))
        population.set("F", F, "G", violation)
        search.tell(infills=population)


def _optuna(problem: OptimisationProblem, sampler: str, population: str) -> _Search:
    optuna = _optional("optuna")
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    options = {population: problem.population, "seed": problem.seed}
    study = optuna.create_study(
        directions=["minimize"] * problem.objectives, sampler=getattr(optuna.samplers, sampler)(**options)
    )
    optuna.logging.set_verbosity(verbosity)
    space = {f"x{k}": optuna.distributions.FloatDistribution(0.0, 1.0) for k in range(problem.variables)}
    for start in range(0, problem.budget, problem.population):
        trials = [study.ask(space) for _ in range(min(problem.population, problem.budget - start))]
        points = np.array([[trial.params[name] for name in space] for trial in trials])
        F, violation, _ = _rank((yield points))
        for trial, objectives, excess in zip(trials, F, violation, strict=True):
            trial.set_constraint("violation", float(excess[0]))
            study.tell(trial, objectives.tolist())


_SEARCHES: dict[str, Callable[[OptimisationProblem], _Search]] = {
    "de": _differential_evolution,
    "slsqp": _slsqp,
    "cmaes": _cmaes,
    "pso": lambda problem: _pymoo(problem, "soo.nonconvex.pso", "PSO"),
    "nsga2": lambda problem: _pymoo(problem, "moo.nsga2", "NSGA2"),
    "nsga3": lambda problem: _pymoo(problem, "moo.nsga3", "NSGA3"),
    "tpe": lambda problem: _optuna(problem, "TPESampler", "n_startup_trials"),
    "optuna-nsga2": lambda problem: _optuna(problem, "NSGAIISampler", "population_size"),
}
# Of these, those that minimise one objective.
_SINGLE = ("de", "slsqp", "cmaes", "pso")
