"""What may lie off the drawing: frames of joints, encoders, numbers of the description; and such a machine.

A parameter is a deviation from the description, with a standard deviation before anything is measured, its
tolerance. Kinds, with what they are called:

    frame        JOINT.predecessor.x ... JOINT.successor.rz    displacement of a joint's frame, axes of the
                                                               body that carries it
    zero         zero.DRIVE           q = (1 + g) theta + zero - c F     theta the reading of an encoder, F
    gear         gear.DRIVE           g                                  the force of its drive that holds
    compliance   compliance.DRIVE     c, more than in the description    the robot
    coupling     ratio.COUPLING.JOINT, offset.COUPLING     q_joint = sum ratio q + offset: a gear, a screw
    stretch      stretch.BODY         length of a body between its two joints by the force along it, m/N
    number       number.NAME          a free number of the description, with all that follows from it
    device       DEVICE.x ...         of what measures (`nacelle.calibration.devices`)

Everything is linear in frames but turns, R <- exp(dr) R, whose rates are exact (`left_jacobian`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from nacelle.calibration.loops import Axis, coupling_terms
from nacelle.errors import AssemblyError, CalibrationError, KinematicsError, did_you_mean, format_count
from nacelle.kinematics.mechanism.internal_freedoms import EXACT_ASYMMETRY, asymmetry, with_axisymmetric
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import UNBOUNDED, Interval
from nacelle.model.robot import Robot
from nacelle.model.units import QUANTITIES, SI, parse_quantity
from nacelle.spatial.rotation import left_jacobian, rotation_vector
from nacelle.spatial.scalar import Array

AXES = ("x", "y", "z", "rx", "ry", "rz")
SIDES = ("predecessor", "successor")
# Standard deviations before anything is measured: lengths over the robot's size, angles in rad, ratios.
LENGTH, ANGLE, RATIO, ZERO_ANGLE, ZERO_LENGTH = 2e-3, 2e-3, 2e-3, 1e-2, 5e-3


@dataclass(frozen=True)
class Parameter:
    """One deviation from the description.

    Attributes:
        name: its name.
        kind: "frame", "zero", "gear", "compliance", "coupling", "stretch", "number", "device" or "place".
        unit: of its value, SI.
        tolerance: standard deviation before anything is measured, SI.
        target: what it moves: (frame, axis), (encoder,), (index of `coupling_terms`,), (body,), (number,) or
            (device, entry).
        bounds: within which it is sought, SI.
    """

    name: str
    kind: str
    unit: str
    tolerance: float
    target: tuple[int, ...]
    bounds: Interval = UNBOUNDED


@dataclass(frozen=True)
class Encoder:
    """An encoder of one axis.

    Attributes:
        name: of the drive, or of the joint where no drive is.
        axis: which it reads.
        noise: standard deviation of a reading, rad or m.
    """

    name: str
    axis: Axis
    noise: float


def encoders_of(robot: Robot, noise: float | None = None, sensors: Sequence[str] = ()) -> tuple[Encoder, ...]:
    """The encoders of all drives, then those of further joints.

    Args:
        robot: the robot.
        noise: of a reading, rad or m; 1e-6 of the robot's size and 1e-6 rad if None.
        sensors: axes that have an encoder without a drive: joints of one axis, or "JOINT.2", the second axis
            of a universal joint.

    Raises:
        CalibrationError: if there is no such axis.
    """
    axes = [(actuator.name, Axis(actuator.joint)) for actuator in robot.actuators]
    axes += [(name, _axis_of(robot, name)) for name in sensors]

    def deviation(axis: Axis) -> float:
        unit = 1.0 if robot.joints[axis.joint].primitives[axis.number].is_rotation else robot.size
        return 1e-6 * unit if noise is None else noise

    return tuple(Encoder(name, axis, deviation(axis)) for name, axis in axes)


def _axis_of(robot: Robot, name: str) -> Axis:
    """The axis that "JOINT" (of one axis) or "JOINT.2" names.

    Raises:
        CalibrationError: if no axis has that name.
    """
    names = [joint.name for joint in robot.joints]
    whole, _, digits = name.rpartition(".") if name not in names else (name, "", "")
    if whole not in names or (digits and not digits.isdecimal()):
        raise CalibrationError(f"{robot.name} has no joint {name!r}; {did_you_mean(name, names)}")
    joint = robot.joints[names.index(whole)]
    # Of a joint where a loop is cut the one axis is read from the poses of its bodies.
    single = [primitive.nq == 1 for primitive in joint.primitives]
    count = len(single) if names.index(whole) < robot.tree or len(single) == 1 else 0
    if not all(single) or not count or joint.is_coupling:
        raise CalibrationError(f"joint {whole!r} has no axes that an encoder reads one by one")
    if not digits and count > 1:
        raise CalibrationError(f"joint {whole!r} has {count} axes: name one, {whole}.1 to {whole}.{count}")
    number = int(digits or 1) - 1
    if not 0 <= number < count:
        raise CalibrationError(
            f"joint {whole!r} has {format_count(count, 'axis', 'axes')}: there is no {name!r}"
        )
    return Axis(names.index(whole), number)


def length_bodies(robot: Robot) -> dict[int, tuple[int, int]]:
    """Bodies with two joints, whose length may change: for each its two frames (2 joint + side)."""
    ends: dict[int, list[int]] = {}
    for j, joint in enumerate(robot.joints):
        if not joint.is_coupling and not joint.at_point:
            ends.setdefault(joint.predecessor, []).append(2 * j)
            ends.setdefault(joint.successor, []).append(2 * j + 1)
    return {body: (pair[0], pair[1]) for body, pair in ends.items() if body > 1 and len(pair) == 2}


def frame_in_body(robot: Robot, frame: int) -> tuple[Array, Array]:
    """Orientation (3, 3) and origin (3,) of a joint's frame (2 joint + side) on the body that carries it."""
    joint = robot.joints[frame // 2]
    pose = (joint.frame_predecessor, joint.frame_successor)[frame % 2]
    return pose.R, pose.p


def body_direction(robot: Robot, body: int) -> Array:
    """Unit vector (3,) from the first to the second joint of a body, its axes."""
    first, second = (frame_in_body(robot, frame)[1] for frame in length_bodies(robot)[body])
    length = float(np.linalg.norm(second - first))
    return (second - first) / length if length > 0.0 else np.zeros(3)


def known_parameters(robot: Robot, encoders: Sequence[Encoder] | None = None) -> tuple[Parameter, ...]:
    """All parameters of a robot and its encoders, with default tolerances."""
    size, result = robot.size, []
    for j, joint in enumerate(robot.joints):
        for side, name in enumerate(SIDES if not joint.is_coupling else ()):
            for axis, label in enumerate(AXES):
                unit, tolerance = ("m", LENGTH * size) if axis < 3 else ("rad", ANGLE)
                full = f"{joint.name}.{name}.{label}"
                result.append(Parameter(full, "frame", unit, tolerance, (2 * j + side, axis)))
    for k, encoder in enumerate(encoders_of(robot) if encoders is None else encoders):
        joint = robot.joints[encoder.axis.joint]
        is_rotation = joint.primitives[encoder.axis.number].is_rotation
        zero = ("rad", ZERO_ANGLE) if is_rotation else ("m", ZERO_LENGTH * size)
        result.append(Parameter(f"zero.{encoder.name}", "zero", *zero, (k,)))
        result.append(Parameter(f"gear.{encoder.name}", "gear", "", RATIO, (k,)))
        if k < len(robot.actuators):
            unit = "rad/N m" if is_rotation else "m/N"
            nominal = (
                1.0 / joint.drive_stiffness
                if joint.drive_stiffness
                else 1e-6 * (1.0 if is_rotation else size)
            )
            result.append(Parameter(f"compliance.{encoder.name}", "compliance", unit, nominal, (k,)))
    for k, (j, number) in enumerate(coupling_terms(robot)):
        joint = robot.joints[j]
        dependent, source = (robot.joints[joint.terms[i][0]] for i in (0, number))
        units = ["rad" if item.primitives[0].is_rotation else "m" for item in (dependent, source)]
        if number:
            unit = "" if units[0] == units[1] else f"{units[0]}/{units[1]}"
            tolerance = RATIO * abs(joint.terms[number][1])
            result.append(Parameter(f"ratio.{joint.name}.{source.name}", "coupling", unit, tolerance, (k,)))
        else:
            tolerance = ZERO_ANGLE if units[0] == "rad" else ZERO_LENGTH * size
            result.append(Parameter(f"offset.{joint.name}", "coupling", units[0], tolerance, (k,)))
    for body in length_bodies(robot):
        if not np.any(body_direction(robot, body)):
            continue
        result.append(Parameter(f"stretch.{robot.bodies[body].name}", "stretch", "m/N", 1e-5 * size, (body,)))
    names, quantities = robot.numbers.names("geometry"), robot.numbers.quantities("geometry")
    for k, (name, quantity) in enumerate(zip(names, quantities, strict=True)):
        is_angle = quantity == "angle"
        unit, tolerance = ("rad", ANGLE) if is_angle else ("m", LENGTH * size)
        result.append(Parameter(f"number.{name}", "number", unit, tolerance, (k,)))
    return tuple(result)


def number_of(robot: Robot, parameter: Parameter) -> float | None:
    """The number of a robot that a parameter is a deviation of, SI; None where there is no single one."""
    kind, index = parameter.kind, parameter.target[0]
    if kind == "frame" and parameter.target[1] < 3:
        return float(frame_in_body(robot, index)[1][parameter.target[1]])
    if kind == "number" and parameter.name[7:] in robot.numbers.names("geometry"):
        names = robot.numbers.names("geometry")
        return float(robot.numbers.vector("geometry")[names.index(parameter.name[7:])])
    if kind == "coupling":
        j, number = coupling_terms(robot)[index]
        return float(-robot.joints[j].terms[number][1] if number else robot.joints[j].offset)
    if kind in ("zero", "gear", "compliance") and index < len(robot.actuators):
        actuator = robot.actuators[index]
        joint = robot.joints[actuator.joint]
        if kind == "compliance":
            return 1.0 / joint.drive_stiffness if joint.drive_stiffness else 0.0
        return float(actuator.encoder_zero if kind == "zero" else joint.gear_ratio)
    return None


DEFAULT = "default"
"""The pattern that stands for the default parameters."""
_QUANTITY = {"m": QUANTITIES["length"], "rad": QUANTITIES["angle"], "": QUANTITIES["number"]}


def choose_parameters(
    known: Sequence[Parameter], patterns: Sequence[str], default: Callable[[], Sequence[Parameter]] = tuple
) -> tuple[Parameter, ...]:
    """Those whose names match some patterns ("*.x", "zero.*"), in their order, each once.

    A pattern may end in "=TOLERANCE", in "=TOLERANCE,LOW..HIGH" or "=LOW..HIGH" with bounds, quantities with
    units or bare numbers in SI units: "leg1.*.x=1 mm", "zero.*=0.5 deg,-1 deg..1 deg". What later patterns
    say of a parameter replaces what earlier ones say.

    Args:
        known: all parameters.
        patterns: the patterns; "default" stands for the default parameters.
        default: gives these.

    Raises:
        CalibrationError: if a pattern matches none, or its numbers do not fit the parameter.
    """
    chosen: dict[str, Parameter] = {}
    for text in patterns:
        pattern, _, prior = text.partition("=")
        if pattern == DEFAULT and not prior:
            chosen.update((item.name, item) for item in default())
            continue
        matching = [item for item in known if fnmatchcase(item.name, pattern)]
        if not matching:
            names = [item.name for item in known]
            near = [name for name in names if name.partition(".")[0] == pattern.partition(".")[0]]
            raise CalibrationError(
                f"no parameter matches {pattern!r}; {did_you_mean(pattern, near or names)}"
            )
        for item in matching:
            chosen[item.name] = _with_prior(item, prior, text) if prior else chosen.get(item.name, item)
    order = [item.name for item in known]
    return tuple(sorted(chosen.values(), key=lambda item: order.index(item.name)))


def _with_prior(item: Parameter, prior: str, text: str) -> Parameter:
    """A parameter with the tolerance and the bounds of a text."""

    def number(quantity: str) -> float:
        try:
            if item.unit in _QUANTITY:
                return float(parse_quantity(quantity.strip(), _QUANTITY[item.unit], SI))
            return float(quantity)
        except ValueError as error:
            raise CalibrationError(f"{text!r}: {item.name} is in {item.unit or 'no unit'}: {error}") from None

    for part in prior.split(","):
        low, dots, high = part.partition("..")
        if dots:
            bounds = Interval(number(low), number(high))
            if not bounds.lower < bounds.upper or not bounds.lower <= 0.0 <= bounds.upper:
                raise CalibrationError(
                    f"{text!r}: bounds of a deviation from the description hold 0, such as -1 mm..2 mm"
                )
            item = dataclasses.replace(item, bounds=bounds)
        else:
            tolerance = number(part)
            if not 0.0 < tolerance < np.inf:
                raise CalibrationError(
                    f"{text!r}: a tolerance is a positive quantity, such as 1 mm; bounds are -1 mm..2 mm"
                )
            item = dataclasses.replace(item, tolerance=tolerance)
    return item


@dataclass(frozen=True, eq=False)
class Geometry:
    """A robot's geometry and encoders as functions of the values of some parameters.

    Attributes:
        robot: of the description.
        parameters: all of them; those of devices have no part in it.
        encoders: the encoders.
        forces: of the drives that hold the robot at each sample (S, actuators), N or N m; zero without load.
        pulls: along the bodies of "stretch" parameters (S, bodies of the robot), N, positive if pulled.
    """

    robot: Robot
    parameters: tuple[Parameter, ...]
    encoders: tuple[Encoder, ...]
    forces: Array = field(default_factory=lambda: np.zeros((1, 0)))
    pulls: Array = field(default_factory=lambda: np.zeros((1, 0)))

    def _of_kind(self, *kinds: str) -> list[tuple[int, Parameter]]:
        return [(k, item) for k, item in enumerate(self.parameters) if item.kind in kinds]

    @cached_property
    def _numbers(self) -> list[tuple[int, int]]:
        return [(k, item.target[0]) for k, item in self._of_kind("number")]

    @cached_property
    def _offsets(self) -> dict[int, int]:
        """Where the twelve numbers of a frame begin in the geometry, by frame."""
        joints = [j for j, joint in enumerate(self.robot.joints) if not joint.is_coupling]
        return {2 * j + side: 24 * k + 12 * side for k, j in enumerate(joints) for side in range(2)}

    @cached_property
    def _nominal(self) -> Array:
        """The geometry of the description (k,)."""
        return self.robot.parameter_vector("geometry")

    def _with_numbers(self, values: Array) -> Robot:
        if not self._numbers:
            return self.robot
        vector = self.robot.numbers.vector("geometry")
        for k, index in self._numbers:
            vector[index] += values[k]
        return self.robot.with_numbers(vector, "geometry")

    @property
    def varies(self) -> bool:
        """Whether the geometry differs from sample to sample."""
        return bool(self._of_kind("stretch"))

    def vector(self, values: Array) -> Array:
        """The geometry (k,), or (S, k) if it follows the load, at values (P,) of the parameters."""
        base = (
            self._with_numbers(values).parameter_vector("geometry") if self._numbers else self._nominal.copy()
        )
        turns: dict[int, Array] = {}
        for k, item in self._of_kind("frame"):
            frame, axis = item.target
            if axis < 3:
                base[self._offsets[frame] + 9 + axis] += values[k]
            else:
                turns.setdefault(frame, np.zeros(3))[axis - 3] += values[k]
        for frame, tilt_vector in turns.items():
            at = self._offsets[frame]
            base[at : at + 9] = (rotation_vector(tilt_vector) @ base[at : at + 9].reshape(3, 3)).ravel()
        # Factors of a coupling have the sign of the other side: q_joint - sum ratio q = offset.
        couplings = np.zeros(len(coupling_terms(self.robot)) if self._of_kind("coupling") else 0)
        for k, item in self._of_kind("coupling"):
            couplings[item.target[0]] += values[k] * self._coupling_sign(item)
        base = np.concatenate([base, couplings])
        if not self.varies:
            return base
        result = np.tile(base, (len(self.pulls), 1))
        for k, item in self._of_kind("stretch"):
            frame = length_bodies(self.robot)[item.target[0]][1]
            at = self._offsets[frame] + 9
            way = values[k] * self.pulls[:, item.target[0]]
            result[:, at : at + 3] += way[:, None] * body_direction(self.robot, item.target[0])
        return result

    def frame_rates(self, values: Array) -> Array:
        """How the parameters displace frames, (6 F, P), or (S, 6 F, P) if that follows the load."""
        count = 12 * len(self.robot.joints)
        rates = np.zeros((count, len(self.parameters)))
        turns: dict[int, Array] = {}
        for k, item in self._of_kind("frame"):
            if item.target[1] >= 3:
                turns.setdefault(item.target[0], np.zeros(3))[item.target[1] - 3] += values[k]
        for k, item in self._of_kind("frame"):
            frame, axis = item.target
            if axis < 3:
                rates[6 * frame + axis, k] = 1.0
            else:
                rates[6 * frame + 3 : 6 * frame + 6, k] = left_jacobian(turns[frame])[:, axis - 3]
        if self._numbers:
            self._fill_numbers(values, turns, rates)
        if self._of_kind("coupling"):
            rates = np.concatenate([rates, np.zeros((len(coupling_terms(self.robot)), len(self.parameters)))])
            for k, item in self._of_kind("coupling"):
                rates[count + item.target[0], k] = self._coupling_sign(item)
        if not self.varies:
            return rates
        result = np.tile(rates, (len(self.pulls), 1, 1))
        for k, item in self._of_kind("stretch"):
            frame = length_bodies(self.robot)[item.target[0]][1]
            direction = body_direction(self.robot, item.target[0])
            result[:, 6 * frame : 6 * frame + 3, k] = self.pulls[:, [item.target[0]]] * direction
        return result

    def _coupling_sign(self, item: Parameter) -> float:
        """Sign of a number of a coupling in sum f q = o: ratios have the other one."""
        return -1.0 if coupling_terms(self.robot)[item.target[0]].number else 1.0

    def _fill_numbers(self, values: Array, turns: dict[int, Array], rates: Array) -> None:
        """Displacements of frames by free numbers: dp, and (dR R^T) as a vector, turned with the frame."""
        robot = self._with_numbers(values)
        entries, names = robot.numbers.jacobian("geometry"), robot.numbers.record.entries
        first = names.index(robot.parameter_names("geometry")[0])
        for frame, at in self._offsets.items():
            R, _ = frame_in_body(robot, frame)
            tilt_vector = rotation_vector(turns[frame]) if frame in turns else np.eye(3)
            for k, index in self._numbers:
                column = entries[first + at : first + at + 12, index]
                spin = column[:9].reshape(3, 3) @ R.T
                rates[6 * frame : 6 * frame + 3, k] = column[9:]
                rates[6 * frame + 3 : 6 * frame + 6, k] = tilt_vector @ np.array(
                    [spin[2, 1], spin[0, 2], spin[1, 0]]
                )

    def coordinates(self, readings: Array, values: Array) -> tuple[Array, Array]:
        """Coordinates (S, encoders) that readings (S, encoders) mean, and their rates (S, encoders, P)."""
        q, rates = readings.copy(), np.zeros((*readings.shape, len(self.parameters)))
        forces = self._forces(readings.shape)
        for k, encoder in enumerate(self.encoders[: forces.shape[1]]):
            stiffness = self.robot.joints[encoder.axis[0]].drive_stiffness
            if stiffness and k < len(self.robot.actuators):
                q[:, k] -= forces[:, k] / stiffness
        for p, item in self._of_kind("zero", "gear", "compliance"):
            k = item.target[0]
            if k >= readings.shape[1]:
                continue
            unit = {"zero": np.ones(len(q)), "gear": readings[:, k], "compliance": -forces[:, k]}[item.kind]
            rates[:, k, p] = np.nan_to_num(unit)
            q[:, k] += unit * values[p]
        return q, rates

    def _forces(self, shape: tuple[int, ...]) -> Array:
        forces = np.zeros(shape)
        forces[:, : self.forces.shape[1]] = self.forces
        return forces

    def machine(self, values: Array) -> Robot:
        """The robot with these deviations: frames, zeros of encoders, gear ratios, stiffness of drives.

        What follows the load (stretch) stays as in the description. Rods that spin idly spin about the line
        through their joints, wherever these are: they stay axisymmetric about it.
        """
        still = dataclasses.replace(
            self,
            parameters=tuple(
                dataclasses.replace(item, kind="device") if item.kind == "stretch" else item
                for item in self.parameters
            ),
        )
        numbers = still.vector(values)[: len(self._nominal)]
        robot = self._with_numbers(values).with_parameters(numbers, "geometry")
        joints, actuators = list(robot.joints), list(robot.actuators)
        for p, item in self._of_kind("zero", "gear", "compliance"):
            k, value = item.target[0], float(values[p])
            if k >= len(actuators):
                continue
            actuator, index = actuators[k], actuators[k].joint
            joint = joints[index]
            if item.kind == "zero":
                actuators[k] = dataclasses.replace(actuator, encoder_zero=actuator.encoder_zero + value)
            elif item.kind == "gear":
                joints[index] = dataclasses.replace(joint, gear_ratio=joint.gear_ratio / (1.0 + value))
            else:
                flexible = value + (1.0 / joint.drive_stiffness if joint.drive_stiffness else 0.0)
                if flexible > 0.0:
                    joints[index] = dataclasses.replace(joint, drive_stiffness=1.0 / flexible)
        for p, item in self._of_kind("coupling"):
            j, number = coupling_terms(self.robot)[item.target[0]]
            if number:
                terms = [*joints[j].terms]
                terms[number] = terms[number][0], terms[number][1] - float(values[p])
                joints[j] = dataclasses.replace(joints[j], terms=tuple(terms))
            else:
                joints[j] = dataclasses.replace(joints[j], offset=joints[j].offset + float(values[p]))
        return _with_axisymmetric_bodies(
            self.robot, dataclasses.replace(robot, joints=tuple(joints), actuators=tuple(actuators))
        )


def _with_axisymmetric_bodies(nominal: Robot, machine: Robot) -> Robot:
    """The machine with axisymmetric inertias where a body spins idly, as in the description."""
    if not mechanism_of(nominal).mobility.internal_freedoms:
        return machine
    try:
        spins = mechanism_of(machine).mobility.internal_freedoms
    except (AssemblyError, KinematicsError):
        return machine
    uneven = [spin for spin in spins if asymmetry(machine, spin) > EXACT_ASYMMETRY]
    return with_axisymmetric(machine, uneven) if uneven else machine
