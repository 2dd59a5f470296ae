"""Robots whose nacelle is a point."""

from __future__ import annotations

import nacelle
from support.rigid_robots import Numbers, prismatic, revolute
from support.stress_robots.friction import DRY, STRIBECK, VISCOUS


def sprung_five_bar(seed: int) -> nacelle.Robot:
    """Five-bar with a massive point: springs and rotors in passive joints, friction at the point's hinge."""
    n = Numbers(seed)
    lengths = n.vector(0.2, 0.25)
    legs = []
    for name, x, first, second in (("left", -0.1, 2.2, -1.4), ("right", 0.1, 0.9, 1.4)):
        legs.append(
            {
                "name": name,
                "bodies": {
                    "upper": n.body(0.4, (0.1, 0.009, 0.004), (0.05, 0.01, 0.015)),
                    "lower": n.body(0.2, (0.12, -0.007, 0.003), (0.06, 0.01, 0.012)),
                },
                "joints": {
                    "motor": revolute(
                        "base",
                        "upper",
                        [n(x), 0.0, 0.0],
                        "z",
                        guess=first,
                        actuator={"gear_ratio": n(9.0), "rotor_inertia": n(1e-5)},
                        friction=DRY,
                    ),
                    "elbow": revolute(
                        "upper",
                        "lower",
                        [lengths[0], 0.0, 0.0],
                        "z",
                        guess=second,
                        spring={"stiffness": n(2.0), "rest": n(1.0)},
                        rotor_inertia=n(2e-4),
                        friction=VISCOUS,
                    ),
                },
                "closures": {"tip": revolute("lower", "tip", [lengths[1], 0.0, 0.0], "z")},
            }
        )
    hinge = revolute(
        "left.lower", "right.lower", [lengths[1], 0, 0], "z", child_at=[lengths[1], 0, 0], friction=DRY
    )
    return nacelle.build(
        {
            "name": "sprung-five-bar",
            "motion": "xy",
            "gravity": [0.0, -9.81, 0.0],
            "reference": {"position": [0.02, 0.3, 0.0]},
            "nacelle": {"type": "point", "name": "tip", "mass": n(0.5), "closures": {"hinge": hinge}},
            "legs": legs,
        }
    )


def point_on_sliders(seed: int) -> nacelle.Robot:
    """PRRRP with inclined prismatic joints, general bars and friction in the joint at the point."""
    n = Numbers(seed)
    length = n(0.4)
    legs = []
    for name, x, tilt, guess in (("left", 0.0, 0.15, 0.72), ("right", 0.6, -0.1, 2.4)):
        legs.append(
            {
                "name": name,
                "bodies": {
                    "slider": n.body(1.0, (0.01, 0.02, -0.01), (0.03, 0.02, 0.04)),
                    "bar": n.body(0.3, (0.2, 0.01, 0.006), (0.1, 0.01, 0.012)),
                },
                "joints": {
                    "drive": prismatic(
                        "base", "slider", [x, 0.0, 0.0], [n(tilt), 1.0, 0.0], active=True, friction=VISCOUS
                    ),
                    "hinge": revolute("slider", "bar", None, "z", guess=guess, friction=DRY),
                },
                "closures": {"tip": revolute("bar", "tip", [length, 0.0, 0.0], "z")},
            }
        )
    pin = revolute("left.bar", "right.bar", [length, 0, 0], "z", child_at=[length, 0, 0], friction=STRIBECK)
    return nacelle.build(
        {
            "name": "point-on-sliders",
            "motion": "xy",
            "gravity": [0.0, -9.81, 0.0],
            "reference": {"position": [0.3, 0.27, 0.0]},
            "nacelle": {"type": "point", "name": "tip", "mass": n(0.7), "closures": {"pin": pin}},
            "legs": legs,
        }
    )
