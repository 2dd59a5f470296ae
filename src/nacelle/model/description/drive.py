"""What a joint may have beside its geometry, as written: friction, springs, limits, an actuator.

The units depend on the kind of joint, so quantities are kept as written; they are read below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ValidationInfo

from nacelle.model.description.fields import Name, Raw, RawList, Strict, raise_all, units_of
from nacelle.model.joint import (
    MOTION,
    UNBOUNDED,
    FrictionTerm,
    Interval,
    JointKind,
    Primitive,
    Spring,
    Stop,
    neutral,
)
from nacelle.model.source.node import Entry, KeyPath, Report
from nacelle.model.units import NUMBER, QUANTITIES, UnitError, axis_quantity, given, parse_quantity


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


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) or value is None else [value]


Frictions = Annotated[
    list[FrictionSpec] | None,
    BeforeValidator(_listed, json_schema_input_type=FrictionSpec | list[FrictionSpec] | None),
]
Springs = Annotated[
    list[SpringSpec | None] | None,
    BeforeValidator(_listed, json_schema_input_type=SpringSpec | list[SpringSpec | None] | None),
]


Stops = Annotated[
    list[StopSpec | None] | None,
    BeforeValidator(_listed, json_schema_input_type=StopSpec | list[StopSpec | None] | None),
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
    """What any joint may have beside its geometry."""

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

        def entry(listed: list[Any] | None) -> Any:
            return None if listed is None else listed[k]

        # One friction for all axes is written once.
        alike = self.friction is not None and len(self.friction) == 1
        return DriveSpec(
            friction=self.friction if alike else entry(self.friction),
            spring=entry(self.spring),
            limits=entry(self.limits),
            stop=entry(self.stop),
            guess=entry(self.guess),
        )


# ---- what a joint has beside its geometry, read for its kind: friction, springs, limits


_T = TypeVar("_T")

# Kinds of quantity of the coefficients of friction: of a translation, of a rotation.
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
_HAVE_ROTORS = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.SPHERICAL)
_NEEDS_SCALE = ("coulomb_smooth", "stribeck")


@dataclass(frozen=True)
class Drive:
    """What a joint has beside its geometry, in SI units; see `Joint` and, for its numbers, `Actuator`."""

    friction: tuple[tuple[FrictionTerm, ...], ...]
    springs: tuple[Spring | None, ...]
    limits: tuple[Interval, ...]
    guess: tuple[float, ...]
    stops: tuple[Stop | None, ...] = ()
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    position: Interval = UNBOUNDED
    stiffness: float = 0.0
    damping: float = 0.0
    actuator: Mapping[str, float] = field(default_factory=dict)


def spherical_first(drive: Drive) -> Drive:
    """Bring a C5 joint from the order in which it is written (u, v, rotation) to rotation, u, v."""
    return replace(
        drive,
        friction=_spherical_first(drive.friction),
        springs=_spherical_first(drive.springs),
        limits=_spherical_first(drive.limits),
        stops=_spherical_first(drive.stops) if drive.stops else (),
        guess=(*drive.guess[2:], *drive.guess[:2]),
    )


def _spherical_first(axes: tuple[_T, ...]) -> tuple[_T, ...]:
    return (axes[2], axes[0], axes[1])


def check_drive(
    spec: DriveSpec, kind: JointKind, info: ValidationInfo, *place: str, word: str | None = None
) -> None:
    """Inside a validator: read all quantities of a joint and raise what is wrong, all at once.

    Args:
        spec: what the joint has beside its geometry.
        kind: in whose coordinates that is written.
        info: of the validator.
        place: where the joint is.
        word: what faults call the joint; its kind if None.
    """
    faults: list[tuple[KeyPath, str, str]] = []

    def report(path: KeyPath, message: str, hint: str) -> None:
        named = message if word is None else message.replace(f"{kind} joint", f"{word} joint")
        faults.append((path, named, hint))

    DriveReader(units_of(info), report).drive(spec, kind, place)
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

    def friction(
        self, spec: DriveSpec, kind: JointKind, path: KeyPath
    ) -> tuple[tuple[FrictionTerm, ...], ...]:
        """Friction terms of each axis."""
        axes = MOTION[kind]
        if spec.friction is None:
            return ((),) * len(axes)
        given = spec.friction
        if not axes:
            self.report((*path, "friction"), f"a {kind} joint does not move: no friction", "remove it")
            return ()
        if (
            len(given) == 1
            and len({axis.is_rotation for axis in axes}) == 1
            and Primitive.SPHERICAL not in axes[1:]
        ):
            given = given * len(axes)
        if len(given) != len(axes):
            self.report(
                (*path, "friction"),
                f"{len(given)} entries for the {len(axes)} axes of a {kind} joint",
                "a list in the order " + ", ".join(_AXIS_WORDS[axis] for axis in axes),
            )
            return ((),) * len(axes)
        result = []
        for k, (axis, entry) in enumerate(zip(axes, given, strict=True)):
            place = (*path, "friction", k) if len(spec.friction) > 1 else (*path, "friction")
            rate = axis_quantity("speed", angular=axis.is_rotation)
            scale = 0.0
            if entry.scale is not None:
                scale = self.quantity(entry.scale, rate, (*place, "scale"))
            terms = []
            for basis, linear in _FRICTION.items():
                value = getattr(entry, basis)
                if value is None:
                    continue
                kind_of_term = axis_quantity(linear, angular=axis.is_rotation)
                number = self.quantity(value, kind_of_term, (*place, basis))
                if number < 0.0 and basis not in ("constant", "stribeck"):
                    self.report((*place, basis), f"friction must not push: {number:g} is negative", "")
                if basis in _NEEDS_SCALE and not scale > 0.0:
                    self.report(
                        (*place, basis),
                        f"{basis} needs a rate at which it bends",
                        f"write scale: {QUANTITIES[rate].example}",
                    )
                uses_scale = scale if basis in _NEEDS_SCALE else 0.0
                terms.append(FrictionTerm(basis.replace("_", "-"), number, uses_scale))
            result.append(tuple(terms))
        return tuple(result)

    def springs(self, spec: DriveSpec, kind: JointKind, path: KeyPath) -> tuple[Spring | None, ...]:
        """Springs of each axis."""
        axes = MOTION[kind]
        if spec.spring is None:
            return (None,) * len(axes)
        if len(spec.spring) != len(axes) or Primitive.SPHERICAL in axes:
            self.report(
                (*path, "spring"),
                f"{len(spec.spring)} springs for the {len(axes)} axes of a {kind} joint",
                "one for each prismatic or revolute axis, none in a spherical joint",
            )
            return (None,) * len(axes)
        result: list[Spring | None] = []
        for k, (axis, entry) in enumerate(zip(axes, spec.spring, strict=True)):
            place = (*path, "spring", k) if len(axes) > 1 else (*path, "spring")
            if entry is None:
                result.append(None)
                continue
            kind_of_stiffness = axis_quantity("stiffness", angular=axis.is_rotation)
            stiffness = self.quantity(entry.stiffness, kind_of_stiffness, (*place, "stiffness"))
            if stiffness < 0.0:
                self.report((*place, "stiffness"), f"the stiffness is negative: {stiffness:g}", "")
            rest = self.quantity(entry.rest, position_kind(axis), (*place, "rest"))
            result.append(Spring(stiffness, rest))
        return tuple(result)

    def stops(
        self, spec: DriveSpec, kind: JointKind, limits: tuple[Interval, ...], path: KeyPath
    ) -> tuple[Stop | None, ...]:
        """End stops of each axis, at its limits."""
        if spec.stop is None:
            return ()
        axes = MOTION[kind]
        if len(spec.stop) != len(axes):
            self.report(
                (*path, "stop"),
                f"{len(spec.stop)} end stops for the {len(axes)} axes of a {kind} joint",
                "one for each axis, null where there is none",
            )
            return ()
        result: list[Stop | None] = []
        for k, (axis, entry, pair) in enumerate(zip(axes, spec.stop, limits, strict=True)):
            place = (*path, "stop", k) if len(axes) > 1 else (*path, "stop")
            result.append(None if entry is None else self.stop(entry, axis, pair, place))
        return tuple(result)

    def stop(self, spec: StopSpec, axis: Primitive, limits: Interval, path: KeyPath) -> Stop | None:
        """An end stop of an axis, at its limits."""
        if axis is Primitive.SPHERICAL:
            self.report(path, "a spherical joint has no end stop", "split it into revolute joints")
            return None
        if not any(math.isfinite(end) for end in limits):
            self.report(path, "an end stop without limits", "limits say where it is: limits: [lower, upper]")
        of_stiffness, of_damping = (
            axis_quantity(linear, angular=axis.is_rotation) for linear in ("stiffness", "damping")
        )
        stiffness = self.quantity(spec.stiffness, of_stiffness, (*path, "stiffness"), 1.0)
        if not stiffness > 0.0:
            self.report(
                (*path, "stiffness"), f"the stiffness of an end stop is above zero, not {stiffness:g}", ""
            )
            return None
        damping = 0.0
        if spec.damping is not None:
            damping = self.quantity(spec.damping, of_damping, (*path, "damping"))
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
                default if end is None else self.quantity(end, position_kind(axis), path, default)
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
            return neutral(kind)
        axes = MOTION[kind]
        expected = sum(axis.nq for axis in axes)
        values = list(value) if isinstance(value, list | tuple) else [value]
        if len(values) != expected:
            words = ", ".join(_AXIS_WORDS[axis] for axis in axes) or "none"
            self.report(path, f"{len(values)} numbers for a {kind} joint, expected {expected}", words)
            return neutral(kind)
        result: list[float] = []
        for axis in axes:
            if axis is Primitive.SPHERICAL:
                quat = [self.quantity(v, "number", path) for v in values[len(result) : len(result) + 4]]
                size = math.sqrt(sum(q * q for q in quat))
                if abs(size - 1.0) > 1e-6:
                    self.report(path, f"the quaternion has length {size:.6g}, not 1", "x y z w")
                    quat, size = [0.0, 0.0, 0.0, 1.0], 1.0
                result += quat if abs(size - 1.0) < 1e-15 else [q / size for q in quat]
            else:
                result.append(self.quantity(values[len(result)], position_kind(axis), path))
        return tuple(result)

    def drive(self, spec: DriveSpec, kind: JointKind, path: KeyPath) -> Drive:
        """Read everything that a joint has beside its geometry."""
        driven = spec.active or spec.actuator is not None
        if driven and kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            self.report(
                (*path, "active" if spec.active else "actuator"),
                f"a {kind} joint cannot be active",
                "drive a revolute or prismatic joint: split it, with a massless body between",
            )
        elif spec.rotor_inertia is not None and kind not in _HAVE_ROTORS:
            self.report(
                (*path, "rotor_inertia"), f"a {kind} joint has no rotor", "split it into single joints"
            )
        friction = self.friction(spec, kind, path)
        springs = self.springs(spec, kind, path)
        limits = self.limits(spec.limits, kind, (*path, "limits"))
        guess = self.guess(spec.guess, kind, (*path, "guess"))
        if kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            rotor = 0.0
            if kind is JointKind.SPHERICAL:
                rotor = self.rotor_inertia(spec.rotor_inertia, True, (*path, "rotor_inertia"))
            return Drive(friction, springs, limits, guess, self.stops(spec, kind, limits, path), rotor)
        if spec.actuator is None:
            revolute = kind is JointKind.REVOLUTE
            rotor = self.rotor_inertia(spec.rotor_inertia, revolute, (*path, "rotor_inertia"))
            stops = self.stops(spec, kind, limits, path)
            return Drive(friction, springs, limits, guess, stops, rotor, position=limits[0])
        if spec.rotor_inertia is not None and spec.actuator.rotor_inertia is not None:
            self.report((*path, "rotor_inertia"), "rotor_inertia is given twice", "give it once")
        if spec.actuator.rotor_inertia is not None:
            rotor_entry = Entry(spec.actuator.rotor_inertia, (*path, "actuator", "rotor_inertia"))
        else:
            rotor_entry = Entry(spec.rotor_inertia, (*path, "rotor_inertia"))
        numbers = self.actuator(spec.actuator, kind, rotor_entry, (*path, "actuator"))
        if spec.actuator.limits.position is None:
            numbers["position"] = limits[0]
        # Limits of the actuator are those of the joint, where this has none of its own.
        ends = limits if spec.limits is not None else (numbers["position"],)
        stops = self.stops(spec, kind, ends, path)
        own = ("gear_ratio", "rotor_inertia", "position", "stiffness", "damping")
        joint = {key: numbers.pop(key) for key in own if key in numbers}
        return Drive(friction, springs, limits, guess, stops, **joint, actuator=numbers)

    def actuator(self, spec: ActuatorSpec, kind: JointKind, rotor: Entry, path: KeyPath) -> dict[str, Any]:
        """Read the numbers of an actuator."""
        revolute = kind is JointKind.REVOLUTE
        ratio, screw = self.gear_ratio(spec, kind, path)
        numbers: dict[str, Any] = {
            "gear_ratio": ratio,
            "rotor_inertia": self.rotor_inertia(rotor.value, revolute or screw, rotor.path),
            "encoder_zero": self.quantity(
                spec.encoder.zero, axis_quantity("length", angular=revolute), (*path, "encoder", "zero")
            ),
            "encoder_sign": spec.encoder.sign,
            "position": self.limits(spec.limits.position, kind, (*path, "limits", "position"))[0],
        }
        optional = (
            ("speed", spec.limits.speed, "speed", ("limits", "speed")),
            ("force", spec.limits.force, "force", ("limits", "force")),
            ("stiffness", spec.stiffness, "stiffness", ("stiffness",)),
            ("damping", spec.damping, "damping", ("damping",)),
            ("torque_constant", spec.torque_constant, "force constant", ("torque_constant",)),
        )
        for name, value, linear, place in optional:
            if value is None:
                continue
            # The motor of a screw rotates, what it drives does not.
            angular = revolute or (screw and name == "torque_constant")
            quantity = axis_quantity(linear, angular=angular)
            numbers[name] = self.quantity(value, quantity, (*path, *place), 1.0)
            if not numbers[name] > 0.0:
                self.report((*path, *place), f"must be positive, is {numbers[name]:g}", "")
        if spec.damping is not None and spec.stiffness is None:
            self.report((*path, "damping"), "damping of a drive that is rigid", "give its stiffness, too")
        return numbers

    def ratio(self, value: Any, kind: str, path: KeyPath) -> float:
        """Read a ratio of two joints: a number, "1:50" or "3/4", or with its unit where that has one."""
        if isinstance(value, str) and kind == "number":
            fraction = _FRACTION.fullmatch(value)
            if fraction is not None and float(fraction[2]) != 0.0:
                return float(fraction[1]) / float(fraction[2])
        return self.quantity(value, kind, path, 1.0)

    def gear_ratio(self, spec: ActuatorSpec, kind: JointKind, path: KeyPath) -> tuple[float, bool]:
        """Motor rate per joint rate, and whether a rotating motor drives a prismatic joint."""
        value = spec.gear_ratio
        if isinstance(value, str):
            fraction = _FRACTION.fullmatch(value)
            if fraction is not None and float(fraction[2]) != 0.0:
                value = given(value, float(fraction[1]) / float(fraction[2]), "number")
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


_AXIS_WORDS: dict[Primitive, str] = {
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


def position_kind(axis: Primitive) -> str:
    """Kind of quantity of a coordinate."""
    return axis_quantity("length", angular=axis.is_rotation)
