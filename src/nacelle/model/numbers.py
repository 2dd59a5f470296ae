"""The numbers of a robot: as one vector by groups, and those of them that are free, given at run time.

The free ones are those that its description declares (`model.build.parametric`). Where a robot has been
changed since, so that a number is not what the description makes of it (another payload, another vector of
parameters), the number itself is free, unless it is 0 or belongs to a rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from nacelle.errors import ParameterError, did_you_mean
from nacelle.model.data import Record, RobotData, perturb
from nacelle.model.joint import FrictionTerm, Joint
from nacelle.model.leg import Body, LineSpring, TorsionSpring
from nacelle.model.platform import Payload
from nacelle.program.program import Program, Variable
from nacelle.program.trace import Trace, program_graph, straight_line_program
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack

GROUPS = ("geometry", "inertia", "payload", "friction", "drive", "gravity")
INERTIA_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
_FRAME_NAMES = (*(f"R{i}{j}" for i in "xyz" for j in "xyz"), "px", "py", "pz")

AnyRobot = TypeVar("AnyRobot", bound=RobotData)
_T = TypeVar("_T")
_Part = TypeVar("_Part", Body, Payload)
# Takes a number with its name, and gives the one to go on with.
Take = Callable[[str, Any], Any]
Changes = dict[str, Any]


@dataclass(frozen=True)
class ParameterLayout:
    """Names of a robot's numbers, group by group, in the order of the parameter vector."""

    groups: dict[str, tuple[str, ...]]

    @staticmethod
    def of(robot: RobotData) -> ParameterLayout:
        """Make the layout of a robot."""
        return ParameterLayout(
            {group: tuple(name for name, _ in _named_values(robot, group)) for group in GROUPS}
        )

    def check_groups(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Check group names; none means all of them."""
        for group in groups:
            if group not in GROUPS:
                raise ParameterError(f"no group {group!r} of parameters; {did_you_mean(group, GROUPS)}")
        return groups or GROUPS

    def names(self, *groups: str) -> tuple[str, ...]:
        """Names of the numbers of some groups."""
        return tuple(name for group in self.check_groups(groups) for name in self.groups[group])

    def read(self, robot: RobotData, *groups: str) -> Array:
        """The numbers (k,) of some groups as one vector, SI units."""
        return np.array(self.entries(robot, *groups), dtype=float)

    def entries(self, robot: RobotData, *groups: str) -> list[Any]:
        """Give the numbers of some groups as they are, symbols and recorded floats too."""
        return [value for group in self.check_groups(groups) for _, value in _named_values(robot, group)]

    def write(self, robot: AnyRobot, vector: Any, *groups: str, symbolic: bool = False) -> AnyRobot:
        """Put a vector in the place of some groups; symbols are taken as they are."""
        values = np.asarray(vector, dtype=object if symbolic else float)
        names = self.names(*groups)
        if values.shape != (len(names),):
            raise ParameterError(
                f"the vector has shape {values.shape}, the parameters of {robot.name} "
                f"({', '.join(self.check_groups(groups))}) are {len(names)}"
            )
        bad = np.zeros(0, dtype=int) if symbolic else np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise ParameterError(f"{names[int(bad[0])]} is not finite: {values[bad[0]]}")
        numbers = iter(values.tolist())
        for group in self.check_groups(groups):
            robot = replace(robot, **_WALKS[group](robot, lambda name, value: next(numbers)))
            if group == "geometry":
                _require_rotations(robot)
        return robot


# What follows walks over the numbers of a group in their order: it hands `take` each with its name, and gives
# the fields of the robot with what `take` gives in their place. So names, values and changes are one order.


def _geometry(robot: RobotData, take: Take) -> Changes:
    def frame(joint: Joint, side: str) -> Pose:
        pose: Pose = getattr(joint, f"frame_{side}")
        numbers = zip(_FRAME_NAMES, (*np.ravel(pose.R), *pose.p), strict=True)
        entries = [take(f"{joint.name}.{side}.{name}", value) for name, value in numbers]
        # In addition to symbols there are frames, or parts of them, that are numbers as before.
        return Pose(pack(entries[:9]).reshape(3, 3), pack(entries[9:]))

    def point(spring: LineSpring, k: int) -> Array:
        prefix = f"springs.{spring.name}.{('first', 'second')[k]}"
        return pack([take(f"{prefix}.{axis}", v) for axis, v in zip("xyz", spring.points[k], strict=True)])

    def rotated_axis(spring: TorsionSpring, k: int) -> Array:
        prefix = f"torsion_springs.{spring.name}.{('first', 'second')[k]}"
        numbers = zip(_FRAME_NAMES[:9], np.ravel(spring.rotations[k]), strict=True)
        return pack([take(f"{prefix}.{name}", value) for name, value in numbers]).reshape(3, 3)

    return {
        "joints": tuple(
            joint
            if joint.is_coupling
            else replace(
                joint,
                frame_predecessor=frame(joint, "predecessor"),
                frame_successor=frame(joint, "successor"),
            )
            for joint in robot.joints
        ),
        "springs": tuple(
            replace(spring, points=(point(spring, 0), point(spring, 1))) for spring in robot.springs
        ),
        "torsion_springs": tuple(
            replace(spring, rotations=(rotated_axis(spring, 0), rotated_axis(spring, 1)))
            for spring in robot.torsion_springs
        ),
    }


def _require_rotations(robot: RobotData) -> None:
    frames = [
        (f"joint {joint.name}", R)
        for joint in robot.joints
        for R in (joint.frame_predecessor.R, joint.frame_successor.R)
    ]
    frames += [
        (f"torsion spring {spring.name}", R) for spring in robot.torsion_springs for R in spring.rotations
    ]
    for owner, R in frames:
        if R.dtype != object and (np.max(np.abs(R.T @ R - np.eye(3))) > 1e-9 or np.linalg.det(R) < 0):
            raise ParameterError(f"the frame of {owner} is not a rotation any more")


def _with_inertia(part: _Part, prefix: str, take: Take) -> _Part:
    entries = zip(INERTIA_NAMES, part.inertia, strict=True)
    return replace(part, inertia=tuple(take(f"{prefix}.{name}", value) for name, value in entries))


def _inertia(robot: RobotData, take: Take) -> Changes:
    base, *bodies = robot.bodies
    return {"bodies": (base, *(_with_inertia(body, body.name, take) for body in bodies))}


def _payload(robot: RobotData, take: Take) -> Changes:
    return {"payload": tuple(_with_inertia(load, f"payload.{load.name}", take) for load in robot.payload)}


def _friction(robot: RobotData, take: Take) -> Changes:
    def friction(joint: Joint) -> tuple[tuple[FrictionTerm, ...], ...]:
        return tuple(
            tuple(
                replace(term, coefficient=take(f"{joint.name}.{primitive}.{term.basis}", term.coefficient))
                for term in axis
            )
            for primitive, axis in zip(joint.friction_axes, joint.friction, strict=False)
        )

    return {"joints": tuple(replace(joint, friction=friction(joint)) for joint in robot.joints)}


def _drive(robot: RobotData, take: Take) -> Changes:
    def replace_entries(part: _T, prefix: str, *keys: str) -> _T:
        numbers = {key: take(f"{prefix}.{key}", getattr(part, key)) for key in keys}
        return replace(part, **numbers)  # type: ignore[type-var]  # all of them are dataclasses

    def torsion(spring: TorsionSpring) -> TorsionSpring:
        prefix = f"torsion_springs.{spring.name}"
        entries = zip(spring.stiffness_names, spring.stiffness, strict=True)
        stiffness = tuple(take(f"{prefix}.{name}", value) for name, value in entries)
        return replace_entries(replace(spring, stiffness=stiffness), prefix, "rest")

    driven, joints = {actuator.joint for actuator in robot.actuators}, []
    for k, joint in enumerate(robot.joints):
        if k in driven or joint.rotor_inertia:
            joint = replace_entries(joint, joint.name, "rotor_inertia", "gear_ratio")
        axes = [f"{joint.name}.{primitive}" for primitive in joint.friction_axes]
        springs = tuple(
            spring and replace_entries(spring, axis, "stiffness", "rest")
            for axis, spring in zip(axes, joint.springs, strict=False)
        )
        stops = tuple(
            stop and replace_entries(stop, f"{axis}.stop", "stiffness", "damping")
            for axis, stop in zip(axes, joint.stops, strict=False)
        )
        joints.append(replace(joint, springs=springs, stops=stops))
    return {
        "joints": tuple(joints),
        "springs": tuple(
            replace_entries(line, f"springs.{line.name}", "stiffness", "length", "damping")
            for line in robot.springs
        ),
        "dampers": tuple(
            replace_entries(damper, f"dampers.{damper.name}", "damping") for damper in robot.dampers
        ),
        "torsion_springs": tuple(torsion(spring) for spring in robot.torsion_springs),
    }


def _gravity(robot: RobotData, take: Take) -> Changes:
    return {"gravity": tuple(take(f"gravity.{k}", v) for k, v in zip("xyz", robot.gravity, strict=True))}


_WALKS: dict[str, Callable[[RobotData, Take], Changes]] = dict(
    zip(GROUPS, (_geometry, _inertia, _payload, _friction, _drive, _gravity), strict=True)
)


def _named_values(robot: RobotData, group: str) -> list[tuple[str, Any]]:
    """Names and values of the numbers of a group."""
    entries: list[tuple[str, Any]] = []

    def take(name: str, value: Any) -> Any:
        entries.append((name, value))
        return value

    _WALKS[group](robot, take)
    return entries


# ---- the free numbers of a robot: what may be given at run time, by groups


@dataclass(frozen=True, eq=False)
class FreeParameters:
    """The free numbers of a robot.

    Attributes:
        robot: the robot.
        parameters: the names of all its numbers.
        record: names, groups and values of the numbers, and the program from them to all numbers of the
            robot.
    """

    robot: RobotData
    parameters: ParameterLayout
    record: Record

    def names(self, *groups: str) -> tuple[str, ...]:
        """Names of the free numbers of some groups, or of all of them."""
        return tuple(self.record.names[k] for k in self.indices_of(groups))

    def quantities(self, *groups: str) -> tuple[str, ...]:
        """What each of these numbers is, such as "length"; "" where the description does not say it."""
        return tuple(self.record.quantities[k] for k in self.indices_of(groups))

    def vector(self, *groups: str) -> Array:
        """The free numbers (k,) of some groups, or all of them, in SI units."""
        return np.array([self.record.values[k] for k in self.indices_of(groups)], dtype=float)

    def sample(self, *groups: str, seed: int | None = None) -> Array:
        """Random numbers near these, 1 to 3 % away, always the same: what holds for them holds for others.

        Args:
            groups: whose numbers.
            seed: gives others.
        """
        vector = self.vector(*groups)
        return np.asarray(perturb(vector) if seed is None else perturb(vector, seed))

    def indices_of(self, groups: tuple[str, ...]) -> list[int]:
        """Places of the numbers of some groups, in the order of the groups."""
        order = self.parameters.check_groups(groups)
        return [k for group in order for k, own_group in enumerate(self.record.groups) if own_group == group]

    def entries(self, vector: Any, *groups: str) -> list[Any]:
        """All numbers of the robot with other scalars for the free ones of some groups; floats, symbols, ...

        Args:
            vector: floats, traced symbols or other scalars.
            groups: what is given; the numbers of other groups stay.
        """
        indices = self.indices_of(groups)
        scalars_given = np.asarray(vector, dtype=object)
        if scalars_given.shape != (len(indices),):
            raise ParameterError(
                f"the vector has shape {scalars_given.shape}, the free numbers of {self.robot.name} "
                f"({', '.join(self.parameters.check_groups(groups))}) are {len(indices)}"
            )
        scalars: list[Any] = list(self.record.values)
        for k, value in zip(indices, scalars_given.tolist(), strict=True):
            scalars[k] = value
        evaluated = self.record.program.evaluate(scalars)
        # What does not depend on the numbers given stays as it is, in its last bit too.
        moving = self.dependent_entries(indices)
        present = self.parameters.entries(self.robot)
        return [evaluated[k] if k in moving else value for k, value in enumerate(present)]

    def replace_free(self, vector: Any, *groups: str) -> tuple[Array, Record]:
        """All numbers of the robot and the record, with other values for the free ones of some groups.

        Raises:
            ParameterError: if the vector has the wrong length or is not finite.
        """
        values = np.asarray(vector, dtype=float)
        entries = np.array(self.entries(values, *groups), dtype=float)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise ParameterError(f"{self.names(*groups)[int(bad[0])]} is not finite: {values[bad[0]]}")
        whole = list(self.record.values)
        for k, value in zip(self.indices_of(groups), values.tolist(), strict=True):
            whole[k] = value
        return entries, replace(self.record, values=tuple(whole))

    def jacobian_program(self, *groups: str) -> Program:
        """The derivatives (entries, numbers) of all numbers of the robot by the free ones of some groups."""
        from nacelle.program.derivative import with_jacobians

        program = self.record.program
        graph, roots = program_graph(program)
        whole = with_jacobians(
            Trace("numbers", graph, program.inputs, program.outputs, roots),
            [("entries", "numbers")],
            "forward",
        )
        rows, columns = whole.outputs[1].shape
        indices = self.indices_of(groups)
        flat = whole.roots[rows:]
        entries = [flat[i * columns + k] for i in range(rows) for k in indices]
        outputs = (Variable("jacobian", (rows, len(indices))),)
        return straight_line_program("numbers_jacobian", graph, program.inputs, outputs, entries)

    def jacobian(self, *groups: str) -> Array:
        """The derivatives (entries, numbers), at the robot's numbers."""
        values = self.jacobian_program(*groups).evaluate(list(self.record.values))
        return np.array(values, dtype=float).reshape(len(self.record.entries), -1)

    def dependent_entries(self, indices: list[int]) -> set[int]:
        """Numbers of the robot that depend on some of the free ones."""
        index_set, moves = set(indices), []
        for op, *operands in self.record.program.code:
            if op in ("const", "input"):
                moves.append(op == "input" and operands[0] in index_set)
            else:
                moves.append(any(moves[k] for k in operands))
        return {entry for entry, k in enumerate(self.record.program.results) if moves[k]}


def free_parameters(robot: RobotData, parameters: ParameterLayout) -> FreeParameters:
    """The free numbers of a robot."""
    values, names = parameters.read(robot).tolist(), parameters.names()
    record = None if robot.declaration is None else robot.declaration.record
    recorded: dict[str, tuple[float, int]] = {}
    if record is not None:
        evaluated = record.program.evaluate(list(record.values))
        recorded = {name: (float(evaluated[k]), k) for k, name in enumerate(record.entries)}
        if record.entries == names and all(
            _is_close(recorded[name][0], value) for name, value in zip(names, values, strict=True)
        ):
            return FreeParameters(robot, parameters, record)
    return FreeParameters(robot, parameters, _complete_record(parameters, values, record, recorded))


def _complete_record(
    parameters: ParameterLayout,
    values: list[float],
    record: Record | None,
    recorded: dict[str, tuple[float, int]],
) -> Record:
    """A record in which numbers that the description does not make are free themselves."""
    empty = Program("numbers", (Variable("numbers", (0,)),), (), (), ())
    graph, roots = program_graph(record.program if record is not None else empty)
    free: list[tuple[str, str, float, str]] = []
    if record is not None:
        free += zip(record.names, record.groups, record.values, record.quantities, strict=True)
    results = []
    remaining = iter(values)
    for group in GROUPS:
        for name in parameters.names(group):
            value, (described_value, k) = next(remaining), recorded.get(name, (0.0, -1))
            if k >= 0 and _is_close(described_value, value):
                results.append(roots[k])
            elif value == 0.0 or (group == "geometry" and name.rpartition(".")[2].startswith("R")):
                results.append(graph.const(value))
            else:
                results.append(graph.input(len(free)))
                free.append((name, group, value, ""))
    inputs = (Variable("numbers", (len(free),)),)
    outputs = (Variable("entries", (len(results),)),)
    program = straight_line_program("numbers", graph, inputs, outputs, results)
    return Record(
        tuple(name for name, *_ in free),
        tuple(group for _, group, *_ in free),
        tuple(value for *_, value, _ in free),
        parameters.names(),
        program,
        tuple(quantity for *_, quantity in free),
    )


def _is_close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b)) + 1e-15
