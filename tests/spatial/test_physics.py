"""Physics functions declare their inputs, and may take several as one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nacelle.program.trace import trace
from nacelle.spatial.physics import draw_inputs_with, gather_arguments, input_shapes, physics, sampler_of
from support.random_programs import evaluate


class Point(NamedTuple):
    x: Any
    v: Any


@physics(load=(1,), x=lambda robot: (robot,), v=(2,))
@gather_arguments(Point, 2)
def power(robot: int, load: Any, point: Point, *, factor: float = 1.0) -> dict[str, Any]:
    return {"power": factor * (point.x @ point.v) + load[0] * robot}


def test_inputs_are_declared_in_order() -> None:
    assert input_shapes(power, 2) == {"load": (1,), "x": (2,), "v": (2,)}
    assert input_shapes(np.sin, 2) is None


def test_gathered_arrays_are_one_argument() -> None:
    """Called with arrays, as a tracer calls it; options go through, and the name stays."""
    found = power(2, np.array([0.5]), np.array([1.0, 2.0]), np.array([3.0, 4.0]), factor=2.0)
    assert found["power"] == 2.0 * 11.0 + 1.0
    assert power.__name__ == "power"
    traced = trace(lambda *arrays: power(2, *arrays), input_shapes(power, 2) or {}).program()
    values = [np.array([[0.5]]), np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])]
    assert evaluate(traced, values)[0][0] == 12.0


def test_samplers_are_declared_beside() -> None:
    drawn = draw_inputs_with(len)(lambda robot: robot)
    assert sampler_of(drawn) is len
    assert sampler_of(power) is None
