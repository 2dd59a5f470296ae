"""Runs: settings, the choice of the integrator, going on where an earlier run has ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.capacity import available_memory, require_memory
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.progress import task
from nacelle.simulation.digital_controller import DigitalController, integrate_sampled, sample_schedule
from nacelle.simulation.inputs import plant_inputs
from nacelle.simulation.integration import Integration
from nacelle.simulation.integrators import (
    ExplicitStepper,
    ImplicitStepper,
    TimeGrid,
    integrate_adaptive,
    integrate_fixed,
    triggered_event,
)
from nacelle.simulation.protocol import Events, InitialValueProblem, PlantLike
from nacelle.simulation.track import Outcome
from nacelle.spatial.scalar import Array

# A time is on the grid of fixed steps if it is this near, in steps.
_GRID_TOLERANCE = 1e-6

# Whether to show a bar; or a function that is given the part that is done, 0 to 1.
Progress = bool | Callable[[float], None]


@dataclass(frozen=True, eq=False)
class RunSettings:
    """Options of a run; `nacelle.simulate` says what the entries mean."""

    tau: Any
    start: float
    until: float
    integration: Integration
    samples: int | None
    events: Events
    progress: Progress

    def with_options(self, **options: Any) -> RunSettings:
        """The same with some entries changed.

        Raises:
            KinematicsError: if there is no such entry, or the method would be another one.
        """
        fields = [field.name for field in dataclasses.fields(self) if field.name != "start"]
        for name in options:
            if name not in fields:
                raise KinematicsError(f"a run has no option {name!r}; {did_you_mean(name, fields)}")
        changed = dataclasses.replace(self, **options)
        if changed.integration.method != self.integration.method:
            raise KinematicsError(
                f"a run by {self.integration.method!r} goes on by the same method, got "
                f"{changed.integration.method!r}"
            )
        return changed

    def check(self) -> None:
        """Raise a KinematicsError where an entry cannot be used."""
        if not np.isfinite(self.until - self.start) or self.until <= self.start:
            raise KinematicsError(
                "the run must end after it begins, at a finite time: "
                f"start {self.start:g} s, until {self.until:g} s"
            )
        step = self.integration.step
        if (
            self.integration.has_fixed_steps
            and step is not None
            and step > (1.0 + 1e-9) * (self.until - self.start)
        ):
            raise KinematicsError(
                f"the step of {step:g} s is longer than the run of {self.until - self.start:g} s"
            )
        if self.samples is not None and self.samples < 2:
            raise KinematicsError(f"there are at least 2 samples, the first and the last, got {self.samples}")


@dataclass(frozen=True, eq=False)
class RunEnd:
    """Where a run has ended, for one that goes on.

    Attributes:
        grid: its fixed steps; None for other methods.
        first_row: the step that the first row of its force belongs to.
        rows: how many steps have a row; of a digital controller how many samples were taken.
        held: its last inputs.
        next_step: the step that the integrator would have tried next.
        memory: what a digital controller remembered.
    """

    grid: TimeGrid | None
    first_row: int
    rows: int
    held: Array | None
    next_step: float | None
    memory: Array | None = None


def first_grid(settings: RunSettings) -> TimeGrid:
    """Steps that fill the time of a run, as long as the settings say or a little different."""
    span = settings.until - settings.start
    count = max(1, round(span / settings.integration.fixed_step))
    return TimeGrid(settings.start, span / count, 0, count)


def next_grid(settings: RunSettings, grid: TimeGrid, t: float) -> TimeGrid:
    """Steps from a time on: those of an earlier run where the new end is on its grid, else new ones."""
    step = settings.integration.fixed_step
    done, whole = (t - grid.origin) / grid.h, (settings.until - grid.origin) / grid.h
    same = abs(grid.h - step) < 0.5 * step and abs(whole - round(whole)) < _GRID_TOLERANCE * max(1.0, whole)
    if same:
        first = round(done) if abs(done - round(done)) < _GRID_TOLERANCE else int(np.floor(done))
        return TimeGrid(grid.origin, grid.h, first, round(whole))
    new = first_grid(dataclasses.replace(settings, start=t))
    first = int(np.ceil(done - _GRID_TOLERANCE))
    return TimeGrid(t - first * new.h, new.h, first, first + new.last)


def execute(
    plant: PlantLike,
    s0: Array,
    t: float,
    settings: RunSettings,
    before: RunEnd | None,
    *,
    new_force: bool = True,
) -> tuple[Outcome, RunEnd]:
    """Run from a state on.

    Args:
        plant: the plant.
        s0: the state.
        t: its time.
        settings: the options.
        before: the end of the run that this one goes on from; None for a new one.
        new_force: whether rows of the force belong to the steps to come; else to those of the earlier run.
    """
    already = triggered_event(settings.events, t, s0)
    if already is not None:
        raise KinematicsError(f"at the start already {already}")
    _require_memory(plant, settings, t)
    integration = settings.integration
    with report_progress(settings.progress, plant.name) as report:
        if isinstance(settings.tau, DigitalController):
            return _run_digital_controller(plant, s0, t, settings, None if new_force else before, report)
        if integration.has_fixed_steps:
            grid = first_grid(settings)
            if before is not None and before.grid is not None:
                grid = next_grid(settings, before.grid, t)
            first_row, rows = grid.first, grid.last - grid.first
            if before is not None and not new_force:
                first_row, rows = before.first_row, before.rows
            steps_with_rows = range(first_row, first_row + rows)
            drive = plant_inputs(plant, settings.tau, hold=integration.hold, steps=steps_with_rows)
            if integration.substeps > 1:
                if not drive.is_held:
                    raise KinematicsError(
                        f"{integration.substeps} substeps go with forces that are held over a step: hold=True"
                    )
                drive = dataclasses.replace(drive, substeps=integration.substeps)
            if drive.rows is not None and grid.last > drive.rows.end:
                raise KinematicsError(
                    f"the array has rows for {rows} steps: give the force anew, with "
                    f"{grid.last - grid.first} rows for the steps to come"
                )
            problem = InitialValueProblem(drive, s0, t, settings.events)
            outcome = integrate_fixed(
                problem,
                grid,
                report,
                stepper=ExplicitStepper(drive) if integration.method == "rk4" else ImplicitStepper(drive),
                held=None if before is None else before.held,
            )
            return _thin_samples(outcome, settings.samples), RunEnd(
                grid, first_row, rows, outcome.inputs[-1], None
            )
        times = None
        if settings.samples is not None:
            times = np.linspace(settings.start, settings.until, settings.samples)
        first = integration.step if before is None or before.next_step is None else before.next_step
        options = {
            "rtol": integration.rtol,
            "atol": integration.atol,
            "max_step": integration.max_step,
            "first_step": None if first is None else min(first, settings.until - t),
        }
        problem = InitialValueProblem(plant_inputs(plant, settings.tau), s0, t, settings.events)
        outcome = integrate_adaptive(
            problem, settings.until, integration.method, report, times=times, options=options
        )
    return outcome, RunEnd(None, 0, 0, None, outcome.next_step)


def _run_digital_controller(
    plant: PlantLike,
    s0: Array,
    t: float,
    settings: RunSettings,
    before: RunEnd | None,
    report: Callable[[float], None],
) -> tuple[Outcome, RunEnd]:
    """Run a digital controller from a state on.

    Raises:
        KinematicsError: if the options do not go with one, or an earlier run has not ended at a sample.
    """
    law: DigitalController = settings.tau
    integration = settings.integration
    if integration.method != "rk4" or integration.hold:
        raise KinematicsError(
            f"a digital controller ({law.name!r}) runs in explicit fixed steps: method='rk4', with step= as "
            "long as those of the integration may be; its forces are held by themselves (no hold=)"
        )
    taken = 0
    if before is not None:
        if before.memory is None:
            raise KinematicsError(
                f"a run with {law.name!r} goes on from a sample; this one has ended at {t:g} s between two"
            )
        taken = before.rows
        rows = None if law.reference is None else np.asarray(law.reference)
        if rows is not None and rows.ndim == 2:
            rows = rows[taken:]
        law = dataclasses.replace(law, memory=before.memory, tau0=before.held, reference=rows)
    samples = sample_schedule(law, t, settings.until, settings.integration.fixed_step, integration.substeps)
    outcome = integrate_sampled(plant, s0, law, samples, settings.events, report)
    assert outcome.memory is not None
    done = (float(outcome.t[-1]) - t) / law.period
    whole = abs(done - round(done)) < _GRID_TOLERANCE * max(1.0, done)
    memory = outcome.memory[-1] if whole else None
    end = RunEnd(None, 0, taken + round(done), outcome.inputs[-1], None, memory)
    return _thin_samples(outcome, settings.samples), end


def _require_memory(plant: PlantLike, settings: RunSettings, t: float) -> None:
    """Refuse a run whose results would not fit into memory."""
    # Time, state and inputs of a sample; they are kept in blocks and joined, so twice.
    each = 2 * 8 * (1 + plant.size + plant.inputs)
    span = settings.until - t
    if settings.integration.has_fixed_steps:
        longer = span * each / (0.25 * available_memory())
        require_memory(
            f"steps of {settings.integration.fixed_step:g} s",
            span / settings.integration.fixed_step,
            each,
            f"take a longer step, {longer:.1g} s or more, or a shorter time than {span:g} s",
        )
    if settings.samples is not None:
        require_memory("samples", settings.samples, each, "take fewer samples")


def _thin_samples(outcome: Outcome, samples: int | None) -> Outcome:
    """An outcome of fixed steps with `samples` results, evenly among the steps; all of them if None."""
    if samples is None or samples >= len(outcome.t):
        return outcome
    pick = np.unique(np.round(np.linspace(0, len(outcome.t) - 1, samples)).astype(int))
    memory = None if outcome.memory is None else outcome.memory[pick]
    return outcome._replace(
        t=outcome.t[pick], states=outcome.states[pick], inputs=outcome.inputs[pick], memory=memory
    )


@contextmanager
def report_progress(progress: Progress, name: str) -> Iterator[Callable[[float], None]]:
    """Give a function of the part that is done, 0 to 1; the name is next to the bar."""
    if callable(progress):
        yield progress
        return
    if not progress:
        with task(f"simulating {name}") as report:
            yield report
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(name, total=1.0)
        yield lambda part: bar.update(number, completed=part)
