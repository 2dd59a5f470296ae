"""Random planar legs with a loop inside, and states around their singularities whose joints are known.

A thigh turns on the base, a shank on the thigh; the foot is a point of mass. The knee is driven

- by a four-bar: a crank on the thigh, a rod from it to a lever of the shank; some of them parallelograms;
- by a cylinder between thigh and shank.

States are made from the joints: hip and knee are drawn, the driving loop follows in closed form on the branch
of the reference, so that the pose is one whose solution is known. Singularities are the stretched or folded
knee and the dead points of the loop (crank and rod in line; the cylinder's axis through the knee).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import nacelle
from nacelle.model.read import read_data

Array = np.ndarray


@dataclass(frozen=True)
class Shape:
    """The lengths of a leg.

    Attributes:
        kind: "bars" or "cylinder".
        thigh, shank: lengths, m.
        base: where the driving loop begins on the thigh (2,).
        lever: where it ends on the shank (2,), from the knee.
        crank, rod: lengths of the bars.
        side: sign of the crank's dead-point sine on the branch of the reference.
        knee: angle of the knee in the reference pose.
    """

    kind: str
    thigh: float
    shank: float
    base: Array
    lever: Array
    crank: float
    rod: float
    side: float
    knee: float

    def foot(self, hip: Array, knee: Array) -> Array:
        """Poses of the foot (N, 2)."""
        first = self.thigh * np.stack([np.cos(hip), np.sin(hip)], axis=-1)
        return first + self.shank * np.stack([np.cos(hip + knee), np.sin(hip + knee)], axis=-1)

    def pin(self, knee: Array) -> Array:
        """The end of the lever (N, 2), in the thigh."""
        c, s = np.cos(knee), np.sin(knee)
        turned = np.stack(
            [c * self.lever[0] - s * self.lever[1], s * self.lever[0] + c * self.lever[1]], axis=-1
        )
        return turned + np.array([self.thigh, 0.0])

    def driven(self, knee: Array, side: float | None = None) -> tuple[Array, Array]:
        """The driving joint's coordinate (N,) at angles of the knee, and the sine of its dead point (N,).

        NaN where the loop does not close.
        """
        side = self.side if side is None else side
        d = self.pin(knee) - self.base
        length = np.hypot(d[..., 0], d[..., 1])
        if self.kind == "cylinder":
            # Singular where its axis runs through the knee.
            arm = np.array([self.thigh, 0.0]) - self.base
            return length, (d[..., 0] * arm[1] - d[..., 1] * arm[0]) / (length * np.hypot(*arm))
        cosine = (length**2 + self.crank**2 - self.rod**2) / (2.0 * length * self.crank)
        with np.errstate(invalid="ignore"):
            angle = np.arctan2(d[..., 1], d[..., 0]) + side * np.arccos(cosine)
        tip = self.crank * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        along = (d - tip) / self.rod
        sine = (tip[..., 0] * along[..., 1] - tip[..., 1] * along[..., 0]) / self.crank
        return angle, sine


@dataclass(frozen=True)
class Leg(Shape):
    """A leg with its lengths, and the robot."""

    robot: nacelle.Robot


def _body(rng: np.random.Generator, length: float) -> dict[str, Any]:
    mass = rng.uniform(0.2, 3.0)
    com = [length * rng.uniform(0.2, 0.8), length * rng.uniform(-0.1, 0.1), 0.0]
    inertia = mass * length**2 * rng.uniform(0.05, 0.12)
    return {
        "mass": mass,
        "com": com,
        "inertia": [0.1 * inertia, inertia, 1.05 * inertia],
    }


def draw(seed: int) -> Leg:
    """A random leg; every third one is driven by a parallelogram."""
    rng = np.random.default_rng([seed, 77])
    while True:
        found = _draw(rng, ("bars", "parallelogram", "cylinder")[seed % 3])
        if found is not None:
            return found


def _draw(rng: np.random.Generator, kind: str) -> Leg | None:
    thigh, shank = rng.uniform(0.25, 0.5, 2)
    hip, knee = rng.uniform(-np.pi, np.pi), rng.uniform(0.5, 2.2) * rng.choice([-1.0, 1.0])
    lever = rng.uniform(0.05, 0.12)
    lean = rng.uniform(0.3, 2.8) * rng.choice([-1.0, 1.0])
    base = np.array([rng.uniform(-0.05, 0.05), rng.uniform(-0.06, 0.06)])
    crank, rod = rng.uniform(0.05, 0.12), thigh * rng.uniform(0.9, 1.1)
    if kind == "parallelogram":
        base, crank, rod = np.zeros(2), lever, thigh
    at = lever * np.array([np.cos(lean), np.sin(lean)])
    side = float(rng.choice([-1.0, 1.0]))
    loop = "cylinder" if kind == "cylinder" else "bars"
    shape = Shape(loop, thigh, shank, base, at, crank, rod, side, knee)
    q, sine = shape.driven(np.array(knee))
    if kind == "parallelogram":
        # The branch on which crank and lever stay parallel.
        side = next(
            s for s in (1.0, -1.0) if abs(np.sin(shape.driven(np.array(knee), s)[0] - knee - lean)) < 1e-6
        )
        shape = Shape(loop, thigh, shank, base, at, crank, rod, side, knee)
        q, sine = shape.driven(np.array(knee))
    if not (np.isfinite(q) and abs(sine) > 0.3):
        return None
    robot = _robot(rng, shape, hip, float(q))
    return Leg(loop, thigh, shank, base, at, crank, rod, side, knee, robot)


def _robot(rng: np.random.Generator, leg: Leg, hip: float, q: float) -> nacelle.Robot:
    d = leg.pin(np.array(leg.knee)) - leg.base
    bodies = {"thigh": _body(rng, leg.thigh), "shank": _body(rng, leg.shank)}
    drive = {"active": True, "friction": {"viscous": 0.02}}
    joints: dict[str, Any] = {
        "hip": {"type": "revolute", "parent": "base", "child": "thigh", "axis": "z", "guess": hip, **drive},
        "knee": {
            "type": "revolute",
            "parent": "thigh",
            "child": "shank",
            "at": [leg.thigh, 0.0, 0.0],
            "axis": "z",
            "guess": leg.knee,
            "friction": {"viscous": 0.03},
        },
    }
    at = [*leg.base, 0.0]
    if leg.kind == "bars":
        tip = leg.crank * np.array([np.cos(q), np.sin(q)])
        turn = float(np.arctan2(*(d - tip)[::-1])) - q
        bodies |= {"crank": _body(rng, leg.crank), "rod": _body(rng, leg.rod)}
        joints |= {
            "motor": {
                "type": "revolute",
                "parent": "thigh",
                "child": "crank",
                "at": at,
                "axis": "z",
                "guess": q,
                **drive,
            },
            "pin": {
                "type": "revolute",
                "parent": "crank",
                "child": "rod",
                "at": [leg.crank, 0.0, 0.0],
                "axis": "z",
                "guess": turn,
            },
        }
        last, end = "rod", [leg.rod, 0.0, 0.0]
    else:
        angle = float(np.arctan2(d[1], d[0]))
        bodies |= {"barrel": _body(rng, 0.3), "piston": _body(rng, -0.3)}
        joints |= {
            "swing": {
                "type": "revolute",
                "parent": "thigh",
                "child": "barrel",
                "at": at,
                "axis": "z",
                "guess": angle,
            },
            "ram": {
                "type": "prismatic",
                "parent": "barrel",
                "child": "piston",
                "axis": "x",
                "guess": q,
                **drive,
            },
        }
        last, end = "piston", [0.0, 0.0, 0.0]
    foot = leg.foot(np.array(hip), np.array(leg.knee))
    return read_data(
        {
            "format": "nacelle/1",
            "name": "leg",
            "motion": "xy",
            "gravity": [0.0, -9.81, 0.0],
            "reference": {"position": [*map(float, foot), 0.0]},
            "nacelle": {"name": "foot", "type": "point", "mass": 0.3},
            "legs": [
                {
                    "name": "leg",
                    "bodies": bodies,
                    "joints": joints,
                    "closures": {
                        "pull": {
                            "type": "revolute",
                            "parent": last,
                            "at": end,
                            "child": "shank",
                            "child_at": [*map(float, leg.lever), 0.0],
                            "axis": "z",
                        },
                        "sole": {
                            "type": "revolute",
                            "parent": "shank",
                            "at": [leg.shank, 0.0, 0.0],
                            "child": "foot",
                            "axis": "z",
                        },
                    },
                }
            ],
        }
    )[0]
