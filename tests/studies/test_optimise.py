"""Optimisers: known optima and fronts, what fails, the same points for a seed, and the protocol."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from nacelle.errors import StudyError
from nacelle.spatial.scalar import Array
from nacelle.studies.optimise import Gradients, OptimisationProblem, Optimiser, optimiser
from nacelle.studies.statistics import pareto_front

EXTRA = ("cmaes", "pso", "nsga2", "nsga3", "tpe", "optuna-nsga2")
NAMES = ("de", "slsqp", *(pytest.param(name, marks=pytest.mark.extra) for name in EXTRA))
LIBRARIES = {"cmaes": "cma", "tpe": "optuna", "optuna-nsga2": "optuna"}


@pytest.fixture(autouse=True)
def _libraries(request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else None
    if name in EXTRA:
        reason = "cma, pymoo and Optuna are not installed: nacelle-robotics[optimise], make test-extras"
        pytest.importorskip(LIBRARIES.get(name, "pymoo"), reason=reason)


class Values(NamedTuple):
    """Objectives (n, M), violations (n, C) and their gradients."""

    F: Array
    G: Array
    gradients: Gradients


class History(NamedTuple):
    """All points of a search, their objectives and violations, and the sizes of generations."""

    x: Array
    F: Array
    G: Array
    sizes: list[int]


def _run(search: Optimiser, f: Callable[[Array], Values]) -> History:
    rows: list[tuple[Array, Array, Array]] = []
    while not search.done:
        x = search.ask()
        assert np.array_equal(x, search.ask())
        F, G, gradients = f(x)
        search.tell(x, F, G, gradients if search.wants_gradient else None)
        rows.append((x, F, G))
    x, F, G = (np.concatenate(column) for column in zip(*rows, strict=True))
    return History(x, F, G, [len(row[0]) for row in rows])


def hyperbola(x: Array) -> Values:
    """Minimise x1 + x2 with x1 x2 >= 1/4 and x2 <= 0.4: (0.625, 0.4). Nothing else matters."""
    n, P = x.shape
    dF, dG = np.zeros((n, 1, P)), np.zeros((n, 2, P))
    dF[:, 0, :2] = 1.0
    dG[:, 0, 0], dG[:, 0, 1], dG[:, 1, 1] = -x[:, 1], -x[:, 0], 1.0
    G = np.stack([0.25 - x[:, 0] * x[:, 1], x[:, 1] - 0.4], axis=1)
    return Values(x[:, :1] + x[:, 1:2], G, Gradients(dF, dG))


def _best(history: History, tolerance: float = 0.0) -> float:
    feasible = (history.G - tolerance <= 0.0).all(axis=1) & np.isfinite(history.F[:, 0])
    return float(history.F[feasible, 0].min())


CLOSE = {"de": 1e-4, "slsqp": 1e-8, "cmaes": 1e-4, "pso": 1e-2, "tpe": 5e-2, "optuna-nsga2": 3e-2}


@pytest.mark.parametrize("name", NAMES)
def test_a_constrained_optimum(name: str) -> None:
    problem = OptimisationProblem(3, 1, 2, budget=300 if name == "tpe" else 2000, population=20, seed=1)
    history = _run(optimiser(name, problem), hyperbola)
    assert abs(_best(history, 1e-8 if name == "slsqp" else 0.0) - 1.025) < CLOSE.get(name, 2e-2)
    # A search that runs until its budget is used has used it.
    assert sum(history.sizes) <= problem.budget
    assert name == "slsqp" or problem.budget - sum(history.sizes) < 20
    assert np.all((history.x >= 0.0) & (history.x <= 1.0))


@pytest.mark.parametrize("name", NAMES)
def test_what_fails_is_worst(name: str) -> None:
    """Below x1 = 0.7 every variant fails, of the objective or of a constraint: 0.7 + 0.25/0.7 is left."""

    def f(x: Array) -> Values:
        F, G, gradients = hyperbola(x)
        F[x[:, 0] < 0.7] = np.nan
        G[x[:, 0] < 0.65] = np.nan
        F[x[:, 0] < 0.1] = -np.inf
        gradients.objectives[x[:, 0] < 0.7] = np.nan
        return Values(F, G, gradients)

    problem = OptimisationProblem(2, 1, 2, budget=200 if name == "tpe" else 800, population=20, seed=2)
    best = _best(_run(optimiser(name, problem), f), 1e-8)
    assert 0.7 + 0.25 / 0.7 - 1e-7 <= best < 0.7 + 0.25 / 0.7 + 0.1


@pytest.mark.parametrize("name", [name for name in NAMES if name != "slsqp"])
def test_a_feasible_set_that_random_points_miss(name: str) -> None:
    """A ball of radius 0.02 in four dimensions: of random points two in a million lie in it."""

    def f(x: Array) -> Values:
        G = np.linalg.norm(x - 0.3, axis=1, keepdims=True) - 0.02
        return Values(1.0 - x[:, :1], G, Gradients(x, x))

    problem = OptimisationProblem(4, 1, 1, budget=200 if name == "tpe" else 2000, population=20, seed=1)
    history = _run(optimiser(name, problem), f)
    assert history.G.min() <= {"tpe": 0.1, "optuna-nsga2": 0.01}.get(name, 0.0)


def test_gradients_that_fail_where_values_do_not() -> None:
    """Below x = 0.5: searches turn back there, as from any point that has failed."""

    def f(x: Array) -> Values:
        none = np.zeros((len(x), 0))
        return Values(x, none, Gradients(np.where(x < 0.5, np.nan, 1.0)[:, None], none[:, :, None]))

    history = _run(optimiser("slsqp", OptimisationProblem(1, population=10)), f)
    assert 0.5 <= history.x[history.x >= 0.5].min() < 0.5 + 1e-6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error")
def test_where_everything_fails_the_search_goes_on(name: str) -> None:
    def f(x: Array) -> Values:
        F, G, gradients = hyperbola(x)
        return Values(F * np.nan, G * np.nan, Gradients(*(array * np.nan for array in gradients)))

    history = _run(optimiser(name, OptimisationProblem(2, 1, 2, budget=60, population=10)), f)
    assert np.all(np.isfinite(history.x))
    assert sum(history.sizes) == 10 if name == "slsqp" else len(np.unique(history.x, axis=0)) > 40


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_alone_makes_the_points(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Not what others draw meanwhile; and their numbers stay what they are. Nothing is printed."""

    def search(seed: int, state: int) -> Array:
        # The generator that libraries share is the one in question.
        np.random.seed(state)  # noqa: NPY002
        expected = np.random.RandomState(state)
        problem = OptimisationProblem(2, 1, 2, budget=100, population=10, seed=seed)

        def f(x: Array) -> Values:
            assert np.random.random() == expected.random_sample()  # noqa: NPY002
            return hyperbola(x)

        return _run(optimiser(name, problem), f).x

    first = search(4, 0)
    assert np.array_equal(search(4, 1), first)
    assert not np.array_equal(search(5, 0)[:10], first[:10])
    assert capfd.readouterr() == ("", "")


