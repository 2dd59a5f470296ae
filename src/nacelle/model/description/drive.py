"""What a joint may have in addition to its geometry, as written: friction, springs, limits, an actuator.

The units depend on the kind of joint, so quantities are kept as written; they are read below.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, ValidationInfo

from nacelle.model.description.fields import (
    Name,
    Raw,
    RawList,
    Strict,
    quaternion_tolerance,
    raise_all,
    units_of,
)
from nacelle.model.joint import (
    MOTION,
    UNBOUNDED,
    FrictionTerm,
    Interval,
    Joint,
    JointKind,
    Primitive,
    Spring,
    Stop,
    neutral_coordinates,
)
from nacelle.model.leg import BASE
from nacelle.model.source.node import Entry, KeyPath, Report
from nacelle.model.units import NUMBER, QUANTITIES, UnitError, axis_quantity, parse_quantity, tracked_number


class FrictionSpec(Strict):
    """Friction along one axis: a sum of basis functions of the rate ([AGH2005] (24)).

    viscous c v; coulomb c sign(v); coulomb_smooth c tanh(v / scale); stribeck c exp(-(v / scale)^2)
    sign(v); quadratic c v |v|; cubic c v^3; constant c.
    """

    viscous: Raw = None
    coulomb: Raw = None
    coulomb_smooth: Raw = None
    stribeck: Raw = None
    quadratic: Raw = None
    cubic: Raw = None
    constant: Raw = None
    scale: Raw = None


class SpringSpec(Strict):
    """A linear spring along one axis."""

    stiffness: Raw
    rest: Raw = 0.0


class StopSpec(Strict):
    """A compliant end stop at the limits of one axis."""

    stiffness: Raw
    damping: Raw = None


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) or value is None else [value]


Frictions = Annotated[
    list[FrictionSpec] | None,
    BeforeValidator(_as_list, json_schema_input_type=FrictionSpec | list[FrictionSpec] | None),
]
Springs = Annotated[
    list[SpringSpec | None] | None,
    BeforeValidator(_as_list, json_schema_input_type=SpringSpec | list[SpringSpec | None] | None),
]
Stops = Annotated[
    list[StopSpec | None] | None,
    BeforeValidator(_as_list, json_schema_input_type=StopSpec | list[StopSpec | None] | None),
]


class ActuatorLimitsSpec(Strict):
    """Limits of an actuator, on the joint's side of the gear."""

    position: RawList = None
    speed: Raw = None
    force: Raw = None


class EncoderSpec(Strict):
    """How the encoder reads: joint = sign * reading + zero."""

    zero: Raw = 0.0
    sign: Literal[1, -1] = 1


class ActuatorSpec(Strict):
    """The drive of an active joint."""

    name: Name | None = None
    gear_ratio: Raw = 1.0
    rotor_inertia: Raw = None
    stiffness: Raw = None
    damping: Raw = None
    torque_constant: Raw = None
    encoder: EncoderSpec = EncoderSpec()
    limits: ActuatorLimitsSpec = ActuatorLimitsSpec()


class DriveSpec(Strict):
    """What any joint may have in addition to its geometry."""

    active: bool = False
    actuator: ActuatorSpec | None = None
    rotor_inertia: Raw = None
    friction: Frictions = None
    spring: Springs = None
    limits: RawList = None
    stop: Stops = None
    guess: RawList = None

    def of_axis(self, k: int) -> DriveSpec:
        """What a passive joint of several axes has along its axis k, as of a joint with this axis alone."""

        def entry(entries: list[Any] | None) -> Any:
            return None if entries is None else entries[k]

        # One friction for all axes is written once.
        alike = self.friction is not None and len(self.friction) == 1
        return DriveSpec(
            friction=self.friction if alike else entry(self.friction),
            spring=entry(self.spring),
            limits=entry(self.limits),
            stop=entry(self.stop),
            guess=entry(self.guess),
        )


# ---- what a joint has in addition to its geometry, read for its kind: friction, springs, limits


# Kinds of quantity of the coefficients of friction along a translation.
_FRICTION = {
    "viscous": "damping",
    "coulomb": "force",
    "coulomb_smooth": "force",
    "stribeck": "force",
    "quadratic": "quadratic drag",
    "cubic": "cubic drag",
    "constant": "force",
}
_FRACTION = re.compile(rf"\s*({NUMBER})\s*[:/]\s*({NUMBER})\s*")
_SINGLE_AXIS_KINDS = (JointKind.REVOLUTE, JointKind.PRISMATIC)
_NEEDS_SCALE = ("coulomb_smooth", "stribeck")


