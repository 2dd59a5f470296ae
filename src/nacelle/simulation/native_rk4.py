"""The native fixed-step integrator around a robot's flow, compiled once for each robot and choice."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nacelle.compile import compile_rk4
from nacelle.model.robot import Robot
from nacelle.simulation.flow import flow

if TYPE_CHECKING:
    from nacelle.simulation.plant import RigidPlant


def native_rk4(plant: RigidPlant) -> Any:
    """The driver of a plant."""
    return _driver(plant.robot, plant.options)


@lru_cache(maxsize=64)
def _driver(robot: Robot, options: tuple[tuple[str, Any], ...]) -> Any:
    return compile_rk4(flow, robot, options=dict(options))