@pytest.mark.extra
def test_optuna_is_silent_and_as_verbose_as_before(caplog: pytest.LogCaptureFixture) -> None:
    optuna = pytest.importorskip(
        "optuna", reason="Optuna is not installed: nacelle-robotics[optimise], make test-extras"
    )
    logging.getLogger("optuna").addHandler(caplog.handler)
    try:
        _run(optimiser("tpe", OptimisationProblem(2, 1, 2, budget=20, population=10)), hyperbola)
    finally:
        logging.getLogger("optuna").removeHandler(caplog.handler)
    assert not caplog.records
    assert optuna.logging.get_verbosity() == optuna.logging.INFO


@pytest.mark.parametrize("name", NAMES)
def test_single_variables(name: str) -> None:
    def f(x: Array) -> Values:
        return Values(
            (x - 0.3) ** 2, np.zeros((len(x), 0)), Gradients(2.0 * x[:, None] - 0.6, np.zeros((len(x), 0, 1)))
        )

    history = _run(optimiser(name, OptimisationProblem(1, budget=150, population=10)), f)
    assert history.F.min() < 1e-4


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_gradients_find_an_optimum_in_few_points_in_any_unit(unit: float) -> None:
    """Rosenbrock's valley in the unit cube, in 5 variables, to six digits."""

    def f(x: Array) -> Values:
        y = 4.0 * x - 2.0
        rise = y[:, 1:] - y[:, :-1] ** 2
        dF = np.zeros_like(y)
        dF[:, :-1] += -400.0 * rise * y[:, :-1] - 2.0 * (1.0 - y[:, :-1])
        dF[:, 1:] += 200.0 * rise
        F = np.sum(100.0 * rise**2 + (1.0 - y[:, :-1]) ** 2, axis=1, keepdims=True)
        none = np.zeros((len(x), 0))
        return Values(unit * F, none, Gradients(unit * 4.0 * dF[:, None], np.zeros((len(x), 0, 5))))

    history = _run(optimiser("slsqp", OptimisationProblem(5, budget=1000, population=8)), f)
    assert sum(history.sizes) < 1000
    np.testing.assert_allclose(history.x[np.argmin(history.F)], 0.75, atol=1e-5)


@pytest.mark.extra
def test_cmaes_starts_anew_where_it_has_converged() -> None:
    """Rastrigin's function, whose many local minima surround (0.6, 0.6)."""
    pytest.importorskip("cma", reason="cma is not installed: nacelle-robotics[optimise], make test-extras")

    def f(x: Array) -> Values:
        y = 10.0 * (x - 0.6)
        F = np.sum(y**2 + 10.0 - 10.0 * np.cos(2.0 * np.pi * y), axis=1, keepdims=True)
        none = np.zeros((len(x), 0))
        return Values(F, none, Gradients(none, none))

    assert _run(optimiser("cmaes", OptimisationProblem(2, budget=6000, population=10)), f).F.min() < 1e-9


