"""Robots that stress what the format can describe, each a function of a seed.

General bodies as in `support.rigid_robots`, with friction, springs, rotors and payloads where a robot is
about them; numbers are changed by about 1 % from seed to seed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import nacelle
from support.rigid_robots import Numbers
from support.stress_robots.hexapods import cut_at_the_motor, friction_everywhere, sps_struts
from support.stress_robots.loops import inner_loops, one_motion
from support.stress_robots.nacelles import folding_nacelle, tilting_head
from support.stress_robots.planar import driven_closures, fixed_joints, redundant_planar
from support.stress_robots.points import point_on_sliders, sprung_five_bar
from support.stress_robots.six_legs_alike import mirrored_legs, pushed_faces
from support.stress_robots.translating import three_upu

_FILES = Path(__file__).parents[2] / "robots"


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
