"""Scenarios: read from YAML, made for a robot, run.

What is wrong in a scenario is said with file, line and column, all at once where it can be seen without a
robot; what only a robot shows (a coordinate that it does not have, a path out of reach) at the entry that it
came from.

What moves is the true robot, with its friction and drives, loads and wrenches by time. Scenarios that come
with the package fit any robot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.compare import Comparison, compare
from nacelle.control.controller import Controller
from nacelle.control.loop.closed_loop import LoopOptions, PlantSwitch
from nacelle.control.named import CONTROLLERS, controller
from nacelle.control.scenario.paths import PathPlan, scenario_path
from nacelle.control.scenario.spec import (
    ChangeSpec,
    ControllerSpec,
    DrivesSpec,
    LoadSpec,
    PlantSpec,
    RobotSpec,
    ScenarioSpec,
    WrenchSpec,
)
from nacelle.control.yaml_input import parse_si, quantity_per_actuator, read_specification
from nacelle.dynamics.base_parameters.perturbation import perturb_parameters
from nacelle.errors import DescriptionError, KinematicsError, NacelleError, Problem, did_you_mean
from nacelle.kinematics.underactuated import require_driven
from nacelle.library import load
from nacelle.model.leg import PLATFORM
from nacelle.model.payload import with_payload
from nacelle.model.robot import Robot
from nacelle.model.source.node import KeyPath, Source
from nacelle.progress import task
from nacelle.results import HasTable
from nacelle.simulation.driven_plant import driven_plant
from nacelle.simulation.drives import Drives, stiction_of
from nacelle.simulation.plant import Plant
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.sensors import Gap, Sensors
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Trajectory

BUILT_IN: dict[str, dict[str, Any]] = {
    "circle": {
        "name": "circle",
        "notes": "A turn of a circle at constant speed and one back, as large and as fast as suits a robot.",
        # Both ways: one way round rigid forces relieve some actuators of their friction and load others.
        "path": {"circle": {"turns": 1, "back": True}},
        "plant": {"drives": {"bandwidth": "500 Hz"}},
    },
    "pick-and-place": {
        "name": "pick-and-place",
        "notes": "Up, across and down, and back, as far and as fast as suits the robot.",
        "path": {"pick-and-place": {}},
        "plant": {"drives": {"bandwidth": "500 Hz"}},
    },
}


# ---- what moves in a scenario


# Makes a plant with flexible links of (robot, friction=, smooth=): of another wing, so handed over.
ElasticPlantFactory = Callable[..., Any]


def robot_from_spec(robot: Robot, spec: RobotSpec, folder: Path) -> Robot:
    """The robot of a scenario's `model` or `plant`: from a file, with moved parameters, with a load."""
    result = robot
    if spec.file is not None:
        path = folder / spec.file
        result = load(str(path) if path.exists() else spec.file)
    elif spec.moved:
        result = perturb_parameters(robot, 100.0 * spec.moved, seed=spec.seed)
    return result if spec.load is None else with_load(result, spec.load)


def with_load(robot: Robot, spec: LoadSpec) -> Robot:
    """The robot with the load of a specification."""
    return with_payload(robot, spec.mass, com=spec.com, inertia=spec.inertia, on=spec.on)


# ---- drives


def drives_from_spec(robot: Robot, spec: DrivesSpec) -> tuple[Robot, Drives]:
    """A robot without the friction that its drives have, and the drives."""
    settings: dict[str, Any] = {"lag": spec.lag or 0.0, "bandwidth": spec.bandwidth}
    if spec.limits in (None, "none"):
        settings["limits"] = None
    elif spec.limits != "described":
        settings["limits"] = quantity_per_actuator(robot, spec.limits, "force")
    if spec.cogging is not None:
        amplitude = quantity_per_actuator(robot, spec.cogging.amplitude, "force")
        cycles = quantity_per_actuator(robot, spec.cogging.cycles, "gear ratio per length")
        table = np.broadcast_arrays(amplitude, cycles, np.full(len(robot.actuators), spec.cogging.phase))
        settings["cogging"] = np.stack(table, axis=-1)
    more = spec.stiction
    if more is not None:
        options: dict[str, Any] = {"static": more.static}
        for key, of in (("rate", "speed"), ("stiffness", "stiffness")):
            if getattr(more, key) is not None:
                options[key] = quantity_per_actuator(robot, getattr(more, key), of)
        robot, settings["stiction"] = stiction_of(robot, **options)
    return robot, Drives(**settings)


