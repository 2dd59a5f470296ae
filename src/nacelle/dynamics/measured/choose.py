"""Choosing how a balance from measured inputs is written: all ways are traced, and the cheapest is taken.

What is found is kept in the user's cache.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from nacelle.compile import make_program, remembered
from nacelle.dynamics.measured.platform import WAYS
from nacelle.model.robot import Robot
from nacelle.program.cost import cost, count


def chosen(
    function: Callable[..., Any],
    robot: Robot,
    shapes: Mapping[str, tuple[int, ...]],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Options with those of the way that makes the shortest program among them."""

    def search() -> str:
        sizes = []
        for way in WAYS:
            program = make_program(
                function, robot, shapes, minimised=False, options={**options, **way._asdict()}
            )
            sizes.append((float(count(program).total), cost(program)))
        return json.dumps(WAYS[sizes.index(min(sizes))]._asdict())

    parts = [
        function.__qualname__,
        [[name, list(shape)] for name, shape in shapes.items()],
        [list(o) for o in options.items()],
    ]
    return {**options, **json.loads(remembered("choice", robot, parts, search))}
