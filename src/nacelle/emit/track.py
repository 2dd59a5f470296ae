"""Following a solution along a straight way of its parameters, past no singularity.

A step program has the inputs y (n) and p (k) and the outputs dy (n), error () and distances (m): for
f(y, p) = 0 it computes Newton's step at y, how far f is from zero, and c(y, p), numbers that each fall to
zero at singularities of a kind, and may have another sign beyond. From a solution y_0 at p_0 the driver goes
to p_1 in as few parts as it may:

    p(t) = (1 - t) p_0 + t p_1,     t <- t + h,     Newton's iteration from the solution at t

A part is taken if the iteration contracts from its first step on (Deuflhard, Newton Methods for Nonlinear
Problems, 2004, sections 2.1 and 5.1),

    |dy_0| <= 1/2,    |dy_k+1| <= |dy_k| / 4    (lengths in units of the unknowns)

and if no singularity lies within it: c keeps the signs that it has at y_0, and the solutions, with their
parameters, are nearer to each other than both are to one; else c is found at the middle of the part, too,
where it lies between those at the ends, as a number that falls to zero and rises again does not:

    |(y, p)(t + h) - (y, p)(t)| <= (c(t) + c(t + h)) / 4
    |c_middle - (c(t) + c(t + h)) / 2| + |dy| <= min(c) / 4

No part is longer than two units of the parameters, less than a turn between its ends and its middle.

The iteration there begins between the ends, and ends as soon as this holds: c changes no faster than the
unknowns, so an iterate will do that is off by its step. Otherwise h is halved; a part that is taken doubles
it. Where the parts shrink to nothing there is a singularity, or the solutions end. So what is found is
connected with y_0, and the number of evaluations is bounded by the cap.

An iteration ends where the error is below the tolerance, or |dy|^2 below a part of the tolerance times c; the
step of this last evaluation is taken, too, as convergence is quadratic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.loop_writer import Entries, Index, SampleWriter, Vector
from nacelle.emit.newton import as_rows, sample_count
from nacelle.emit.registry import Kernel
from nacelle.program.program import Program

FOLLOWED, ROUNDS, BLOCKED = 0, 1, 2
"""How it ends: the solution at p_1; more evaluations than the cap; no way to p_1."""

# The longest first step, contraction, part of the distances that a way may be; shortest part of what is left.
LONGEST, CONTRACTION, NEARNESS, SHORTEST = 0.5, 0.25, 0.25, 2e-3
# The longest part in units of the parameters: shorter than a turn of angles.
LONGEST_PART = 2.0
# Steps that an iteration may take; steps below this part of the units are rounding, in epsilons.
STEPS, ROUNDING = 8, 1e4
# A step is the last one where |dy|^2 is below this part of the tolerance, times c: what is left is rounding.
_QUADRATIC = 1e-3
# Where that decides the error is no larger than this: equations that cannot be met are seen.
_CONSISTENT = 1e-4


_Array = NDArray[np.float64]


class TrackSizes(NamedTuple):
    """Numbers of unknowns n, of parameters k and of distances m."""

    n: int
    k: int
    m: int


def track_sizes(program: Program) -> TrackSizes:
    """Check the form of a step program; give its sizes.

    Raises:
        ValueError: if it is of another form.
    """
    inputs = [variable.size for variable in program.inputs]
    outputs = [variable.size for variable in program.outputs]
    if len(inputs) != 2 or outputs[:2] != [inputs[0], 1] or len(outputs) != 3:
        raise ValueError(
            f"{program.name} is no step to be followed: inputs (y, p), outputs (dy, error, distances), got "
            f"the sizes {inputs} and {outputs}"
        )
    return TrackSizes(inputs[0], inputs[1], outputs[2])


@dataclass(frozen=True, eq=False)
class TrackResult:
    """Where samples have come.

    Attributes:
        y: unknowns (N, n) at the last certain solution.
        part: of the way that this is (N,): 1 at its end.
        status: `FOLLOWED`, `ROUNDS` or `BLOCKED` (N,).
        taken: evaluations (N,).
        distances: of the last certain solution from singularities (N, m), with the signs of the program.
    """

    y: _Array
    part: _Array
    status: NDArray[np.int64]
    taken: NDArray[np.int64]
    distances: _Array


class BoundTrack(NamedTuple):
    """A way in buffers of its own.

    Attributes:
        call: follows it, and returns its status.
        distances: of the solution from singularities (m,), once it is called, with signs.
        taken: evaluations of the last call but for the first and the last of them, a sequence of one.
    """

    call: Callable[[], int]
    distances: _Array
    taken: Sequence[int]


@dataclass(frozen=True, eq=False)
class TrackRules:
    """How exactly a way is followed.

    Attributes:
        tolerance: the error at which a sample is solved.
        units: what the unknowns count in (n,).
        parameter_units: what the parameters count in (k,); infinite where the unknowns say where all is, as a
            pose says where the actuators are.
        cap: the most evaluations.
    """

    tolerance: float
    units: _Array
    parameter_units: _Array
    cap: int = 2000

    @property
    def weights(self) -> _Array:
        """What makes unknowns, and parameters behind them, pure numbers (n + k,)."""
        return np.ascontiguousarray(1.0 / np.concatenate([self.units, self.parameter_units]))


class TrackSolver(ABC):
    """Following solutions of a step program, for many samples.

    Attributes:
        program: the step.
        sizes: its sizes.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.sizes = program, track_sizes(program)

    def solve(
        self, y0: Any, p0: Any, p1: Any, rules: TrackRules, *, follow: bool = False, threads: int = 1
    ) -> TrackResult:
        """Follow every sample from its solution.

        Args:
            y0: solutions (N, n) or (1, n).
            p0: their parameters (N, k) or (1, k).
            p1: where the ways lead (N, k) or (1, k).
            rules: how exactly.
            follow: whether samples are a path, each way beginning where the one before it ends; behind one
                that fails all do.
            threads: how many threads share the samples.
        """
        n, k, _ = self.sizes
        rows = as_rows(y0, n, "y0"), as_rows(p0, k, "p0"), as_rows(p1, k, "p1")
        sample_count(*rows)
        return self._solve(rows, rules, follow, threads)

    @abstractmethod
    def _solve(
        self, rows: tuple[_Array, ...], rules: TrackRules, follow: bool, threads: int
    ) -> TrackResult: ...

    @abstractmethod
    def bind(self, y0: _Array, p0: _Array, p1: _Array, y: _Array, rules: TrackRules) -> BoundTrack:
        """A way in these very buffers."""


