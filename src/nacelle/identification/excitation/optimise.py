"""The best motion: random motions within the limits, then sequential quadratic programming from the best.

A random motion has normal coefficients Z; z -> s z with the largest s that keeps all limits makes it use them
fully, so that the best of many is a fair start and a fair rival. From there SLSQP minimises the criterion
with exact gradients (`problem`). What it gives is checked at many more times than it was optimised at, and
drawn towards the centre, where the robot rests within all limits, until all of them hold: z -> s z again.

Dry friction changes its sign within less than the time between two samples, so that the criterion is rugged:
every sample that changes sides is a step of it, and an optimiser stops at the first one. So the sign changes
over a wider rate first, where the criterion is smooth; the motion reached there is the start for the friction
as it is, at all samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.friction import DRY
from nacelle.errors import IdentificationError
from nacelle.identification.excitation.criterion import condition, criterion
from nacelle.identification.excitation.problem import Design, Evaluation
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.spatial.scalar import Array

# The scale with which the search for the largest one begins; its steps, a factor of two, then bisection.
_SMALL = 1.0 / 64.0
_DOUBLINGS, _BISECTIONS = 24, 7
# Length of the optimiser's first step, in units of the variables.
_FIRST_STEP = 0.3
# Motions that are evaluated at once.
_BLOCK = 64


class OptimisationStage(NamedTuple):
    """A stage of the optimisation.

    Attributes:
        kept: part of the starts that are improved in it, the best ones; two at least.
        order: of the smooth condition.
        part: of the iterations, at most.
        wide: factor of the rate over which Coulomb friction changes its sign.
        skip: every so many of the samples count.
    """

    kept: float
    order: float
    part: float
    wide: float = 1.0
    skip: int = 1

    def motions(self, starts: int) -> int:
        """How many motions are improved in it, of so many starts."""
        return min(starts, max(2, round(self.kept * starts)))

    def of(self, problem: Design) -> Design:
        """The problem as this stage sees it."""
        wide = self.wide if has_dry_friction(problem.robot) else 1.0
        return replace(problem, smooth=wide * problem.smooth, count=math.ceil(problem.count / self.skip))


_STAGES = (
    OptimisationStage(1.0, 8.0, 0.6, wide=5.0, skip=2),
    OptimisationStage(0.4, 16.0, 1.0),
    OptimisationStage(0.25, 64.0, 1.5),
)
# Starts: the fewest, the most, and of how many coefficients times parameters one has the time.
_FEWEST, _MOST, _WORK = 8, 32, 40000


def usual_starts(problem: Design) -> int:
    """How many motions are improved if nobody says: more where each takes less time."""
    return max(_FEWEST, min(_MOST, _WORK // (len(problem.units) * len(problem.base))))


def has_dry_friction(robot: Robot) -> bool:
    """Whether friction in a joint changes at once where its rate changes its sign."""
    return any(term.basis in DRY for joint in robot.joints for terms in joint.friction for term in terms)


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


def random_motions(problem: Design, count: int, seed: int) -> Array:
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


def _within(problem: Design, z: Array) -> Array:
    """Which motions (M, variables) keep all limits at the times of the problem (M,)."""
    samples = problem.samples(problem.coefficients(z))
    _, force = problem.rows(samples)
    return np.asarray(np.all(problem.uses(samples, force) <= 1.0, axis=(-1, -2)))


def _fitted(problem: Design, z: Array) -> Array:
    """Motions scaled to the largest size within the limits; zero where none is.

    The search is upwards, since poses far out of reach take longest where iteration is needed.
    """
    low, high = np.zeros(len(z)), np.full(len(z), np.inf)
    scale = np.full(len(z), _SMALL)
    for _ in range(_DOUBLINGS):
        searched = (low == 0.0) | np.isinf(high)
        if not np.any(searched):
            break
        good = np.zeros(len(z), dtype=bool)
        good[searched] = _within(problem, scale[searched, None] * z[searched])
        low = np.where(searched & good, scale, low)
        high = np.where(searched & ~good, scale, high)
        scale = np.where(good, 2.0 * scale, np.where(low == 0.0, 0.5 * scale, scale))
    high = np.where(np.isinf(high), low, high)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        good = _within(problem, middle[:, None] * z)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.asarray(low[:, None] * z)


def _in_the_way(problem: Design, z: Array) -> str:
    """Which limit the smallest motion breaks, in words."""
    samples = problem.samples(problem.coefficients(z * _SMALL * 2.0**-_DOUBLINGS))
    uses = problem.uses(samples, problem.rows(samples)[1])
    kind, name = problem.labels()[int(np.argmax(np.max(uses, axis=0)))]
    return f"{problem.robot.name}: no motion about the centre is within the {kind} limit of {name}"


def values_of(problem: Design, z: Array, name: str) -> Array:
    """The criterion (M,) of motions (M, variables): the condition number, or -log det(R^T R) / 2."""
    values = []
    for k in range(0, len(z), _BLOCK):
        R, _ = problem.rows(problem.samples(problem.coefficients(z[k : k + _BLOCK])))
        for rows in R:
            stacked = problem.stacked(rows)
            if not np.all(np.isfinite(stacked)):
                values.append(np.inf)
                continue
            values.append(condition(stacked) if name == "condition" else criterion(name, stacked).value)
    return np.array(values)


def improved(
    problem: Design, starts: Array, name: str, *, iterations: int, check: Callable[[Array], Array]
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
    runs = [stage.motions(len(starts)) for stage in stages]
    with task(f"optimising the motion ({len(problem.units)} coefficients)") as report:
        motions, begun = list(starts), 0
        try:
            for stage, count in zip(stages, runs, strict=True):
                most = max(1, round(stage.part * iterations))
                seen = stage.of(problem)
                reached = []
                for start in motions[:count]:

                    def part(done: int, begun: int = begun, most: int = most) -> None:
                        best.iterations += 1
                        report(min(1.0, (begun + done / most) / sum(runs)))

                    into = _Into(problem, best, check, part)
                    reached.append(_from_start(seen, start, (name, stage.order), most, into))
                    begun += 1
                motions = [motion for _, motion in sorted(reached, key=lambda pair: pair[0])]
        except KeyboardInterrupt:
            best.interrupted = True
    return best


class _Into(NamedTuple):
    """Where motions go that the optimiser reaches: the problem in full, the best, the check, the progress."""

    problem: Design
    best: Best
    check: Callable[[Array], Array]
    report: Callable[[int], None]


def _from_start(
    seen: Design, z: Array, goal: tuple[str, float], iterations: int, into: _Into
) -> tuple[float, Array]:
    """Run the optimiser from one motion on the problem as a stage sees it.

    What it has reached is kept, also where it is interrupted. Gives the value of the criterion as it will be
    in the end, and the motion.
    """
    best = into.best
    reached = [z]
    try:
        best.message = _minimised(seen, reached, goal, iterations, into.report)
    finally:
        fitted = into.check(reached[-1])
        value = float(values_of(into.problem, fitted[None], goal[0])[0])
        if value < best.value:
            best.z, best.value = fitted, value
    return value, fitted


def _minimised(
    problem: Design,
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
