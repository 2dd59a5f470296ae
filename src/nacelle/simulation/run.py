"""Runs: settings, the choice of the integrator, going on where an earlier run has ended."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.capacity import memory, require_memory
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.simulation.adaptive import integrate_adaptive
from nacelle.simulation.events import Events, met
from nacelle.simulation.fixed import Grid, integrate_fixed
from nacelle.simulation.inputs import make_drive
from nacelle.simulation.outcome import Outcome
from nacelle.simulation.progress import Progress, shown
from nacelle.simulation.protocol import Plant
from nacelle.spatial.scalar import Array

METHODS = ("rk4", "dop853", "radau")
STEP = 1e-3
# A time is on the grid of fixed steps if it is this near, in steps.
_ON_GRID = 1e-6


@dataclass(frozen=True, eq=False)
class Settings:
    """What a run was asked for; `nacelle.simulate` says what the entries mean."""

    force: Any
    start: float
    until: float
    method: str
    step: float | None
    max_step: float
    hold: bool
    samples: int | None
    rtol: float
    atol: float
    events: Events
    progress: Progress

    def changed(self, **options: Any) -> Settings:
        """The same with some entries changed.

        Raises:
            KinematicsError: if there is no such entry.
        """
        known = [field.name for field in dataclasses.fields(self) if field.name not in ("start", "method")]
        for name in options:
            if name not in known:
                raise KinematicsError(f"a run has no option {name!r}; {did_you_mean(name, known)}")
        return dataclasses.replace(self, **options)

    def check(self) -> None:
        """Raise a KinematicsError where an entry cannot be used."""
        if self.method not in METHODS:
            raise KinematicsError(
                f"no method is called {self.method!r}; {did_you_mean(self.method, METHODS)}"
            )
        if not np.isfinite(self.until - self.start) or self.until <= self.start:
            raise KinematicsError(
                "the run must end after it begins, at a finite time: "
                f"start {self.start:g} s, until {self.until:g} s"
            )
        for what, value in (("step", self.step), ("longest step", self.max_step)):
            if value is not None and not value > 0.0:
                raise KinematicsError(f"the {what} must be above zero, got {value:g} s")
        if self.step is not None and not np.isfinite(self.step):
            raise KinematicsError("the step must be finite")
        if (
            self.method == "rk4"
            and self.step is not None
            and self.step > (1.0 + 1e-9) * (self.until - self.start)
        ):
            raise KinematicsError(
                f"the step of {self.step:g} s is longer than the run of {self.until - self.start:g} s"
            )
        if self.hold and self.method != "rk4":
            raise KinematicsError(
                f"hold=True samples the force at fixed steps, so it goes with the method 'rk4', not "
                f"{self.method!r}"
            )
        if self.samples is not None and self.samples < 2:
            raise KinematicsError(f"there are at least 2 samples, the first and the last, got {self.samples}")


@dataclass(frozen=True, eq=False)
class End:
    """Where a run has ended, for one that goes on.

    Attributes:
        grid: its fixed steps; None for other methods.
        first_row: the step that the first row of its force belongs to.
        rows: how many steps have a row.
        held: its last inputs.
        next_step: the step that the integrator would have tried next.
    """

    grid: Grid | None
    first_row: int
    rows: int
    held: Array | None
    next_step: float | None


def first_grid(settings: Settings) -> Grid:
    """Steps that fill the time of a run, as long as is asked for or a little different."""
    step = STEP if settings.step is None else settings.step
    count = max(1, round((settings.until - settings.start) / step))
    return Grid(settings.start, (settings.until - settings.start) / count, 0, count)


def next_grid(settings: Settings, grid: Grid, t: float) -> Grid:
    """Steps from a time on: those of an earlier run where the new end is on its grid, else new ones."""
    step = STEP if settings.step is None else settings.step
    done, whole = (t - grid.origin) / grid.h, (settings.until - grid.origin) / grid.h
    same = abs(grid.h - step) < 0.5 * step and abs(whole - round(whole)) < _ON_GRID * max(1.0, whole)
    if same:
        first = round(done) if abs(done - round(done)) < _ON_GRID else int(np.floor(done))
        return Grid(grid.origin, grid.h, first, round(whole))
    new = first_grid(dataclasses.replace(settings, start=t))
    first = int(np.ceil(done - _ON_GRID))
    return Grid(t - first * new.h, new.h, first, first + new.last)


def execute(
    plant: Plant, s0: Array, t: float, settings: Settings, before: End | None, *, new_force: bool = True
) -> tuple[Outcome, End]:
    """Run from a state on.

    Args:
        plant: the plant.
        s0: the state.
        t: its time.
        settings: what is asked for.
        before: the end of the run that this one goes on from; None for a new one.
        new_force: whether rows of the force belong to the steps to come; else to those of the earlier run.
    """
    watched = settings.events
    already = met(watched, t, s0)
    if already is not None:
        raise KinematicsError(f"at the start already {already}")
    _require_memory(plant, settings, t)
    with shown(settings.progress, plant.name) as report:
        if settings.method == "rk4":
            return _fixed(plant, s0, t, settings, before, new_force, report)
        drive = make_drive(plant, settings.force)
        wanted = None
        if settings.samples is not None:
            wanted = np.linspace(settings.start, settings.until, settings.samples)
        first = settings.step if before is None or before.next_step is None else before.next_step
        options = {
            "rtol": settings.rtol,
            "atol": settings.atol,
            "max_step": settings.max_step,
            "first_step": None if first is None else min(first, settings.until - t),
        }
        found = integrate_adaptive(
            drive, s0, t, settings.until, settings.method, wanted, watched, report, options
        )
    return found, End(None, 0, 0, None, found.next_step)


def _require_memory(plant: Plant, settings: Settings, t: float) -> None:
    """Refuse a run whose results would not fit into memory."""
    # Time, state and inputs of a sample; they are kept in blocks and joined, so twice.
    each = 2 * 8 * (1 + plant.size + plant.inputs)
    span = settings.until - t
    if settings.method == "rk4":
        step = STEP if settings.step is None else settings.step
        longer = span * each / (0.25 * memory())
        require_memory(
            f"steps of {step:g} s",
            span / step,
            each,
            f"take a longer step, {longer:.1g} s or more, or a shorter time than {span:g} s",
        )
    if settings.samples is not None:
        require_memory("samples", settings.samples, each, "ask for fewer samples")


def _fixed(
    plant: Plant, s0: Array, t: float, settings: Settings, before: End | None, new_force: bool, report: Any
) -> tuple[Outcome, End]:
    if before is None or before.grid is None:
        grid = first_grid(settings)
    else:
        grid = next_grid(settings, before.grid, t)
    first, rows = grid.first, grid.last - grid.first
    if before is not None and not new_force:
        first, rows = before.first_row, before.rows
    drive = make_drive(plant, settings.force, hold=settings.hold, span=(first, rows))
    if drive.rows is not None and grid.last > drive.rows.end:
        raise KinematicsError(
            f"the array has rows for {rows} steps: give the force anew, with "
            f"{grid.last - grid.first} rows for the steps to come"
        )
    held = None if before is None else before.held
    found = integrate_fixed(drive, s0, t, grid, settings.events, report, held)
    end = End(grid, first, rows, found.inputs[-1], None)
    if settings.samples is not None and settings.samples < len(found.t):
        pick = np.unique(np.round(np.linspace(0, len(found.t) - 1, settings.samples)).astype(int))
        found = found._replace(t=found.t[pick], states=found.states[pick], inputs=found.inputs[pick])
    return found, end