class NumpyTrack(TrackSolver):
    """The driver around a step program's kernel, all samples at a time."""

    def __init__(self, program: Program, kernel: Kernel) -> None:
        super().__init__(program)
        self._kernel = kernel

    def bind(self, y0: _Array, p0: _Array, p1: _Array, y: _Array, rules: TrackRules) -> BoundTrack:
        """A way in these very buffers."""
        distances, taken = np.zeros(self.sizes.m), [0]

        def solve() -> int:
            result = self.solve(y0, p0, p1, rules)
            y[:], distances[:], taken[0] = result.y[0], result.distances[0], int(result.taken[0]) - 2
            return int(result.status[0])

        return BoundTrack(solve, distances, taken)

    def _evaluate(self, y: _Array, p: _Array) -> tuple[_Array, _Array, _Array]:
        dy, error, c = (np.empty((len(y), variable.size)) for variable in self.program.outputs)
        self._kernel.run([np.ascontiguousarray(y), np.ascontiguousarray(p)], [dy, error, c], 1)
        return dy, error[:, 0], c

    def _solve(self, rows: tuple[_Array, ...], rules: TrackRules, follow: bool, threads: int) -> TrackResult:
        count = max(len(array) for array in rows)
        y, p0, p1 = (np.array(np.broadcast_to(array, (count, array.shape[1]))) for array in rows)
        if not follow:
            return self._follow(y, p0, p1, rules)
        status, taken, part = np.full(count, ROUNDS), np.zeros(count, dtype=np.int64), np.zeros(count)
        distances = np.zeros((count, self.sizes.m))
        for row in range(count):
            begin = (y[row - 1 : row], p1[row - 1 : row]) if row else (y[:1], p0[:1])
            sample = self._follow(begin[0].copy(), begin[1], p1[row : row + 1], rules)
            y[row], part[row], distances[row] = sample.y[0], sample.part[0], sample.distances[0]
            status[row], taken[row] = sample.status[0], sample.taken[0]
            if status[row] != FOLLOWED:
                break
        return TrackResult(y, part, status, taken, distances)

    def _follow(self, y: _Array, p0: _Array, p1: _Array, rules: TrackRules) -> TrackResult:
        count, (weights, parameter_weights) = len(y), np.split(rules.weights, [self.sizes.n])
        near = self._evaluate(y, p0)[2]
        side = np.where(near < 0.0, -1.0, 1.0)
        near = side * near
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            span = np.linalg.norm((p1 - p0) * parameter_weights, axis=1)
            longest = np.where(span > LONGEST_PART, LONGEST_PART / span, 1.0)
        accepted, tentative, further = y.copy(), y.copy(), near.copy()
        status, taken = np.full(count, ROUNDS), np.ones(count, dtype=np.int64)
        done, size, before, steps = np.zeros(count), longest.copy(), np.zeros(count), np.zeros(count)
        middle = np.zeros(count, dtype=bool)
        for _ in range(rules.cap):
            s = np.flatnonzero(status == ROUNDS)
            if not s.size:
                break
            ahead = done[s] + np.where(middle[s], 0.5 * size[s], size[s])
            end = np.where(ahead >= 1.0 - SHORTEST * size[s], 1.0, ahead)
            dy, error, c = self._evaluate(y[s], end[:, None] * p1[s] + (1.0 - end)[:, None] * p0[s])
            c = side[s] * c
            with np.errstate(invalid="ignore", over="ignore"):
                length, least = np.linalg.norm(dy * weights, axis=1), c.min(axis=1, initial=np.inf)
                finite = np.isfinite(length + error + c.sum(axis=1)) & (least > 0.0)
                closing = (length**2 <= _QUADRATIC * rules.tolerance * least) & (error <= _CONSISTENT)
                closed = (error <= rules.tolerance) | closing
                limit = np.where(steps[s] == 0.0, LONGEST, CONTRACTION * before[s])
                contracts = finite & ((length <= limit) | (length <= ROUNDING * np.finfo(float).eps))
                off = np.abs(c - 0.5 * (near[s] + further[s]))
                bend = (NEARNESS * np.minimum(near[s], further[s]) - off).min(axis=1, initial=np.inf)
                straight = contracts & middle[s] & (bend >= length)
                converged, goes_on = contracts & closed, contracts & ~closed & ~straight & (steps[s] < STEPS)
                y[s[converged | goes_on]] += dy[converged | goes_on]
                way = np.hypot(
                    np.linalg.norm((y[s] - accepted[s]) * weights, axis=1), (end - done[s]) * span[s]
                )
                close = converged & (way <= NEARNESS * (near[s] + c).min(axis=1, initial=np.inf))
            close &= ~straight
            looked = converged & ~straight & ~close
            k = s[straight]
            accepted[k], near[k] = tentative[k], further[k]
            accepted[s[close]], near[s[close]] = y[s[close]], c[close]
            tentative[s[looked]], further[s[looked]] = y[s[looked]], c[looked]
            y[s[~goes_on]] = accepted[s[~goes_on]]
            y[s[looked]] = 0.5 * (accepted[s[looked]] + tentative[s[looked]])
            whole = np.where(middle[s], done[s] + size[s], end)
            new = np.where(straight, whole, np.where(close, end, done[s]))
            done[s] = np.where(new >= 1.0 - SHORTEST * size[s], 1.0, new)
            doubles = straight | (close & ~middle[s])
            kept = goes_on | (looked & ~middle[s])
            size[s] *= np.where(doubles, 2.0, np.where(kept, 1.0, 0.5))
            size[s] = np.minimum(size[s], longest[s])
            middle[s] = np.where(goes_on, middle[s], looked)
            steps[s], before[s] = np.where(goes_on, steps[s] + 1.0, 0.0), length
            taken[s] += 1
            blocked = size[s] < SHORTEST * (1.0 - done[s])
            status[s] = np.where(done[s] >= 1.0, FOLLOWED, np.where(blocked, BLOCKED, ROUNDS))
        return TrackResult(accepted, done, status, taken, side * near)


