"""Events: what ends a run. Each is a function of the state that is positive while all is well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.simulation.protocol import Plant
from nacelle.spatial.scalar import Array

# How often within a long step is looked, so that what crosses zero and comes back is seen.
LOOKS = 8


@dataclass(frozen=True)
class Event:
    """Something that ends a run.

    Attributes:
        name: what it is, in words.
        value: function of times (N,) and states (N, size) that gives (N,) numbers, positive before it.
    """

    name: str
    value: Callable[[Array, Array], Array]


def user_event(plant: Plant, name: str, function: Callable[..., Any]) -> Event:
    """An event of the user's: a function of (t, x, v) that is positive before it."""

    def value(t: Array, s: Array) -> Array:
        x, v = plant.split(s)
        return np.array([float(function(*sample)) for sample in zip(t, x, v, strict=True)])

    return Event(name, value)


def first_bad(events: Sequence[Event], t: Array, s: Array) -> int | None:
    """Place of the first of some states (N, size) at which an event has come or a number is not finite."""
    fine = np.isfinite(s).all(axis=1)
    place = len(t) if fine.all() else int(np.argmin(fine))
    for event in events:
        bad = np.flatnonzero(~(event.value(t[:place], s[:place]) > 0.0)) if place else np.zeros(0, int)
        if bad.size:
            place = int(bad[0])
    return None if place == len(t) else place


def boundary(
    events: Sequence[Event], low: float, high: float, state: Callable[[float], Array]
) -> tuple[float, str | None]:
    """The last time, to rounding, before an event between a good time and a bad one.

    Args:
        events: what is watched.
        low: a time at which all is well.
        high: a later time at which it is not.
        state: the state (size,) at a time between them.

    Returns:
        The time, and the event's name; None where the state is not finite just after.
    """

    def good(t: float) -> bool:
        return first_bad(events, np.array([t]), state(t)[None]) is None

    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high) or high - low <= 4e-16 * max(abs(high), 1e-3):
            break
        low, high = (middle, high) if good(middle) else (low, middle)
    after = state(high)
    if not np.all(np.isfinite(after)):
        return low, None
    t, s = np.array([high]), after[None]
    return low, next((event.name for event in events if not event.value(t, s)[0] > 0.0), None)


def event_within(
    events: Sequence[Event], begin: float, end: float, states: Callable[[Array], Array]
) -> tuple[float, str | None] | None:
    """The first event within a step, from its dense output; None if there is none."""
    if not events:
        return None
    t = np.linspace(begin, end, LOOKS + 1)
    place = first_bad(events, t[1:], states(t[1:]))
    if place is None:
        return None
    return boundary(events, float(t[place]), float(t[place + 1]), lambda now: states(np.array([now]))[0])
