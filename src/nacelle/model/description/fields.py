"""Field types of the description: quantities, vectors, axes and names, each with a clear error."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from nacelle.errors import did_you_mean, shorten
from nacelle.model.units import (
    NUMBER,
    QUANTITIES,
    SI,
    Quantity,
    UnitError,
    parse_quantity,
    split_quantities,
    torsion_stiffness,
)
from nacelle.spatial.recorded import as_float
from nacelle.spatial.scalar import norm, pack

# No quantity or vector is a text longer than this; searching such texts could take long.
_LONGEST = 300
# Only the first unknown keys of a mapping get suggestions, which take time.
_SUGGESTIONS = 50
_NAME = re.compile(r"\w[\w\-]*")
_VECTOR_TEXT = re.compile(rf"\s*(?P<numbers>{NUMBER}(?:[\s,]+{NUMBER})+)\s*(?P<unit>.*)")


def fault(message: str, hint: str = "") -> PydanticCustomError:
    """Make an error that carries a hint through pydantic."""
    return PydanticCustomError("nacelle", "{message}", {"message": message, "hint": hint})


def message_and_hint(error: Any) -> tuple[str, str]:
    """Message and hint of an error as pydantic lists it."""
    context = error.get("ctx", {})
    return (context["message"], context["hint"]) if error["type"] == "nacelle" else (str(error["msg"]), "")


def raise_all(faults: list[tuple[tuple[str | int, ...], str, str]]) -> None:
    """Raise several errors at once from a validator, each at its path below the model."""
    if faults:
        details = [InitErrorDetails(type=fault(m, h), loc=path, input=None) for path, m, h in faults]
        raise ValidationError.from_exception_data("description", details)


def raise_at(key: str, message: str, hint: str = "") -> None:
    """Raise an error at one key of the model."""
    raise_all([((key,), message, hint)])


def require_one_of(model: BaseModel, *names: str) -> None:
    """Demand exactly one of several keys."""
    present = [name for name in names if getattr(model, name) is not None]
    if len(present) != 1:
        number = "none is given" if not present else " and ".join(present) + " are given"
        raise fault(f"exactly one of {', '.join(names)} is needed, {number}")


class Strict(BaseModel):
    """A mapping of the description: frozen, and unknown keys are errors with a suggestion."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="wrap")
    @classmethod
    def _suggest(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        """Add suggestions to unknown keys; all other errors pass as they are."""
        try:
            return handler(data)
        except ValidationError as errors:
            faults = errors.errors(include_url=False)
            if all(error["type"] == "nacelle" for error in faults):
                raise  # by a mapping inside: nothing to add
            unknown = [k for k, error in enumerate(faults) if error["type"] == "extra_forbidden"]
            suggest = set(unknown[:_SUGGESTIONS])
            details = [cls._error_detail(error, k in suggest) for k, error in enumerate(faults)]
            raise ValidationError.from_exception_data(cls.__name__, details) from None

    @classmethod
    def _error_detail(cls, error: Any, suggest: bool) -> InitErrorDetails:
        path, kind, context = error["loc"], error["type"], error.get("ctx", {})
        if kind == "extra_forbidden" and len(path) == 1:
            hint = did_you_mean(str(path[0]), cls._keys()) if suggest else ""
            reason = fault(f"unknown key {str(path[0])[:60]!r}", hint)
        elif kind == "missing":
            reason = fault(f"missing key {path[-1]!r}")
        elif kind == "nacelle":
            reason = fault(*message_and_hint(error))
        elif kind == "literal_error":
            choices = re.findall(r"'([^']*)'", context.get("expected", ""))
            reason = fault(
                f"expected {context.get('expected')}, got {_value_label(error['input'])}",
                did_you_mean(error["input"], choices) if isinstance(error["input"], str) else "",
            )
        else:
            reason = fault(_type_message(kind, error))
        return InitErrorDetails(type=reason, loc=path, input=None)

    # Keys that are understood before the models see the data; they are suggested too.
    suggested_keys: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _keys(cls) -> list[str]:
        return [*(info.alias or name for name, info in cls.model_fields.items()), *cls.suggested_keys]


_EXPECTED = {
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
}


def _type_message(kind: str, error: Any) -> str:
    if kind in ("too_short", "too_long"):
        context = error["ctx"]
        length = context.get("min_length", context.get("max_length"))
        bound = "at least" if kind == "too_short" else "at most"
        return f"expected {bound} {length} entries, got {len(error['input'])}"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {_value_label(error['input'])}"
    return str(error["msg"])


def _value_label(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None:
        return "nothing"
    return shorten(repr(value))


def units_of(info: ValidationInfo) -> dict[str, str] | None:
    """Units for bare numbers: from the file, or SI for descriptions made in Python."""
    if info.context is None:
        return SI
    units: dict[str, str] | None = info.context.get("units")
    return units


def read_quantity(value: Any, quantity: Quantity, units: dict[str, str] | None) -> float:
    """Read a quantity inside a validator."""
    try:
        return parse_quantity(value, quantity, units)
    except UnitError as error:
        raise fault(str(error), error.hint) from None


def _example(quantity: Quantity, length: int) -> str:
    return " ".join(["0"] * (length - 1) + [quantity.example])


def read_vector(
    value: Any, quantity: Quantity, units: dict[str, str] | None, length: int
) -> tuple[float, ...]:
    """Read a list of quantities, or a text such as "0 0 300 mm"."""
    example = _example(quantity, length)
    if isinstance(value, str):
        match = _VECTOR_TEXT.fullmatch(value) if len(value) <= _LONGEST else None
        if match is None:
            raise fault(f"expected {length} numbers, got {_value_label(value)}", f"write {example!r}")
        value = split_quantities(value, re.split(r"[\s,]+", match["numbers"]), match["unit"])
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise fault(f"expected {length} numbers, got {_value_label(value)}", f"write {example!r}")
    if len(value) != length:
        raise fault(f"expected {length} numbers, got {len(value)}", f"write {example!r}")
    return tuple(read_quantity(entry, quantity, units) for entry in value)


def _scalar_type(kind: str, lowest: float = -math.inf, *, positive: bool = False) -> Any:
    quantity = QUANTITIES[kind]

    def validate(value: Any, info: ValidationInfo) -> float:
        number = read_quantity(value, quantity, units_of(info))
        if number < lowest:
            raise fault(f"the {kind} must not be below {lowest:g}, is {number:g}")
        if positive and not number > 0.0:
            raise fault(f"the {kind} must be above zero, is {number:g}")
        return number

    # Any: a float that is recorded stays one.
    return Annotated[
        Any,
        BeforeValidator(validate),
        WithJsonSchema(
            {
                "anyOf": [{"type": "number"}, {"type": "string"}],
                "description": f"{kind}, for example {quantity.example!r}; SI unit {quantity.si or '1'}",
            }
        ),
    ]


def _read_polynomial(value: Any, info: ValidationInfo) -> tuple[float, ...]:
    """Read the stiffness of a torsion spring: a quantity, or a list of them by degree."""
    entries = value if isinstance(value, list | tuple) else [value]
    if not entries:
        raise fault("expected at least one coefficient", f"write {torsion_stiffness(1).example!r}")
    units = units_of(info)
    return tuple(
        read_quantity(entry, torsion_stiffness(k), units) for k, entry in enumerate(entries, start=1)
    )


def _vector_type(kind: str, length: int) -> Any:
    quantity = QUANTITIES[kind]
    example = _example(quantity, length)
    return Annotated[
        Any,
        BeforeValidator(lambda value, info: read_vector(value, quantity, units_of(info), length)),
        WithJsonSchema(
            {
                "anyOf": [
                    {
                        "type": "array",
                        "items": {"type": ["number", "string"]},
                        "minItems": length,
                        "maxItems": length,
                    },
                    {"type": "string"},
                ],
                "description": f"{length} numbers, {kind}, for example {example!r}",
            }
        ),
    ]


def _check_name(value: Any) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise fault(f"expected a name, got {_value_label(value)}")
    if not _NAME.fullmatch(text) or len(text) > 64:
        raise fault(f"{_value_label(text)} is not a name", "use letters, digits, _ and -, at most 64")
    return text


def _check_reference(value: Any) -> str:
    """Accept the name of a body or joint, perhaps with that of its leg before a dot."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not all(_NAME.fullmatch(p) for p in text.split(".")):
        raise fault(f"expected a name, got {_value_label(value)}", "for example 'arm' or 'leg1.arm'")
    return text


_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def _read_axis(value: Any, info: ValidationInfo) -> tuple[float, ...]:
    if isinstance(value, str) and value.lstrip("+-") in _AXES and len(value) <= 2:
        sign = -1.0 if value.startswith("-") else 1.0
        return tuple(sign * c + 0.0 for c in _AXES[value[-1]])
    unread = isinstance(value, str) and not (len(value) <= _LONGEST and _VECTOR_TEXT.fullmatch(value))
    if unread or (isinstance(value, list | tuple) and len(value) != 3):
        raise fault(f"expected an axis, got {_value_label(value)}", "x, y, z, -x, -y, -z or three numbers")
    numbers = read_vector(value, QUANTITIES["number"], None, 3)
    if sum(number != 0.0 for number in numbers) == 1:  # a coordinate axis, whatever its length
        numbers = tuple(float(number) for number in numbers)
    vector = pack(numbers)
    length = norm(vector)
    if not length > 1e-9 or not math.isfinite(length):
        raise fault("the axis has no length", "x, y, z, -x, -y, -z or three numbers")
    # An axis that is a unit vector already stays as it is, so that files round-trip bit for bit.
    if abs(length - 1.0) < 4e-16:
        return tuple(as_float(c) for c in vector)
    return tuple(as_float(c) for c in vector / length)


Name = Annotated[str, BeforeValidator(_check_name), WithJsonSchema({"type": ["string", "integer"]})]
Reference = Annotated[str, BeforeValidator(_check_reference), WithJsonSchema({"type": ["string", "integer"]})]
Direction = Annotated[
    tuple[float, ...],
    PlainValidator(_read_axis),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["x", "y", "z", "-x", "-y", "-z"]},
                {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
                {"type": "string"},
            ],
            "description": "direction: a coordinate axis or three numbers",
        }
    ),
]
# A quantity whose unit depends on the joint it belongs to; read with the kind of joint.
Raw = Annotated[Any, WithJsonSchema({"type": ["number", "string"]})]
RawList = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["number", "string"]},
                {"type": "array", "items": {"type": ["number", "string"]}},
            ]
        }
    ),
]

Number = _scalar_type("number")
Length = _scalar_type("length")
PositiveLength = _scalar_type("length", positive=True)
Angle = _scalar_type("angle")
Mass = _scalar_type("mass", lowest=0.0)
InertiaMoment = _scalar_type("inertia")
Stiffness = _scalar_type("stiffness", lowest=0.0)
Damping = _scalar_type("damping", lowest=0.0)
AngularDamping = _scalar_type("angular damping", lowest=0.0)
TorsionStiffness = Annotated[
    Any,
    BeforeValidator(_read_polynomial),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["number", "string"]},
                {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1},
            ],
            "description": "angular stiffness, or coefficients of a polynomial in N*m/rad, N*m/rad^2, ...",
        }
    ),
]
Pressure = _scalar_type("pressure")
Density = _scalar_type("density")
Area = _scalar_type("area")
SecondMoment = _scalar_type("second moment of area")
Lengths2 = _vector_type("length", 2)
Lengths3 = _vector_type("length", 3)
Angles3 = _vector_type("angle", 3)
Moments3 = _vector_type("first moment", 3)
Accelerations3 = _vector_type("acceleration", 3)
Numbers4 = _vector_type("number", 4)


def quaternion_tolerance(quat: Sequence[float]) -> float:
    """How far from 1 the length of a quaternion may be: what rounding to the digits given makes of it.

    Rounding to d decimals moves each of four entries by 10^-d / 2 at most, and the length by 10^-d.
    """
    exponents = [Decimal(repr(float(entry))).as_tuple().exponent for entry in quat]
    decimals = max((-exponent for exponent in exponents if isinstance(exponent, int)), default=0)
    return max(1e-6, min(1e-2, 10.0**-decimals))