@dataclass(frozen=True)
class TrackLoop:
    """What the driver of a sample works on.

    Attributes:
        n: number of unknowns.
        k: number of parameters.
        y: the unknowns, in the solution at p_0, out the last one.
        accepted: room for n numbers: the last certain solution.
        tentative: room for n numbers: one at the end of a part whose middle is looked at.
        p: parameters that the program is evaluated at.
        first: p_0.
        last: p_1.
        step: dy, which the program gives.
        error: the error, which it gives.
        m: number of distances.
        distances: c, which it gives.
        near: c at y_0; out at the last certain solution.
        further: room for m numbers.
        weights: one over the units of the unknowns.
        parameter_weights: one over those of the parameters.
        evaluate: writes the evaluation of the program at y and p.
        tolerance: the error at which a sample is solved.
        rounding: length of steps that are rounding.
        rounds: the most evaluations, an integer.
    """

    n: int
    k: int
    y: Vector
    accepted: Vector
    tentative: Vector
    p: Vector
    first: Entries
    last: Entries
    step: Vector
    error: Entries
    m: int
    distances: Entries
    near: Vector
    further: Vector
    weights: Entries
    parameter_weights: Entries
    evaluate: Callable[[], None]
    tolerance: str
    rounding: str
    rounds: str


@dataclass(frozen=True)
class Tracked:
    """Names of what the driver gives: status, evaluations but the last (integers), part of the way."""

    status: str
    taken: str
    part: str


