"""Robots whose joints turn several times on torsion springs: in x, iterated, in closed form, at a closure."""

from __future__ import annotations

from typing import Any

import nacelle

Springs = dict[str, tuple[float, float]]
Limits = dict[str, tuple[float, float]]

MASS, ARM, STIFFNESS, REST, G = 0.4, 0.3, 2.0, 0.7, 9.81


def _add_springs_and_limits(
    joints: dict[str, Any], closures: dict[str, Any], springs: Springs, limits: Limits
) -> None:
    """Put springs (stiffness, rest) and limits on joints by name."""
    for name, (stiffness, rest) in springs.items():
        {**joints, **closures}[name]["spring"] = {"stiffness": stiffness, "rest": rest}
    for name, pair in limits.items():
        {**joints, **closures}[name]["limits"] = list(pair)


def pendulum(**more: Any) -> nacelle.Robot:
    """A point mass on a pivot with a torsion spring: the angle is the coordinate of its motion."""
    pivot = {"type": "revolute", "parent": "base", "child": "pole", "axis": "y", **more}
    pivot.setdefault("spring", {"stiffness": STIFFNESS, "rest": REST})
    leg = {"name": "arm", "bodies": {"pole": {"mass": MASS, "com": [0, 0, -ARM]}}, "joints": {"pivot": pivot}}
    return nacelle.build({"format": "nacelle/2", "name": "pendulum", "motion": ["pivot"], "legs": [leg]})


def four_bar(springs: Springs, limits: Limits | None = None) -> nacelle.Robot:
    """A crank of 100 mm that turns round in a loop that iteration closes; at the foot the loop is cut."""
    hinge: dict[str, Any] = {"type": "revolute", "axis": "z"}
    joints: dict[str, Any] = {
        "crank": {**hinge, "parent": "base", "child": "a", "active": True, "guess": 1.0},
        "knee": {**hinge, "parent": "a", "child": "b", "at": [0.1, 0, 0], "guess": -0.6},
        "tip": {**hinge, "parent": "b", "child": "c", "at": [0.35, 0, 0], "guess": 1.2},
    }
    closures: dict[str, Any] = {
        "foot": {**hinge, "parent": "c", "child": "base", "at": [0, 0.3, 0], "child_at": [0.4, 0, 0]}
    }
    _add_springs_and_limits(joints, closures, springs, limits or {})
    bodies = {
        "a": {"mass": 0.3, "com": [0.05, 0, 0]},
        "b": {"mass": 0.4, "com": [0.17, 0, 0]},
        "c": {"mass": 0.3, "com": [0, 0.15, 0]},
    }
    leg = {"name": "bars", "bodies": bodies, "joints": joints, "closures": closures}
    return nacelle.build(
        {"format": "nacelle/2", "name": "four-bar", "motion": ["crank"], "gravity": [0, -G, 0], "legs": [leg]}
    )


def telescope(springs: Springs | None = None, limits: Limits | None = None) -> nacelle.Robot:
    """A chain R-P-R to a platform in the plane, in closed form; a stiff spring holds its length.

    The hip is a joint of the tree, the wrist a closure.
    """
    hinge: dict[str, Any] = {"type": "revolute", "axis": "z", "active": True}
    joints: dict[str, Any] = {
        "hip": {**hinge, "parent": "base", "child": "a", "guess": 0.3},
        "slide": {
            "type": "prismatic",
            "parent": "a",
            "child": "b",
            "axis": "x",
            "active": True,
            "guess": 0.4,
        },
    }
    closures: dict[str, Any] = {"wrist": {**hinge, "parent": "b", "child": "platform"}}
    _add_springs_and_limits(joints, closures, {"slide": (4000.0, 0.4), **(springs or {})}, limits or {})
    bodies = {"a": {"mass": 0.3, "com": [0.15, 0, 0]}, "b": {"mass": 0.2, "com": [-0.1, 0, 0]}}
    leg = {"name": "arm", "bodies": bodies, "joints": joints, "closures": closures}
    return nacelle.build(
        {
            "format": "nacelle/2",
            "name": "telescope",
            "motion": ["x", "y", "rz"],
            "platform": {"mass": 0.5, "com": [0.02, 0, 0], "inertia": [0.01, 0.01, 0.015]},
            "gravity": [0, -G, 0],
            "reference": {"position": [0.35, 0.2, 0]},
            "legs": [leg],
        }
    )
