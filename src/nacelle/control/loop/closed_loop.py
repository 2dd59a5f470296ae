"""Closed loops: a controller with its sensors drives a plant along a path.

The controller has a model; what moves is a plant, which may be another robot. What moves may change in the
run, a payload be picked up or a wrench begin to act: the state and the controller's memory go on.

Steps of the integration that follow a plant are chosen from the fastest rate of its flow along a path. At a
state s the flow s' = f(s, u) has the Jacobian A = df/ds. The classical Runge-Kutta method is stable
while h |l| < 2.7 for its eigenvalues l: those of friction that turns its sign over a small rate, of current
loops, of bristles, of vibrations. A is found by differences, at rest and in motion at poses of the path. Of
friction that jumps there is no slope: where half the difference doubles it, it is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.loop.desired import (
    DesiredSamples,
    PathRequirement,
    Schedule,
    actuator_requirements,
    check_gravity,
    desired_motion,
    drive_limit_notes,
    joints_along_path,
)
from nacelle.control.loop.run import ControlRun
from nacelle.dynamics.equilibrium import equilibrium
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.digital_controller import DigitalController
from nacelle.simulation.driven_plant import driven_plant
from nacelle.simulation.integration import DEFAULT_STEP, Integration
from nacelle.simulation.plant import Plant
from nacelle.simulation.protocol import PlantLike, derivatives_of, robot_of
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.run import Progress
from nacelle.simulation.sensors import Sensors
from nacelle.simulation.simulate import Simulation, simulate
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Trajectory

# The largest product of a step and a rate, and the poses of a path that are looked at.
_STABILITY_LIMIT, _POSES = 2.0, 12
# By how much states are moved, over 1 and over their size.
_DIFFERENCE_STEP = 1e-7


def integration_step(plant: PlantLike, x: Array, v: Array, u: Array) -> float:
    """The longest step (s) that follows a plant along poses (N, nx) and twists (N, n) under forces (N, m)."""
    picked = np.unique(np.linspace(0, len(x) - 1, min(_POSES, len(x))).round().astype(int))
    ask = getattr(plant, "suited_steps", None)
    step = DEFAULT_STEP if ask is None else min(DEFAULT_STEP, ask(plant.state(x[0], v[0])).explicit)
    fastest = 0.0
    for k in picked:
        for twist in (np.zeros_like(v[k]), v[k]):
            fastest = max(fastest, _fastest_rate(plant, plant.state(x[k], twist), u[k]))
    return min(step, _STABILITY_LIMIT / fastest) if fastest else step


def _fastest_rate(plant: PlantLike, s: Array, u: Array) -> float:
    """The largest eigenvalue of df/ds at a state, absolute, 1/s; 0 where the flow jumps."""
    nudge = _DIFFERENCE_STEP * np.maximum(1.0, np.abs(s))
    slopes = [_flow_jacobian(plant, s, u, part * nudge) for part in (1.0, 0.5)]
    if not all(np.isfinite(A).all() for A in slopes):
        return 0.0
    rates = [float(np.max(np.abs(np.linalg.eigvals(A)), initial=0.0)) for A in slopes]
    return 0.0 if rates[1] > 1.5 * rates[0] else rates[1]


def _flow_jacobian(plant: PlantLike, s: Array, u: Array, nudge: Array) -> Array:
    """df/ds (size, size) by central differences."""
    size = len(s)
    shifted = np.concatenate([s + np.diag(nudge), s - np.diag(nudge)])
    values = derivatives_of(plant)(shifted, np.broadcast_to(u, (2 * size, len(u))).copy())
    return np.asarray((values[:size] - values[size:]).T / (2.0 * nudge))


# ---- closed loops: a controller with its sensors drives a plant along a path


# Rate over which Coulomb friction of a robot that is given as such changes its sign, rad/s or m/s.
SMOOTH = 1e-3


class PlantSwitch(NamedTuple):
    """From a time on something else moves: the robot with a payload, or under a wrench.

    Attributes:
        time: s; rounded to a sample.
        plant: what moves then, with the same states; a robot stands for a rigid plant of it.
    """

    time: float
    plant: PlantLike | Robot


@dataclass(frozen=True)
class LoopOptions(Schedule):
    """How a closed loop runs: its sensors and delay, how its path is run through, what changes meanwhile.

    Attributes:
        settle: how long the loop runs before the path, s: at rest at the start of a path that starts at rest,
            which is so for 0.5 s, or 600 samples if they are longer, if None; on a path that ends as it
            starts in motion, not at all if None. Default None.
        repeat: how often the path is run through. Default 1.
        duration: when the run ends, s, at rest at the end of a path that is over; with the path if None.
            Default None.
        sensors: encoders; `Sensors()` if None. `Sensors.ideal()` has neither steps nor noise. Default None.
        delay: from a sample to the time at which its forces act, s, at most the sample time. Default 0.
        seed: of noise and losses. Default 0.
        changes: pairs (time, plant): what moves from these times (s) on. Default none.
        tool: the tool that is looked at; the platform's frame if empty. Default empty.
        step: the longest step of the integration, s; chosen from the plant's rates if None. Default None.
    """

    sensors: Sensors | None = None
    delay: float = 0.0
    seed: int = 0
    changes: Sequence[PlantSwitch | tuple[float, Any]] = ()
    tool: str = ""
    step: float | None = None


def closed_loop(
    plant: PlantLike | Robot,
    controller: Controller,
    trajectory: Trajectory,
    *,
    options: LoopOptions | None = None,
    label: str = "",
    progress: Progress = False,
) -> ControlRun:
    """Run a controller against a plant along a path.

    The same arguments give the same numbers. For several controllers take `compare`.

    Args:
        plant: what moves; a robot stands for a rigid plant of it with smooth friction.
        controller: with its model of the robot, which may be another one.
        trajectory: the path in time.
        options: sensors, delay, how the path is run through and others; `LoopOptions()` if None.
        label: what the run is called among others; the controller's name if empty.
        progress: whether to show a bar; or a function that is given the part that is done, 0 to 1.

    Returns:
        The run; a stop before its end is in its `status` and `message`.

    Raises:
        UnreachableError, SingularError: if the path leaves what the robot can do; at which time is in the
            words.
        KinematicsError: if gravity is above the limits of the drives, the delay is above the sample time, or
            an argument cannot be used.
    """
    loop = ControlLoop(plant, controller.robot, trajectory, period=controller.period, options=options)
    return loop.run(controller, label=label, progress=progress)


class ControlLoop:
    """A plant and a path, checked, for one controller or several with the same model and sample time.

    Args:
        plant: what moves.
        model: the model that controllers have.
        trajectory: the path in time.
        period: sample time, s.
        options: sensors, delay, changes and others.

    Attributes:
        plants: what moves, at first and after each change.
        desired: the desired motion.
        required: what it requires of the actuators, by the model.
        limits: largest forces of the drives (actuators,), N or N m.
        notes: messages that say where the path requires more than the drives have.

    Raises:
        KinematicsError: as in `closed_loop`.
    """

    def __init__(
        self,
        plant: PlantLike | Robot,
        model: Robot,
        trajectory: Trajectory,
        *,
        period: float,
        options: LoopOptions | None = None,
    ) -> None:
        self.model, self.period = model, period
        self.options = options = LoopOptions() if options is None else options
        self.sensors = Sensors() if options.sensors is None else options.sensors
        self.desired: DesiredSamples = desired_motion(model, trajectory, period, options)
        ordered = sorted((PlantSwitch(*switch) for switch in options.changes), key=lambda switch: switch.time)
        self.plants = tuple(map(as_plant, (plant, *(switch.plant for switch in ordered))))
        self.changes = self._samples([switch.time for switch in ordered])
        for moving in self.plants:
            _check_same_structure(model, moving)
        self.required: PathRequirement = actuator_requirements(model, self.desired, SMOOTH)
        self.limits = np.min([_force_limits(moving) for moving in self.plants], axis=0)
        self._check_plants()
        first = self.desired.first
        path = PathRequirement(*(part[first:] for part in self.required))
        self.notes = tuple(drive_limit_notes(model, self.desired.time[first:], path, self.limits))

    def _samples(self, times: list[float]) -> list[int]:
        """The samples at which changes come.

        Raises:
            KinematicsError: if a time is not within the run.
        """
        begin, count = self.desired.time[0], len(self.desired.time)
        end = begin + self.period * count
        for time in times:
            if not begin < time < end:
                raise KinematicsError(
                    f"a change at {time:g} s is not within the run of {begin:g} to {end:g} s"
                )
        return [min(count - 1, max(1, round((time - begin) / self.period))) for time in times]

    def _check_plants(self) -> None:
        """Refuse plants that cannot be where the path is, or that their drives cannot hold."""
        edges = [0, *self.changes, len(self.desired.time)]
        for plant, begin, end in zip(self.plants, edges[:-1], edges[1:], strict=True):
            part = _slice_desired(self.desired, begin, max(end, begin + 1))
            true = robot_of(plant)
            if true.hash != self.model.hash:
                joints_along_path(true, part)
            check_gravity(true, part, self.limits, _external_wrenches(plant))

    def run(self, controller: Controller, *, label: str = "", progress: Progress = False) -> ControlRun:
        """Run a controller; `closed_loop` says what the arguments are."""
        if controller.robot.hash != self.model.hash or controller.period != self.period:
            raise KinematicsError(
                f"{controller.name} has another model or sample time than the loop that was prepared"
            )
        desired, first, sensors, options = self.desired, self.plants[0], self.sensors, self.options
        controller = controller.for_motion(desired.rows)
        hold = np.clip(
            equilibrium(robot_of(first), desired.x[0], external=_external_wrenches(first)),
            -self.limits,
            self.limits,
        )
        law = sensors.before(
            controller.digital(desired.x[0], desired.rows, delay=options.delay, tau0=hold),
            controller.robot,
            sensors.rows(controller.robot, desired.time, options.seed),
        )
        plants = tuple(_with_holding_motors(plant, hold) for plant in self.plants)
        step = options.step
        if step is None:
            step = min(integration_step(each, desired.x, desired.v, self.required.tau) for each in plants)
        simulation = self._simulate(plants, law, min(step, controller.period), progress)
        return ControlRun(
            controller=controller,
            label=label or controller.name,
            simulation=simulation,
            plants=plants,
            desired_motion=desired,
            required=self.required,
            limits=self.limits,
            sensors=sensors,
            delay=options.delay,
            seed=options.seed,
            notes=self.notes,
            tool=options.tool,
        )

    def _simulate(
        self, plants: tuple[PlantLike, ...], law: DigitalController, step: float, progress: Progress
    ) -> Simulation:
        time, h = self.desired.time, self.period
        edges = [*self.changes, len(time)]
        begin = float(time[0])
        ends = [begin + h * k for k in edges]
        run = simulate(
            plants[0],
            self.desired.x[0],
            self.desired.v[0],
            law,
            start=begin,
            until=ends[0],
            integration=Integration("rk4", step=step),
            progress=progress,
        )
        for plant, end in zip(plants[1:], ends[1:], strict=True):
            if run.status != "done":
                break
            run = run.resume(until=end, plant=plant, events=plant.events())
        return run


def _slice_desired(desired: DesiredSamples, begin: int, end: int) -> DesiredSamples:
    """The samples of a desired motion from one to another."""
    parts = {name: getattr(desired, name)[begin:end] for name in ("time", "x", "v", "a")}
    return dataclasses.replace(desired, **parts)


# ---- plants


def as_plant(moving: PlantLike | Robot) -> PlantLike:
    """A plant as it is; of a robot a rigid plant with smooth friction, behind drives with its force limits.

    Raises:
        KinematicsError: if it is neither.
    """
    plant: Any = moving
    if isinstance(moving, Robot):
        plant = driven_plant(rigid_plant(moving, smooth=SMOOTH))
    if not isinstance(plant, PlantLike):
        raise KinematicsError(
            f"{plant!r} is no plant: give a robot (nacelle.load), a nacelle.simulation.Plant, "
            "or what follows nacelle.simulation.PlantLike"
        )
    return plant


def _external_wrenches(plant: PlantLike) -> dict[str, Any] | None:
    """Wrenches from outside on a plant, or None."""
    return getattr(plant, "external", None) or None


def _force_limits(plant: PlantLike) -> Array:
    """Largest forces of the drives of a plant (actuators,), N or N m."""
    robot = robot_of(plant)
    if isinstance(plant, Plant) and plant.drives:
        return np.array(plant.drives.numbers(robot).limit)
    return np.array([actuator.force for actuator in robot.actuators])


def _with_holding_motors(plant: PlantLike, force: Array) -> PlantLike:
    """The plant, with motors that hold the robot at the start where their forces are states."""
    if isinstance(plant, Plant) and plant.drives and plant.drives.numbers(plant.robot).lagged_actuators:
        assert plant.inner is not None
        return driven_plant(plant.inner, plant.drives, tau0=force)
    return plant


def _check_same_structure(model: Robot, plant: PlantLike) -> None:
    true = robot_of(plant)
    if len(true.actuators) != len(model.actuators) or true.motion != model.motion:
        raise KinematicsError(
            f"{true.name} is no robot like {model.name}: it has {len(true.actuators)} actuators and the "
            f"motion {true.motion.name}, the model has {len(model.actuators)} and {model.motion.name}"
        )