def write_track(w: SampleWriter, a: TrackLoop) -> Tracked:
    """Write the driver of a sample."""
    zero, one, half, two = (w.number(value) for value in (0.0, 1.0, 0.5, 2.0))

    def squares_of(count: int, entry: Entries, weights: Entries, begin: str) -> str:
        def squares(j: Index, total: str) -> str:
            part = w.name_value("part", w.real("*", entry(j), weights(j)))
            return w.product_sum(part, part, total)

        return w.fold("squares", count, begin, squares)

    def length_of(name: str, entry: Entries, begin: str = zero) -> str:
        return w.name_value(name, w.unary("sqrt", squares_of(a.n, entry, a.weights, begin)))

    def side(of: Entries) -> Entries:
        """Distances with the signs of the start: positive on its side of singularities."""

        def entry(j: Index) -> str:
            value, begin = w.name_value("value", of(j)), a.near.get(j)
            return w.choose(w.real("<", begin, zero), w.real("-", zero, value), value)

        return entry

    here, start, beyond_ = side(a.distances), side(a.near.get), side(a.further.get)

    def smallest(name: str, entry: Entries) -> str:
        def lower(j: Index, total: str) -> str:
            value = w.name_value("value", entry(j))
            return w.choose(w.real("<", value, total), value, total)

        return w.fold(name, a.m, w.number(1e30), lower)

    def copy(to: Vector, of: Vector | Entries, count: int) -> None:
        entries = of.get if isinstance(of, Vector) else of
        w.each(count, lambda j: to.put(j, entries(j)))

    for room in (a.accepted, a.tentative):
        copy(room, a.y, a.n)
    copy(a.further, a.near, a.m)
    way_of_parameters = squares_of(
        a.k, lambda j: w.real("-", a.last(j), a.first(j)), a.parameter_weights, zero
    )
    span = w.name_value("span", w.unary("sqrt", way_of_parameters))
    most = w.number(LONGEST_PART)
    longest = w.choose(w.real(">", span, most), w.real("/", most, span), one)
    longest = w.name_value("longest", longest)
    with w.rounds("round", a.rounds) as rounds:
        status, taken = rounds.carry("status", ROUNDS, "whole"), rounds.carry("taken", 0, "whole")
        done, size = rounds.carry("done", zero), rounds.carry("size", longest)
        middle, count = rounds.carry("middle", 0, "bit"), rounds.carry("steps", zero)
        before = rounds.carry("before", zero)
        ahead = w.name_value("ahead", w.real("+", done, w.choose(middle, w.real("*", half, size), size)))
        # Nearly the whole way is the whole.
        last = w.name_value("last", w.real("-", one, w.real("*", w.number(SHORTEST), size)))
        end = w.name_value("end", w.choose(w.real(">=", ahead, last), one, ahead))
        rest = w.name_value("rest", w.real("-", one, end))
        w.each(
            a.k,
            lambda j: a.p.put(j, w.product_sum(end, a.last(j), w.real("*", rest, a.first(j)))),
        )
        a.evaluate()
        step = w.load_vector(a.step, a.n)
        length, error = length_of("length", step.get), w.name_value("left", a.error(0))
        least = smallest("least", here)
        total = w.fold("total", a.m, error, lambda j, sum_: w.real("+", sum_, a.distances(j)))
        finite = w.combine_bits("&", w.unary("finite", total), w.unary("finite", length))
        finite = w.combine_bits("&", finite, w.real(">", least, zero))
        # Convergence: closed, or closed by this step.
        bound = w.real("*", w.number(_QUADRATIC), w.real("*", a.tolerance, least))
        closing = w.real("<=", w.real("*", length, length), bound)
        closing = w.combine_bits("&", closing, w.real("<=", error, w.number(_CONSISTENT)))
        closed = w.name_value("closed", w.combine_bits("|", w.real("<=", error, a.tolerance), closing), "bit")
        first = w.real("==", count, zero)
        limit = w.choose(first, w.number(LONGEST), w.real("*", w.number(CONTRACTION), before))
        short = w.combine_bits("|", w.real("<=", length, limit), w.real("<=", length, a.rounding))
        contracts = w.combine_bits("&", rounds.active, w.combine_bits("&", finite, short))
        contracts = w.name_value("contracts", contracts, "bit")
        converged = w.name_value("solved", w.combine_bits("&", contracts, closed), "bit")

        def bend(j: Index) -> str:
            """How far the middle may still be off: above zero where no number falls and rises between."""
            begin, end_ = w.name_value("begin", start(j)), w.name_value("other", beyond_(j))
            lower = w.choose(w.real("<", begin, end_), begin, end_)
            off = w.unary("abs", w.real("-", here(j), w.real("*", half, w.real("+", begin, end_))))
            return w.real("-", w.real("*", w.number(NEARNESS), lower), off)

        straight = w.combine_bits("&", middle, w.real(">=", smallest("bend", bend), length))
        straight = w.name_value("straight", w.combine_bits("&", contracts, straight), "bit")
        goes_on = w.unless(w.unless(contracts, closed), straight)
        goes_on = w.combine_bits("&", goes_on, w.real("<", count, w.number(float(STEPS))))
        goes_on = w.name_value("goes_on", goes_on, "bit")
        with w.where(w.combine_bits("|", goes_on, converged)):
            w.each(a.n, lambda j: a.y.put(j, w.real("+", a.y.get(j), step.get(j))))
        # A part whose ends are near each other is taken, whether it was the whole or its half.
        gone = w.name_value("gone", w.real("*", w.real("-", end, done), span))
        way = length_of("way", lambda j: w.real("-", a.y.get(j), a.accepted.get(j)), w.real("*", gone, gone))
        both = smallest("both", lambda j: w.real("+", start(j), here(j)))
        near = w.combine_bits("&", converged, w.real("<=", way, w.real("*", w.number(NEARNESS), both)))
        near = w.name_value("near", w.unless(near, straight), "bit")
        looked = w.name_value("looked", w.unless(w.unless(converged, straight), near), "bit")
        with w.where(straight):
            copy(a.accepted, a.tentative, a.n)
            copy(a.near, a.further, a.m)
        with w.where(near):
            copy(a.accepted, a.y, a.n)
            copy(a.near, a.distances, a.m)
        with w.where(looked):
            copy(a.tentative, a.y, a.n)
            copy(a.further, a.distances, a.m)
        with w.where(w.unless(rounds.active, goes_on)):
            copy(a.y, a.accepted, a.n)
        with w.where(looked):
            w.each(
                a.n,
                lambda j: a.y.put(j, w.real("*", half, w.real("+", a.accepted.get(j), a.tentative.get(j)))),
            )
        whole = w.name_value("whole", w.choose(middle, w.real("+", done, size), end))
        new_done = w.choose(straight, whole, w.choose(near, end, done))
        beyond = w.real(">=", new_done, last)
        new_done = w.name_value("new_done", w.choose(beyond, one, new_done))
        # Parts double once they are taken; one whose half was taken, or is looked at, becomes its half.
        halved = w.name_value("halved", w.real("*", half, size))
        doubles = w.combine_bits("|", straight, w.unless(near, middle))
        kept = w.combine_bits("|", goes_on, w.unless(looked, middle))
        kept = w.combine_bits("|", kept, w.unary("not", rounds.active, "bit"))
        new_size = w.choose(doubles, w.real("*", two, size), w.choose(kept, size, halved))
        new_size = w.name_value("grown", new_size)
        new_size = w.choose(w.real("<", new_size, longest), new_size, longest)
        new_size = w.name_value("new_size", new_size)
        arrived = w.name_value("arrived", w.real(">=", new_done, one), "bit")
        blocked = w.real("<", new_size, w.real("*", w.number(SHORTEST), w.real("-", one, new_done)))
        blocked = w.name_value("blocked", w.unless(blocked, arrived), "bit")
        new_status = w.choose(arrived, FOLLOWED, w.choose(blocked, BLOCKED, status, "whole"), "whole")
        new_middle = w.choose(goes_on, middle, looked, "bit")
        rounds.set_next(status, new_status)
        rounds.set_next(middle, new_middle)
        rounds.set_next(count, w.choose(goes_on, w.real("+", count, one), zero))
        rounds.set_next(before, length)
        rounds.set_next(size, new_size)
        rounds.set_next(done, new_done)
        rounds.leave_unless(w.unary("not", w.combine_bits("|", arrived, blocked), "bit"))
        rounds.count(taken)
    return Tracked(status, taken, done)