def zdt1(x: Array) -> Values:
    """Zitzler, Deb, Thiele (2000): f2 = 1 - sqrt(f1) is the front, all variables but the first 0."""
    g = 1.0 + 9.0 * x[:, 1:].mean(axis=1)
    none = np.zeros((len(x), 0))
    return Values(np.stack([x[:, 0], g * (1.0 - np.sqrt(x[:, 0] / g))], axis=1), none, Gradients(none, none))


@pytest.mark.extra
@pytest.mark.parametrize(
    ("name", "budget"), [("nsga2", 6000), ("nsga3", 6000), ("optuna-nsga2", 1000), ("tpe", 200)]
)
def test_a_known_front(name: str, budget: int) -> None:
    problem = OptimisationProblem(5, 2, budget=budget, population=40, seed=3)
    history = _run(optimiser(name, problem), zdt1)
    front = history.F[pareto_front(history.F, feasible=np.ones(len(history.F), dtype=bool))]
    f1 = np.linspace(0.0, 1.0, 101)
    truth = np.stack([f1, 1.0 - np.sqrt(f1)], axis=1)
    distance = np.linalg.norm(truth[:, None] - front[None], axis=2).min(axis=1)
    # As many random points are 0.4 to 1 away.
    assert distance.mean() < {"optuna-nsga2": 0.25, "tpe": 0.6}.get(name, 0.02)


# ---- the protocol


def test_a_search_is_told_what_it_asked_for() -> None:
    problem = OptimisationProblem(2, 1, 2, population=5)
    search = optimiser("slsqp", problem)
    assert search.wants_gradient
    search.ask()[:] = 0.0
    x = search.ask()
    assert np.any(x > 0.0)
    F, G, gradients = hyperbola(x)
    with pytest.raises(StudyError, match=r"not the points that ask\(\) gave"):
        search.tell(x[:3], F[:3], G[:3], gradients)
    with pytest.raises(StudyError, match="needs gradients"):
        search.tell(x, F, G)
    with pytest.raises(
        StudyError, match=r"shapes .*\(5,\).* not \[\(5, 1\), \(5, 2\), \(5, 1, 2\), \(5, 2, 2\)\]"
    ):
        search.tell(x, F[:, 0], G, gradients)
    search.tell(x, F, G, gradients)
    short = optimiser("de", OptimisationProblem(2, 1, 2, budget=9, population=5))
    assert not short.wants_gradient
    short.tell(x := short.ask(), *hyperbola(x)[:2])
    assert short.done
    with pytest.raises(StudyError, match="the search is done"):
        short.ask()
    with pytest.raises(StudyError, match="not the points"):
        short.tell(x, *hyperbola(x)[:2])


def test_problems_that_a_search_cannot_solve() -> None:
    with pytest.raises(StudyError, match=r"unknown optimiser 'nsg2' \(did you mean 'nsga2'\?\)"):
        optimiser("nsg2", OptimisationProblem(2))
    with pytest.raises(
        StudyError, match="'de' minimises one objective, not 2: use nsga2, nsga3, tpe, optuna"
    ):
        optimiser("de", OptimisationProblem(2, objectives=2))
    with pytest.raises(StudyError, match="population of at least 5, not 4"):
        optimiser("de", OptimisationProblem(2, population=4))
    with pytest.raises(StudyError, match="budget of 39 points is less than the first generation"):
        optimiser("slsqp", OptimisationProblem(2, budget=39))


@pytest.mark.parametrize("library", ["cma", "pymoo", "optuna"])
def test_without_the_library(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [module for module in sys.modules if module.startswith(f"{library}.")]
    for module in (library, *loaded):
        monkeypatch.setitem(sys.modules, module, None)
    name = {"cma": "cmaes", "pymoo": "nsga3", "optuna": "tpe"}[library]
    message = rf"{library} is missing: .*robotics\[optimise\]'.* de and slsqp do without.*weighted sum"
    with pytest.raises(StudyError, match=message):
        optimiser(name, OptimisationProblem(2))


def test_errors_of_a_solver_reach_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    def minimize(fun: Callable[[Array], float], x: Array, **options: object) -> None:
        fun(x)
        raise RuntimeError("the solver is broken")

    monkeypatch.setattr("scipy.optimize.minimize", minimize)
    search = optimiser("slsqp", OptimisationProblem(2, 1, 2))
    with pytest.raises(RuntimeError, match="the solver is broken"):
        search.tell(x := search.ask(), *hyperbola(x))


def test_searches_that_nobody_ends_leave_no_threads() -> None:
    before = set(threading.enumerate())
    searches = [optimiser(name, OptimisationProblem(2, 1, 2, population=8)) for name in ("de", "slsqp")]
    threads = set(threading.enumerate()) - before
    assert len(threads) == 9
    for search in searches:
        search.tell(x := search.ask(), *hyperbola(x))
    searches.clear()
    del search
    for thread in threads:
        thread.join(timeout=5.0)
    assert not any(thread.is_alive() for thread in threads)
