"""The best motion: random motions within the limits, then sequential quadratic programming from the best.

A random motion has normal coefficients Z; z -> s z with the largest s that keeps all limits makes it use them
fully, so that the best of many is a fair start and a fair rival. From there SLSQP minimises the criterion
with exact gradients (`problem`). What it gives is checked at many more times than it was optimised at, and
drawn towards the centre, where the robot rests within all limits, until all of them hold: z -> s z again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.identification.excitation.criterion import condition, criterion
from nacelle.identification.excitation.problem import Evaluation, Problem
from nacelle.progress import task
from nacelle.spatial.scalar import Array

# Steps of the search for the largest scale: a factor of two, then bisection.
_HALVINGS, _BISECTIONS = 24, 7
# Length of the optimiser's first step, in units of the variables.
_FIRST_STEP = 0.3
# Motions that are evaluated at once.
_BLOCK = 64


class Stage(NamedTuple):
    """A stage of the optimisation.

    Attributes:
        motions: how many are improved in it.
        order: of the smooth condition.
        part: of the iterations, at most.
    """

    motions: int
    order: float
    part: float


_STAGES = (Stage(100, 4.0, 0.4), Stage(3, 16.0, 1.0), Stage(2, 64.0, 1.0))


@dataclass
class Best:
    """The best motion so far, and how it was found.

    Attributes:
        z: its variables (variables,).
        value: of the criterion, as it is minimised.
        iterations: of the optimiser.
        interrupted: whether the user ended the search.
        message: of the optimiser, where it ended last.
    """

    z: Array
    value: float
    iterations: int = 0
    interrupted: bool = False
    message: str = ""


def random_motions(problem: Problem, count: int, seed: int) -> Array:
    """Variables (count, variables) of random motions that use the limits fully.

    Raises:
        IdentificationError: if no motion is within the limits; it names the limit that is in the way.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(count, len(problem.units)))
    with task(f"{count} random motions within the limits") as report:
        blocks = [drawn[k : k + _BLOCK] for k in range(0, count, _BLOCK)]
        fitted = []
        for k, block in enumerate(blocks):
            fitted.append(_fitted(problem, block))
            report((k + 1) / len(blocks))
    z = np.concatenate(fitted)
    if not np.any(z):
        raise IdentificationError(_in_the_way(problem, drawn[0]))
    return z[np.any(z, axis=-1)]


def _within(problem: Problem, z: Array) -> Array:
    """Which motions (M, variables) keep all limits at the times of the problem (M,)."""
    samples = problem.samples(problem.coefficients(z))
    _, force = problem.rows(samples)
    return np.asarray(np.all(problem.uses(samples, force) <= 1.0, axis=(-1, -2)))


def _fitted(problem: Problem, z: Array) -> Array:
    """Motions scaled to the largest size within the limits; zero where none is."""
    high = np.full(len(z), 8.0)
    low = np.zeros(len(z))
    for _ in range(_HALVINGS):
        open_ = low == 0.0
        if not np.any(open_):
            break
        scale = 0.5 * high[open_]
        good = _within(problem, scale[:, None] * z[open_])
        low[open_] = np.where(good, scale, 0.0)
        high[open_] = np.where(good, high[open_], scale)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        good = _within(problem, middle[:, None] * z)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.asarray(low[:, None] * z)


def _in_the_way(problem: Problem, z: Array) -> str:
    """Which limit the smallest motion breaks, in words."""
    samples = problem.samples(problem.coefficients(z * 2.0**-_HALVINGS))
    uses = problem.uses(samples, problem.rows(samples)[1])
    kind, name = problem.labels()[int(np.argmax(np.max(uses, axis=0)))]
    return f"{problem.robot.name}: no motion about the centre is within the {kind} limit of {name}"