class Drive(NamedTuple):
    """What a joint has in addition to its geometry, in SI units.

    Attributes:
        joint: a joint of its kind that has all but a name, bodies and frames.
        actuator: numbers of its `Actuator` by name, if it is driven.
    """

    joint: Joint
    actuator: dict[str, Any]


def check_drive(
    spec: DriveSpec, kind: JointKind, info: ValidationInfo, *keys: str, word: str | None = None
) -> None:
    """Inside a validator: read all quantities of a joint and raise what is wrong, all at once.

    Args:
        spec: what the joint has in addition to its geometry.
        kind: in whose coordinates that is written.
        info: of the validator.
        keys: where the joint is.
        word: what faults call the joint; its kind if None.
    """
    faults: list[tuple[KeyPath, str, str]] = []

    def report(path: KeyPath, message: str, hint: str) -> None:
        renamed = message if word is None else message.replace(f"{kind} joint", f"{word} joint")
        faults.append((path, renamed, hint))

    DriveReader(units_of(info), report).drive(spec, kind, keys)
    raise_all(faults)


class DriveReader:
    """Reads the quantities of joints; faults go to `report`."""

    def __init__(self, units: dict[str, str] | None, report: Report) -> None:
        """Keep the units of bare numbers and where to report."""
        self.units = units
        self.report = report

    def quantity(self, value: Any, kind: str, path: KeyPath, default: float = 0.0) -> float:
        """Read one quantity; a faulty one is reported and the default taken."""
        try:
            return parse_quantity(value, QUANTITIES[kind], self.units)
        except UnitError as error:
            self.report(path, str(error), error.hint)
            return default

    def along(self, axis: Primitive, linear: str, value: Any, path: KeyPath, default: float = 0.0) -> float:
        """Read a quantity of an axis, of the kind `linear` along a translation: "force", else "torque"."""
        return self.quantity(value, axis_quantity(linear, angular=axis.is_rotation), path, default)

    def positive(
        self, axis: Primitive, linear: str, value: Any, path: KeyPath, key: str, default: float = 0.0
    ) -> float:
        """Read a quantity of an axis, at a key, that is above zero; the default if it is not given."""
        if value is None:
            return default
        number = self.along(axis, linear, value, (*path, key), 1.0)
        if not number > 0.0:
            self.report((*path, key), f"must be positive, is {number:g}", "")
        return number

    def drive(self, spec: DriveSpec, kind: JointKind, path: KeyPath) -> Drive:
        """Read everything that a joint has in addition to its geometry."""
        single = kind in _SINGLE_AXIS_KINDS
        if (spec.active or spec.actuator is not None) and not single:
            self.report(
                (*path, "active" if spec.active else "actuator"),
                f"a {kind} joint cannot be active",
                "drive a revolute or prismatic joint: split it, with a massless body between",
            )
        elif spec.rotor_inertia is not None and not single and kind is not JointKind.SPHERICAL:
            self.report(
                (*path, "rotor_inertia"), f"a {kind} joint has no rotor", "split it into single joints"
            )
        joint = Joint(
            name="",
            kind=kind,
            predecessor=BASE,
            successor=BASE,
            friction=self.friction(spec, kind, (*path, "friction")),
            springs=self.springs(spec, kind, (*path, "spring")),
            limits=self.limits(spec.limits, kind, (*path, "limits")),
            guess=self.guess(spec.guess, kind, (*path, "guess")),
        )
        # Limits of the actuator are those of the joint, where this has none of its own.
        ends, numbers = joint.limits, {"position": joint.limits[0]} if single else {}
        joint_numbers: dict[str, Any] = {}
        if single and spec.actuator is not None:
            joint_numbers, numbers = self.actuator(spec, spec.actuator, joint, path)
            ends = ends if spec.limits is not None else (numbers["position"],)
        elif single or kind is JointKind.SPHERICAL:
            rotates = kind is not JointKind.PRISMATIC
            joint_numbers["rotor_inertia"] = self.rotor_inertia(
                spec.rotor_inertia, rotates, (*path, "rotor_inertia")
            )
        stops = self.stops(spec, kind, ends, (*path, "stop"))
        if single and joint.limits == (UNBOUNDED,):
            joint_numbers["limits"] = (numbers["position"],)
        return Drive(replace(joint, stops=stops, **joint_numbers), numbers)

    def friction(
        self, spec: DriveSpec, kind: JointKind, path: KeyPath
    ) -> tuple[tuple[FrictionTerm, ...], ...]:
        """Friction terms of each axis."""
        axes, entries = MOTION[kind], spec.friction
        if entries is None:
            return ((),) * len(axes)
        if not axes:
            self.report(path, f"a {kind} joint does not move: no friction", "remove it")
            return ()
        alike = len({axis.is_rotation for axis in axes}) == 1 and Primitive.SPHERICAL not in axes[1:]
        if len(entries) == 1 and alike:
            return tuple(self.friction_terms(entries[0], axis, path) for axis in axes)
        if len(entries) != len(axes):
            self.report(
                path,
                f"{len(entries)} entries for the {len(axes)} axes of a {kind} joint",
                "a list in the order " + ", ".join(_AXIS_LABELS[axis] for axis in axes),
            )
            return ((),) * len(axes)
        return tuple(
            self.friction_terms(entry, axis, (*path, k))
            for k, (axis, entry) in enumerate(zip(axes, entries, strict=True))
        )

    def friction_terms(self, spec: FrictionSpec, axis: Primitive, path: KeyPath) -> tuple[FrictionTerm, ...]:
        """Friction terms of one axis."""
        scale = 0.0 if spec.scale is None else self.along(axis, "speed", spec.scale, (*path, "scale"))
        terms = []
        for basis, linear in _FRICTION.items():
            value, at = getattr(spec, basis), (*path, basis)
            if value is None:
                continue
            number = self.along(axis, linear, value, at)
            if number < 0.0 and basis not in ("constant", "stribeck"):
                self.report(at, f"friction must not push: {number:g} is negative", "")
            if basis in _NEEDS_SCALE and not scale > 0.0:
                rate = QUANTITIES[axis_quantity("speed", angular=axis.is_rotation)]
                self.report(at, f"{basis} needs a rate at which it bends", f"write scale: {rate.example}")
            own_scale = scale if basis in _NEEDS_SCALE else 0.0
            terms.append(FrictionTerm(basis.replace("_", "-"), number, own_scale))
        return tuple(terms)

    def springs(self, spec: DriveSpec, kind: JointKind, path: KeyPath) -> tuple[Spring | None, ...]:
        """Springs of each axis."""
        axes, entries = MOTION[kind], spec.spring
        if entries is not None and (len(entries) != len(axes) or Primitive.SPHERICAL in axes):
            self.report(
                path,
                f"{len(entries)} springs for the {len(axes)} axes of a {kind} joint",
                "one for each prismatic or revolute axis, none in a spherical joint",
            )
            entries = None
        if entries is None:
            return (None,) * len(axes)
        return tuple(
            None if entry is None else self.spring(entry, axis, at)
            for axis, entry, at in zip(axes, entries, _entry_paths(path, len(axes)), strict=True)
        )

    def spring(self, spec: SpringSpec, axis: Primitive, path: KeyPath) -> Spring:
        """A spring along an axis."""
        stiffness = self.along(axis, "stiffness", spec.stiffness, (*path, "stiffness"))
        if stiffness < 0.0:
            self.report((*path, "stiffness"), f"the stiffness is negative: {stiffness:g}", "")
        return Spring(stiffness, self.along(axis, "length", spec.rest, (*path, "rest")))

    def stops(
        self, spec: DriveSpec, kind: JointKind, limits: tuple[Interval, ...], path: KeyPath
    ) -> tuple[Stop | None, ...]:
        """End stops of each axis, at its limits."""
        axes, entries = MOTION[kind], spec.stop
        if entries is None:
            return ()
        if len(entries) != len(axes):
            self.report(
                path,
                f"{len(entries)} end stops for the {len(axes)} axes of a {kind} joint",
                "one for each axis, null for an axis without an end stop",
            )
            return ()
        return tuple(
            None if entry is None else self.stop(entry, axis, pair, at)
            for axis, entry, pair, at in zip(
                axes, entries, limits, _entry_paths(path, len(axes)), strict=True
            )
        )

    def stop(self, spec: StopSpec, axis: Primitive, limits: Interval, path: KeyPath) -> Stop | None:
        """An end stop of an axis, at its limits."""
        if axis is Primitive.SPHERICAL:
            self.report(path, "a spherical joint has no end stop", "split it into revolute joints")
            return None
        if not any(math.isfinite(end) for end in limits):
            self.report(path, "an end stop without limits", "limits say where it is: limits: [lower, upper]")
        stiffness = self.along(axis, "stiffness", spec.stiffness, (*path, "stiffness"), 1.0)
        if not stiffness > 0.0:
            message = f"the stiffness of an end stop is above zero, not {stiffness:g}"
            self.report((*path, "stiffness"), message, "")
            return None
        damping = 0.0
        if spec.damping is not None:
            damping = self.along(axis, "damping", spec.damping, (*path, "damping"))
        if damping < 0.0:
            self.report((*path, "damping"), f"the damping is negative: {damping:g}", "")
        return Stop(stiffness, damping)

    def limits(self, value: Any, kind: JointKind, path: KeyPath) -> tuple[Interval, ...]:
        """Limits of each axis; of a spherical joint the tilt between the z axes of its frames."""
        axes = MOTION[kind]
        free = (UNBOUNDED,) * len(axes)
        if value is None:
            return free
        pairs = [value] if len(axes) == 1 else value
        if not isinstance(pairs, list | tuple) or len(pairs) != len(axes):
            self.report(path, f"limits of a {kind} joint: {len(axes)} pairs", _limits_example(axes))
            return free
        result = []
        for axis, pair in zip(axes, pairs, strict=True):
            if pair is None:
                result.append(UNBOUNDED)
                continue
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                self.report(path, "a limit is a pair: lower and upper", _limits_example(axes))
                return free
            low, high = (
                default if end is None else self.along(axis, "length", end, path, default)
                for end, default in zip(pair, UNBOUNDED, strict=True)
            )
            if not low < high:
                scale, unit = (180.0 / math.pi, "deg") if axis.is_rotation else (1.0, "m")
                ends = [f"{end * scale:.6g} {unit}" for end in (low, high)]
                self.report(path, f"the lower limit {ends[0]} is not below the upper {ends[1]}", "")
            result.append(Interval(low, high))
        return tuple(result)

    def guess(self, value: Any, kind: JointKind, path: KeyPath) -> tuple[float, ...]:
        """Reference coordinates of a joint."""
        if value is None:
            return neutral_coordinates(kind)
        axes = MOTION[kind]
        expected = sum(axis.nq for axis in axes)
        values = list(value) if isinstance(value, list | tuple) else [value]
        if len(values) != expected:
            labels = ", ".join(_AXIS_LABELS[axis] for axis in axes) or "none"
            self.report(path, f"{len(values)} numbers for a {kind} joint, expected {expected}", labels)
            return neutral_coordinates(kind)
        result: list[float] = []
        for axis in axes:
            if axis is Primitive.SPHERICAL:
                quat = [self.quantity(v, "number", path) for v in values[len(result) : len(result) + 4]]
                size = math.sqrt(sum(q * q for q in quat))
                if abs(size - 1.0) > quaternion_tolerance(quat):
                    self.report(path, f"the quaternion has length {size:.6g}, not 1", "x y z w")
                    quat, size = [0.0, 0.0, 0.0, 1.0], 1.0
                result += quat if abs(size - 1.0) < 1e-15 else [q / size for q in quat]
            else:
                result.append(self.along(axis, "length", values[len(result)], path))
        return tuple(result)

    def actuator(
        self, spec: DriveSpec, actuator: ActuatorSpec, joint: Joint, path: KeyPath
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read an actuator: what is a number of its joint, and what is one of its own."""
        if spec.rotor_inertia is not None and actuator.rotor_inertia is not None:
            self.report((*path, "rotor_inertia"), "rotor_inertia is given twice", "give it once")
        rotor = Entry(spec.rotor_inertia, (*path, "rotor_inertia"))
        path = (*path, "actuator")
        if actuator.rotor_inertia is not None:
            rotor = Entry(actuator.rotor_inertia, (*path, "rotor_inertia"))
        (axis,), limits = joint.primitives, actuator.limits
        ratio, screw = self.gear_ratio(actuator, joint.kind, path)
        # The motor of a screw rotates, what it drives does not.
        motor = Primitive.RZ if screw else axis
        own_numbers = {
            "gear_ratio": ratio,
            "rotor_inertia": self.rotor_inertia(rotor.value, motor.is_rotation, rotor.path),
            "drive_stiffness": self.positive(axis, "stiffness", actuator.stiffness, path, "stiffness"),
            "drive_damping": self.positive(axis, "damping", actuator.damping, path, "damping"),
        }
        constant, limits_path = actuator.torque_constant, (*path, "limits")
        numbers: dict[str, Any] = {
            "encoder_zero": self.along(axis, "length", actuator.encoder.zero, (*path, "encoder", "zero")),
            "encoder_sign": actuator.encoder.sign,
            "position": self.limits(limits.position, joint.kind, (*limits_path, "position"))[0],
            "speed": self.positive(axis, "speed", limits.speed, limits_path, "speed", math.inf),
            "force": self.positive(axis, "force", limits.force, limits_path, "force", math.inf),
            "torque_constant": self.positive(motor, "force constant", constant, path, "torque_constant"),
        }
        if limits.position is None:
            numbers["position"] = joint.limits[0]
        if actuator.damping is not None and actuator.stiffness is None:
            self.report((*path, "damping"), "damping of a drive that is rigid", "give its stiffness, too")
        return own_numbers, numbers

    def ratio(self, value: Any, kind: str, path: KeyPath) -> float:
        """Read a ratio of two joints: a number, "1:50" or "3/4", or with its unit where that has one."""
        fraction = _parse_fraction(value) if kind == "number" else None
        if fraction is not None:
            return fraction
        return self.quantity(value, kind, path, 1.0)

    def gear_ratio(self, spec: ActuatorSpec, kind: JointKind, path: KeyPath) -> tuple[float, bool]:
        """Motor rate per joint rate, and whether a rotating motor drives a prismatic joint."""
        value = spec.gear_ratio
        fraction = _parse_fraction(value)
        if fraction is not None:
            value = tracked_number(value, fraction, "number")
        screw = kind is JointKind.PRISMATIC and isinstance(value, str) and "/" in value
        if screw and re.search(r"m\s*/\s*(rev|rad|deg)\s*$", str(value)):
            lead = self.quantity(value, "lead", (*path, "gear_ratio"), 1.0)
            return 1.0 / (lead or 1.0), True
        quantity = "gear ratio per length" if screw else "number"
        ratio = self.quantity(value, quantity, (*path, "gear_ratio"), 1.0)
        if ratio == 0.0:
            self.report((*path, "gear_ratio"), "the gear ratio is zero", "1 for a direct drive")
        return ratio or 1.0, screw

    def rotor_inertia(self, value: Any, rotates: bool, path: KeyPath) -> float:
        """Inertia of the drive on the motor's side: kg m^2 if the motor rotates, else kg."""
        if value is None:
            return 0.0
        number = self.quantity(value, axis_quantity("mass", angular=rotates), path)
        if number < 0.0:
            self.report(path, f"the rotor inertia is negative: {number:g}", "")
        return number


_AXIS_LABELS: dict[Primitive, str] = {
    Primitive.RX: "rotation about x",
    Primitive.RY: "rotation about y",
    Primitive.RZ: "rotation about z",
    Primitive.TX: "translation along x",
    Primitive.TY: "translation along y",
    Primitive.TZ: "translation along z",
    Primitive.SPHERICAL: "spherical",
}


def _limits_example(axes: tuple[Primitive, ...]) -> str:
    """How limits of a joint are written."""
    pairs = ["[-30 deg, 30 deg]" if axis.is_rotation else "[100 mm, 400 mm]" for axis in axes]
    return "write " + (pairs[0] if len(pairs) == 1 else f"[{', '.join(pairs)}]")


def _parse_fraction(value: Any) -> float | None:
    """A ratio that is written as "1:50" or "3/4"; None if it is not."""
    match = _FRACTION.fullmatch(value) if isinstance(value, str) else None
    return None if match is None or float(match[2]) == 0.0 else float(match[1]) / float(match[2])


def _entry_paths(path: KeyPath, count: int) -> list[KeyPath]:
    """Where the entries of `count` axes are: in a list if there are several."""
    return [(*path, k) for k in range(count)] if count > 1 else [path]
