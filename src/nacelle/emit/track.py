"""Following a solution along a straight way of its parameters, past no singularity.

A step program has the inputs y (n) and p (k) and the outputs dy (n), error () and distances (m): for
f(y, p) = 0 it computes Newton's step at y, how far f is from zero, and c(y, p), numbers that each fall to
zero at singularities of a kind. From a solution y_0 at p_0 the driver goes to p_1 in as few parts as it may:

    p(t) = (1 - t) p_0 + t p_1,     t <- t + h,     Newton's iteration from the solution at t

A part is taken if the iteration contracts from its first step on (Deuflhard, Newton Methods for Nonlinear
Problems, 2004, sections 2.1 and 5.1),

    |dy_0| <= 1/4,    |dy_k+1| <= |dy_k| / 4    (lengths in units of the unknowns)

and if no singularity lies within it. That is so where the solutions are nearer to each other than both are
to one; else c is found at the middle of the part, too, where it lies between those at the ends, as a number
that falls to zero and rises again does not:

    |y(t + h) - y(t)| <= (c(t) + c(t + h)) / 4
    |c_middle - (c(t) + c(t + h)) / 2| <= min(c) / 4

Otherwise h is halved; a part that is taken doubles it. Where the parts shrink to nothing there is a
singularity, or the solutions end. So what is found is connected with y_0, and the number of evaluations is
bounded by the cap.

An iteration ends where the error is below the tolerance, or |dy|^2 below a part of the tolerance times c; the
step of this last evaluation is taken, too, as convergence is quadratic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nacelle.emit.loop_writer import Entries, Index, SampleWriter, Vector

FOLLOWED, ROUNDS, BLOCKED = 0, 1, 2
"""How it ends: the solution at p_1; more evaluations than the cap; no way to p_1."""

# The longest first step, contraction, part of the distances that a way may be; shortest part of what is left.
LONGEST, CONTRACTION, NEARNESS, SHORTEST = 0.25, 0.25, 0.25, 2e-3
# Steps that an iteration may take; steps below this part of the units are rounding, in epsilons.
STEPS, ROUNDING = 8, 1e4
# A step is the last one where |dy|^2 is below this part of the tolerance, times c.
_QUADRATIC = 0.1
# Where that decides the error is no larger than this: equations that cannot be met are seen.
_CONSISTENT = 1e-4


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

    def length_of(name: str, entry: Callable[[Index], str]) -> str:
        def squares(j: Index, total: str) -> str:
            part = w.name_value("part", w.real("*", entry(j), a.weights(j)))
            return w.product_sum(part, part, total)

        return w.name_value(name, w.unary("sqrt", w.fold("squares", a.n, zero, squares)))

    def smallest(name: str, entry: Callable[[Index], str]) -> str:
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
    with w.rounds("round", a.rounds) as rounds:
        status, taken = rounds.carry("status", ROUNDS, "whole"), rounds.carry("taken", 0, "whole")
        done, size = rounds.carry("done", zero), rounds.carry("size", one)
        middle, count = rounds.carry("middle", 0, "bit"), rounds.carry("steps", zero)
        before = rounds.carry("before", zero)
        ahead = w.name_value("ahead", w.real("+", done, w.choose(middle, w.real("*", half, size), size)))
        end = w.name_value("end", w.choose(w.real(">=", ahead, w.number(1.0 - SHORTEST)), one, ahead))
        rest = w.name_value("rest", w.real("-", one, end))
        w.each(
            a.k,
            lambda j: a.p.put(j, w.product_sum(end, a.last(j), w.real("*", rest, a.first(j)))),
        )
        a.evaluate()
        step = w.load_vector(a.step, a.n)
        length, error = length_of("length", step.get), w.name_value("left", a.error(0))
        least = smallest("least", a.distances)
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
        goes_on = w.combine_bits("&", w.unless(contracts, closed), w.real("<", count, w.number(float(STEPS))))
        goes_on = w.name_value("goes_on", goes_on, "bit")
        with w.where(w.combine_bits("|", goes_on, converged)):
            w.each(a.n, lambda j: a.y.put(j, w.real("+", a.y.get(j), step.get(j))))
        # A part whose ends are near each other is taken, whether it was the whole or its half.
        way = length_of("way", lambda j: w.real("-", a.y.get(j), a.accepted.get(j)))
        both = smallest("both", lambda j: w.real("+", a.near.get(j), a.distances(j)))
        near = w.combine_bits("&", converged, w.real("<=", way, w.real("*", w.number(NEARNESS), both)))

        def bend(j: Index) -> str:
            """How far the middle may still be off: above zero where no number falls and rises between."""
            begin, end_, here = a.near.get(j), a.further.get(j), a.distances(j)
            lower = w.choose(w.real("<", begin, end_), begin, end_)
            off = w.unary("abs", w.real("-", here, w.real("*", half, w.real("+", begin, end_))))
            return w.real("-", w.real("*", w.number(NEARNESS), lower), off)

        straight = w.combine_bits(
            "&", w.combine_bits("&", converged, middle), w.real(">=", smallest("bend", bend), zero)
        )
        straight = w.name_value("straight", straight, "bit")
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
        whole = w.name_value("whole", w.choose(middle, w.real("+", done, size), end))
        new_done = w.choose(straight, whole, w.choose(near, end, done))
        new_done = w.name_value(
            "new_done", w.choose(w.real(">=", new_done, w.number(1.0 - SHORTEST)), one, new_done)
        )
        # Parts double once they are taken; one whose half was taken, or is looked at, becomes its half.
        halved = w.name_value("halved", w.real("*", half, size))
        doubles = w.combine_bits("|", straight, w.unless(near, middle))
        kept = w.combine_bits("|", goes_on, w.unless(looked, middle))
        kept = w.combine_bits("|", kept, w.unary("not", rounds.active, "bit"))
        new_size = w.choose(doubles, w.real("*", two, size), w.choose(kept, size, halved))
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