def values_of(problem: Problem, z: Array, name: str) -> Array:
    """The criterion (M,) of motions (M, variables): the condition number, or -log det(R^T R) / 2."""
    values = []
    for k in range(0, len(z), _BLOCK):
        R, _ = problem.rows(problem.samples(problem.coefficients(z[k : k + _BLOCK])))
        for rows in R:
            stacked = problem.stacked(rows)
            finite = bool(np.all(np.isfinite(stacked)))
            figure = condition(stacked) if name == "condition" else criterion(name, stacked).value
            values.append(figure if finite else np.inf)
    return np.array(values)


def improved(
    problem: Problem, starts: Array, name: str, *, iterations: int, check: Callable[[Array], Array]
) -> Best:
    """Improve motions (starts, variables): all of them a little, the best ones more.

    Args:
        problem: the problem.
        starts: variables (starts, variables) of motions within the limits, the best first.
        name: of the criterion.
        iterations: of the optimiser in each stage and from each motion, at most.
        check: draws a motion towards the centre until it is within the limits at all times.
    """
    z = check(starts[0])
    best = Best(z, float(values_of(problem, z[None], name)[0]))
    stages = [stage for stage in _STAGES if name == "condition" or stage is not _STAGES[-1]]
    runs = [min(len(starts), stage.motions) for stage in stages]
    with task(f"optimising the motion ({len(problem.units)} coefficients)") as report:
        motions, begun = list(starts), 0
        try:
            for stage in stages:
                most = max(1, round(stage.part * iterations))
                reached = []
                for start in motions[: stage.motions]:

                    def part(done: int, begun: int = begun, most: int = most) -> None:
                        best.iterations += 1
                        report(min(1.0, (begun + done / most) / sum(runs)))

                    reached.append(
                        _from_start(problem, start, (name, stage.order), most, (best, check, part))
                    )
                    begun += 1
                motions = [motion for _, motion in sorted(reached, key=lambda pair: pair[0])]
        except KeyboardInterrupt:
            best.interrupted = True
    return best


def _from_start(
    problem: Problem,
    z: Array,
    goal: tuple[str, float],
    iterations: int,
    into: tuple[Best, Callable[[Array], Array], Callable[[int], None]],
) -> tuple[float, Array]:
    """Run the optimiser from one motion; what it has reached is kept, also where it is interrupted."""
    best, check, report = into
    reached = [z]
    try:
        best.message = _minimised(problem, reached, goal, iterations, report)
    finally:
        fitted = check(reached[-1])
        value = float(values_of(problem, fitted[None], goal[0])[0])
        if value < best.value:
            best.z, best.value = fitted, value
    return value, fitted


def _minimised(
    problem: Problem,
    reached: list[Array],
    goal: tuple[str, float],
    iterations: int,
    report: Callable[[int], None],
) -> str:
    """Minimise from the last motion reached; the iterates are added to `reached`."""
    from scipy.optimize import minimize

    memory: dict[bytes, Evaluation] = {}
    guess: list[Array | None] = [None]

    def at(z: Array) -> Evaluation:
        key = z.tobytes()
        if key not in memory:
            memory.clear()
            memory[key] = problem.evaluate(z, *goal, guess[0])
            if memory[key].finite and memory[key].samples.motion[3].shape[-1]:
                guess[0] = memory[key].samples.motion[3]
        return memory[key]

    done = [0]

    def callback(z: Array) -> None:
        done[0] += 1
        reached.append(np.array(z))
        report(done[0])

    # The first step is along the gradient as it is: in this scale it stays near by.
    scale = min(1.0, _FIRST_STEP / max(float(np.linalg.norm(at(reached[-1]).gradient())), 1e-12))
    result = minimize(
        lambda z: scale * at(z).value,
        reached[-1],
        jac=lambda z: scale * at(z).gradient(),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda z: 1.0 - at(z).constraint(),
                "jac": lambda z: -at(z).constraint_slopes(),
            }
        ],
        method="SLSQP",
        callback=callback,
        options={"maxiter": iterations, "ftol": 1e-6 * scale},
    )
    return str(result.message)
