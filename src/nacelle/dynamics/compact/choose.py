"""Choosing how the smallest form is written for a robot: all ways are traced, and the cheapest is taken.

The search is deterministic, its budget is the number of ways (at most sixteen traces), and what it finds is
kept in the user's cache.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from nacelle.compile import make_program, remembered
from nacelle.dynamics.compact.equilibrium import flat_anchors
from nacelle.dynamics.compact.model import Choice
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.mechanism import mechanism
from nacelle.model.robot import Robot
from nacelle.program.cost import cost, count

Shapes = tuple[tuple[str, tuple[int, ...]], ...]


def ways(robot: Robot) -> list[Choice]:
    """All ways that can differ for a robot."""
    own = robot.numeric
    forms = read_legs(own, mechanism(own))
    n = own.motion.n
    turnable = any(not np.array_equal(form.own_axes, np.eye(3)) for form in forms)
    struts = all(form.kind == "strut" for form in forms)
    anchors = np.array([form.A for form in forms], dtype=float)
    flat = struts and n == 6 and flat_anchors(anchors) is not None
    turns = any(k >= 3 for k in own.motion.twist_axes)
    found = []
    for platform, turned, pole, level, cramer in itertools.product(
        ("masses", "body"),
        (True, False) if turnable else (False,),
        (-1, 0) if turns else (-1,),
        (True, False) if flat else (False,),
        (False, True) if n <= 3 else (False,),
    ):
        if level and pole >= 0:
            continue
        found.append(Choice(platform, level, turned, pole, cramer))
    return found


@lru_cache(maxsize=256)
def best_choice(
    function: Callable[..., Any], robot: Robot, shapes: Shapes, options: tuple[tuple[str, Any], ...]
) -> Choice:
    """The way that makes the shortest program of a function of `functions`."""

    def search() -> str:
        best: tuple[tuple[float, float], Choice] | None = None
        for choice in ways(robot):
            settings = {**dict(options), **asdict(choice)}
            program = make_program(function, robot, dict(shapes), (), False, settings)
            size = (float(count(program).total), cost(program))
            if best is None or size < best[0]:
                best = (size, choice)
        assert best is not None
        return json.dumps(asdict(best[1]))

    parts = [
        function.__qualname__,
        [[name, list(shape)] for name, shape in shapes],
        [list(o) for o in options],
    ]
    return Choice(**json.loads(remembered("choice", robot, parts, search)))


def chosen(
    function: Callable[..., Any],
    robot: Robot,
    shapes: Mapping[str, tuple[int, ...]],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Options with the best choice among them."""
    choice = best_choice(function, robot, tuple(shapes.items()), tuple(options.items()))
    return {**options, **vars(choice)}
