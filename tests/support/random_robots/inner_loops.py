"""Random planar legs with a loop inside, and states around their singularities whose joints are known.

A thigh turns on the base, a shank on the thigh; the foot is a point of mass. The knee is driven

- by a four-bar: a crank on the thigh, a rod from it to a lever of the shank; some of them parallelograms;
- by a cylinder between thigh and shank.

States are made from the joints: hip and knee are drawn, the driving loop follows in closed form on the branch
of the reference, so that the pose is one whose solution is known. Singularities are the stretched or folded
knee and the dead points of the loop (crank and rod in line; the cylinder's axis through the knee).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import nacelle
from nacelle.model.read import read_data
from support.random_robots.written import Data, prismatic, revolute
from support.random_robots.written import leg as written_leg

Array = np.ndarray


@dataclass(frozen=True)
class Leg:
    """The lengths of a leg, and the robot.

    Attributes:
        kind: "bars" or "cylinder".
        thigh, shank: lengths, m.
        base: where the driving loop begins on the thigh (2,).
        lever: where it ends on the shank (2,), from the knee.
        crank, rod: lengths of the bars.
        side: sign of the crank's dead-point sine on the branch of the reference.
        knee: angle of the knee in the reference pose.
        robot: the robot.
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
    robot: nacelle.Robot | None = None

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


def _body(rng: np.random.Generator, length: float) -> dict[str, Any]:
    mass = rng.uniform(0.2, 3.0)
    com = [length * rng.uniform(0.2, 0.8), length * rng.uniform(-0.1, 0.1), 0.0]
    inertia = mass * length**2 * rng.uniform(0.05, 0.12)
    return {"mass": mass, "com": com, "inertia": [0.1 * inertia, inertia, 1.05 * inertia]}


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
    leg = Leg(loop, thigh, shank, base, at, crank, rod, side, knee)
    if kind == "parallelogram":
        # The branch on which crank and lever stay parallel.
        side = next(
            s for s in (1.0, -1.0) if abs(np.sin(leg.driven(np.array(knee), s)[0] - knee - lean)) < 1e-6
        )
        leg = replace(leg, side=side)
    q, sine = leg.driven(np.array(knee))
    if not (np.isfinite(q) and abs(sine) > 0.3):
        return None
    return replace(leg, robot=_robot(rng, leg, hip, float(q)))


def _robot(rng: np.random.Generator, leg: Leg, hip: float, q: float) -> nacelle.Robot:
    d = leg.pin(np.array(leg.knee)) - leg.base
    bodies = {"thigh": _body(rng, leg.thigh), "shank": _body(rng, leg.shank)}
    drive: Data = {"active": True, "friction": {"viscous": 0.02}}
    passive: Data = {"friction": {"viscous": 0.03}}
    joints = {
        "hip": revolute("base", "thigh", None, "z", guess=hip, **drive),
        "knee": revolute("thigh", "shank", [leg.thigh, 0.0, 0.0], "z", guess=leg.knee, **passive),
    }
    at = [*map(float, leg.base), 0.0]
    if leg.kind == "bars":
        tip = leg.crank * np.array([np.cos(q), np.sin(q)])
        angle = float(np.arctan2(*(d - tip)[::-1])) - q
        bodies |= {"crank": _body(rng, leg.crank), "rod": _body(rng, leg.rod)}
        joints["motor"] = revolute("thigh", "crank", at, "z", guess=q, **drive)
        joints["pin"] = revolute("crank", "rod", [leg.crank, 0.0, 0.0], "z", guess=angle)
        last, end = "rod", [leg.rod, 0.0, 0.0]
    else:
        bodies |= {"barrel": _body(rng, 0.3), "piston": _body(rng, -0.3)}
        joints["swing"] = revolute("thigh", "barrel", at, "z", guess=float(np.arctan2(d[1], d[0])))
        joints["ram"] = prismatic("barrel", "piston", None, "x", guess=q, **drive)
        last, end = "piston", [0.0, 0.0, 0.0]
    closures = {
        "pull": revolute(last, "shank", end, "z", child_at=[*map(float, leg.lever), 0.0]),
        "sole": revolute("shank", "foot", [leg.shank, 0.0, 0.0], "z"),
    }
    foot = leg.foot(np.array(hip), np.array(leg.knee))
    return read_data(
        {
            "format": "nacelle/1",
            "name": "leg",
            "motion": "xy",
            "gravity": [0.0, -9.81, 0.0],
            "reference": {"position": [*map(float, foot), 0.0]},
            "platform": {"name": "foot", "type": "point", "mass": 0.3},
            "legs": [written_leg("leg", bodies, joints, closures)],
        }
    )[0]
