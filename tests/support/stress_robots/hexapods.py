"""Six legs and six motions: struts between spherical joints, legs that differ, friction in every joint."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import nacelle
from support.rigid_robots import Data, Numbers, joint, prismatic, revolute, spherical
from support.stress_robots.friction import DRY, POWERS, STRIBECK, VISCOUS
from support.stress_robots.hexapod_legs import (
    UP,
    along,
    axisymmetric,
    hexapod,
    hexapod_anchors,
    pcs,
    rus,
    ups,
)


def sps_struts(seed: int) -> nacelle.Robot:
    """6-SPS: struts between spherical joints spin idly; friction in the spherical joints and the drives."""
    n = Numbers(seed)
    legs = []
    for k, (A, B) in enumerate(hexapod_anchors(n)):
        reach = B + UP - A
        legs.append(
            {
                "name": f"leg{k + 1}",
                "bodies": {
                    "tube": axisymmetric(n, 4.0, 0.15, 0.05, 0.004),
                    "rod": axisymmetric(n, 2.2, -0.24, 0.04, 0.002),
                },
                "joints": {
                    "foot": spherical("base", "tube", A, guess=along(reach).as_quat().tolist(), friction=DRY),
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
    return hexapod(n, "sps-struts", legs)


def friction_everywhere(seed: int) -> nacelle.Robot:
    """Legs UPS, PCS and RUS, with friction of all kinds in every joint, and a payload."""
    n = Numbers(seed)
    makers = (ups, pcs, rus)
    legs = [makers[k % 3](n, f"leg{k + 1}", A, B) for k, (A, B) in enumerate(hexapod_anchors(n))]
    kinds = (DRY, STRIBECK, VISCOUS, POWERS)
    k = 0
    for leg in legs:
        for written in (*leg["joints"].values(), *leg["closures"].values()):
            axes = {"universal": 2, "cylindrical": 2}.get(written["type"], 1)
            terms = [_scaled(n, kinds[(k + axis) % 4], written["type"], axis) for axis in range(axes)]
            written["friction"] = terms if axes > 1 else terms[0]
            k += axes
    payload = {"load": {**n.body(1.5, (0.01, 0.02, 0.03), (0.03, 0.04, 0.05)), "at": [0.03, -0.02, 0.05]}}
    return hexapod(n, "friction-everywhere", legs, payload=payload)


def _scaled(n: Numbers, terms: Data, kind: str, axis: int) -> Data:
    """Friction terms changed by 1 %, ten times larger along a straight axis."""
    larger = 10.0 if kind == "prismatic" or (kind == "cylindrical" and axis == 0) else 1.0
    return {key: n(value) * (1.0 if key == "scale" else larger) for key, value in terms.items()}


def cut_at_the_motor(seed: int) -> nacelle.Robot:
    """Three RUS legs cut at the motor, with all bodies on the nacelle's side, beside three UPS legs."""
    n = Numbers(seed)
    legs = []
    for k, (A, B) in enumerate(hexapod_anchors(n)):
        if k % 2:
            legs.append(ups(n, f"leg{k + 1}", A, B))
            continue
        straight = rus(n, f"leg{k + 1}", A, B)
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
    return hexapod(n, "cut-at-the-motor", legs)
