"""The numbers of a robot as one vector, by groups, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacelle.errors import ParameterError, did_you_mean
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, pack

if TYPE_CHECKING:
    from nacelle.model.joint import Joint
    from nacelle.model.robot import Robot

GROUPS = ("geometry", "inertia", "payload", "friction", "drive", "gravity")
INERTIA_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


@dataclass(frozen=True)
class Layout:
    """Names of a robot's numbers, group by group, in the order of the parameter vector."""

    groups: dict[str, tuple[str, ...]]

    @staticmethod
    def of(robot: Robot) -> Layout:
        """Make the layout of a robot."""
        return Layout({group: tuple(_NAMES[group](robot)) for group in GROUPS})

    def chosen(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Check group names; none means all of them."""
        for group in groups:
            if group not in GROUPS:
                raise ParameterError(f"no group {group!r} of parameters; {did_you_mean(group, GROUPS)}")
        return groups or GROUPS

    def names(self, *groups: str) -> tuple[str, ...]:
        """Names of the numbers of some groups."""
        return tuple(name for group in self.chosen(groups) for name in self.groups[group])

    def read(self, robot: Robot, *groups: str) -> Array:
        """Give the numbers of some groups as one vector."""
        return np.array(self.entries(robot, *groups), dtype=float)

    def entries(self, robot: Robot, *groups: str) -> list[Any]:
        """Give the numbers of some groups as they are, symbols and recorded floats too."""
        return [value for group in self.chosen(groups) for value in _READ[group](robot)]

    def write(self, robot: Robot, vector: Any, *groups: str, symbolic: bool = False) -> Robot:
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
        start = 0
        for group in self.chosen(groups):
            size = len(self.groups[group])
            robot = _WRITE[group](robot, values[start : start + size].tolist())
            start += size
        return robot


def _frames(joint: Joint) -> tuple[Pose, Pose]:
    return joint.frame_predecessor, joint.frame_successor


def _geometry_names(robot: Robot) -> list[str]:
    entries = [f"R{i}{j}" for i in "xyz" for j in "xyz"] + ["px", "py", "pz"]
    return [
        f"{joint.name}.{side}.{entry}"
        for joint in robot.joints
        for side in ("predecessor", "successor")
        for entry in entries
    ]


def _geometry(robot: Robot) -> list[float]:
    return [
        value
        for joint in robot.joints
        for frame in _frames(joint)
        for value in (*np.ravel(frame.R), *frame.p)
    ]


def _with_geometry(robot: Robot, values: list[float]) -> Robot:
    joints = []
    for joint, pair in zip(robot.joints, np.array(values).reshape(-1, 2, 12), strict=True):
        frames = []
        for block in pair:
            # Beside symbols there are frames, or parts of them, that are numbers as before.
            R = pack(block[:9].tolist()).reshape(3, 3)
            is_number = R.dtype != object
            if is_number and (np.max(np.abs(R.T @ R - np.eye(3))) > 1e-9 or np.linalg.det(R) < 0):
                raise ParameterError(f"the frame of joint {joint.name} is not a rotation any more")
            frames.append(Pose(R, pack(block[9:].tolist())))
        joints.append(dataclasses.replace(joint, frame_predecessor=frames[0], frame_successor=frames[1]))
    return dataclasses.replace(robot, joints=tuple(joints))


def _inertia_names(robot: Robot) -> list[str]:
    return [f"{body.name}.{name}" for body in robot.bodies[1:] for name in INERTIA_NAMES]


def _inertia(robot: Robot) -> list[float]:
    return [value for body in robot.bodies[1:] for value in body.inertia]


def _with_inertia(robot: Robot, values: list[float]) -> Robot:
    bodies = [robot.bodies[0]]
    for k, body in enumerate(robot.bodies[1:]):
        bodies.append(dataclasses.replace(body, inertia=tuple(values[10 * k : 10 * k + 10])))
    return dataclasses.replace(robot, bodies=tuple(bodies))


def _payload_names(robot: Robot) -> list[str]:
    return [f"payload.{load.name}.{name}" for load in robot.payload for name in INERTIA_NAMES]


def _payload(robot: Robot) -> list[float]:
    return [value for load in robot.payload for value in load.inertia]


def _with_payload(robot: Robot, values: list[float]) -> Robot:
    loads = [
        dataclasses.replace(load, inertia=tuple(values[10 * k : 10 * k + 10]))
        for k, load in enumerate(robot.payload)
    ]
    return dataclasses.replace(robot, payload=tuple(loads))


def _friction_names(robot: Robot) -> list[str]:
    return [
        f"{joint.name}.{primitive}.{term.basis}"
        for joint in robot.joints
        for primitive, axis in zip(joint.friction_axes, joint.friction, strict=False)
        for term in axis
    ]


def _friction(robot: Robot) -> list[float]:
    return [t.coefficient for joint in robot.joints for axis in joint.friction for t in axis]


def _with_friction(robot: Robot, values: list[float]) -> Robot:
    numbers = iter(values)
    joints = []
    for joint in robot.joints:
        friction = tuple(
            tuple(dataclasses.replace(term, coefficient=next(numbers)) for term in axis)
            for axis in joint.friction
        )
        joints.append(dataclasses.replace(joint, friction=friction))
    return dataclasses.replace(robot, joints=tuple(joints))


def _driven(robot: Robot) -> set[int]:
    return {actuator.joint for actuator in robot.actuators}


def _drive_names(robot: Robot) -> list[str]:
    names = []
    for k, joint in enumerate(robot.joints):
        if k in _driven(robot) or joint.rotor_inertia:
            names += [f"{joint.name}.rotor_inertia", f"{joint.name}.gear_ratio"]
        for primitive, spring in zip(joint.friction_axes, joint.springs, strict=False):
            if spring is not None:
                names += [f"{joint.name}.{primitive}.stiffness", f"{joint.name}.{primitive}.rest"]
    return names


def _drive(robot: Robot) -> list[float]:
    values = []
    for k, joint in enumerate(robot.joints):
        if k in _driven(robot) or joint.rotor_inertia:
            values += [joint.rotor_inertia, joint.gear_ratio]
        for spring in joint.springs:
            if spring is not None:
                values += [spring.stiffness, spring.rest]
    return values


def _with_drive(robot: Robot, values: list[float]) -> Robot:
    numbers = iter(values)
    joints = []
    for k, joint in enumerate(robot.joints):
        changed = joint
        if k in _driven(robot) or joint.rotor_inertia:
            changed = dataclasses.replace(changed, rotor_inertia=next(numbers), gear_ratio=next(numbers))
        springs = tuple(
            spring and dataclasses.replace(spring, stiffness=next(numbers), rest=next(numbers))
            for spring in joint.springs
        )
        joints.append(dataclasses.replace(changed, springs=springs))
    return dataclasses.replace(robot, joints=tuple(joints))


def _with_gravity(robot: Robot, values: list[float]) -> Robot:
    return dataclasses.replace(robot, gravity=(values[0], values[1], values[2]))


_NAMES: dict[str, Callable[[Robot], list[str]]] = {
    "geometry": _geometry_names,
    "inertia": _inertia_names,
    "payload": _payload_names,
    "friction": _friction_names,
    "drive": _drive_names,
    "gravity": lambda robot: ["gravity.x", "gravity.y", "gravity.z"],
}
_READ: dict[str, Callable[[Robot], list[float]]] = {
    "geometry": _geometry,
    "inertia": _inertia,
    "payload": _payload,
    "friction": _friction,
    "drive": _drive,
    "gravity": lambda robot: list(robot.gravity),
}
_WRITE: dict[str, Callable[[Robot, list[float]], Robot]] = {
    "geometry": _with_geometry,
    "inertia": _with_inertia,
    "payload": _with_payload,
    "friction": _with_friction,
    "drive": _with_drive,
    "gravity": _with_gravity,
}
