"""The numbers of a robot: as one vector by groups, and those of them that are free.

The numbers of a robot as one vector, by groups, and back.

The free numbers of a robot: what may be given at run time, by groups.

They are those that its description declares (`nacelle.model.build.declared`). Where a robot has been
changed since, so that a number is not what the description makes of it (another payload, another vector of
parameters), the number itself is free, unless it is 0 or belongs to a rotation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nacelle.errors import ParameterError, did_you_mean
from nacelle.model.data import Record, RobotData, nearby
from nacelle.model.joint import Joint
from nacelle.program.program import Program, Variable
from nacelle.program.trace import Trace, graph_of, linear
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack

GROUPS = ("geometry", "inertia", "payload", "friction", "drive", "gravity")
INERTIA_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
_FRAME_NAMES = (*(f"R{i}{j}" for i in "xyz" for j in "xyz"), "px", "py", "pz")

AnyRobot = TypeVar("AnyRobot", bound=RobotData)
Entries = Iterator[tuple[str, Any]]


@dataclass(frozen=True)
class ParameterLayout:
    """Names of a robot's numbers, group by group, in the order of the parameter vector."""

    groups: dict[str, tuple[str, ...]]

    @staticmethod
    def of(robot: RobotData) -> ParameterLayout:
        """Make the layout of a robot."""
        return ParameterLayout({group: tuple(name for name, _ in _READ[group](robot)) for group in GROUPS})

    def chosen(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Check group names; none means all of them."""
        for group in groups:
            if group not in GROUPS:
                raise ParameterError(f"no group {group!r} of parameters; {did_you_mean(group, GROUPS)}")
        return groups or GROUPS

    def names(self, *groups: str) -> tuple[str, ...]:
        """Names of the numbers of some groups."""
        return tuple(name for group in self.chosen(groups) for name in self.groups[group])

    def read(self, robot: RobotData, *groups: str) -> Array:
        """The numbers (k,) of some groups as one vector, SI units."""
        return np.array(self.entries(robot, *groups), dtype=float)

    def entries(self, robot: RobotData, *groups: str) -> list[Any]:
        """Give the numbers of some groups as they are, symbols and recorded floats too."""
        return [value for group in self.chosen(groups) for _, value in _READ[group](robot)]

    def write(self, robot: AnyRobot, vector: Any, *groups: str, symbolic: bool = False) -> AnyRobot:
        """Put a vector in the place of some groups; symbols are taken as they are."""
        values = np.asarray(vector, dtype=object if symbolic else float)
        names = self.names(*groups)
        if values.shape != (len(names),):
            raise ParameterError(
                f"the vector has shape {values.shape}, the parameters of {robot.name} "
                f"({', '.join(self.chosen(groups))}) are {len(names)}"
            )
        bad = np.zeros(0, dtype=int) if symbolic else np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise ParameterError(f"{names[int(bad[0])]} is not finite: {values[bad[0]]}")
        numbers = iter(values.tolist())
        for group in self.chosen(groups):
            robot = dataclasses.replace(robot, **_WRITE[group](robot, numbers))
        return robot


def _geometry(robot: RobotData) -> Entries:
    for joint in robot.joints:
        if joint.is_coupling:
            continue
        for side in ("predecessor", "successor"):
            frame: Pose = getattr(joint, f"frame_{side}")
            for name, value in zip(_FRAME_NAMES, (*np.ravel(frame.R), *frame.p), strict=True):
                yield f"{joint.name}.{side}.{name}", value
    for spring in robot.springs:
        for side, point in zip(("first", "second"), spring.points, strict=True):
            yield from ((f"springs.{spring.name}.{side}.{k}", v) for k, v in zip("xyz", point, strict=True))


def _inertia(robot: RobotData) -> Entries:
    for body in robot.bodies[1:]:
        yield from ((f"{body.name}.{name}", v) for name, v in zip(INERTIA_NAMES, body.inertia, strict=True))


def _payload(robot: RobotData) -> Entries:
    for load in robot.payload:
        for name, value in zip(INERTIA_NAMES, load.inertia, strict=True):
            yield f"payload.{load.name}.{name}", value


def _friction(robot: RobotData) -> Entries:
    for joint in robot.joints:
        for primitive, axis in zip(joint.friction_axes, joint.friction, strict=False):
            yield from ((f"{joint.name}.{primitive}.{term.basis}", term.coefficient) for term in axis)


def _drive(robot: RobotData) -> Entries:
    driven = _driven(robot)
    for k, joint in enumerate(robot.joints):
        if k in driven or joint.rotor_inertia:
            yield f"{joint.name}.rotor_inertia", joint.rotor_inertia
            yield f"{joint.name}.gear_ratio", joint.gear_ratio
        for primitive, spring in zip(joint.friction_axes, joint.springs, strict=False):
            if spring is not None:
                yield f"{joint.name}.{primitive}.stiffness", spring.stiffness
                yield f"{joint.name}.{primitive}.rest", spring.rest
        for primitive, stop in zip(joint.friction_axes, joint.stops, strict=False):
            if stop is not None:
                yield f"{joint.name}.{primitive}.stop.stiffness", stop.stiffness
                yield f"{joint.name}.{primitive}.stop.damping", stop.damping
    for line in robot.springs:
        for key in ("stiffness", "length", "damping"):
            yield f"springs.{line.name}.{key}", getattr(line, key)
    for damper in robot.dampers:
        yield f"dampers.{damper.name}.damping", damper.damping


def _gravity(robot: RobotData) -> Entries:
    yield from zip(("gravity.x", "gravity.y", "gravity.z"), robot.gravity, strict=True)


def _driven(robot: RobotData) -> set[int]:
    return {actuator.joint for actuator in robot.actuators}


# What follows gives the fields of a robot that other numbers change.
NumbersInOrder = Iterator[Any]
Changes = dict[str, Any]


def _with_geometry(robot: RobotData, numbers: NumbersInOrder) -> Changes:
    return {
        "joints": tuple(
            joint
            if joint.is_coupling
            else dataclasses.replace(
                joint, frame_predecessor=_frame(joint, numbers), frame_successor=_frame(joint, numbers)
            )
            for joint in robot.joints
        ),
        "springs": tuple(
            dataclasses.replace(spring, points=(_point(numbers), _point(numbers))) for spring in robot.springs
        ),
    }


def _point(numbers: NumbersInOrder) -> Array:
    return pack([next(numbers) for _ in range(3)])


def _frame(joint: Joint, numbers: NumbersInOrder) -> Pose:
    # Beside symbols there are frames, or parts of them, that are numbers as before.
    R, p = (pack([next(numbers) for _ in range(count)]) for count in (9, 3))
    R = R.reshape(3, 3)
    if R.dtype != object and (np.max(np.abs(R.T @ R - np.eye(3))) > 1e-9 or np.linalg.det(R) < 0):
        raise ParameterError(f"the frame of joint {joint.name} is not a rotation any more")
    return Pose(R, p)


def _ten(numbers: NumbersInOrder) -> tuple[Any, ...]:
    return tuple(next(numbers) for _ in INERTIA_NAMES)


def _with_inertia(robot: RobotData, numbers: NumbersInOrder) -> Changes:
    base, *bodies = robot.bodies
    return {"bodies": (base, *(dataclasses.replace(body, inertia=_ten(numbers)) for body in bodies))}


def _with_payload(robot: RobotData, numbers: NumbersInOrder) -> Changes:
    return {"payload": tuple(dataclasses.replace(load, inertia=_ten(numbers)) for load in robot.payload)}


def _with_friction(robot: RobotData, numbers: NumbersInOrder) -> Changes:
    joints = []
    for joint in robot.joints:
        friction = tuple(
            tuple(dataclasses.replace(term, coefficient=next(numbers)) for term in axis)
            for axis in joint.friction
        )
        joints.append(dataclasses.replace(joint, friction=friction))
    return {"joints": tuple(joints)}


def _with_drive(robot: RobotData, numbers: NumbersInOrder) -> Changes:
    driven, joints = _driven(robot), []
    for k, joint in enumerate(robot.joints):
        if k in driven or joint.rotor_inertia:
            joint = dataclasses.replace(joint, rotor_inertia=next(numbers), gear_ratio=next(numbers))
        springs = tuple(
            spring and dataclasses.replace(spring, stiffness=next(numbers), rest=next(numbers))
            for spring in joint.springs
        )
        stops = tuple(
            stop and dataclasses.replace(stop, stiffness=next(numbers), damping=next(numbers))
            for stop in joint.stops
        )
        joints.append(dataclasses.replace(joint, springs=springs, stops=stops))
    lines = tuple(
        dataclasses.replace(line, stiffness=next(numbers), length=next(numbers), damping=next(numbers))
        for line in robot.springs
    )
    dampers = tuple(dataclasses.replace(damper, damping=next(numbers)) for damper in robot.dampers)
    return {"joints": tuple(joints), "springs": lines, "dampers": dampers}


def _with_gravity(robot: RobotData, numbers: NumbersInOrder) -> Changes:
    return {"gravity": tuple(next(numbers) for _ in robot.gravity)}


_READ: dict[str, Callable[[RobotData], Entries]] = dict(
    zip(GROUPS, (_geometry, _inertia, _payload, _friction, _drive, _gravity), strict=True)
)
_WRITE: dict[str, Callable[[RobotData, NumbersInOrder], Changes]] = dict(
    zip(
        GROUPS,
        (_with_geometry, _with_inertia, _with_payload, _with_friction, _with_drive, _with_gravity),
        strict=True,
    )
)


# ---- the free numbers of a robot: what may be given at run time, by groups


@dataclass(frozen=True, eq=False)
class Numbers:
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
        return tuple(self.record.names[k] for k in self.chosen(groups))

    def vector(self, *groups: str) -> Array:
        """The free numbers (k,) of some groups, or all of them, in SI units."""
        return np.array([self.record.values[k] for k in self.chosen(groups)], dtype=float)

    def sample(self, *groups: str, seed: int | None = None) -> Array:
        """Random numbers near these, 1 to 3 % away, always the same: what holds for them holds for others.

        Args:
            groups: whose numbers.
            seed: gives others.
        """
        vector = self.vector(*groups)
        return np.asarray(nearby(vector) if seed is None else nearby(vector, seed))

    def chosen(self, groups: tuple[str, ...]) -> list[int]:
        """Places of the numbers of some groups, in the order of the groups."""
        order = self.parameters.chosen(groups)
        return [k for group in order for k, own in enumerate(self.record.groups) if own == group]

    def entries(self, vector: Any, *groups: str) -> list[Any]:
        """All numbers of the robot with other scalars for the free ones of some groups; floats, symbols, ...

        Args:
            vector: floats, traced symbols or other scalars.
            groups: what is given; the numbers of other groups stay.
        """
        places = self.chosen(groups)
        given = np.asarray(vector, dtype=object)
        if given.shape != (len(places),):
            raise ParameterError(
                f"the vector has shape {given.shape}, the free numbers of {self.robot.name} "
                f"({', '.join(self.parameters.chosen(groups))}) are {len(places)}"
            )
        scalars: list[Any] = list(self.record.values)
        for k, value in zip(places, given.tolist(), strict=True):
            scalars[k] = value
        made = self.record.program.evaluate(scalars)
        # What does not depend on the numbers given stays as it is, in its last bit too.
        moving = self._moving(places)
        own = self.parameters.entries(self.robot)
        return [made[k] if k in moving else value for k, value in enumerate(own)]

    def changed(self, vector: Any, *groups: str) -> tuple[Array, Record]:
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
        for k, value in zip(self.chosen(groups), values.tolist(), strict=True):
            whole[k] = value
        return entries, dataclasses.replace(self.record, values=tuple(whole))

    def jacobian_program(self, *groups: str) -> Program:
        """The derivatives (entries, numbers) of all numbers of the robot by the free ones of some groups."""
        from nacelle.program.derivative import with_jacobians

        program = self.record.program
        graph, roots = graph_of(program)
        whole = with_jacobians(
            Trace("numbers", graph, program.inputs, program.outputs, roots),
            [("entries", "numbers")],
            "forward",
        )
        rows, columns = whole.outputs[1].shape
        places = self.chosen(groups)
        flat = whole.roots[rows:]
        kept = [flat[i * columns + k] for i in range(rows) for k in places]
        outputs = (Variable("jacobian", (rows, len(places))),)
        return linear("numbers_jacobian", graph, program.inputs, outputs, kept)

    def jacobian(self, *groups: str) -> Array:
        """The derivatives (entries, numbers), at the robot's numbers."""
        values = self.jacobian_program(*groups).evaluate(list(self.record.values))
        return np.array(values, dtype=float).reshape(len(self.record.entries), -1)

    def _moving(self, places: list[int]) -> set[int]:
        """Numbers of the robot that depend on some of the free ones."""
        chosen, moves = set(places), []
        for op, *operands in self.record.program.code:
            if op in ("const", "input"):
                moves.append(op == "input" and operands[0] in chosen)
            else:
                moves.append(any(moves[k] for k in operands))
        return {place for place, k in enumerate(self.record.program.results) if moves[k]}


def numbers_of(robot: RobotData, parameters: ParameterLayout) -> Numbers:
    """The free numbers of a robot."""
    own, names = parameters.read(robot).tolist(), parameters.names()
    record = None if robot.declaration is None else robot.declaration.record
    described: dict[str, tuple[float, int]] = {}
    if record is not None:
        made = record.program.evaluate(list(record.values))
        described = {name: (float(made[k]), k) for k, name in enumerate(record.entries)}
        if record.entries == names and all(
            _same(described[name][0], value) for name, value in zip(names, own, strict=True)
        ):
            return Numbers(robot, parameters, record)
    return Numbers(robot, parameters, _completed(parameters, own, record, described))


def _completed(
    parameters: ParameterLayout,
    values: list[float],
    record: Record | None,
    described: dict[str, tuple[float, int]],
) -> Record:
    """A record in which numbers that the description does not make are free themselves."""
    empty = Program("numbers", (Variable("numbers", (0,)),), (), (), ())
    graph, roots = graph_of(record.program if record is not None else empty)
    free = [] if record is None else list(zip(record.names, record.groups, record.values, strict=True))
    results = []
    own = iter(values)
    for group in GROUPS:
        for name in parameters.names(group):
            value, (made, k) = next(own), described.get(name, (0.0, -1))
            if k >= 0 and _same(made, value):
                results.append(roots[k])
            elif value == 0.0 or (group == "geometry" and name.rpartition(".")[2].startswith("R")):
                results.append(graph.const(value))
            else:
                results.append(graph.input(len(free)))
                free.append((name, group, value))
    inputs = (Variable("numbers", (len(free),)),)
    outputs = (Variable("entries", (len(results),)),)
    program = linear("numbers", graph, inputs, outputs, results)
    return Record(
        tuple(name for name, _, _ in free),
        tuple(group for _, group, _ in free),
        tuple(value for _, _, value in free),
        parameters.names(),
        program,
    )


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-12 * max(abs(a), abs(b)) + 1e-15
