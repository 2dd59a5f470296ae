"""The robots of the library with every number changed by about 1 %, but for what their descriptions declare.

The change is made in the description, so that it keeps exactly what the description says once: legs are
instances of one template, a constant is the same wherever it is used (the width of both ends of a
parallelogram, half a length as the centre of mass of a rod), a body given by an alias is the same body.
Placements (angles, mirrors), axes and rotations are the arrangement and stay; a coordinate that is written as
zero stays zero. What cannot change the equations of motion stays, too: guesses, limits, displays, the
reference pose. `docs/compact.md` says for each robot what is left by that.

Moments of inertia are changed by their second moments a = (I_yy + I_zz - I_xx) / 2, ..., so that there is a
body that has them; a rod that spins idly stays axisymmetric, because nothing would determine its spin
otherwise.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from typing import Any

import numpy as np
from ruamel.yaml import YAML

import nacelle
from nacelle import robots
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.spatial.pose import Pose
from support.library import library_robot

CHANGE = 0.01

# What is no number of the equations of motion, or arranges the robot.
_FIXED_KEYS = frozenset(
    (
        *("format", "name", "names", "title", "sources", "notes", "display", "modes", "tools", "encoder"),
        *("motion", "gravity", "reference", "guess", "limits", "branch", "torque_constant"),
        *("base", "parent", "child", "type", "plane", "about", "template", "repeat", "count"),
        *("placement", "placements", "angle", "angles", "axis", "axes", "rotation", "direction"),
        *("section", "material", "start", "range", "lean"),
    )
)
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_QUANTITY = re.compile(rf"((?:{_NUMBER}\s+)*{_NUMBER})(\s*[A-Za-z].*)?$")


def _split_quantity(written: str) -> tuple[str, str]:
    """The numbers and the unit of a quantity."""
    match = _QUANTITY.match(written)
    assert match is not None, written
    return match[1], match[2] or ""


class _Variation:
    """One change of a description."""

    def __init__(self, seed: int, internal_freedoms: set[str], stays: frozenset[str]) -> None:
        self.rng = np.random.default_rng(seed)
        self.internal_freedoms = internal_freedoms
        self.stays = stays
        self.done: dict[int, tuple[Any, Any]] = {}

    def factor(self) -> float:
        return 1.0 + CHANGE * float(self.rng.uniform(-1.0, 1.0))

    def value(self, written: Any, key: str = "") -> Any:
        """Anything below a key."""
        if isinstance(written, dict | list):
            if id(written) not in self.done:
                # The original is kept, so that its id is not given to another.
                self.done[id(written)] = (written, self.branch(written, key))
            return self.done[id(written)][1]
        if isinstance(written, bool) or written is None:
            return written
        if isinstance(written, int | float):
            return written * self.factor()
        return self.text(written)

    def branch(self, written: Any, key: str) -> Any:
        if isinstance(written, list):
            return [self.value(entry) for entry in written]
        changed = {}
        for name, entry in written.items():
            if name in self.stays or (name == "table" and isinstance(entry, str)):
                changed[str(name)] = entry
            elif name == "inertia":
                changed[name] = self.inertia(entry, alike=key in self.internal_freedoms)
            else:
                changed[str(name)] = self.value(entry, str(name))
        return changed

    def text(self, written: str) -> str:
        """A quantity, or several with one unit; names, references and formulas stay."""
        match = _QUANTITY.match(written.strip())
        if match is None:
            return written
        numbers = [repr(float(number) * self.factor()) for number in match[1].split()]
        return " ".join(numbers) + (match[2] or "")

    def inertia(self, written: Any, alike: bool) -> Any:
        """Moments by their second moments; products on their own."""
        if isinstance(written, str):
            numbers, unit = _split_quantity(written)
            moments = [float(number) for number in numbers.split()]
            assert len(moments) == 3, written
            return " ".join(repr(value) for value in self.moments(moments, alike)) + unit
        parsed = {name: _split_quantity(written[name]) for name in ("xx", "yy", "zz")}
        moments = self.moments([float(number) for number, _ in parsed.values()], alike)
        own = {
            name: f"{value!r}{unit}" for (name, (_, unit)), value in zip(parsed.items(), moments, strict=True)
        }
        return {name: own.get(name) or self.value(entry) for name, entry in written.items()} | (
            {"about": written["about"]} if "about" in written else {}
        )

    def moments(self, moments: list[float], alike: bool) -> list[float]:
        second = 0.5 * sum(moments) - np.array(moments)
        factors = np.array([self.factor() for _ in second])
        if alike:
            for k in range(3):
                twins = np.isclose(second, second[k], rtol=1e-12)
                factors[twins] = factors[k]
        second = second * factors
        return [float(value) for value in np.sum(second) - second]


@cache
def varied_library_robot(name: str, seed: int) -> nacelle.Robot:
    """A robot of the library, changed."""
    robot = library_robot(name)
    internal_freedoms = {
        robot.bodies[spin.body].name.rpartition(".")[2]
        for spin in mechanism_of(robot).mobility.internal_freedoms
    }
    data = YAML(typ="safe", pure=True).load(robots.text(name))
    # The hexagons of PaLiDA are printed as points: they are made anew.
    stays = _FIXED_KEYS | ({"A", "B"} if name == "palida" else set())
    changed = nacelle.build(_Variation(seed, internal_freedoms, stays).value(data))
    return _with_hexagonal_anchors(changed, seed) if name == "palida" else changed


def _with_hexagonal_anchors(robot: nacelle.Robot, seed: int) -> nacelle.Robot:
    """Anchors on other semi-regular hexagons: at 120 k + h and 120 k - h degrees, mirror images exactly."""
    rng = np.random.default_rng(seed)
    joints = list(robot.joints)
    for closes in (False, True):
        anchors = [leg.closures[0] if closes else leg.joints[0] for leg in robot.legs]
        old = [(joints[j].frame_successor if closes else joints[j].frame_predecessor).p for j in anchors]
        radius = float(np.hypot(*old[0][:2])) * (1.0 + CHANGE * rng.uniform(-1.0, 1.0))
        half = np.degrees(np.arctan2(abs(old[0][1]), old[0][0])) * (1.0 + CHANGE * rng.uniform(-1.0, 1.0))
        angles = np.radians([120.0 * k + side * half for k in range(3) for side in (1.0, -1.0)])
        points = radius * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
        for j, p in zip(anchors, old, strict=True):
            near = points[np.argmin(np.linalg.norm(points - p, axis=1))]
            twin = points[np.argmin(np.linalg.norm(points - near * [1, -1, 1], axis=1))]
            at = np.array([0.5 * (near[0] + twin[0]), 0.5 * (near[1] - twin[1]), 0.0])
            side = "frame_successor" if closes else "frame_predecessor"
            joints[j] = dataclasses.replace(joints[j], **{side: Pose(getattr(joints[j], side).R, at)})
    return dataclasses.replace(robot, joints=tuple(joints))