# ---- plants over time


class PlantPlan(NamedTuple):
    """What moves at first, and later."""

    plant: Plant
    changes: tuple[PlantSwitch, ...]


def plants_over_time(
    true: Robot, spec: PlantSpec, changes: Sequence[ChangeSpec], elastic: ElasticPlantFactory | None
) -> PlantPlan:
    """Plants of a scenario over time.

    Args:
        true: the robot that moves.
        spec: friction and drives.
        changes: loads and wrenches as written, and loads that the path picks up.
        elastic: makes a plant with flexible links; None if none can be.

    Raises:
        NacelleError: if something does not fit the robot.
    """
    ends = [np.inf if change.until is None else change.until for change in changes]
    times = sorted({time for time in (*(change.at for change in changes), *ends) if np.isfinite(time)})
    # What is there before all changes; equal sets of changes are one plant, compiled once.
    plants: dict[tuple[int, ...], Plant] = {}

    def plant_at(time: float) -> Plant:
        spans = zip(changes, ends, strict=True)
        present = tuple(k for k, (change, end) in enumerate(spans) if change.at <= time < end)
        if present not in plants:
            plants[present] = _make_plant(true, spec, [changes[k] for k in present], elastic)
        return plants[present]

    return PlantPlan(plant_at(-np.inf), tuple(PlantSwitch(time, plant_at(time)) for time in times))


def _make_plant(
    true: Robot, spec: PlantSpec, changes: list[ChangeSpec], elastic: ElasticPlantFactory | None
) -> Plant:
    robot, drives = drives_from_spec(true, spec.drives)
    external: dict[str, Array] = {}
    for change in changes:
        if change.load is not None:
            robot = with_load(robot, change.load)
        if change.wrench is not None:
            on = change.wrench.on or robot.bodies[PLATFORM].name
            external[on] = external.get(on, np.zeros(6)) + _wrench_from_spec(change.wrench)
    if spec.elastic:
        if elastic is None:
            raise KinematicsError(
                "a plant with flexible links is handed over: run(..., elastic=nacelle.elastic.elastic_plant)"
            )
        if external:
            raise KinematicsError("wrenches act on rigid robots: leave them out, or `elastic`")
        inner = elastic(robot, friction=spec.friction, smooth=spec.smooth)
    else:
        inner = rigid_plant(robot, friction=spec.friction, smooth=spec.smooth, external=external)
    return driven_plant(inner, drives)


def _wrench_from_spec(spec: WrenchSpec) -> Array:
    """[f; n] (6,), N and N m."""
    parts = []
    for vector, kind in ((spec.force, "force"), (spec.torque, "torque")):
        entries: Any = vector
        if isinstance(vector, str):
            *numbers, unit = vector.split()
            entries = [f"{number} {unit}" for number in numbers]
        if len(entries) != 3:
            raise KinematicsError(f'a {kind} has three entries: write "0 0 -20 N", got {vector!r}')
        parts += [parse_si(entry, kind) for entry in entries]
    return np.array(parts)


# ---- scenarios: read from YAML, made for a robot, run


# Entries that are options of the loop.
_LOOP_OPTIONS = ("delay", "seed", "settle", "repeat", "duration", "tool")


class PreparedScenario(NamedTuple):
    """A scenario for a robot, ready to run.

    Attributes:
        model: the model that controllers have.
        plant: what moves at first.
        changes: what moves later.
        trajectory: the path.
        controllers: with their labels, in order.
        sensors: the encoders.
    """

    model: Robot
    plant: Plant
    changes: tuple[PlantSwitch, ...]
    trajectory: Trajectory
    controllers: dict[str, Controller]
    sensors: Sensors


