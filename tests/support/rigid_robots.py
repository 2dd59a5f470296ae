"""Rigid robots outside the library, on which operations are counted: general bodies, no friction.

Every robot is a function of a seed that changes each number by about 1 %. Kept is what the description
declares, and nothing else: legs are instances of one template, entries that are written as zero stay zero,
axes that are written along a coordinate axis stay there. What is declared is said in each docstring. Bodies
have their centres of mass off every axis and all six moments and products of inertia.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import nacelle
from nacelle import robots
from support.random_robots.numbers import unit
from support.random_robots.written import Data, VariedNumbers, point_on_circle, prismatic, revolute, spherical

_BASE_ANGLES = (20.0, 100.0, 140.0, 220.0, 260.0, 340.0)
_TOP_ANGLES = (45.0, 75.0, 165.0, 195.0, 285.0, 315.0)


def _six_legs(
    name: str, n: VariedNumbers, leg: Data, sizes: tuple[float, ...], **more: object
) -> nacelle.Robot:
    """Six instances of a leg with anchors anywhere: radii of base and platform, and how far they are off."""
    table = []
    for k, (base, top) in enumerate(zip(_BASE_ANGLES, _TOP_ANGLES, strict=True)):
        A = point_on_circle(n(sizes[0]), n(base), n(sizes[2] * (-1) ** k))
        B = point_on_circle(n(sizes[1]), n(top), n(sizes[3] * (-1) ** (k // 2)))
        table.append({"name": f"leg{k + 1}", "A": A, "B": B, "heading": float(np.radians(n(base)))})
    templates = {"leg": {"parameters": {"A": None, "B": None, "heading": None}, **leg}}
    legs = [{"repeat": "leg", "table": table}]
    return nacelle.build({"name": name, "motion": "se3", "templates": templates, "legs": legs, **more})


def _three_legs(name: str, motion: str | list[str], leg: Data, plate: Data, **more: object) -> nacelle.Robot:
    """Three instances of a leg at 120 degrees about z."""
    data = {"templates": {"leg": leg}, "legs": [{"repeat": "leg", "count": 3}], **more}
    return nacelle.build({"name": name, "motion": motion, "platform": {"name": "plate", **plate}, **data})


_AT_A = {"translation": "$A", "rotation": {"axis": "z", "angle": "$heading"}}


def six_ups(seed: int) -> nacelle.Robot:
    """6-UPS with massive cardan crosses: six instances of one strut, anchors anywhere.

    Declared: the first cardan axis is horizontal and tangential, the second perpendicular to it, the
    prismatic joint passes through the centre of the cross.
    """
    n = VariedNumbers(seed)
    strut: Data = {
        "bodies": {
            "cross": n.body(1.2, (0.006, -0.009, 0.004), (0.03, 0.04, 0.05)),
            "tube": n.body(4.0, (0.012, -0.008, 0.15), (0.03, 0.04, 0.11)),
            "rod": n.body(2.2, (-0.007, 0.01, -0.24), (0.02, 0.03, 0.14)),
        },
        "joints": {
            "first": revolute("base", "cross", _AT_A, "y"),
            "second": revolute("cross", "tube", None, "x"),
            "slide": prismatic("tube", "rod", None, "z", active=True, guess=0.78),
        },
        "closures": {"ball": spherical("rod", "platform", child_at="$B")},
    }
    return _six_legs(
        "six-ups",
        n,
        strut,
        (0.5, 0.17, 0.02, 0.013),
        reference={"position": [0.02, -0.03, 0.7], "rotation": {"rpy": [0.06, -0.08, 0.1]}},
        platform={"name": "platform", **n.body(8.0, (0.01, -0.014, 0.022), (0.09, 0.11, 0.05))},
    )


def six_rus(seed: int) -> nacelle.Robot:
    """6-RUS with massive cardan crosses: six instances of one leg, anchors anywhere.

    Declared: the motor's axis is horizontal and tangential, the first cardan axis parallel to it and the
    second perpendicular.
    """
    n = VariedNumbers(seed)
    leg: Data = {
        "bodies": {
            "arm": n.body(0.9, (0.09, 0.006, -0.008), (0.06, 0.02, 0.03)),
            "cross": n.body(0.25, (0.003, -0.004, 0.002), (0.012, 0.015, 0.01)),
            "rod": n.body(0.4, (0.005, -0.004, -0.24), (0.01, 0.012, 0.14)),
        },
        "joints": {
            "motor": revolute("base", "arm", _AT_A, "y", active=True, guess=0.5),
            "first": revolute("arm", "cross", n.vector(0.2, 0, 0), "y", guess=0.2),
            "second": revolute("cross", "rod", None, "x"),
        },
        "closures": {"ball": spherical("rod", "platform", n.vector(0, 0, -0.5), child_at="$B")},
    }
    return _six_legs(
        "six-rus",
        n,
        leg,
        (0.25, 0.14, 0.01, 0.008),
        reference={"position": [0.02, -0.015, -0.48], "rotation": {"rpy": [0.05, -0.07, 0.12]}},
        platform={"name": "platform", **n.body(2.0, (0.008, -0.006, -0.012), (0.06, 0.07, 0.03))},
    )


def knee_driven(seed: int) -> nacelle.Robot:
    """Planar 3-RRR in a vertical plane, driven at the knee: three instances of one leg.

    Declared: all axes along z, roots of legs at 120 degrees about the middle of the base and ends likewise
    on the plate. Where the plate is not turned the robot is singular: it works turned.
    """
    n = VariedNumbers(seed)
    leg = {
        "bodies": {
            "crank": n.body(0.9, (0.11, 0.013, 0.004), (0.06, 0.02, 0.02)),
            "coupler": n.body(0.6, (0.12, -0.011, -0.006), (0.07, 0.015, 0.02)),
        },
        "joints": {
            "root": revolute("base", "crank", n.vector(0.4, 0, 0), "z", guess=2.2),
            "knee": revolute("crank", "coupler", n.vector(0.25, 0, 0), "z", guess=1.8, active=True),
        },
        "closures": {
            "end": revolute("coupler", "plate", n.vector(0.26, 0, 0), "z", child_at=n.vector(0.1, 0, 0))
        },
    }
    return _three_legs(
        "knee-driven",
        "xy+rz",
        leg,
        n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03)),
        gravity=[0.0, -9.81, 0.0],
        reference={"position": [0.015, -0.02, 0.0], "rotation": {"axis": "z", "angle": 0.5}},
    )


def three_prrrr(seed: int) -> nacelle.Robot:
    """3-PRRRR, a platform that only translates: three instances of one leg at 120 degrees.

    Declared: the second and the fifth joint of a leg are parallel, the third and the fourth too, and these
    pairs are perpendicular; the prismatic joint is in the leg's vertical plane. So each leg locks one
    rotation and nothing is overconstrained.
    """
    n = VariedNumbers(seed)
    slope = n(0.6)
    up = [-float(np.cos(slope)), 0.0, float(np.sin(slope))]
    leg = {
        "bodies": {
            "carriage": n.body(1.4, (0.01, -0.012, 0.02), (0.04, 0.05, 0.03)),
            "lower": n.body(0.2, (0.004, 0.003, -0.005), (0.015, 0.02, 0.01)),
            "link": n.body(0.7, (0.006, -0.005, 0.21), (0.02, 0.03, 0.12)),
            "upper": n.body(0.25, (-0.003, 0.005, 0.004), (0.02, 0.015, 0.01)),
        },
        "joints": {
            "slide": prismatic("base", "carriage", n.vector(0.45, 0, 0), up, active=True, guess=0.1),
            "first": revolute("carriage", "lower", None, "x"),
            "second": revolute("lower", "link", None, "y", guess=-0.6),
            "third": revolute("link", "upper", n.vector(0, 0, 0.42), "y", guess=0.6),
        },
        "closures": {"fourth": revolute("upper", "plate", None, "x", child_at=n.vector(0.1, 0, 0))},
    }
    plate = n.body(1.6, (0.013, -0.009, 0.015), (0.06, 0.05, 0.03))
    return _three_legs("three-prrrr", "xyz", leg, plate, reference={"position": [0.02, -0.015, 0.42]})


def spherical_three_rrr(seed: int, *, right_angles: bool = False) -> nacelle.Robot:
    """Spherical 3-RRR, three times overconstrained: three instances of one leg about (1, 1, 1).

    Declared: all nine axes meet in one point; with `right_angles` neighbouring axes are perpendicular (the
    Agile Eye), otherwise links have any angles.
    """
    n = VariedNumbers(seed)
    if right_angles:
        first, middle, last = np.array([1.0, 0, 0]), np.array([0, 0, -1.0]), np.array([0, -1.0, 0])
    else:
        first, middle, last = (
            unit(n.vector(0.95, 0.1, -0.12)),
            unit(n.vector(0.2, 0.25, -0.9)),
            unit(n.vector(0.12, -0.93, 0.15)),
        )
    leg = {
        "bodies": {
            "proximal": n.body(0.15, (0.04, 0.006, -0.041), (0.02, 0.025, 0.022)),
            "distal": n.body(0.1, (0.005, -0.031, -0.03), (0.018, 0.016, 0.02)),
        },
        "joints": {
            "motor": revolute("base", "proximal", None, first.tolist(), active=True),
            "elbow": revolute("proximal", "distal", None, middle.tolist()),
        },
        "closures": {"end": revolute("distal", "camera", None, last.tolist())},
    }
    thirds = [{"axis": [1, 1, 1], "angle": 2 * np.pi * k / 3} for k in (1, 2)]
    return nacelle.build(
        {
            "name": "spherical-three-rrr",
            "motion": ["rx", "ry", "rz"],
            "platform": {"name": "camera", **n.body(0.3, (0.004, -0.003, 0.006), (0.02, 0.03, 0.025))},
            "templates": {"leg": leg},
            "legs": [{"repeat": "leg", "placements": [{}, *thirds]}],
        }
    )


def three_prs(seed: int) -> nacelle.Robot:
    """3-PRS with inclined prismatic joints: three instances of one leg at 120 degrees.

    Declared: the revolute axis is horizontal and perpendicular to the leg's vertical plane, in which the
    prismatic joint and the spherical one lie. x, y and rz of the plate follow from z, rx and ry.
    """
    n = VariedNumbers(seed)
    slope = n(1.2)
    up = [-float(np.cos(slope)), 0.0, float(np.sin(slope))]
    leg = {
        "bodies": {
            "carriage": n.body(1.8, (0.012, -0.01, 0.02), (0.04, 0.05, 0.03)),
            "link": n.body(0.8, (0.006, -0.008, 0.22), (0.02, 0.03, 0.13)),
        },
        "joints": {
            "slide": prismatic("base", "carriage", n.vector(0.4, 0, 0), up, active=True, guess=0.1),
            "hinge": revolute("carriage", "link", None, "y", guess=-0.4),
        },
        "closures": {"ball": spherical("link", "plate", n.vector(0, 0, 0.45), child_at=n.vector(0.16, 0, 0))},
    }
    reference = {"position": [0, 0, 0.5], "rotation": {"axis": [3, 4, 0], "angle": 0.2}}
    plate = n.body(2.5, (0.009, -0.012, 0.018), (0.07, 0.08, 0.03))
    return _three_legs("three-prs", ["z", "rx", "ry"], leg, plate, reference=reference)


_TOLERANCE = 0.2e-3
_REPEAT = "  - {repeat: leg, count: 3}\n"


def delta_with_tolerances(seed: int) -> nacelle.Robot:
    """The library's Delta, of which leg 2 differs by tolerances of 0.2 mm, with a load on its plate.

    The plate then tilts a little as it moves. Declared: legs 1 and 3 are alike; rods are axisymmetric.
    """
    rng = np.random.default_rng(seed)

    def mm(*values: float) -> str:
        moved = [value + 1e3 * rng.uniform(-_TOLERANCE, _TOLERANCE) for value in values]
        return f"[{', '.join(f'{value:.9f} mm' for value in moved)}]"

    rods = {side: 600.0 + 1e3 * rng.uniform(-_TOLERANCE, _TOLERANCE) for side in "ab"}
    lines = [f"shoulder: {{at: {mm(200, 0, 0)}}}"]
    lines += [f"elbow-{side}: {{at: {mm(240, y, 0)}}}" for side, y in (("a", 45), ("b", -45))]
    ends = [
        f"wrist-{side}: {{at: [{rods[side]:.9f} mm, 0, 0], child_at: {mm(50, y, 0)}}}"
        for side, y in (("a", 45), ("b", -45))
    ]
    text = robots.text("delta")
    assert _REPEAT in text
    override = f"{{joints: {{{', '.join(lines)}}}, closures: {{{', '.join(ends)}}}}}"
    text = text.replace(
        _REPEAT, f"  - repeat: leg\n    count: 3\n    override:\n      leg2: {override}\n"
    ).replace("name: delta\n", "name: delta-with-tolerances\n", 1)
    load = VariedNumbers(seed).body(0.8, (0.012, -0.009, -0.05), (0.03, 0.04, 0.02))
    inertia = np.array(load["inertia"])[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    return nacelle.with_payload(
        nacelle.loads(text), load["mass"], com=load["com"], inertia=inertia, name="load"
    )


def h4_with_longer_rod(seed: int) -> nacelle.Robot:
    """The library's H4 with one rod of leg 3 longer by about 0.1 mm: its side parts tilt a little."""
    longer = 600.0 + VariedNumbers(seed)(0.1)
    text = robots.text("h4")
    line = "      - {name: leg3, A: 240 0 0 mm, placement: {angle: 270 deg}}\n"
    assert line in text
    override = f"override: {{closures: {{wrist-a: {{at: [{longer:.9f} mm, 0, 0]}}}}}}"
    text = text.replace(line, line.replace("deg}}\n", f"deg}}, {override}}}\n"))
    return nacelle.loads(text.replace("name: h4\n", "name: h4-with-longer-rod\n", 1))


