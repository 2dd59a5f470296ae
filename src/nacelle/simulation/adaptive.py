"""Methods with step control: DOP853 of order eight with dense output, and Radau, implicit, of order five."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.simulation.events import event_within
from nacelle.simulation.inputs import Problem
from nacelle.simulation.protocol import HasJacobian
from nacelle.simulation.track import DenseTrack, Outcome, StillTrack, stopped
from nacelle.spatial.scalar import Array

# Methods, and the classes of scipy.integrate that step them.
SOLVERS = {"dop853": "DOP853", "radau": "Radau"}


def make_solver(problem: Problem, until: float, method: str, options: Mapping[str, Any]) -> Any:
    """The solver of a method around a plant with its inputs."""
    from scipy import integrate

    drive, s0, start, _ = problem
    derivative = drive.core.derivative()

    def f(t: float, s: Array) -> Array:
        return derivative(s, drive.source(0, t, s))

    first = f(start, s0)
    if not np.isfinite(first).all():
        raise KinematicsError(
            f"at {start:g} s the derivative of the state of {drive.plant.name} is not finite: {first}"
        )
    settings = {name: value for name, value in options.items() if value is not None}
    if method == "radau" and drive.free and isinstance(drive.core, HasJacobian):
        slope = drive.core.jacobian()
        if slope is not None:
            settings["jac"] = lambda t, s: slope(s, drive.source(0, t, s))
    return getattr(integrate, SOLVERS[method])(f, start, s0, until, **settings)


def _rows(dense: Any) -> Callable[[Array], Array]:
    """States (N, size) at times, from a dense output."""
    return lambda t: np.asarray(dense(t).T)


def integrate_adaptive(
    problem: Problem,
    until: float,
    method: str,
    report: Callable[[float], None],
    *,
    wanted: Array | None,
    options: Mapping[str, Any],
) -> Outcome:
    """Run a method with step control.

    Args:
        problem: the plant with its inputs, from its first state on.
        until: when the run ends.
        method: "dop853" or "radau".
        report: is given the part that is done, 0 to 1.
        wanted: times of the results; the steps' if None.
        options: tolerances, first and longest step.
    """
    drive, s0, start, events = problem
    breaks, ends, pieces = [start], [s0], []
    status, message = "done", f"reached {until:g} s"
    solver: Any = None
    try:
        solver = make_solver(problem, until, method, options)
        while solver.status == "running":
            before = float(solver.t)
            reason = solver.step()
            if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                status, message = "failed", f"at {before:.9g} s: {reason or 'the state is not finite'}"
                break
            dense = solver.dense_output()
            last, end = float(solver.t), solver.y
            ended = event_within(events, before, last, _rows(dense))
            if ended is not None:
                last, end = ended[0], dense(ended[0])
            if last > before:
                pieces.append(dense)
                ends.append(end)
                breaks.append(last)
            report((last - start) / (until - start))
            if ended is not None:
                status = "failed" if ended[1] is None else "event"
                message = f"at {last:.9g} s {ended[1] or 'the state is not finite'}"
                break
    except (Exception, KeyboardInterrupt) as error:
        status, message = stopped(error, breaks[-1], nothing=len(breaks) < 2)
    # A Ctrl-C may have fallen between the lines that keep a step.
    pieces, ends = pieces[: len(breaks) - 1], ends[: len(breaks)]
    track = DenseTrack(drive, breaks, pieces) if pieces else StillTrack(drive, start, s0)
    t, s = np.array(breaks), np.array(ends)
    if wanted is not None:
        chosen = wanted[(wanted > start) & (wanted < breaks[-1])]
        t = np.concatenate([t[:1], chosen, t[1:][-1:]])
        s = np.concatenate([s[:1], track.states(chosen), s[1:][-1:]])
    count, following = (0, None) if solver is None else (int(solver.nfev), float(solver.h_abs))
    return Outcome(t, s, drive.forces(0, t, s), track, status, message, count, following)
