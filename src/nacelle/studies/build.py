"""A study as entry becomes an evaluator: variables, motions, regions and quantities on a robot.

What is wrong is said with file, line and column, all at once.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.control.scenario.paths import pose_from_spec, scenario_path
from nacelle.control.yaml_input import parse_si, quantity_per_actuator
from nacelle.dynamics.physics import Physics
from nacelle.errors import DescriptionError, KinematicsError, NacelleError, Problem, did_you_mean
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.kinematics.workspace import grid_poses
from nacelle.model.robot import Robot
from nacelle.model.source.node import KeyPath, Source
from nacelle.spatial.scalar import Array
from nacelle.studies import quantities as q
from nacelle.studies.channels import States
from nacelle.studies.constants import fixed_constants, with_free_constants
from nacelle.studies.evaluate import AnyQuantity, Evaluator, StateSet
from nacelle.studies.expression import Constraint, read_constraint, read_expression
from nacelle.studies.pose_error import PoseErrorQuantity, pose_error_unit
from nacelle.studies.spec import MotionSpec, OptimiseSpec, QuantitySpec, RegionSpec, StudySpec, VariableSpec
from nacelle.studies.table import QUANTITY, VARIABLE, Column
from nacelle.studies.variables import (
    Distribution,
    Variable,
    common_quantity,
    make_space,
    match_numbers,
    read_value,
)
from nacelle.trajectory.sampling import sample_trajectory

AT_REFERENCE = "reference pose"
_UNITS = {"force": ("N", "N m"), "speed": ("m/s", "rad/s"), "power": ("W", "W")}


@dataclass
class StudyBuilder:
    """Makes the evaluator of a study for a robot.

    Attributes:
        spec: the study as entry.
        source: its file and tree, for the places of problems.
        folder: where files that it names are.
        texts: contents of Python files that quantities name, by name: those of the study where they were read
            on another machine.
        problems: what is wrong.
    """

    spec: StudySpec
    source: Source
    folder: Path
    texts: dict[str, str]
    problems: list[Problem]

    def build(self, robot: Robot, target: str = "jit") -> Evaluator:
        """The evaluator.

        Raises:
            DescriptionError: with all that is wrong, each at its place.
        """
        spec = self.spec
        robot = self._with_free_constants(robot)
        variables: list[Variable] = []
        for name, variable in spec.variables.items():
            with self._collect(("variables", name)):
                variables += self._variables(robot, name, variable)
        self._raise()
        with self._collect(("variables",)):
            space = make_space(robot, variables)
        self._raise()
        robot = space.robot
        sets, grids = self._state_sets(robot)
        known: dict[str, AnyQuantity] = {}
        columns = [
            Column(v.name, VARIABLE, v.unit, f"{'added to ' if v.added else ''}{', '.join(v.numbers[:3])}")
            for v in space.variables
        ]
        for name, entry in spec.quantities.items():
            with self._collect(("quantities", name)):
                known[name], unit = self._quantity(robot, entry, sets, grids, [c.name for c in columns])
                goal = _goal(spec.optimise, name)
                text = entry.text or (entry.expression or entry.kind)
                columns.append(Column(name, QUANTITY, entry.unit or unit, text, goal))
        names = tuple(column.name for column in columns)
        constraints: list[Constraint] = []
        for k, text in enumerate(spec.constraints):
            with self._collect(("constraints", k)):
                constraints.append(read_constraint(text, names))
        if spec.optimise is not None:
            for name in (*spec.optimise.minimise, *spec.optimise.maximise):
                if name not in known:
                    message = f"there is no quantity {name!r}"
                    self.problems.append(
                        self.source.problem(("optimise",), message, did_you_mean(name, known))
                    )
        self._raise()
        looked_at = {getattr(quantity, "states", "") for quantity in known.values()}
        sets = {name: states for name, states in sets.items() if name in looked_at or states.required}
        physics = Physics(friction=spec.friction)
        return Evaluator(space, sets, known, tuple(columns), tuple(constraints), physics, spec.limits, target)

    # ---- variables

    def _with_free_constants(self, robot: Robot) -> Robot:
        """The robot with the constants free that variables set and that are fixed at their present value."""
        fixed, ranges = fixed_constants(robot), {}
        for name, entry in self.spec.variables.items():
            for number in entry.numbers or (name,):
                if number in fixed:
                    ends = [entry.low, entry.high] if entry.low is not None else list(entry.values)
                    if len(ends) < 2:
                        message = f"{number!r} is fixed at its present value: give a range, not deviations"
                        self.problems.append(self.source.problem(("variables", name), message))
                        continue
                    ranges[number] = (ends[0], ends[-1])
        if ranges:
            with self._collect(("variables",)):
                return with_free_constants(robot, ranges)
        return robot

    def _variables(self, robot: Robot, name: str, spec: VariableSpec) -> list[Variable]:
        numbers = match_numbers(robot, spec.numbers or (name,))
        quantity = common_quantity(robot, numbers)
        added = False
        if spec.low is not None:
            low, high = (read_value(value, quantity) for value in (spec.low, spec.high))
            if not low < high:
                raise KinematicsError(f"the range is empty: from {low:g} to {high:g}")
            if spec.scale == "log" and low <= 0.0:
                raise KinematicsError(f"a logarithmic range is above zero, it begins at {low:g}")
            distribution = Distribution("log" if spec.scale == "log" else "uniform", low, high)
        elif spec.values:
            values = tuple(read_value(value, quantity) for value in spec.values)
            distribution = Distribution("values", values=values)
        else:
            added = True
            size = read_value(spec.normal if spec.normal is not None else spec.uniform, quantity)
            if not size > 0.0:
                raise KinematicsError(f"deviations are above zero, got {size:g}")
            distribution = (
                Distribution("normal", 0.0, size)
                if spec.normal is not None
                else Distribution("uniform", -size, size)
            )
        if spec.normal is not None and (self.spec.is_grid or self.spec.optimise is not None):
            raise KinematicsError(
                "a normal distribution has no ends, which grids and optimisers need: write uniform, "
                "from and to, or values"
            )
        levels = len(spec.values) or spec.points
        if spec.each:
            return [Variable(number, (number,), distribution, added, quantity, levels) for number in numbers]
        return [Variable(name, numbers, distribution, added, quantity, levels)]

    # ---- states

    def _state_sets(self, robot: Robot) -> tuple[dict[str, StateSet], dict[str, _Grid]]:
        sets: dict[str, StateSet] = {}
        grids: dict[str, _Grid] = {}
        for name, motion in self.spec.motions.items():
            with self._collect(("motions", name)):
                sets[name] = self._motion(robot, motion)
        for name, region in self.spec.regions.items():
            if name in sets:
                message = f"a motion and a region are called {name!r}"
                self.problems.append(self.source.problem(("regions", name), message, "rename one of them"))
                continue
            with self._collect(("regions", name)):
                grids[name] = _Grid.of(robot, region)
                states = States.of(robot, grids[name].poses)
                count = len(states)
                sets[name] = StateSet(states, np.full(count, 1.0 / count), False)
        at_rest = States.of(robot, np.asarray(reference_pose(robot))[None])
        sets[AT_REFERENCE] = StateSet(at_rest, np.ones(1), not self.spec.motions and not self.spec.regions)
        return sets, grids

    def _motion(self, robot: Robot, spec: MotionSpec) -> StateSet:
        plan = scenario_path(robot, spec, self.folder)
        if plan.loads:
            raise KinematicsError(
                "a motion of a study picks nothing up: write payload: {mass: 0.5 kg} at the top of the study"
            )
        trajectory = plan.trajectory
        times = np.linspace(0.0, trajectory.duration, spec.samples)
        sample = sample_trajectory(robot, trajectory, times)
        weights = np.ones(spec.samples)
        weights[[0, -1]] = 0.5
        states = States.of(robot, sample.x, sample.v, sample.a)
        return StateSet(states, weights / weights.sum(), True)

    # ---- quantities

    def _quantity(
        self,
        robot: Robot,
        spec: QuantitySpec,
        sets: Mapping[str, StateSet],
        grids: Mapping[str, _Grid],
        before: Sequence[str],
    ) -> tuple[AnyQuantity, str]:
        """A quantity, and its unit."""
        kind = spec.kind
        if kind == "expression":
            assert spec.expression is not None
            return read_expression(spec.expression, tuple(before)), ""
        if kind == "python":
            return self._python_quantity(spec), ""
        if kind == "first frequency":
            return _frequency_quantity(robot, pose_from_spec(robot, spec.at)), "Hz"
        if kind == "mass":
            return q.mass_quantity(AT_REFERENCE), "kg"
        states = self._states_of(spec, sets, grids)
        partial = states in grids
        if kind in ("peak force", "rms force", "peak speed", "peak power", "rms power", "mean power"):
            return self._drive_quantity(robot, spec, states)
        if kind == "peak reaction":
            component = spec.component or "force"
            if component not in ("force", "moment"):
                raise KinematicsError(f"a reaction has the component force or moment, got {component!r}")
            names = [joint.name for joint in robot.joints]
            if spec.joint not in names:
                raise KinematicsError(
                    f"{robot.name} has no joint {spec.joint!r}; {did_you_mean(str(spec.joint), names)}"
                )
            joint = names.index(spec.joint)
            return q.reaction_quantity(states, joint, component), "N" if component == "force" else "N m"
        if kind == "dexterity":
            how = q.SMALLEST if spec.how == "smallest" else q.WEIGHTED
            return q.dexterity_quantity(states, how, partial=partial), ""
        if kind == "singularity":
            return q.singularity_quantity(states, spec.of, partial=partial), ""
        if kind == "stiffness":
            return _stiffness(robot, spec, states, partial=partial)
        if kind == "pose error":
            unit = pose_error_unit(robot, spec.coordinate)
            return PoseErrorQuantity(spec.coordinate, states, unit), unit
        if kind == "reached":
            return _reach_quantity(states, len(sets[states].states)), ""
        return _region_quantity(robot, spec, states, grids[states])

    def _states_of(self, spec: QuantitySpec, sets: Mapping[str, StateSet], grids: Mapping[str, _Grid]) -> str:
        known: dict[str, Mapping[str, Any]] = {"motion": self.spec.motions, "region": self.spec.regions}
        for kind, names in known.items():
            name = getattr(spec, kind)
            if name is not None:
                if name not in names or name not in sets:
                    raise KinematicsError(f"there is no {kind} {name!r}; {did_you_mean(name, names)}")
                return str(name)
        takes = _takes(spec.kind)
        candidates = [name for kind in takes for name in known[kind] if name in sets]
        if len(candidates) == 1:
            return candidates[0]
        if not candidates and takes == ("motion", "region"):
            return AT_REFERENCE
        what = " or ".join(takes)
        listing = f": {', '.join(candidates)}" if candidates else f"; the study has no {what}"
        raise KinematicsError(f"the quantity {spec.kind!r} needs the name of a {what}{listing}")

    def _drive_quantity(self, robot: Robot, spec: QuantitySpec, states: str) -> tuple[AnyQuantity, str]:
        names = [actuator.name for actuator in robot.actuators]
        if spec.drive is not None and spec.drive not in names:
            raise KinematicsError(
                f"{robot.name} has no drive {spec.drive!r}; {did_you_mean(spec.drive, names)}"
            )
        chosen = tuple(range(len(names))) if spec.drive is None else (names.index(spec.drive),)
        turns = {robot.revolute_actuators[k] for k in chosen}
        what = spec.kind.split()[1]
        limits: tuple[float, ...] = ()
        unit = ""
        if spec.relative:
            limits = tuple(float(getattr(robot.actuators[k], what)) for k in chosen)
            if not np.all(np.isfinite(limits)):
                raise KinematicsError(f"drives of {robot.name} have no limits of {what}: leave relative out")
        elif len(turns) == 1:
            unit = _UNITS[what][turns == {True}]
        elif what != "power":
            raise KinematicsError(
                f"{robot.name} has prismatic and revolute drives: name one (drive), or take relative: true"
            )
        else:
            unit = "W"
        return q.DriveQuantity(spec.kind, states, chosen, limits), unit

    def _python_quantity(self, spec: QuantitySpec) -> AnyQuantity:
        file, _, name = str(spec.python).rpartition(":")
        if not file or not name.isidentifier():
            raise KinematicsError(f"{spec.python!r} is no function: write 'cost.py:cost'")
        if file not in self.texts:
            try:
                self.texts[file] = (self.folder / file).read_text(encoding="utf-8")
            except OSError as error:
                raise KinematicsError(f"{self.folder / file}: {error.strerror or error}") from None
        space: dict[str, Any] = {"__name__": Path(file).stem}
        try:
            exec(compile(self.texts[file], file, "exec"), space)
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1].lineno
            raise KinematicsError(f"{file}, line {line}: {type(error).__name__}: {error}") from None
        function = space.get(name)
        if not callable(function):
            raise KinematicsError(f"{file} has no function {name!r}")

        def call(robot: Robot | None, columns: Mapping[str, float]) -> float:
            return float(function(robot, columns) if spec.robot else function(columns))

        return q.RobotQuantity(call, needs_robot=spec.robot)

    # ---- problems

    @contextmanager
    def _collect(self, path: KeyPath) -> Iterator[None]:
        try:
            yield
        except DescriptionError as error:
            self.problems += error.problems
        except NacelleError as error:
            self.problems.append(self.source.problem(path, str(error)))

    def _raise(self) -> None:
        if self.problems:
            raise DescriptionError(sorted(self.problems))


def _goal(spec: OptimiseSpec | None, name: str) -> str:
    if spec is None:
        return ""
    return "minimise" if name in spec.minimise else "maximise" if name in spec.maximise else ""


def _takes(kind: str) -> tuple[str, ...]:
    from nacelle.studies.spec import KINDS

    return tuple(name for name in KINDS[kind] if name in ("motion", "region"))


def _reach_quantity(states: str, count: int) -> q.RegionQuantity:
    """The part of the states that are reached within limits."""
    return q.RegionQuantity(q.volume_of(1.0 / count), (count,), "", states)


def _stiffness(robot: Robot, spec: QuantitySpec, states: str, *, partial: bool) -> tuple[AnyQuantity, str]:
    stiffness = np.broadcast_to(quantity_per_actuator(robot, spec.drives, "stiffness"), len(robot.actuators))
    component = spec.component or "translation"
    if component not in ("translation", "rotation"):
        raise KinematicsError(f"a stiffness has the component translation or rotation, got {component!r}")
    rotates = [is_angle(robot, name) for name in robot.motion.coordinates]
    columns = [k for k, turns in enumerate(rotates) if turns == (component == "rotation")]
    if not columns:
        raise KinematicsError(f"{robot.name} has no {component}")
    unit = "N/m" if component == "translation" else "N m/rad"
    return q.stiffness_quantity(states, np.asarray(stiffness, dtype=float), columns, partial=partial), unit


def _region_quantity(robot: Robot, spec: QuantitySpec, states: str, grid: _Grid) -> tuple[AnyQuantity, str]:
    steps = grid.steps
    finish: Callable[[Array], Array]
    if spec.kind == "volume":
        finish = q.volume_of(math.prod(steps))
    elif spec.kind == "largest box":
        finish = q.largest_box(steps)
    else:
        if len(steps) != 3 or spec.axis not in grid.names:
            raise KinematicsError(
                "the largest cylinder needs a region over three coordinates, its axis one of them"
            )
        finish = q.largest_cylinder(steps, grid.names.index(spec.axis))
    return q.RegionQuantity(finish, grid.counts, grid.unit, states), grid.unit


def _frequency_quantity(robot: Robot, x: Array) -> q.RobotQuantity:
    from nacelle.elastic.linear.frequencies import natural_frequencies

    def first(variant: Robot | None, columns: Mapping[str, float]) -> float:
        assert variant is not None
        return float(natural_frequencies(variant, x, modes=1).frequencies[..., 0])

    first(robot, {})  # says what is wrong where no section is described
    return q.RobotQuantity(first, "Hz")


@dataclass(frozen=True, eq=False)
class _Grid:
    """The grid of a region.

    Attributes:
        names: coordinates that vary.
        counts: points along each.
        steps: distances of the points.
        unit: of products of the coordinates.
        poses: (S, nx).
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    steps: tuple[float, ...]
    unit: str
    poses: Array

    @staticmethod
    def of(robot: Robot, spec: RegionSpec) -> _Grid:
        at = pose_from_spec(robot, spec.at)
        values = []
        for name, entry in spec.over.items():
            if name not in robot.motion.coordinates:
                raise KinematicsError(
                    f"{robot.name} has no coordinate {name!r}; {did_you_mean(name, robot.motion.coordinates)}"
                )
            kind = "angle" if is_angle(robot, name) else "length"
            low, high = (parse_si(value, kind) for value in entry[:2])
            count = entry[2] if len(entry) > 2 else 15
            if not low < high or count < 2:
                raise KinematicsError(f"the range of {name} is empty: {low:g} to {high:g} in {count} points")
            values.append(np.linspace(low, high, count))
        names = tuple(spec.over)
        poses = grid_poses(robot, names, np.meshgrid(*values, indexing="ij"), at, None)
        units = ["rad" if is_angle(robot, name) else "m" for name in names]
        unit = " ".join(u if units.count(u) == 1 else f"{u}^{units.count(u)}" for u in dict.fromkeys(units))
        return _Grid(
            names,
            tuple(len(v) for v in values),
            tuple(float(v[1] - v[0]) for v in values),
            unit,
            poses.reshape(-1, poses.shape[-1]),
        )
