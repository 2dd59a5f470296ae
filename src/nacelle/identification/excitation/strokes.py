"""Strokes of constant speed with rests between, for friction and gravity, as [AGH2005] refers to them.

A stroke is a straight line through the centre, c(s) = (1 - s) c_A + s c_B, run to and fro at several speeds.
While s' is constant and slow, inertia hardly counts: the mean of both directions is gravity, half of their
difference is friction at that speed. The law is a trapezoid, so between the ramps

    c' = s' (c_B - c_A),      c'' = 0

Ends are as far from the centre as the limits allow at rest, speeds are parts of the highest within the
limits. Of many directions those are taken, one after the other, that most increase

    log det(e 1 + sum of R^T R)                  R the weighted rows of a stroke at constant speed

e small, since strokes alone do not determine all parameters. At the ends the robot rests; forces there hold
stiction of unknown size and are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.identification.excitation.optimise import MotionDesign
from nacelle.identification.excitation.result import limit_uses_along, stroke_line
from nacelle.kinematics.shapes import twist_scales
from nacelle.progress import task
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Line, Quintic, Timing, Trapezoid

# Speeds of the strokes over the highest one; of ways between strokes.
_SPEEDS = (0.8, 0.3, 0.1)
_TRANSIT = 0.5
# Time of acceleration and of deceleration over the duration of a stroke; rest at its ends, s.
RAMP = 0.2
_REST = 0.25
_CANDIDATES = 48
_POINTS = 24
# Part of the way to the limits that strokes have.
_REACH_FRACTION = 0.95
_LITTLE = 1e-6


@dataclass(frozen=True, eq=False)
class Stroke:
    """A stroke through the centre.

    Attributes:
        start: coordinates (n,) of one end about the centre, m and rad.
        end: of the other.
        fastest: shortest duration within the limits, s.
    """

    start: Array
    end: Array
    fastest: float


class StrokeLine(NamedTuple):
    """A line of the chain: coordinates about the centre of both ends (n,), and its duration, s."""

    start: Array
    end: Array
    duration: float


def choose_strokes(problem: MotionDesign, seed: int) -> list[Stroke]:
    """The strokes that determine most, as many as the robot has coordinates and two more.

    Raises:
        IdentificationError: if no stroke is within the limits.
    """
    with task("strokes at constant speed"):
        candidates = _candidates(problem, seed)
        if not candidates:
            raise IdentificationError(
                f"{problem.robot.name}: no stroke through the centre is within the limits; give another one"
            )
        rows = [stroke_rows(problem, stroke) for stroke in candidates]
        information = [R.T @ R for R in rows]
        total = _LITTLE * np.eye(len(problem.base))
        taken: list[int] = []
        for _ in range(min(len(candidates), problem.robot.motion.n + 2)):
            left = [k for k in range(len(candidates)) if k not in taken]
            gains = [np.linalg.slogdet(total + information[k])[1] for k in left]
            best = left[int(np.argmax(gains))]
            taken.append(best)
            total = total + information[best]
        return [candidates[k] for k in taken]


def _candidates(problem: MotionDesign, seed: int) -> list[Stroke]:
    """Strokes along the coordinates and along random directions."""
    n = problem.robot.motion.n
    rng = np.random.default_rng(seed)
    directions = np.concatenate([np.eye(n), rng.normal(size=(_CANDIDATES - n, n))])
    directions = directions / np.linalg.norm(directions, axis=-1, keepdims=True) * twist_scales(problem.robot)
    forth, back = (_REACH_FRACTION * reach_along(problem, sign * directions) for sign in (1.0, -1.0))
    far = (forth > 0.0) & (back > 0.0)
    starts, ends = -back[far, None] * directions[far], forth[far, None] * directions[far]
    if not len(starts):
        return []
    fastest = shortest_durations(problem, starts, ends)
    return [Stroke(a, b, float(T)) for a, b, T in zip(starts, ends, fastest, strict=True) if np.isfinite(T)]


def reach_along(problem: MotionDesign, directions: Array) -> Array:
    """How far (M,) the robot can rest from the centre along directions (M, n), over their lengths."""
    steps = np.linspace(0.0, 1.0, 2 * _POINTS + 1)[1:]
    c = steps[None, :, None] * directions[:, None, :]
    uses = _limit_uses(problem, c, np.zeros_like(c), np.zeros_like(c))
    inside = np.cumprod(np.all(uses <= 1.0, axis=-1), axis=-1)
    return np.asarray(np.sum(inside, axis=-1) / len(steps))


def shortest_durations(problem: MotionDesign, starts: Array, ends: Array, law: Timing | None = None) -> Array:
    """The shortest durations (M,) of lines from starts to ends (M, n) within the limits, s; else infinite.

    Args:
        problem: the limits and the robot.
        starts: coordinates about the centre (M, n), m and rad.
        ends: the same.
        law: from rest to rest within a second; the trapezoid of strokes if None.
    """
    s, ds, dds = (law or Trapezoid(1.0, ramp=RAMP)).inside(np.linspace(0.0, 1.0, _POINTS + 1))
    way = (ends - starts)[:, None, :]
    c = starts[:, None, :] + s[None, :, None] * way

    def within(T: Array) -> Array:
        rate = ds[None, :, None] / T[:, None, None] * way
        growth = dds[None, :, None] / T[:, None, None] ** 2 * way
        return np.asarray(np.all(_limit_uses(problem, c, rate, growth) <= 1.0, axis=(-1, -2)))

    high = np.full(len(starts), 0.02)
    good = within(high)
    for _ in range(14):
        high = np.where(good, high, 2.0 * high)
        good = good | within(high)
    low = 0.5 * high
    for _ in range(8):
        middle = 0.5 * (low + high)
        fine = within(middle)
        low, high = np.where(fine, low, middle), np.where(fine, middle, high)
    return np.where(good, high, np.inf)


def lines_at_rest(problem: MotionDesign, stations: Sequence[Array]) -> tuple[Line, ...] | None:
    """Smooth lines from rest to rest through coordinates about the centre (n,), at half the highest speed.

    Stations that are one need no line; None where one of the ways leaves the limits.
    """
    pairs = [(a, b) for a, b in pairwise(stations) if np.any(a != b)]
    if not pairs:
        return ()
    starts, ends = (np.stack(part) for part in zip(*pairs, strict=True))
    durations = shortest_durations(problem, starts, ends, Quintic(1.0))
    if not np.all(np.isfinite(durations)):
        return None
    motion = problem.robot.motion
    return tuple(
        Line(problem.poses(a), problem.poses(b), motion=motion, duration=T / _TRANSIT)
        for (a, b), T in zip(pairs, durations.tolist(), strict=True)
    )


def _limit_uses(problem: MotionDesign, c: Array, dc: Array, ddc: Array) -> Array:
    """Uses of all limits (..., limits) at coordinates about the centre and their derivatives (..., n)."""
    samples = problem.states(c, dc, ddc)
    return problem.uses(samples, problem.rows(samples)[1])


def stroke_rows(problem: MotionDesign, stroke: Stroke) -> Array:
    """Weighted rows (rows, parameters) of a stroke at constant speed, both ways at all speeds."""
    s = np.linspace(RAMP, 1.0 - RAMP, _POINTS // 2)
    way = stroke.end - stroke.start
    c = stroke.start + s[:, None] * way
    parts = []
    for part in _SPEEDS:
        for sign in (1.0, -1.0):
            speed = sign * part / (stroke.fastest * (1.0 - RAMP))
            dc = np.broadcast_to(speed * way, c.shape)
            parts.append(problem.rows(problem.states(c, dc, np.zeros_like(c)))[0])
    R = np.concatenate(parts)
    return np.asarray(R.reshape(-1, R.shape[-1]) / np.sqrt(len(R)))


def stroke_chain(problem: MotionDesign, strokes: list[Stroke], home: Array) -> list[StrokeLine]:
    """All lines of the strokes, from coordinates `home` (n,) about the centre and back there.

    Raises:
        IdentificationError: if the way from there to the centre leaves the limits.
    """
    middle = np.zeros(problem.robot.motion.n)
    ways = [(home, middle), (middle, home)]
    ways += [(stroke.start, middle) for stroke in strokes]
    starts, ends = (np.stack(part) for part in zip(*ways, strict=True))
    durations = shortest_durations(problem, starts, ends)
    if not np.all(np.isfinite(durations)):
        raise IdentificationError(f"{problem.robot.name}: the way to the strokes leaves the limits")
    forth, back, *transits = (durations / _TRANSIT).tolist()
    chain = [StrokeLine(home, middle, forth)] if np.any(home) else []
    for stroke, transit in zip(strokes, transits, strict=True):
        chain.append(StrokeLine(middle, stroke.start, transit))
        for part in _SPEEDS:
            T = stroke.fastest / part
            rest_a, rest_b = (
                StrokeLine(stroke.start, stroke.start, _REST),
                StrokeLine(stroke.end, stroke.end, _REST),
            )
            chain += [
                rest_a,
                StrokeLine(stroke.start, stroke.end, T),
                rest_b,
                StrokeLine(stroke.end, stroke.start, T),
            ]
        chain.append(StrokeLine(stroke.start, middle, transit))
    return [*chain, StrokeLine(middle, home, back)] if np.any(home) else chain


def chain_records(problem: MotionDesign, chain: list[StrokeLine]) -> list[dict[str, Any]]:
    """The lines as plain data: from, to (nx,), duration and ramp."""
    return [
        {
            "from": problem.poses(leg.start).tolist(),
            "to": problem.poses(leg.end).tolist(),
            "duration": leg.duration,
            "ramp": RAMP * leg.duration,
        }
        for leg in chain
    ]


def chain_uses(problem: MotionDesign, chain: list[StrokeLine]) -> tuple[Array, Array]:
    """Times (N,) of a fine check of the lines, and the uses of all limits (N, limits) at them."""
    times, uses, begin = [], [], 0.0
    for leg, record in zip(chain, chain_records(problem, chain), strict=True):
        line = stroke_line(record, problem.robot.motion)
        t = np.linspace(0.0, leg.duration, 4 * _POINTS + 1)
        s, ds, dds = Trapezoid(leg.duration, ramp=RAMP * leg.duration).inside(t)
        way = leg.end - leg.start
        c, dc, ddc = leg.start + s[:, None] * way, ds[:, None] * way, dds[:, None] * way
        uses.append(limit_uses_along(problem, line, problem.states(c, dc, ddc), t))
        times.append(begin + t)
        begin += leg.duration
    return np.concatenate(times), np.concatenate(uses)
