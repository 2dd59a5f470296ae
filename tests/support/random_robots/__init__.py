"""Random robots: one door, a profile and a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nacelle.model.robot import Robot
from support.library import NAMES
from support.random_robots import described, flexible, inner_loops, trees
from support.random_robots.legs import CASES
from support.random_robots.varied import varied_library_robot

PROFILES: dict[str, Callable[..., Robot]] = {
    "any tree": lambda seed: described.any_tree(seed).robot,
    "closing loops": lambda seed: described.closed_robot(seed).robot,
    **{name: lambda seed, make=make: make(seed).robot for name, make in CASES.items()},
    "inner loop": lambda seed: inner_loops.draw(seed).robot,
    "coupled": trees.coupled_tree,
    "free": trees.free_base_tree,
    "flexible": flexible.random_planar,
    **{name: lambda seed, name=name: varied_library_robot(name, seed) for name in NAMES},
}
"""How a robot of each profile is drawn.

- "any tree" and "closing loops": anything that can be described, with loops that are open or close;
- "6 UPS", "planar RRR", "point PRR", "3 UPU", ...: legs of given types, no two alike (`legs.CASES`);
- "inner loop": a planar leg whose knee is driven by a loop;
- "coupled", "free": trees of bodies, with coupled joints or on a free base;
- "flexible": planar robots with beams as links;
- names of the library: its robots with every number changed by about 1 %.
"""


def random_robot(profile: str, seed: int, **options: Any) -> Robot:
    """A robot of a profile."""
    return PROFILES[profile](seed, **options)
