"""Events: what ends a run. Each is a function of the state that is positive while all is well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.scalar import Array

# Where within a long step is looked, in parts of it, so that what crosses zero and comes back is seen.
_PARTS = np.linspace(0.0, 1.0, 9)


@dataclass(frozen=True)
class Event:
    """Something that ends a run.

    Attributes:
        name: what it is, in words.
        value: function of times (N,) and states (N, size) that gives (N,) numbers, positive before it.
    """

    name: str
    value: Callable[[Array, Array], Array]

    @property
    def names(self) -> tuple[str]:
        """Its name."""
        return (self.name,)

    def values(self, t: Array, s: Array) -> Array:
        """Numbers (N, 1), positive before it."""
        return np.broadcast_to(self.value(t, s), len(t))[:, None]


@dataclass(frozen=True)
class EventGroup:
    """Events that are evaluated together.

    Attributes:
        names: what they are, in words.
        values: function of times (N,) and states (N, size) that gives (N, events) numbers, positive before
            each.
        words: function of the place of an event and the state (size,) at it that gives its name there, where
            that depends on the state; None if it does not.
    """

    names: tuple[str, ...]
    values: Callable[[Array, Array], Array]
    words: Callable[[int, Array], str] | None = None


Events: TypeAlias = Sequence[Event | EventGroup]


def checked_events(events: Any) -> Events:
    """Take events as they are given: a sequence of `Event` and `EventGroup`, or one of them.

    Raises:
        KinematicsError: if something else is among them.
    """
    if isinstance(events, Event | EventGroup):
        return (events,)
    if isinstance(events, str) or not isinstance(events, Iterable):
        raise KinematicsError(f"events are a list of nacelle.Event, or [] for none, got {events!r}")
    listed = tuple(events)
    for event in listed:
        if not isinstance(event, Event | EventGroup):
            raise KinematicsError(
                f"an event is a nacelle.Event(name, value) with value(t, s) positive before it, got {event!r}"
            )
    return listed


def first_bad(events: Events, t: Array, s: Array) -> int | None:
    """Place of the first of some states (N, size) at which an event has come or a number is not finite."""
    fine = np.isfinite(s).all(axis=1)
    place = len(t) if fine.all() else int(np.argmin(fine))
    for event in events:
        if place:
            good = np.all(event.values(t[:place], s[:place]) > 0.0, axis=1)
            place = place if good.all() else int(np.argmin(good))
    return None if place == len(t) else place


def boundary(
    events: Events, low: float, high: float, state: Callable[[float], Array]
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
    return low, met(events, high, after)


def met(events: Events, t: float, s: Array) -> str | None:
    """The name of the first event that has come at a time and a state (size,); None if none has."""
    for event in events:
        good = event.values(np.array([t]), s[None])[0] > 0.0
        if not good.all():
            place = int(np.argmin(good))
            words = event.words if isinstance(event, EventGroup) else None
            return event.names[place] if words is None else words(place, s)
    return None


def event_within(
    events: Events, begin: float, end: float, states: Callable[[Array], Array]
) -> tuple[float, str | None] | None:
    """The first event within a step, from its dense output; None if there is none."""
    if not events:
        return None
    t = begin + (end - begin) * _PARTS
    t[-1] = end
    place = first_bad(events, t[1:], states(t[1:]))
    if place is None:
        return None
    return boundary(events, float(t[place]), float(t[place + 1]), lambda now: states(np.array([now]))[0])
