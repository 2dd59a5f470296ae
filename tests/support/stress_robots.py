"""Robots that stress what the format can describe, each a function of a seed.

General bodies as in `support.rigid_robots`, with friction, springs, rotors and payloads where a robot is
about them; numbers are changed by about 1 % from seed to seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from support.rigid_robots import Array, Data, Numbers, around, joint, prismatic, revolute, spherical

_FILES = Path(__file__).parent.parent / "robots"

VISCOUS: Data = {"viscous": 0.12}
DRY: Data = {"viscous": 0.05, "coulomb": 0.3}
STRIBECK: Data = {"coulomb_smooth": 0.4, "stribeck": 0.2, "scale": 0.15}
POWERS: Data = {"quadratic": 0.08, "cubic": 0.03, "constant": 0.02}


def _planar_leg(
    n: Numbers, name: str, root: Array, end: Array, plate: Array, *, body: str = "plate", **drive: Any
) -> Data:
    """An RRR leg in the plane z = 0, closed where its end is at a point of the base's plane."""
    lengths = n.vector(0.25, 0.26)
    reach = end - root
    distance = float(np.hypot(*reach[:2]))
    cosine = (distance**2 - lengths[0] ** 2 - lengths[1] ** 2) / (2 * lengths[0] * lengths[1])
    knee = float(np.arccos(cosine))
    first = float(
        np.arctan2(reach[1], reach[0])
        - np.arctan2(lengths[1] * np.sin(knee), lengths[0] + lengths[1] * np.cos(knee))
    )
    return {
        "name": name,
        "bodies": {
            "crank": n.body(0.9, (0.11, 0.013, 0.004), (0.06, 0.02, 0.02)),
            "coupler": n.body(0.6, (0.12, -0.011, -0.006), (0.07, 0.015, 0.02)),
        },
        "joints": {
            "root": revolute("base", "crank", root, "z", guess=first, active=True, **drive),
            "knee": revolute("crank", "coupler", [lengths[0], 0, 0], "z", guess=knee, friction=STRIBECK),
        },
        "closures": {
            "end": revolute("coupler", body, [lengths[1], 0, 0], "z", child_at=plate, friction=VISCOUS)
        },
    }


def redundant_planar(seed: int) -> nacelle.Robot:
    """4-RRR in a plane: four motors for three motions, friction in every joint."""
    n = Numbers(seed)
    legs = []
    for k in range(4):
        plate = around(n(0.1), n(90.0 * k + 50.0))
        root = around(n(0.4), n(90.0 * k + 20.0))
        legs.append(_planar_leg(n, f"leg{k + 1}", root, plate, plate, friction=DRY))
    return nacelle.build(
        {
            "name": "redundant-planar",
            "motion": "xy+rz",
            "gravity": [1.5, -9.6, 0.0],
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03))},
            "legs": legs,
        }
    )


def driven_closures(seed: int) -> nacelle.Robot:
    """Planar 3-RPR cut at its drives: prismatic closures with rotor, gear, spring and friction."""
    n = Numbers(seed)
    legs = []
    for k in range(3):
        root, plate = around(n(0.5), n(120.0 * k + 10.0)), around(n(0.12), n(120.0 * k + 55.0))
        reach = plate - root
        angle = float(np.arctan2(reach[1], reach[0]))
        legs.append(
            {
                "name": f"leg{k + 1}",
                "bodies": {
                    "tube": n.body(1.2, (0.12, 0.011, 0.005), (0.07, 0.02, 0.03)),
                    "rod": n.body(0.7, (-0.14, -0.008, 0.006), (0.08, 0.02, 0.015)),
                },
                "joints": {
                    "root": revolute("base", "tube", root, "z", guess=angle, friction=DRY),
                    "end": revolute("plate", "rod", plate, "z", guess=angle, friction=VISCOUS),
                },
                "closures": {
                    "drive": prismatic(
                        "tube",
                        "rod",
                        None,
                        "x",
                        actuator={"gear_ratio": n(300.0), "rotor_inertia": n(2e-5)},
                        spring={"stiffness": n(80.0), "rest": n(0.35)},
                        friction={"viscous": n(20.0), "coulomb": n(6.0)},
                    )
                },
            }
        )
    return nacelle.build(
        {
            "name": "driven-closures",
            "motion": "xy+rz",
            "gravity": [0.0, -9.81, 0.0],
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03))},
            "legs": legs,
        }
    )


