"""Tracks: the motion between the steps of a run, from its integrator; the outcome that carries one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from nacelle.progress import task
from nacelle.simulation.protocol import PlantInputs, derivatives_of
from nacelle.spatial.scalar import Array


class Track(Protocol):
    """States and inputs of a run at any time."""

    breaks: Array

    def states(self, t: Array) -> Array:
        """States (N, size) at times (N,) between the first break and the last."""

    def inputs(self, t: Array, s: Array) -> Array:
        """The plant's inputs (N, inputs) at times (N,) and the states there."""


def _interval_index(breaks: Array, t: Array) -> Array:
    """In which interval between breaks each time is."""
    return np.clip(np.searchsorted(breaks, t, side="right") - 1, 0, len(breaks) - 2)


class DenseTrack:
    """Steps with the dense output of their method.

    Args:
        drive: the plant with its inputs.
        breaks: times of the steps (K + 1,).
        pieces: a function of times for each step, giving states (size, N).
    """

    def __init__(
        self, drive: PlantInputs, breaks: Sequence[float], pieces: Sequence[Callable[[Array], Array]]
    ) -> None:
        self.drive, self.breaks, self.pieces = drive, np.array(breaks), tuple(pieces)

    def states(self, t: Array) -> Array:
        """States (N, size) at times (N,), s."""
        states = np.empty((len(t), self.drive.plant.size))
        if not len(t):
            return states
        interval = _interval_index(self.breaks, t)
        order = np.argsort(interval, kind="stable")
        steps, starts = np.unique(interval[order], return_index=True)
        for k, chosen in zip(steps, np.split(order, starts[1:]), strict=True):
            states[chosen] = self.pieces[k](t[chosen]).T
        return states

    def inputs(self, t: Array, s: Array) -> Array:
        """Inputs (N, inputs) at times (N,), s, and states (N, size)."""
        return self.drive.forces(0, t, s)


class HermiteTrack:
    """Fixed steps; between them a cubic with the states and their derivatives at both ends.

    Args:
        drive: the plant with its inputs.
        breaks: times (K + 1,).
        values: states (K + 1, size).
        steps: number of the step that each interval belongs to (K,).
        used: the plant's inputs at the begin of each interval (K, inputs).
    """

    def __init__(self, drive: PlantInputs, breaks: Array, values: Array, steps: Array, used: Array) -> None:
        self.drive, self.breaks, self.values = drive, breaks, values
        self.steps, self.used = steps, used

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        """Derivatives (K, size) at the begin and at the end of each interval."""
        t, s = self.breaks, self.values
        last = self.used if self.drive.is_held else self.drive.forces(self.steps, t[1:], s[1:])
        rates = derivatives_of(self.drive.plant)
        return rates(s[:-1], self.used), rates(s[1:], last)

    def states(self, t: Array) -> Array:
        """States (N, size) at times (N,), s."""
        k = _interval_index(self.breaks, t)
        h = (self.breaks[k + 1] - self.breaks[k])[:, None]
        first, last = self._slopes
        z = (t - self.breaks[k])[:, None] / h
        begin, end = self.values[k], self.values[k + 1]
        bend = (1.0 - 2.0 * z) * (end - begin) + h * ((z - 1.0) * first[k] + z * last[k])
        return np.asarray((1.0 - z) * begin + z * end + z * (z - 1.0) * bend)

    def inputs(self, t: Array, s: Array) -> Array:
        """Inputs (N, inputs) at times (N,), s, and states (N, size)."""
        k = _interval_index(self.breaks, t)
        return np.asarray(self.used[k]) if self.drive.is_held else self.drive.forces(self.steps[k], t, s)


def constant_track(drive: PlantInputs, t: float, s: Array) -> DenseTrack:
    """The track of a run without a step: one state (size,) at its time, s."""
    return DenseTrack(drive, [t, t], [lambda times: np.repeat(s[:, None], len(times), axis=1)])


# ---- what an integrator gives back


class Outcome(NamedTuple):
    """A run, or as much of it as there is.

    Attributes:
        t: times (N,).
        states: states (N, size).
        inputs: the plant's inputs (N, inputs) there.
        track: the motion in between.
        status: "done", "event", "interrupted" or "failed".
        message: how it ended.
        evaluations: how often the derivative was evaluated.
        next_step: the step that the integrator would have tried next; None for fixed steps.
        memory: what a digital controller remembers there (N, nz); None without one.
    """

    t: Array
    states: Array
    inputs: Array
    track: Track
    status: str
    message: str
    evaluations: int
    next_step: float | None = None
    memory: Array | None = None


def stop_status(error: BaseException, t: float, *, nothing: bool) -> tuple[str, str]:
    """Status and message of a run that an exception ended at a time.

    An error in a user's function is raised where nothing has been computed; later the results
    so far are kept.
    """
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", f"stopped at {t:.9g} s"
    if nothing:
        raise error
    return "failed", f"at {t:.9g} s: {type(error).__name__}: {error}"


# ---- quadrature along tracks

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
# Intervals that are evaluated at a time: keeps memory bounded.
_BLOCK = 1 << 14


def integrate_along_tracks(
    tracks: Sequence[Track], times: Array, rate: Callable[[Array, Array], Array]
) -> Array:
    """Integrals (N, m) from the first time on of rates (K, m) of states and inputs, at rising times (N,).

    Gauss's rule in every step and between every two times: of order 12.
    """
    total: Array | None = None
    result: list[Array] = []
    position = 0
    for track in tracks:
        begin, end = track.breaks[0], track.breaks[-1]
        last = track is tracks[-1]
        stop = len(times) if last else int(np.searchsorted(times, end, side="left"))
        inside = times[position:stop]
        position = stop
        edges = np.unique(np.concatenate([track.breaks, inside, [begin, end]]))
        if len(edges) > 1:
            parts = _gauss_integrals(track, edges, rate)
        else:
            # A run without a step: one evaluation says how many rates there are.
            s = track.states(track.breaks[:1])
            parts = np.zeros((0, np.shape(rate(s, track.inputs(track.breaks[:1], s)))[-1]))
        if total is None:
            total = np.zeros(parts.shape[1])
        sums = np.concatenate([total[None], total + np.cumsum(parts, axis=0)])
        result.append(sums[np.searchsorted(edges, inside)])
        total = sums[-1]
    return np.concatenate(result)


def _gauss_integrals(track: Track, edges: Array, rate: Callable[[Array, Array], Array]) -> Array:
    """Integrals (K, m) of rates over each of K intervals between edges (K + 1,), by blocks of them."""
    half = 0.5 * np.diff(edges)
    parts = []
    with task("integrating work and dissipation") as report:
        for first in range(0, len(half), _BLOCK):
            h = half[first : first + _BLOCK, None]
            nodes = edges[first : first + len(h), None] + h + h * _NODES
            s = track.states(nodes.ravel())
            values = rate(s, track.inputs(nodes.ravel(), s))
            parts.append(np.einsum("kq,kqm->km", h * _WEIGHTS, values.reshape(*nodes.shape, -1)))
            report((first + len(h)) / len(half))
    return np.concatenate(parts)
