"""What a joint may have beside its geometry, as written: friction, springs, limits, an actuator.

The units depend on the kind of joint, so quantities are kept as written; `drive_reader` reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from nacelle.model.description.fields import Name, Raw, RawList, Strict


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
