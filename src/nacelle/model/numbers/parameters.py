"""The numbers of a robot as one vector, by groups, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nacelle.errors import ParameterError, did_you_mean
from nacelle.model.data import RobotData
from nacelle.model.joint import Joint
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
Numbers = Iterator[Any]
Changes = dict[str, Any]


def _with_geometry(robot: RobotData, numbers: Numbers) -> Changes:
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


def _point(numbers: Numbers) -> Array:
    return pack([next(numbers) for _ in range(3)])


def _frame(joint: Joint, numbers: Numbers) -> Pose:
    # Beside symbols there are frames, or parts of them, that are numbers as before.
    R, p = (pack([next(numbers) for _ in range(count)]) for count in (9, 3))
    R = R.reshape(3, 3)
    if R.dtype != object and (np.max(np.abs(R.T @ R - np.eye(3))) > 1e-9 or np.linalg.det(R) < 0):
        raise ParameterError(f"the frame of joint {joint.name} is not a rotation any more")
    return Pose(R, p)


def _ten(numbers: Numbers) -> tuple[Any, ...]:
    return tuple(next(numbers) for _ in INERTIA_NAMES)


def _with_inertia(robot: RobotData, numbers: Numbers) -> Changes:
    base, *bodies = robot.bodies
    return {"bodies": (base, *(dataclasses.replace(body, inertia=_ten(numbers)) for body in bodies))}


def _with_payload(robot: RobotData, numbers: Numbers) -> Changes:
    return {"payload": tuple(dataclasses.replace(load, inertia=_ten(numbers)) for load in robot.payload)}


def _with_friction(robot: RobotData, numbers: Numbers) -> Changes:
    joints = []
    for joint in robot.joints:
        friction = tuple(
            tuple(dataclasses.replace(term, coefficient=next(numbers)) for term in axis)
            for axis in joint.friction
        )
        joints.append(dataclasses.replace(joint, friction=friction))
    return {"joints": tuple(joints)}


def _with_drive(robot: RobotData, numbers: Numbers) -> Changes:
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


def _with_gravity(robot: RobotData, numbers: Numbers) -> Changes:
    return {"gravity": tuple(next(numbers) for _ in robot.gravity)}


_READ: dict[str, Callable[[RobotData], Entries]] = dict(
    zip(GROUPS, (_geometry, _inertia, _payload, _friction, _drive, _gravity), strict=True)
)
_WRITE: dict[str, Callable[[RobotData, Numbers], Changes]] = dict(
    zip(
        GROUPS,
        (_with_geometry, _with_inertia, _with_payload, _with_friction, _with_drive, _with_gravity),
        strict=True,
    )
)
