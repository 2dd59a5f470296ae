"""Simulating a plant: from a pose and a twist, under forces, to a time or an event.

- "rk4": the classical method with a fixed step; the whole loop runs natively where the forces are an array, a
  function of time or a compiled feedback;
- "irk5": implicit with a fixed step, native likewise: for vibrations far faster than those that matter;
- "dop853": order eight with step control and dense output;
- "radau": implicit, for stiff friction.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError, NacelleError
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.simulation.integration import Integration, SuitedSteps
from nacelle.simulation.protocol import Events, PlantLike, check_events, require_joints, robot_of
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.run import Progress, RunEnd, RunSettings, execute
from nacelle.simulation.track import Track, integrate_along_tracks
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import write_table


def simulate(
    plant: PlantLike | Robot,
    x0: Any,
    v0: Any = None,
    tau: Any = None,
    *,
    until: float,
    start: float = 0.0,
    integration: Integration | None = None,
    samples: int | None = None,
    events: Events | None = None,
    progress: Progress = False,
) -> Simulation:
    """Simulate a plant from a pose and a twist.

    Args:
        plant: a robot, a `Plant` (`rigid_plant` of it with a choice of friction, or another), or anything
            that follows the protocol `PlantLike`.
        x0: pose (nx,).
        v0: twist (n,); zero if None.
        tau: forces of the actuators, N or N m: constant (actuators,), a function of time f(t), feedback
            f(t, x, v), a feedback that is compiled with the robot (a physics function or
            `nacelle.simulation.feedback` of one), or, for fixed steps, an array with one row a step, held
            over it, or, for "rk4", a digital controller with a memory and a sample time of its own
            (`nacelle.simulation.DigitalController`); zero if None.
        until: time at which the run ends, s.
        start: time at which it begins, s.
        integration: method, steps and tolerances; `Integration()` if None.
        samples: how many results, evenly over time; every step if None.
        events: what ends the run; the plant's own events if None.
        progress: whether to show a bar; or a function that is given the part that is done, 0 to 1.

    Raises:
        KinematicsError: if an argument cannot be used.
        UnreachableError: if the first pose is out of reach.
    """
    driven: Any = rigid_plant(plant) if isinstance(plant, Robot) else plant
    if not isinstance(driven, PlantLike):
        raise KinematicsError(
            f"{plant!r} is no plant: give a robot (nacelle.load), a nacelle.simulation.Plant, "
            "or what follows nacelle.simulation.PlantLike"
        )
    settings = RunSettings(
        tau=tau,
        start=float(start),
        until=float(until),
        integration=Integration() if integration is None else integration,
        samples=samples,
        events=check_events(driven.events() if events is None else events),
        progress=progress,
    )
    settings.check()
    s0 = np.asarray(driven.state(x0, np.zeros(len(driven.labels.v)) if v0 is None else v0), dtype=float)
    if s0.shape != (driven.size,) or not np.all(np.isfinite(s0)):
        raise KinematicsError(f"the state of {driven.name} at the start is not finite: {s0}")
    settings = _choose_method_and_step(driven, s0, settings)
    settings.check()
    none = np.zeros((1, driven.inputs))
    begun = Simulation(driven, settings, np.array([settings.start]), s0[None], none, "", "", 0)
    return begun._continue_run(driven, settings, new_force=True)


def _choose_method_and_step(plant: PlantLike, s0: Array, settings: RunSettings) -> RunSettings:
    """The settings with a step that suits the plant, where it says so.

    Raises:
        KinematicsError: if steps are given that would grow without bound.
    """
    integration, ask = settings.integration, getattr(plant, "suited_steps", None)
    if not (integration.has_fixed_steps or integration.method == "auto"):
        return settings
    suited = SuitedSteps() if ask is None else ask(s0)
    if integration.method == "auto":
        integration = dataclasses.replace(integration, method=suited.method)
    if ask is not None and integration.has_fixed_steps:
        explicit = integration.method == "rk4"
        if integration.step is None:
            step = min(suited.explicit if explicit else suited.implicit, settings.until - settings.start)
            integration = dataclasses.replace(integration, step=step)
        elif explicit and (reason := suited.reason_unstable(integration.step / integration.substeps)):
            raise KinematicsError(reason)
    return dataclasses.replace(settings, integration=integration)


# ---- the result


class Moment(NamedTuple):
    """A run at times (...): poses (..., nx), twists (..., n), inputs (..., inputs), states (..., size)."""

    t: Array
    x: Array
    v: Array
    inputs: Array
    state: Array


@dataclass(frozen=True, eq=False)
class Simulation(Plottable):
    """A run, or as much of it as there is.

    Attributes:
        plant: what was driven.
        settings: the options of the run.
        t: times (N,), s.
        states: the plant's states (N, size).
        inputs: the actuators' forces at these times (N, actuators).
        status: "done", "event", "interrupted" or "failed".
        message: how the run ended.
        evaluations: how often the plant's derivative was evaluated.
        tracks: the motion between the steps, of each part of a resumed run.
        end: where the integrator was at the end, for `resume`.
        memory: what a digital controller remembers (N, nz): at a sample what that takes, after it what it
            has given; None without one.
    """

    plant: PlantLike
    settings: RunSettings
    t: Array
    states: Array
    tau: Array
    status: str
    message: str
    evaluations: int
    tracks: tuple[Track, ...] = ()
    end: RunEnd | None = None
    memory: Array | None = None

    @property
    def method(self) -> str:
        """The integrator: "rk4", "irk5", "dop853" or "radau"."""
        return self.settings.integration.method

    @property
    def robot(self) -> Robot:
        """The robot.

        Raises:
            KinematicsError: if the plant has no robot.
        """
        return robot_of(self.plant)

    @cached_property
    def _split(self) -> tuple[Array, Array]:
        return self.plant.split(self.states)

    @property
    def x(self) -> Array:
        """Reduced poses (N, nx) at the times, m and rad or quat_xyzw, base axes."""
        return self._split[0]

    @property
    def v(self) -> Array:
        """Reduced twists (N, n) at the times, m/s and rad/s, base axes."""
        return self._split[1]

    @property
    def ok(self) -> bool:
        """Whether the run came to its end."""
        return self.status == "done"

    def at(self, t: Any) -> Moment:
        """The run at any times (...) within it: by the method's dense output, between fixed steps by cubics.

        Raises:
            KinematicsError: if a time is not within the run.
        """
        times = np.asarray(t, dtype=float)
        flat = times.ravel()
        first, last = self.t[0], self.t[-1]
        if flat.size and not (np.min(flat) >= first and np.max(flat) <= last):
            raise KinematicsError(f"the run is from {first:g} s to {last:g} s, got times beyond: {t}")
        states = np.empty((flat.size, self.states.shape[1]))
        inputs = np.empty((flat.size, self.tau.shape[1]))
        left = np.ones(flat.size, dtype=bool)
        for track in self.tracks:
            chosen = left & (flat <= track.breaks[-1])
            if np.any(chosen):
                states[chosen] = track.states(flat[chosen])
                inputs[chosen] = track.inputs(flat[chosen], states[chosen])
            left &= ~chosen
        states = states.reshape(*times.shape, self.plant.size)
        return Moment(
            times, *self.plant.split(states), inputs.reshape(*times.shape, self.plant.inputs), states
        )

    # ---- joints and bodies

    @cached_property
    def joints(self) -> Any:
        """All joints and bodies (`InverseKinematics`), angles without jumps by whole turns."""
        return require_joints(self.plant).joints(self.states).as_path(limits=False)

    @cached_property
    def motion(self) -> Any:
        """Rates of all joints (`JointMotion`), angles without jumps by whole turns."""
        return require_joints(self.plant).motion(self.states).as_path()

    @cached_property
    def closure_error(self) -> float:
        """What the loops leave open at the worst time, over the robot's size: a pure number."""
        return float(require_joints(self.plant).closure_error(self.states))

    # ---- energy

    @cached_property
    def energies(self) -> dict[str, Array]:
        """Kinetic and potential energy (N,), J, and the power that friction takes (N,), W."""
        return self.plant.energies(self.states)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy together (N,), J."""
        return np.asarray(self.energies["kinetic"] + self.energies["potential"])

    @cached_property
    def _energy_integrals(self) -> Array:
        """Work of the inputs and energy lost, (N, 2), J."""

        def rate(s: Array, u: Array) -> Array:
            lost = np.asarray(self.plant.energies(s)["dissipation"])
            return np.stack([np.asarray(self.plant.power(s, u)), lost], axis=-1)

        return integrate_along_tracks(self.tracks, self.t, rate)

    @property
    def work(self) -> Array:
        """What the inputs have done since the start (N,), J: the integral of their power."""
        return np.asarray(self._energy_integrals[:, 0])

    @property
    def dissipated_energy(self) -> Array:
        """What friction has taken since the start (N,), J."""
        return np.asarray(self._energy_integrals[:, 1])

    @property
    def balance(self) -> Array:
        """What is missing in the balance of energy since the start (N,), J: zero but for errors.

        The change of the energy, less the work of the inputs, and what friction has taken.
        """
        return np.asarray(self.energy - self.energy[0] - self.work + self.dissipated_energy)

    # ---- files

    def to_csv(self, path: str | Path) -> None:
        """Write times, poses, twists and forces as CSV."""
        x, v, inputs, _ = self.plant.labels
        names = ["t", *(name for name, _ in (*x, *v, *inputs))]
        units = ["s", *(unit.replace(" ", "*") for _, unit in (*x, *v, *inputs))]
        write_table(Path(path), names, units, np.column_stack([self.t, self.x, self.v, self.tau]))

    def to_npz(self, path: str | Path) -> None:
        """Write the same arrays, with the raw states, as npz."""
        np.savez(path, t=self.t, x=self.x, v=self.v, inputs=self.tau, states=self.states)

    # ---- going on

    def resume(
        self, until: float | None = None, tau: Any = None, *, plant: PlantLike | None = None, **options: Any
    ) -> Simulation:
        """Go on from the last state; the two runs are joined.

        Args:
            until: when the run ends; as at first if None.
            tau: forces of the actuators from now on; as they were if None. Rows of an array belong to the
                steps to come. A digital controller that is given anew starts with its own memory.
            plant: what moves from now on, with the same states: a robot that has taken up a load.
            **options: others of `simulate` that change: events, integration (by the same method), samples,
                progress.

        Raises:
            NacelleError: if the run failed.
            KinematicsError: if an argument cannot be used.
        """
        if self.status == "failed":
            raise NacelleError(f"a run that failed cannot be resumed; it ended {self.message}")
        t = float(self.t[-1])
        changes = dict(options)
        if tau is not None:
            changes["tau"] = tau
        if until is not None and until != self.settings.until:
            changes["until"] = float(until)
        if "events" in changes:
            changes["events"] = check_events(changes["events"])
        settings = self.settings.with_options(**changes)
        if settings.until != self.settings.until:
            # Samples are spread over what is to come.
            settings = dataclasses.replace(settings, start=t)
        settings.check()
        if settings.until <= t:
            raise KinematicsError(
                f"the run has come to {t:g} s already: until must be later, got {settings.until:g} s"
            )
        driven = self.plant if plant is None else plant
        if driven.size != self.plant.size or driven.inputs != self.plant.inputs:
            raise KinematicsError(
                f"{driven.name} has {driven.size} states and {driven.inputs} inputs, the run has "
                f"{self.plant.size} and {self.plant.inputs}: a run goes on with a plant of the same kind"
            )
        return self._continue_run(driven, settings, new_force=tau is not None)

    def _continue_run(self, plant: PlantLike, settings: RunSettings, *, new_force: bool) -> Simulation:
        """The run with what comes of it from its last state on; arguments as of `execute`."""
        more, end = execute(
            plant, self.states[-1], float(self.t[-1]), settings, self.end, new_force=new_force
        )

        def join(before: Array, after: Array) -> Array:
            return np.concatenate([before[:-1], after]) if self.tracks else after

        memory = more.memory
        if self.tracks and memory is not None:
            # What a controller remembers over two runs, if they had the same.
            before = self.memory
            same = before is not None and before.shape[1] == memory.shape[1]
            memory = join(before, memory) if before is not None and same else None
        return dataclasses.replace(
            self,
            plant=plant,
            settings=settings,
            t=join(self.t, more.t),
            states=join(self.states, more.states),
            tau=join(self.tau, more.inputs),
            status=more.status,
            message=more.message,
            evaluations=self.evaluations + more.evaluations,
            tracks=(*self.tracks, more.track),
            end=end,
            memory=memory,
        )

    def __repr__(self) -> str:
        """Give plant, method, time and status."""
        return (
            f"<Simulation {self.plant.name}: {self.method}, {self.t[0]:g} to {self.t[-1]:g} s, "
            f"{len(self.t)} samples, {self.status}>"
        )
