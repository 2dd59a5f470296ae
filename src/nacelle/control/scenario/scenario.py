"""Scenarios: read from YAML, made for a robot, run.

What is wrong in a scenario is said with file, line and column, all at once where it can be seen without a
robot; what only a robot shows (a coordinate that it does not have, a path out of reach) at the entry that it
came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.compare import Comparison, compare
from nacelle.control.controller import Controller
from nacelle.control.loop.closed_loop import Change
from nacelle.control.named import CONTROLLERS, controller
from nacelle.control.scenario.built_in import BUILT_IN
from nacelle.control.scenario.fields import for_actuators
from nacelle.control.scenario.paths import PathPlan, scenario_path
from nacelle.control.scenario.plants import Elastic, PlantPlan, plants_of, robot_of_spec
from nacelle.control.scenario.spec import ControllerSpec, ScenarioSpec
from nacelle.control.sensors import Gap, Sensors
from nacelle.control.written import read_written
from nacelle.errors import DescriptionError, NacelleError, Problem, did_you_mean
from nacelle.kinematics.trajectory.base import Trajectory
from nacelle.kinematics.underactuated import require_driven
from nacelle.library import load
from nacelle.model.robot import Robot
from nacelle.model.source.node import KeyPath, Source
from nacelle.pictures import Shown
from nacelle.progress import task
from nacelle.simulation.protocol import Plant

_POSITION = ("length", "angle")


class Prepared(NamedTuple):
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
    changes: tuple[Change, ...]
    trajectory: Trajectory
    controllers: dict[str, Controller]
    sensors: Sensors


@dataclass(frozen=True, eq=False, repr=False)
class Scenario(Shown):
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

    def changed(
        self,
        *,
        controllers: Sequence[str] | None = None,
        bandwidth: float | None = None,
        speed: float | None = None,
        **entries: Any,
    ) -> Scenario:
        """The same with some entries changed.

        Args:
            controllers: names of the controllers; those of the scenario keep their options.
            bandwidth: of all controllers, Hz.
            speed: of the path, m/s.
            **entries: others that are plain numbers: sample, delay, settle, repeat,
                duration, seed.
        """
        spec = self.spec
        own = {given.name: given for given in spec.controllers}
        chosen = spec.controllers
        if controllers is not None:
            chosen = tuple(own.get(name, ControllerSpec(name=name)) for name in controllers)
        if bandwidth is not None:
            chosen = tuple(given.model_copy(update={"bandwidth": bandwidth}) for given in chosen)
        path = spec.path
        if speed is not None:
            key = next(key for key in type(path).model_fields if getattr(path, key) is not None)
            update = {"speed": speed} | ({} if key == "circle" else {"duration": None})
            path = path.model_copy(update={key: getattr(path, key).model_copy(update=update)})
        given = {key: value for key, value in entries.items() if value is not None}
        return replace(self, spec=spec.model_copy(update={"controllers": chosen, "path": path, **given}))

    def prepare(self, robot: Robot | str | None = None, *, elastic: Elastic | None = None) -> Prepared:
        """Make plant, path and controllers for a robot.

        Args:
            robot: the robot, or its name; that of the scenario if None.
            elastic: what makes plants with flexible links (`nacelle.ElasticPlant`), for `elastic: true`.

        Raises:
            DescriptionError: with all that does not fit the robot, each at its place.
            UnderactuatedError: if nothing drives some motions.
        """
        own = self._robot(robot)
        require_driven(own, "a controller needs")
        spec = self.spec
        problems: list[Problem] = []
        model, true, sensors = own, own, Sensors()
        if spec.delay > spec.sample:
            words = f"a delay of {spec.delay:g} s is beyond the sample time of {spec.sample:g} s"
            problems.append(self.source.problem(("delay",), words, "at most the sample time"))
        # A block that fails leaves nothing in these.
        paths: list[PathPlan] = []
        plans: list[PlantPlan] = []
        with self._located(("model",), problems):
            model = robot_of_spec(own, spec.model, self.folder)
        with self._located(("plant",), problems):
            true = robot_of_spec(own, spec.plant, self.folder)
        with self._located(("path",), problems), task("choosing the path"):
            paths.append(scenario_path(model, spec.path, self.folder))
        with self._located(("sensors",), problems):
            sensors = self._sensors(own)
        chosen = self._controllers(model, problems)
        for path in paths:
            with self._located(("changes",) if spec.changes else ("plant",), problems):
                loads = [
                    one._replace(start=one.start + shift, end=one.end + shift)
                    for one in path.loads
                    for shift in (k * path.trajectory.duration for k in range(spec.repeat))
                ]
                plans.append(plants_of(true, spec.plant, spec.changes, loads, elastic))
        if problems:
            raise DescriptionError(sorted(problems))
        return Prepared(model, *plans[0], paths[0].trajectory, chosen, sensors)

    def run(self, robot: Robot | str | None = None, *, elastic: Elastic | None = None) -> Comparison:
        """Run all controllers.

        Args:
            robot: the robot, or its name; that of the scenario if None.
            elastic: what makes plants with flexible links (`nacelle.ElasticPlant`), for `elastic: true`.

        Raises:
            DescriptionError: with all that does not fit the robot, each at its place.
            KinematicsError: if the loop cannot be run, as in `closed_loop`.
        """
        spec, ready = self.spec, self.prepare(robot, elastic=elastic)
        return compare(
            ready.plant,
            list(ready.controllers.values()),
            ready.trajectory,
            labels=list(ready.controllers),
            sensors=ready.sensors,
            delay=spec.delay,
            seed=spec.seed,
            settle=spec.settle,
            repeat=spec.repeat,
            duration=spec.duration,
            changes=ready.changes,
            tool=spec.tool,
        )

    # ---- parts

    def _robot(self, robot: Robot | str | None) -> Robot:
        given = robot if robot is not None else self.spec.robot
        if given is None:
            hint = "add `robot: palida`, or name a robot beside the scenario"
            raise DescriptionError([self.source.problem((), "the scenario names no robot", hint)])
        return given if isinstance(given, Robot) else load(given)

    def _controllers(self, model: Robot, problems: list[Problem]) -> dict[str, Controller]:
        spec = self.spec
        result: dict[str, Controller] = {}
        for k, given in enumerate(spec.controllers):
            path: KeyPath = ("controllers", k)
            label = given.label or given.name
            if given.name not in CONTROLLERS:
                words = f"no controller is called {given.name!r}"
                problems.append(self.source.problem(path, words, did_you_mean(given.name, CONTROLLERS)))
                continue
            if label in result:
                words = f"two controllers are called {label!r}"
                problems.append(self.source.problem(path, words, "give one of them a label"))
                continue
            with self._located(path, problems):
                try:
                    result[label] = controller(
                        model,
                        given.name,
                        period=spec.sample,
                        bandwidth=given.bandwidth,
                        delay=spec.delay,
                        # Whoever tunes a controller allows for the current loops.
                        lag=spec.plant.drives.time_constant,
                        natural_frequency=given.natural_frequency,
                        **given.options,
                    )
                except (TypeError, ValueError) as error:
                    raise NacelleError(f"{given.name} does not take these options: {error}") from None
        return result

    def _sensors(self, robot: Robot) -> Sensors:
        spec = self.spec.sensors
        resolution = None
        if spec.resolution is not None:
            resolution = for_actuators(robot, spec.resolution, _POSITION)
        sensors = Sensors(
            resolution=resolution,
            noise=for_actuators(robot, spec.noise, _POSITION),
            dropout=spec.dropout,
            late=spec.late,
            gaps=tuple(Gap(gap.start, gap.end, gap.actuator or "") for gap in spec.gaps),
        )
        sensors.resolutions(robot)
        sensors.rows(robot, np.zeros(0), 0)
        return sensors

    @contextmanager
    def _located(self, path: KeyPath, problems: list[Problem]) -> Iterator[None]:
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
    return Scenario(*read_written(ScenarioSpec, source, BUILT_IN))
