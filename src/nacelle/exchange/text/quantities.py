"""Numbers as a person would write them: the shortest decimals that mean the same, with their units.

Files of other engines have passed through conversions (degrees to radians, principal axes and back), so that
a number that was typed as 22.5 comes as 22.500000000000004. The shortest decimal within 2e-15 of the number,
or of the largest number beside it, is what was meant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_rotation, rotation_rpy
from nacelle.spatial.scalar import Array

_CLOSE = 2e-15
_AXES = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


def shortest_decimal(value: float, beside: float = 0.0, close: float = _CLOSE) -> str:
    """The shortest decimal of a number, as near to it as `close` of the larger of it and `beside`."""
    if not math.isfinite(value):
        return repr(float(value))
    within = close * max(abs(value), beside)
    if abs(value) <= within:
        return "0"
    for digits in range(1, 17):
        text = f"{value:.{digits}g}"
        if abs(float(text) - value) <= within:
            return _plain(text)
    return _plain(repr(float(value)))


def _plain(text: str) -> str:
    """A number without an exponent where it is short, 1e-05 as 1e-5."""
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = int(exponent)
    written = f"{float(text):.{max(0, len(mantissa.replace('.', '').lstrip('-')) - 1 - power)}f}"
    return written if len(written) <= 7 and float(written) == float(text) else f"{mantissa}e{power}"


def written_vector(
    values: Sequence[float] | Array, unit: str, factor: float = 1.0, beside: float = 0.0
) -> str:
    """Numbers with one unit: "0 0 300 mm"."""
    scaled = [float(value) * factor for value in values]
    largest = max([beside * factor, *(abs(value) for value in scaled)])
    return " ".join(shortest_decimal(value, largest) for value in scaled) + f" {unit}"


def length(value: float, unit: str = "mm") -> str:
    """A length in mm."""
    return f"{shortest_decimal(1e3 * value)} {unit}"


def angle(value: float, close: float = _CLOSE) -> str:
    """An angle in degrees, or in radians where that is shorter."""
    degrees, radians = shortest_decimal(math.degrees(value), 0.0, close), shortest_decimal(value, 0.0, close)
    return f"{radians} rad" if len(radians) + 3 < len(degrees) else f"{degrees} deg"


def written_direction(values: Array) -> str | list[float]:
    """A direction: a letter, or three numbers."""
    unit = [0.0 if abs(v) < 1e-15 else float(v) for v in values]
    for axis, letter in _AXES.items():
        if unit == list(axis):
            return letter
        if [-v for v in unit] == list(axis):
            return f"-{letter}"
    return [float(shortest_decimal(v, 1.0)) for v in unit]


def frame(pose: Pose, size: float) -> Any:
    """A frame: a vector where nothing turns; None where it is the body's own."""
    R, p = pose.R, pose.p
    moved = bool(np.max(np.abs(p)) > _CLOSE * size)
    turned = bool(np.max(np.abs(R - np.eye(3))) > 1e-15)
    place = written_vector(p, "mm", 1e3, size)
    if not turned:
        return place if moved else None
    data: dict[str, Any] = {"translation": place} if moved else {}
    data["rotation"] = written_rotation(R)
    return data


def written_rotation(R: Array) -> dict[str, Any]:
    """A rotation in degrees or radians about fixed axes where these are short, otherwise a quaternion."""
    pitch = math.asin(min(1.0, max(-1.0, -R[2, 0])))
    if abs(R[2, 0]) > 1.0 - 1e-12:
        pitch = math.copysign(math.pi / 2, -R[2, 0])
        rpy = [0.0, pitch, math.atan2(-R[0, 1], R[1, 1])]
    else:
        rpy = [math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])]
    degrees = [float(shortest_decimal(math.degrees(v), 180.0)) for v in rpy]
    radians = [float(shortest_decimal(v, math.pi)) for v in rpy]
    for unit, angles, turned in (("deg", degrees, np.radians(degrees)), ("rad", radians, np.array(radians))):
        text = " ".join(shortest_decimal(v) for v in angles)
        if len(text) < 24 and np.max(np.abs(rotation_rpy(turned) - R)) < 4e-16:
            return {"rpy": f"{text} {unit}"}
    quat = np.asarray(quat_from_rotation(R), dtype=float)
    return {"quat_xyzw": [float(shortest_decimal(v, 1.0, 1e-16)) for v in quat]}