@dataclass(frozen=True, eq=False, repr=False)
class Scenario(HasTable):
    """A scenario as written, with its source for the places of what is wrong.

    Attributes:
        spec: its entries.
        source: its file and tree.
    """

    spec: ScenarioSpec
    source: Source

    @property
    def name(self) -> str:
        """Its name, or that of its file."""
        return self.spec.name or Path(self.source.file).stem

    @property
    def folder(self) -> Path:
        """Where files that it names are."""
        return Path(self.source.file).parent

    def with_changes(
        self,
        *,
        controllers: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        bandwidth: float | None = None,
        speed: float | None = None,
        **entries: Any,
    ) -> Scenario:
        """The same with some entries changed.

        Args:
            controllers: names of the controllers; those of the scenario keep their options.
            options: of all controllers, in addition to theirs.
            bandwidth: of all controllers, Hz.
            speed: of the path, m/s.
            **entries: others that are plain numbers: sample, delay, settle, repeat,
                duration, seed.
        """
        spec = self.spec
        named = {entry.name: entry for entry in spec.controllers}
        chosen = spec.controllers
        if controllers is not None:
            chosen = tuple(named.get(name, ControllerSpec(name=name)) for name in controllers)
        if options:
            chosen = tuple(
                entry.model_copy(update={"options": {**entry.options, **options}}) for entry in chosen
            )
        if bandwidth is not None:
            chosen = tuple(entry.model_copy(update={"bandwidth": bandwidth}) for entry in chosen)
        path = spec.path
        if speed is not None:
            key = next(key for key in type(path).model_fields if getattr(path, key) is not None)
            update = {"speed": speed} | ({} if key == "circle" else {"duration": None})
            path = path.model_copy(update={key: getattr(path, key).model_copy(update=update)})
        changes = {key: value for key, value in entries.items() if value is not None}
        return replace(self, spec=spec.model_copy(update={"controllers": chosen, "path": path, **changes}))

    def prepare(
        self, robot: Robot | str | None = None, *, elastic: ElasticPlantFactory | None = None
    ) -> PreparedScenario:
        """Make plant, path and controllers for a robot.

        Args:
            robot: the robot, or its name; that of the scenario if None.
            elastic: what makes plants with flexible links (`nacelle.elastic.elastic_plant`), for
                `elastic: true`.

        Raises:
            DescriptionError: with all that does not fit the robot, each at its place.
            UnderactuatedError: if nothing drives some motions.
        """
        nominal = self._robot(robot)
        require_driven(nominal, "a controller needs")
        spec = self.spec
        problems: list[Problem] = []
        model, true, sensors = nominal, nominal, Sensors()
        if spec.delay > spec.sample:
            message = f"a delay of {spec.delay:g} s is beyond the sample time of {spec.sample:g} s"
            problems.append(self.source.problem(("delay",), message, "at most the sample time"))
        # A block that fails leaves nothing in these.
        paths: list[PathPlan] = []
        plans: list[PlantPlan] = []
        with self._collect_problems(("model",), problems):
            model = robot_from_spec(nominal, spec.model, self.folder)
        with self._collect_problems(("plant",), problems):
            true = robot_from_spec(nominal, spec.plant, self.folder)
        with self._collect_problems(("path",), problems), task("choosing the path"):
            paths.append(scenario_path(model, spec.path, self.folder))
        with self._collect_problems(("sensors",), problems):
            sensors = self._sensors(nominal)
        chosen = self._controllers(model, problems)
        for path in paths:
            with self._collect_problems(("changes",) if spec.changes else ("plant",), problems):
                loads = [
                    carried.delay_by(k * path.trajectory.duration)
                    for carried in path.loads
                    for k in range(spec.repeat)
                ]
                plans.append(plants_over_time(true, spec.plant, [*spec.changes, *loads], elastic))
        if problems:
            raise DescriptionError(sorted(problems))
        return PreparedScenario(model, *plans[0], paths[0].trajectory, chosen, sensors)

    def run(
        self, robot: Robot | str | None = None, *, elastic: ElasticPlantFactory | None = None
    ) -> Comparison:
        """Run all controllers.

        Args:
            robot: the robot, or its name; that of the scenario if None.
            elastic: what makes plants with flexible links (`nacelle.elastic.elastic_plant`), for
                `elastic: true`.

        Raises:
            DescriptionError: with all that does not fit the robot, each at its place.
            KinematicsError: if the loop cannot be run, as in `closed_loop`.
        """
        ready = self.prepare(robot, elastic=elastic)
        return compare(
            ready.plant,
            list(ready.controllers.values()),
            ready.trajectory,
            labels=list(ready.controllers),
            options=LoopOptions(
                sensors=ready.sensors,
                changes=ready.changes,
                **{name: getattr(self.spec, name) for name in _LOOP_OPTIONS},
            ),
        )

    # ---- parts

    def _robot(self, robot: Robot | str | None) -> Robot:
        chosen = robot if robot is not None else self.spec.robot
        if chosen is None:
            hint = "add `robot: palida`, or name a robot with the scenario"
            raise DescriptionError([self.source.problem((), "the scenario names no robot", hint)])
        return chosen if isinstance(chosen, Robot) else load(chosen)

    def _controllers(self, model: Robot, problems: list[Problem]) -> dict[str, Controller]:
        spec = self.spec
        result: dict[str, Controller] = {}
        for k, entry in enumerate(spec.controllers):
            path: KeyPath = ("controllers", k)
            label = entry.label or entry.name
            if entry.name not in CONTROLLERS:
                message = f"no controller is called {entry.name!r}"
                problems.append(self.source.problem(path, message, did_you_mean(entry.name, CONTROLLERS)))
                continue
            if label in result:
                message = f"two controllers are called {label!r}"
                problems.append(self.source.problem(path, message, "give one of them a label"))
                continue
            with self._collect_problems(path, problems):
                try:
                    result[label] = controller(
                        model,
                        entry.name,
                        period=spec.sample,
                        bandwidth=entry.bandwidth,
                        delay=min(spec.delay, spec.sample),  # a longer one is a problem of its own
                        # Whoever tunes a controller allows for the current loops.
                        lag=spec.plant.drives.time_constant,
                        natural_frequency=entry.natural_frequency,
                        **entry.options,
                    )
                except (TypeError, ValueError) as error:
                    raise NacelleError(f"{entry.name} does not take these options: {error}") from None
        return result

    def _sensors(self, robot: Robot) -> Sensors:
        spec = self.spec.sensors
        resolution = None
        if spec.resolution is not None:
            resolution = quantity_per_actuator(robot, spec.resolution, "length")
        sensors = Sensors(
            resolution=resolution,
            noise=quantity_per_actuator(robot, spec.noise, "length"),
            dropout=spec.dropout,
            late=spec.late,
            gaps=tuple(Gap(gap.start, gap.end, gap.actuator or "") for gap in spec.gaps),
        )
        sensors.resolutions(robot)
        sensors.rows(robot, np.zeros(0), 0)
        return sensors

    @contextmanager
    def _collect_problems(self, path: KeyPath, problems: list[Problem]) -> Iterator[None]:
        """Collect an error of the block as a problem at its place."""
        try:
            yield
        except DescriptionError:
            raise
        except NacelleError as error:
            problems.append(self.source.problem(path, str(error)))


def read_scenario(source: str | Path | Mapping[str, Any]) -> Scenario:
    """Read a scenario.

    Args:
        source: a YAML file, its text if that has more than one line, a mapping of the same shape, or the name
            of one that comes with the package: "circle", "pick-and-place".

    Raises:
        DescriptionError: with all problems, each with file, line and column.
    """
    return Scenario(*read_specification(ScenarioSpec, source, BUILT_IN))
