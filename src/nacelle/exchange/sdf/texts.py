"""Values in the texts of SDF elements: numbers, vectors, poses, names of frames."""

from __future__ import annotations

import math

import numpy as np

from nacelle.exchange.fields import finite_numbers, unit_direction
from nacelle.exchange.xml import Element
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_quat, rotation_rpy
from nacelle.spatial.scalar import Array


def word(element: Element | None, tag: str, default: str = "") -> str:
    """The text of a child; the default where the child or the element is missing."""
    child = None if element is None else element.first(tag)
    return default if child is None else child.text.strip()


def is_true(element: Element | None, tag: str) -> bool:
    """Whether the text of a child says yes."""
    return word(element, tag) in ("1", "true", "True")


def value(element: Element | None, tag: str, default: float) -> float:
    """The number in a child; the default where it is missing."""
    child = None if element is None else element.first(tag)
    return default if child is None else float(finite_numbers(child, child.text, 1, f"<{tag}>")[0])


def limit_value(element: Element | None, tag: str, default: float) -> float:
    """The limit in a child; the default where it is missing. Infinite ones are written as inf or 1e16."""
    child = None if element is None else element.first(tag)
    if child is None:
        return default
    if child.text.strip().lstrip("+-") in ("inf", "Inf", "infinity"):
        return -math.inf if child.text.strip().startswith("-") else math.inf
    return float(finite_numbers(child, child.text, 1, f"<{tag}>", math.inf)[0])


def unit_axis(axis: Element) -> Array:
    """The unit vector of an axis; z where none is given."""
    child = axis.first("xyz")
    if child is None:
        return np.array([0.0, 0.0, 1.0])
    return unit_direction(child, finite_numbers(child, child.text, 3, "<xyz>"))


def pose_of(element: Element | None) -> Pose:
    """The pose in an element: x y z, then roll pitch yaw about fixed axes (rad or deg) or a quaternion."""
    if element is None or not element.text.strip():
        return identity()
    if element.get("rotation_format") == "quat_xyzw":
        values = finite_numbers(element, element.text, 7, "<pose> with a quaternion")
        long = np.linalg.norm(values[3:])
        if long < 1e-9:
            raise element.fault("a quaternion of zeros is no rotation")
        return Pose(rotation_quat(values[3:] / long), values[:3])
    values = finite_numbers(element, element.text, 6, "<pose>")
    angles = np.radians(values[3:]) if element.get("degrees") in ("1", "true") else values[3:]
    return Pose(rotation_rpy(angles), values[:3])
