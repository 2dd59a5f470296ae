"""The numbers of a robot in which its forces are linear, geometry and gravity given.

    inertia    ten of every body, Pinocchio's order, about the body frame's origin
    payload    ten of every payload, about the frame of the body that carries it
    friction   the coefficient of every term
    drive      rotor inertia of every driven joint; of every spring the stiffness k and k times its rest; of
               every end stop the stiffness, damping over stiffness given; of every spring between two bodies
               k, k times its free length, and the damping; of every angular damper its damping; of every
               torsion spring the coefficients of its polynomial, its rest given

Only the product of a spring's stiffness and its rest is linear, so that is the parameter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nacelle.errors import ParameterError
from nacelle.model.joint import Joint, Spring, Stop
from nacelle.model.leg import LineSpring
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.spatial.linear_form import LinearForm
from nacelle.spatial.scalar import Array, Scalar, absolute, maximum, minimum

_GROUPS = ("inertia", "payload", "friction")

Columns: TypeAlias = tuple[int, ...] | None
"""For every linear parameter the column of Y that it counts in, -1 for none; each has its own if None."""
Signs: TypeAlias = tuple[int, ...] | None
"""For every linear parameter 1 or -1, with which it counts in its column; 1 for all if None."""


@dataclass(frozen=True, eq=False)
class LinearParameters(HasTable):
    """The parameters p in which the actuators' forces are linear: force = Y p.

    Attributes:
        names: of the parameters, in the order of the columns of Y.
        values: in SI units (parameters,).
    """

    names: tuple[str, ...]
    values: Array

    def __len__(self) -> int:
        """Number of parameters."""
        return len(self.names)


@dataclass(frozen=True)
class _LinearSpring(Spring):
    """A spring whose stiffness is one parameter, and the product of stiffness and rest another.

    Attributes:
        preload: stiffness times rest.
    """

    preload: Scalar = 0.0

    def holding_force(self, q: Scalar) -> Scalar:
        """Force that holds it at a coordinate."""
        return self.stiffness * q - self.preload


@dataclass(frozen=True)
class _LinearStop(Stop):
    """An end stop whose stiffness is a parameter, and whose damping is given over it.

    Attributes:
        time: damping over stiffness, s.
    """

    time: float = 0.0

    def damper_force(self, s: Scalar, rate: Scalar) -> Scalar:
        """Force of the damper at s beyond a limit and a rate."""
        most = absolute(s)
        return self.stiffness * minimum(maximum(self.time * rate, -most), most)


@dataclass(frozen=True, eq=False)
class _LinearLineSpring(LineSpring):
    """A spring between bodies whose stiffness is one parameter, the product with its free length another.

    Attributes:
        preload: stiffness times free length.
    """

    preload: Scalar = 0.0

    def pull(self, length: Scalar) -> Scalar:
        """Tension at a distance of the points."""
        return self.stiffness * length - self.preload


def linear_parameters(robot: Robot) -> LinearParameters:
    """Names and values of the numbers p of a robot in which its forces are linear: Gamma = Y(x, v, a) p.

    Of each body [m, m c (3), I (6)] about its frame's origin (kg, kg m, kg m^2), of each joint friction
    coefficients, stiffness and stiffness times rest, and rotor inertia; SI units, in the order of the columns
    of Y.
    """
    names, values = list(robot.parameter_names(*_GROUPS)), robot.parameter_vector(*_GROUPS).tolist()
    for index, joint in enumerate(robot.joints):
        if has_rotor(robot, index):
            names.append(f"{joint.name}.rotor_inertia")
            values.append(joint.rotor_inertia)
        for axis, spring in zip(joint.friction_axes, joint.springs, strict=False):
            if spring is not None:
                names += [f"{joint.name}.{axis}.stiffness", f"{joint.name}.{axis}.stiffness*rest"]
                values += [spring.stiffness, spring.stiffness * spring.rest]
        for axis, stop in zip(joint.friction_axes, joint.stops, strict=False):
            if stop is not None:
                names.append(f"{joint.name}.{axis}.stop.stiffness")
                values.append(stop.stiffness)
    for line in robot.springs:
        names += [f"springs.{line.name}.{key}" for key in ("stiffness", "stiffness*length", "damping")]
        values += [line.stiffness, line.stiffness * line.length, line.damping]
    names += [f"dampers.{damper.name}.damping" for damper in robot.dampers]
    values += [damper.damping for damper in robot.dampers]
    for torsion in robot.torsion_springs:
        names += [f"torsion_springs.{torsion.name}.{key}" for key in torsion.stiffness_names]
        values += torsion.stiffness
    return LinearParameters(tuple(names), np.array(values, dtype=float))


def column_count(robot: Robot, columns: Columns) -> int:
    """How many columns the linear form has."""
    return len(linear_parameters(robot)) if columns is None else max(columns, default=-1) + 1


def has_rotor(robot: Robot, joint: int) -> bool:
    """Whether a joint has a rotor inertia among the parameters: every driven joint, and those with one."""
    driven = any(actuator.joint == joint for actuator in robot.actuators)
    return driven or robot.numeric.joints[joint].rotor_inertia != 0.0


def with_linear_parameters(robot: Robot, values: Any) -> Robot:
    """The same robot with other values of its linear parameters.

    Args:
        robot: the robot.
        values: in the order of `linear_parameters`; a stiffness of 0 keeps the spring's rest.

    Raises:
        ParameterError: if there are not as many as the robot has, or one is not finite.
    """
    linear = linear_parameters(robot)
    vector = np.asarray(values, dtype=float)
    if vector.shape != (len(linear),):
        raise ParameterError(
            f"the vector has shape {vector.shape}, the linear parameters of {robot.name} are {len(linear)}"
        )
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise ParameterError(f"{linear.names[int(bad[0])]} is not finite: {vector[bad[0]]}")

    def spring(old: Spring, stiffness: float, preload: float) -> Spring:
        return Spring(stiffness, preload / stiffness if stiffness else old.rest)

    def line(old: LineSpring, stiffness: float, preload: float) -> LineSpring:
        length = preload / stiffness if stiffness else old.length
        return dataclasses.replace(old, stiffness=stiffness, length=length)

    def stop(old: Stop, stiffness: float) -> Stop:
        return Stop(stiffness, old.damping * (stiffness / old.stiffness))

    return _with_values(robot, vector.tolist(), _Rebuild(spring, stop, line))


def with_linear_forms(robot: Robot, columns: Columns = None, signs: Signs = None) -> Robot:
    """The same robot with its linear parameters as linear forms, parameter k the form p_k, or -p_k.

    Decisions are still made by its own numbers (`numeric`).

    Args:
        robot: the robot.
        columns: for every parameter the number of its form, -1 for none; several may have the same.
        signs: for every parameter the sign of its form.
    """
    numbers = range(len(linear_parameters(robot))) if columns is None else columns
    factors = signs or (1,) * len(numbers)
    forms = [LinearForm({k: float(f)} if k >= 0 else {}) for k, f in zip(numbers, factors, strict=True)]

    def line(old: LineSpring, k: Any, preload: Any) -> LineSpring:
        return _LinearLineSpring(old.name, old.bodies, old.points, k, old.length, old.damping, preload)

    def stop(old: Stop, k: Any) -> Stop:
        return _LinearStop(k, old.damping, old.damping / old.stiffness)

    def spring(old: Spring, k: Any, preload: Any) -> Spring:
        return _LinearSpring(k, old.rest, preload)

    linear = _with_values(robot, forms, _Rebuild(spring, stop, line))
    object.__setattr__(linear, "numeric", robot.numeric)
    object.__setattr__(linear, "is_like_numeric", robot.is_like_numeric)
    return linear


class _Rebuild(NamedTuple):
    """How springs and stops are made anew: spring and line of stiffness and preload, stop of stiffness."""

    spring: Callable[[Spring, Any, Any], Spring]
    stop: Callable[[Stop, Any], Stop]
    line: Callable[[LineSpring, Any, Any], LineSpring]


def _with_values(robot: Robot, values: list[Any], rebuild: _Rebuild) -> Robot:
    """Put values, floats or forms, in the place of the linear parameters."""
    count = len(robot.parameter_names(*_GROUPS))
    changed = robot.parameters.write(robot, values[:count], *_GROUPS, symbolic=True)
    remaining = iter(values[count:])
    joints: list[Joint] = []
    for index, joint in enumerate(changed.joints):
        if has_rotor(robot, index):
            joint = dataclasses.replace(joint, rotor_inertia=next(remaining))
        springs = tuple(
            old and rebuild.spring(old, next(remaining), next(remaining)) for old in joint.springs
        )
        stops = tuple(old and rebuild.stop(old, next(remaining)) for old in joint.stops)
        joints.append(dataclasses.replace(joint, springs=springs, stops=stops))
    lines = tuple(
        dataclasses.replace(rebuild.line(old, next(remaining), next(remaining)), damping=next(remaining))
        for old in robot.springs
    )
    dampers = tuple(dataclasses.replace(old, damping=next(remaining)) for old in robot.dampers)
    torsion = tuple(
        dataclasses.replace(old, stiffness=tuple(next(remaining) for _ in old.stiffness))
        for old in robot.torsion_springs
    )
    return dataclasses.replace(
        changed, joints=tuple(joints), springs=lines, dampers=dampers, torsion_springs=torsion
    )