_BASE_ANGLES = (20.0, 100.0, 140.0, 220.0, 260.0, 340.0)
_TOP_ANGLES = (45.0, 75.0, 165.0, 195.0, 285.0, 315.0)


def _hexapod_anchors(n: Numbers) -> list[tuple[Array, Array]]:
    pairs = []
    for k, (base, top) in enumerate(zip(_BASE_ANGLES, _TOP_ANGLES, strict=True)):
        A = around(n(0.5), n(base), n(0.02 * (-1) ** k))
        pairs.append((A, around(n(0.17), n(top), n(0.013 * (-1) ** (k // 2)))))
    return pairs


_HEIGHT = 0.7
_UP = np.array([0.0, 0.0, _HEIGHT])


def _hexapod(n: Numbers, name: str, legs: Sequence[Data], **more: Any) -> nacelle.Robot:
    return nacelle.build(
        {
            "name": name,
            "motion": "se3",
            "reference": {"position": [0.0, 0.0, _HEIGHT]},
            "nacelle": {"name": "plate", **n.body(8.0, (0.01, -0.014, 0.022), (0.09, 0.11, 0.05))},
            "legs": list(legs),
            **more,
        }
    )


def _along(direction: Array) -> Rotation:
    """A rotation that brings z to a direction."""
    return Rotation.align_vectors([direction], [[0.0, 0.0, 1.0]])[0]


def _axisymmetric(n: Numbers, mass: float, com: float, across: float, along: float) -> Data:
    """A body that is symmetric about z: mass, height of the centre of mass, two moments of inertia."""
    side = n(across)
    return {"mass": n(mass), "com": [0.0, 0.0, n(com)], "inertia": [side, side, n(along)]}


def sps_struts(seed: int) -> nacelle.Robot:
    """6-SPS: struts between spherical joints spin idly; friction in the spherical joints and the drives."""
    n = Numbers(seed)
    legs = []
    for k, (A, B) in enumerate(_hexapod_anchors(n)):
        reach = B + _UP - A
        legs.append(
            {
                "name": f"leg{k + 1}",
                "bodies": {
                    "tube": _axisymmetric(n, 4.0, 0.15, 0.05, 0.004),
                    "rod": _axisymmetric(n, 2.2, -0.24, 0.04, 0.002),
                },
                "joints": {
                    "foot": spherical(
                        "base", "tube", A, guess=_along(reach).as_quat().tolist(), friction=DRY
                    ),
                    "slide": prismatic(
                        "tube",
                        "rod",
                        None,
                        "z",
                        active=True,
                        guess=float(np.linalg.norm(reach)),
                        friction={"viscous": n(60.0), "coulomb": n(20.0)},
                        rotor_inertia=n(0.4),
                    ),
                },
                "closures": {"head": spherical("rod", "plate", child_at=B, friction=VISCOUS)},
            }
        )
    return _hexapod(n, "sps-struts", legs)


def _ups(n: Numbers, name: str, A: Array, B: Array) -> Data:
    angles = _along(B + _UP - A).as_euler("XYZ")
    return {
        "name": name,
        "bodies": {
            "tube": n.body(4.0, (0.012, -0.008, 0.15), (0.03, 0.04, 0.11)),
            "rod": n.body(2.2, (-0.007, 0.01, -0.24), (0.02, 0.03, 0.14)),
        },
        "joints": {
            "foot": joint("universal", "base", "tube", A, ["x", "y"], guess=angles[:2].tolist()),
            "slide": prismatic("tube", "rod", None, "z", active=True, guess=0.78),
        },
        "closures": {"head": spherical("rod", "plate", child_at=B)},
    }


def _pcs(n: Numbers, name: str, A: Array, B: Array) -> Data:
    """A driven prismatic joint, a cylindrical and a spherical one."""
    top = B + _UP
    out = np.array([*(A[:2] / np.linalg.norm(A[:2])), 0.0])
    tangent = np.cross([0.0, 0.0, 1.0], out)
    shaft = np.array(n.vector(*(0.9 * tangent + 0.2 * out)))
    elbow = top - 0.35 * np.array([0.0, 0.0, 1.0]) + 0.2 * out
    R = _along(shaft)
    # The arm's frame is on the shaft, at the foot of the perpendicular from the end, its axes the shaft's.
    unit = shaft / np.linalg.norm(shaft)
    foot = elbow + ((top - elbow) @ unit) * unit
    return {
        "name": name,
        "bodies": {
            "carriage": n.body(1.8, (0.012, -0.01, 0.02), (0.04, 0.05, 0.03)),
            "arm": n.body(0.9, (0.05, -0.08, 0.03), (0.05, 0.06, 0.03)),
        },
        "joints": {
            "slide": prismatic("base", "carriage", elbow, [0.1, 0.05, 1.0], active=True),
            "shaft": joint(
                "cylindrical",
                "carriage",
                "arm",
                {"rotation": {"quat_xyzw": R.as_quat().tolist()}},
                guess=[float((foot - elbow) @ unit), 0.0],
            ),
        },
        "closures": {
            "head": spherical("arm", "plate", R.inv().apply(top - foot).tolist(), child_at=B),
        },
    }


def _rus(n: Numbers, name: str, A: Array, B: Array) -> Data:
    """A driven arm, a universal and a spherical joint."""
    top = B + _UP
    out = np.array([*(A[:2] / np.linalg.norm(A[:2])), 0.0])
    tangent = np.cross([0.0, 0.0, 1.0], out)
    elbow = A + np.array([0.0, 0.0, 0.05]) + 0.2 * out
    rod = top - elbow
    R = _along(rod)
    return {
        "name": name,
        "bodies": {
            "arm": n.body(0.9, (0.09, 0.006, -0.008), (0.06, 0.02, 0.03)),
            "rod": n.body(0.4, (0.005, -0.004, 0.24), (0.01, 0.012, 0.14)),
        },
        "joints": {
            "motor": revolute("base", "arm", A, tangent.tolist(), active=True),
            "cardan": joint(
                "universal",
                "arm",
                "rod",
                {"translation": (elbow - A).tolist(), "rotation": {"quat_xyzw": R.as_quat().tolist()}},
                ["x", "y"],
            ),
        },
        "closures": {
            "head": spherical("rod", "plate", [0, 0, float(np.linalg.norm(rod))], child_at=B),
        },
    }


def friction_everywhere(seed: int) -> nacelle.Robot:
    """Legs UPS, PCS and RUS, with friction of all kinds in every joint, and a payload."""
    n = Numbers(seed)
    makers = (_ups, _pcs, _rus)
    legs = [makers[k % 3](n, f"leg{k + 1}", A, B) for k, (A, B) in enumerate(_hexapod_anchors(n))]
    kinds = (DRY, STRIBECK, VISCOUS, POWERS)
    k = 0
    for leg in legs:
        for written in (*leg["joints"].values(), *leg["closures"].values()):
            axes = {"universal": 2, "cylindrical": 2}.get(written["type"], 1)
            terms = [_scaled(n, kinds[(k + axis) % 4], written["type"], axis) for axis in range(axes)]
            written["friction"] = terms if axes > 1 else terms[0]
            k += axes
    payload = {"load": {**n.body(1.5, (0.01, 0.02, 0.03), (0.03, 0.04, 0.05)), "at": [0.03, -0.02, 0.05]}}
    return _hexapod(n, "friction-everywhere", legs, payload=payload)


def _scaled(n: Numbers, terms: Data, kind: str, axis: int) -> Data:
    """Friction terms changed by 1 %, ten times larger along a straight axis."""
    larger = 10.0 if kind == "prismatic" or (kind == "cylindrical" and axis == 0) else 1.0
    return {key: n(value) * (1.0 if key == "scale" else larger) for key, value in terms.items()}


def fixed_joints(seed: int) -> nacelle.Robot:
    """Planar 3-RRR: couplers of two parts that are fixed together, a leg fixed to the plate, a payload."""
    n = Numbers(seed)
    legs = []
    for k in range(3):
        plate = around(n(0.1), n(120.0 * k + 50.0))
        leg = _planar_leg(n, f"leg{k + 1}", around(n(0.4), n(120.0 * k + 20.0)), plate, plate)
        leg["bodies"]["fork"] = n.body(0.2, (0.01, 0.006, -0.003), (0.02, 0.01, 0.015))
        end = leg["closures"]["end"]
        turned = {"translation": end["at"], "rotation": {"rpy": n.vector(0.3, -0.2, 0.4)}}
        leg["joints"]["weld"] = joint("fixed", "coupler", "fork", turned)
        R = Rotation.from_euler("xyz", turned["rotation"]["rpy"])
        if k == 0:
            # The end body turns with the plate: a hinge in the tree, a weld as the closure.
            leg["bodies"]["lug"] = n.body(0.15, (0.005, 0.008, 0.004), (0.01, 0.012, 0.015))
            total = sum(leg["joints"][name]["guess"] for name in ("root", "knee"))
            leg["joints"]["pin"] = revolute("fork", "lug", _unturned(R), "z", guess=-total)
            leg["closures"] = {"end": joint("fixed", "lug", "plate", child_at=end["child_at"])}
        else:
            leg["closures"]["end"] = {**end, "parent": "fork", "at": _unturned(R)}
        legs.append(leg)
    load = {**n.body(0.5, (0.01, 0.02, 0.03), (0.03, 0.04, 0.05)), "at": [0.03, -0.02, 0.0]}
    return nacelle.build(
        {
            "name": "fixed-joints",
            "motion": "xy+rz",
            "gravity": [0.0, -9.81, 0.0],
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.017, 0.006), (0.06, 0.07, 0.03))},
            "payload": {"load": load},
            "legs": legs,
        }
    )


def _unturned(R: Rotation) -> Data:
    return {"rotation": {"quat_xyzw": R.inv().as_quat().tolist()}}


def pushed_faces(seed: int) -> nacelle.Robot:
    """Six prismatic drives with planar-spherical joints, planes on sliders and on the plate."""
    n = Numbers(seed)
    axes = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    places = ((0.05, 0.1), (0.15, 0.1), (0.1, 0.05), (0.1, 0.15), (0.05, 0.1), (0.15, 0.1))
    legs = []
    for k, (axis, place) in enumerate(zip(axes, places, strict=True)):
        push = np.array(n.vector(*(axis + 0.12 * np.roll(axis, 1))))
        touch = np.insert(np.array(n.vector(*place)), int(np.argmax(axis)), 0.0)
        face = Rotation.from_rotvec(n.vector(0.1, -0.15, 0.2)).apply(axis)
        legs.append(
            {
                "name": f"leg{k + 1}",
                "bodies": {"slider": n.body(1.5, (0.02, -0.01, 0.015), (0.03, 0.04, 0.05))},
                "joints": {
                    "slide": prismatic(
                        "base",
                        "slider",
                        touch - 0.4 * push,
                        push.tolist(),
                        guess=float(0.4 * np.linalg.norm(push)),
                        actuator={"rotor_inertia": n(0.5)},
                        friction={"viscous": n(20.0), "coulomb": n(8.0)},
                    )
                },
                "closures": {
                    "face": joint(
                        "planar-spherical",
                        "slider",
                        "cube",
                        None,
                        face.tolist(),
                        child_at=touch,
                        plane="child" if k % 2 else "parent",
                        friction=[{"viscous": n(5.0)}, {"viscous": n(4.0)}, {"coulomb": n(0.02)}],
                    )
                },
            }
        )
    return nacelle.build(
        {
            "name": "pushed-faces",
            "motion": "se3",
            "nacelle": {"name": "cube", **n.body(6.0, (0.1, 0.11, 0.09), (0.07, 0.08, 0.06))},
            "legs": legs,
        }
    )


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


def folding_nacelle(seed: int) -> nacelle.Robot:
    """A planar nacelle of four bars in a loop, an RRR leg on each: x, y, rz and the swing of the loop."""
    n = Numbers(seed)
    corners = [
        np.array([*n.vector(x, y), 0.0]) for x, y in ((0.1, 0.08), (-0.1, 0.09), (-0.09, -0.1), (0.11, -0.09))
    ]
    bodies = {f"bar{k + 1}": n.body(0.5, (0.09, 0.012, 0.004), (0.06, 0.02, 0.01)) for k in range(4)}
    sides = [corners[(k + 1) % 4] - corners[k] for k in range(4)]
    headings = [float(np.arctan2(side[1], side[0])) for side in sides]
    lengths = [float(np.linalg.norm(side)) for side in sides]

    def hinge(a: int, b: int, **more: Any) -> Data:
        return revolute(f"bar{a + 1}", f"bar{b + 1}", [lengths[a], 0, 0], "z", friction=VISCOUS, **more)

    def turned(a: int) -> float:
        return float(np.remainder(headings[a + 1] - headings[a] + np.pi, 2 * np.pi) - np.pi)

    legs = []
    for k in range(4):
        mid = corners[k] + 0.5 * sides[k]
        root = mid / np.linalg.norm(mid) * n(0.42)
        root = Rotation.from_euler("z", n(0.6)).apply(root)
        legs.append(
            _planar_leg(n, f"leg{k + 1}", root, mid, np.array([0.5 * lengths[k], 0, 0]), body=f"bar{k + 1}")
        )
    nacelle_data = {
        "type": "articulated",
        "name": "bar1",
        "bodies": bodies,
        "joints": {
            name: hinge(a, a + 1, guess=turned(a)) for a, name in enumerate(("swing", "second", "third"))
        },
        "closures": {"last": hinge(3, 0)},
    }
    return nacelle.build(
        {
            "name": "folding-nacelle",
            "motion": ["x", "y", "rz", "swing"],
            "gravity": [0.0, -9.81, 0.0],
            "reference": {
                "position": corners[0].tolist(),
                "rotation": {"axis": "z", "angle": headings[0]},
            },
            "nacelle": nacelle_data,
            "legs": legs,
        }
    )


def tilting_head(seed: int) -> nacelle.Robot:
    """3-UPS and a passive UP leg whose prismatic joint closes it: the head tilts as it moves in x, y, z."""
    n = Numbers(seed)
    legs: list[Data] = []
    for k in range(3):
        A, B = around(n(0.45), n(120.0 * k + 15.0)), around(n(0.2), n(120.0 * k + 20.0))
        angles = _along(B - [0, 0, 1.0] - A).as_euler("XYZ")
        legs.append(
            {
                "name": f"strut{k + 1}",
                "bodies": {
                    "tube": n.body(25.0, (0.01, -0.008, 0.25), (0.05, 0.06, 0.15)),
                    "rod": n.body(12.0, (0.006, 0.007, -0.3), (0.03, 0.04, 0.15)),
                },
                "joints": {
                    "foot": joint(
                        "universal",
                        "base",
                        "tube",
                        A,
                        ["x", "y"],
                        guess=angles[:2].tolist(),
                        friction=[VISCOUS, DRY],
                    ),
                    "screw": prismatic(
                        "tube",
                        "rod",
                        None,
                        "z",
                        guess=1.03,
                        friction={"viscous": n(300.0), "coulomb": n(50.0)},
                        actuator={"rotor_inertia": n(0.001), "gear_ratio": n(628.3)},
                    ),
                },
                "closures": {"head": spherical("rod", "head", child_at=B)},
            }
        )
    legs.append(
        {
            "name": "centre",
            "bodies": {
                "cross": n.body(2.0, (0.01, 0.006, -0.004), (0.05, 0.06, 0.04)),
                "tube": n.body(15.0, (0.02, -0.01, -0.1), (0.06, 0.07, 0.12)),
            },
            "joints": {
                "first": revolute("base", "cross", None, "x", spring={"stiffness": n(30.0), "rest": 0.0}),
                "second": revolute("cross", "tube", None, "y"),
            },
            "closures": {
                "ram": prismatic("tube", "head", None, "z", guess=-1.0, friction={"viscous": n(100.0)})
            },
        }
    )
    return nacelle.build(
        {
            "name": "tilting-head",
            "motion": "xyz",
            "reference": {"position": [0.05, -0.04, -1.0]},
            "nacelle": {"name": "head", **n.body(60.0, (0.02, -0.03, -0.15), (0.12, 0.14, 0.1))},
            "legs": legs,
        }
    )


def inner_loops(seed: int) -> nacelle.Robot:
    """A leg whose knee is driven by a four-bar from a motor on the thigh, and a point as its foot."""
    n = Numbers(seed)
    lengths = dict(zip(("thigh", "shank", "crank", "rod"), n.vector(0.35, 0.35, 0.06, 0.35), strict=True))
    drive = {"gear_ratio": n(9.0), "rotor_inertia": n(1e-4)}
    leg = {
        "name": "leg",
        "bodies": {
            "thigh": n.body(3.0, (0.15, 0.012, 0.006), (0.1, 0.04, 0.03)),
            "crank": n.body(0.2, (0.02, 0.004, 0.003), (0.02, 0.01, 0.012)),
            "rod": n.body(0.3, (0.15, -0.006, 0.002), (0.1, 0.01, 0.012)),
            "shank": n.body(1.2, (0.14, 0.009, -0.004), (0.1, 0.03, 0.02)),
        },
        "joints": {
            "hip": revolute("base", "thigh", None, "z", guess=-1.05, actuator=drive, friction=DRY),
            "knee": revolute(
                "thigh",
                "shank",
                [lengths["thigh"], 0, 0],
                "z",
                guess=-0.87,
                spring={"stiffness": n(3.0), "rest": n(-0.5)},
                friction=VISCOUS,
            ),
            "motor": revolute("thigh", "crank", None, "z", guess=1.4, actuator=drive, friction=DRY),
            "pin": revolute("crank", "rod", [lengths["crank"], 0, 0], "z", guess=-1.4),
        },
        "closures": {
            "pull": revolute(
                "rod",
                "shank",
                [lengths["rod"], 0, 0],
                "z",
                child_at=n.vector(0.004, 0.06, 0),
                friction=VISCOUS,
            ),
            "sole": revolute("shank", "foot", [lengths["shank"], 0, 0], "z"),
        },
    }
    return nacelle.build(
        {
            "name": "inner-loops",
            "motion": "xy",
            "gravity": [0.0, -9.81, 0.0],
            "reference": {"position": [0.05, -0.6, 0.0]},
            "nacelle": {"name": "foot", "type": "point", "mass": n(0.1)},
            "legs": [leg],
        }
    )


def cut_at_the_motor(seed: int) -> nacelle.Robot:
    """Three RUS legs cut at the motor, with all bodies on the nacelle's side, beside three UPS legs."""
    n = Numbers(seed)
    legs = []
    for k, (A, B) in enumerate(_hexapod_anchors(n)):
        if k % 2:
            legs.append(_ups(n, f"leg{k + 1}", A, B))
            continue
        straight = _rus(n, f"leg{k + 1}", A, B)
        cardan, motor, head = (
            straight["joints"]["cardan"],
            straight["joints"]["motor"],
            straight["closures"]["head"],
        )
        R = Rotation.from_quat(cardan["at"]["rotation"]["quat_xyzw"])
        legs.append(
            {
                "name": straight["name"],
                "bodies": straight["bodies"],
                "joints": {
                    "head": spherical(
                        "plate", "rod", B, child_at=head["at"], guess=R.as_quat().tolist(), friction=VISCOUS
                    ),
                    "cardan": joint(
                        "universal",
                        "rod",
                        "arm",
                        None,
                        ["x", "y"],
                        child_at=cardan["at"],
                        friction=[DRY, VISCOUS],
                    ),
                },
                "closures": {
                    "motor": revolute(
                        "base",
                        "arm",
                        A,
                        motor["axis"],
                        actuator={"gear_ratio": n(12.0), "rotor_inertia": n(1e-4)},
                        spring={"stiffness": n(4.0), "rest": n(0.2)},
                        friction=DRY,
                    )
                },
            }
        )
    return _hexapod(n, "cut-at-the-motor", legs)


def three_upu(seed: int) -> nacelle.Robot:
    """3-UPU that only translates: general bodies, friction in all universal joints."""
    n = Numbers(seed)
    leg = {
        "bodies": {
            "tube": n.body(2.0, (0.01, -0.008, 0.15), (0.03, 0.04, 0.08)),
            "rod": n.body(1.0, (0.006, 0.007, -0.15), (0.02, 0.03, 0.09)),
        },
        "joints": {
            "foot": joint(
                "universal", "base", "tube", n.vector(0.3, 0, 0), ["y", "x"], friction=[DRY, VISCOUS]
            ),
            "slide": prismatic(
                "tube", "rod", None, "z", active=True, guess=0.5, friction={"viscous": n(30.0)}
            ),
        },
        "closures": {
            "head": joint(
                "universal",
                "rod",
                "plate",
                None,
                ["x", "y"],
                child_at=n.vector(0.12, 0, 0),
                friction=[VISCOUS, STRIBECK],
            )
        },
    }
    return nacelle.build(
        {
            "name": "three-upu",
            "motion": "xyz",
            "reference": {"position": [0.02, -0.01, 0.5]},
            "nacelle": {"name": "plate", **n.body(3.0, (0.01, -0.02, 0.015), (0.06, 0.07, 0.03))},
            "templates": {"leg": leg},
            "legs": [{"repeat": "leg", "count": 3}],
        }
    )


def mirrored_legs(seed: int) -> nacelle.Robot:
    """Six RUS legs of one template in mirrored pairs, with springs in the motors and limits nowhere."""
    n = Numbers(seed)
    leg = {
        "bodies": {
            "arm": n.body(0.6, (0.08, 0.006, -0.008), (0.05, 0.02, 0.03)),
            "rod": n.body(0.15, (0.004, -0.003, -0.24), (0.01, 0.012, 0.13)),
        },
        "joints": {
            "motor": revolute(
                "base",
                "arm",
                n.vector(0.23, 0.04, 0),
                "y",
                guess=0.5,
                active=True,
                friction=DRY,
                spring={"stiffness": n(5.0), "rest": n(-0.3)},
            ),
            "cardan": joint(
                "universal", "arm", "rod", n.vector(0.2, 0, 0), ["y", "x"], friction=[VISCOUS, DRY]
            ),
        },
        "closures": {
            "ball": spherical(
                "rod", "plate", n.vector(0, 0, -0.5), child_at=n.vector(0.08, 0.1, 0), friction=DRY
            )
        },
    }
    placements = [{"angle": 2 * np.pi * (k // 2) / 3, **({} if k % 2 else {"mirror": "y"})} for k in range(6)]
    return nacelle.build(
        {
            "name": "mirrored-legs",
            "motion": "se3",
            "reference": {"position": [0.02, -0.015, -0.48], "rotation": {"rpy": [0.05, -0.07, 0.14]}},
            "nacelle": {"name": "plate", **n.body(2.0, (0.01, -0.006, -0.012), (0.06, 0.07, 0.03))},
            "templates": {"leg": leg},
            "legs": [{"repeat": "leg", "placements": placements}],
        }
    )


def one_motion(seed: int) -> nacelle.Robot:
    """A Sarrus linkage of legs that differ: one motion, one motor, closures that repeat each other."""
    n = Numbers(seed)
    legs = []
    for name, angle in (("x-leg", 0.0), ("y-leg", np.pi / 2)):
        legs.append(
            {
                "name": name,
                "placement": {"angle": angle},
                "bodies": {
                    "lower": n.body(1.0, (0.14, 0.01, 0.02), (0.08, 0.03, 0.02)),
                    "upper": n.body(0.8, (0.15, -0.012, 0.01), (0.08, 0.02, 0.03)),
                },
                "joints": {
                    "foot": revolute(
                        "base",
                        "lower",
                        n.vector(0.2, 0, 0),
                        "y",
                        guess=-1.0,
                        active=name == "x-leg",
                        friction=DRY,
                    ),
                    "knee": revolute(
                        "lower",
                        "upper",
                        n.vector(0.3, 0, 0),
                        "y",
                        guess=-1.2,
                        friction=STRIBECK,
                        spring={"stiffness": n(2.0), "rest": n(-1.0)},
                    ),
                },
                "closures": {
                    "head": revolute(
                        "upper",
                        "plate",
                        n.vector(0.31, 0, 0),
                        "y",
                        child_at=n.vector(0.21, 0, 0),
                        friction=VISCOUS,
                    )
                },
            }
        )
    return nacelle.build(
        {
            "name": "one-motion",
            "motion": ["z"],
            "reference": {"position": [0.0, 0.0, 0.45]},
            "nacelle": {"name": "plate", **n.body(1.5, (0.012, -0.02, 0.01), (0.06, 0.07, 0.03))},
            "legs": legs,
        }
    )


def _from_file(name: str) -> Callable[[int], nacelle.Robot]:
    """A robot of the files beside the tests; all inertias and friction changed by 1 %."""

    def make(seed: int) -> nacelle.Robot:
        robot = nacelle.load(_FILES / f"{name}.yaml")
        n = Numbers(seed)
        for kind in ("inertia", "friction"):
            values = robot.parameter_vector(kind)
            robot = robot.with_parameters(np.array(n.vector(*values)), kind)
        return robot

    return make


STRESS: dict[str, Callable[[int], nacelle.Robot]] = {
    "redundant planar 4-RRR": redundant_planar,
    "redundant point on three legs": _from_file("redundant"),
    "drives, springs and rotors at closures": driven_closures,
    "SPS struts": sps_struts,
    "friction in every joint": friction_everywhere,
    "fixed joints": fixed_joints,
    "planar-spherical joints": pushed_faces,
    "sprung five-bar": sprung_five_bar,
    "point on sliders": point_on_sliders,
    "nacelle with a loop": folding_nacelle,
    "shared carriage": _from_file("shared"),
    "tilting head": tilting_head,
    "loop inside a leg": inner_loops,
    "cut at the motor": cut_at_the_motor,
    "translating 3-UPU": three_upu,
    "mirrored legs": mirrored_legs,
    "one motion": one_motion,
}
"""Robots that are no families: by name, each a function of a seed."""
