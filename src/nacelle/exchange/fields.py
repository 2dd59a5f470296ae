"""Numbers, directions and inertia in XML, each with an error at the place of its element."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nacelle.errors import DescriptionError, shortened
from nacelle.exchange.graph import Solid
from nacelle.exchange.xml import FARTHEST, Element
from nacelle.spatial.inertia import inertia_faults, parameters_from_com
from nacelle.spatial.rotation import rotation_quat, rotation_rpy
from nacelle.spatial.scalar import Array

# Entries that come from a direction of unit length within this part are taken as they are.
_UNIT = 1e-12
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def finite_numbers(element: Element, text: str, count: int, what: str, most: float = FARTHEST) -> Array:
    """So many finite numbers, separated by spaces.

    Args:
        element: where they are written.
        text: they.
        count: how many there must be.
        what: they are, for the message.
        most: what none may be beyond; infinite for limits, which large numbers switch off.

    Raises:
        DescriptionError: at the element, if they are not.
    """
    words = text.split()
    try:
        values = np.array([float(word) for word in words])
    except ValueError:
        values = np.array([math.nan])
    if len(values) != count or not np.all(np.isfinite(values)):
        amount = "a number" if count == 1 else f"{count} numbers"
        raise element.fault(f"{what} must be {amount}, not {shortened(text.strip())!r}")
    if np.any(np.abs(values) > most):
        raise element.fault(f"{what} is {shortened(text.strip())}: it must be within {most:g}")
    return values


def number_attribute(element: Element | None, name: str, default: float, most: float = FARTHEST) -> float:
    """An attribute that is a number, as `finite_numbers`; the default where it or the element is missing."""
    if element is None or name not in element.attributes:
        return default
    return float(finite_numbers(element, element.get(name), 1, f"{name!r} of <{element.tag}>", most)[0])


def vector_attribute(element: Element | None, name: str, default: tuple[float, float, float]) -> Array:
    """An attribute that is three numbers; the default where the attribute or the element is missing."""
    if element is None or name not in element.attributes:
        return np.array(default)
    return finite_numbers(element, element.get(name), 3, f"{name!r} of <{element.tag}>")


def unit_direction(element: Element, values: Array) -> Array:
    """The direction (3,) of a vector; one that has unit length already stays as it is."""
    long = float(np.linalg.norm(values))
    if long < 1e-9:
        raise element.fault(f"the axis of <{element.tag}> has no direction")
    return values if abs(long - 1.0) < _UNIT else values / long


def rotation_of(element: Element | None) -> Array:
    """Rotation (3, 3) by the attributes rpy (fixed axes, rad) or quat_xyzw; none where both are missing."""
    if element is not None and "quat_xyzw" in element.attributes:
        quat = finite_numbers(element, element.get("quat_xyzw"), 4, f"'quat_xyzw' of <{element.tag}>")
        if np.linalg.norm(quat) < 1e-9:
            raise element.fault("a quaternion of zeros is no rotation")
        return rotation_quat(quat / np.linalg.norm(quat))
    return rotation_rpy(vector_attribute(element, "rpy", (0.0, 0.0, 0.0)))


def symmetric(moments: Array) -> Array:
    """Inertia (3, 3) from xx, xy, xz, yy, yz, zz, kg m^2."""
    xx, xy, xz, yy, yz, zz = moments
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def possible_solid(solid: Solid, fault: Callable[[str, str], DescriptionError]) -> Solid:
    """A solid whose mass and inertia can be those of a body.

    Raises:
        DescriptionError: made by `fault` of a message and a hint, if they cannot.
    """
    faults = inertia_faults(parameters_from_com(solid.mass, solid.com, solid.inertia))
    if faults:
        raise fault(faults[0], "no body has it: mend the numbers in the file")
    return solid


def moments_of(element: Element | None) -> Array:
    """Inertia (3, 3) by the attributes ixx, ixy, ixz, iyy, iyz, izz; zero where they are missing."""
    return symmetric(np.array([number_attribute(element, name, 0.0) for name in _MOMENTS]))