class CountedRobot(NamedTuple):
    """A robot whose operations are counted.

    Attributes:
        make: the robot from a seed.
        operation_limit: what inverse dynamics may take; None where it is only reported.
    """

    make: Callable[[int], nacelle.Robot]
    operation_limit: int | None


RIGID: dict[str, CountedRobot] = {
    "6-UPS, massive crosses": CountedRobot(six_ups, 2250),
    "6-RUS, massive crosses": CountedRobot(six_rus, 2400),
    "planar 3-RRR driven at the knee": CountedRobot(knee_driven, 660),
    "3-PRRRR": CountedRobot(three_prrrr, 674),
    "spherical 3-RRR, right angles": CountedRobot(partial(spherical_three_rrr, right_angles=True), 431),
    # Links of any angles turn every vector twice more between two axes; 400 is the bar of right angles.
    "spherical 3-RRR, any angles": CountedRobot(spherical_three_rrr, 806),
    "3-PRS": CountedRobot(three_prs, 612),
    "Delta with tolerances in one leg, loaded": CountedRobot(delta_with_tolerances, 1750),
    "H4 with a rod 0.1 mm longer": CountedRobot(h4_with_longer_rod, None),
}
"""Robots outside the library; the Delta and the H4 have the friction of the library's, the others none."""
