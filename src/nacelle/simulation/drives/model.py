"""The flow of a plant with its drives, over any scalar, made of the flow of the plant without them.

The state is [s; g; b]: that of the plant, the forces of the motors whose current loops have a lag, and the
deflections of the bristles where there is stiction. With q, w = q' the coordinates and rates of the actuated
joints, as encoders see them, and u the commands

    s' = flow(s, m + A sin(k q + phase) - F(w, b))
    m  = g, or limited(u) where there is no lag           limited(u) = min(max(u, -limit), limit)
    g' = (limited(u) - g) / lag
    b' = w - sigma_0 |w| b / g(w)                         F, b' as in `nacelle.simulation.drives.lugre`

What is measured of the plant is traced only where cogging or stiction need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from nacelle.errors import KinematicsError
from nacelle.kinematics.shapes import of_actuators
from nacelle.model.robot import Robot
from nacelle.simulation.drives.drives import Cogging, DriveNumbers
from nacelle.simulation.feedback import MOTOR, LoopModel
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array, Scalar, maximum, minimum, pack, sin


def force_limited(u: Scalar, limit: float) -> Scalar:
    """A command that ends at a force limit, N m or N."""
    return u if limit == float("inf") else minimum(maximum(u, -limit), limit)


def cogging_force(term: Cogging, q: Scalar) -> Scalar:
    """Force A sin(k q + phase) of cogging at a coordinate, N m or N."""
    return term.amplitude * sin(term.cycles * q + term.phase) if term.amplitude else 0.0


@lru_cache(maxsize=64)
def driven_model(plant: LoopModel, drives: DriveNumbers) -> LoopModel:
    """Flow and signals of a plant with its drives; the same functions for the same plant and numbers."""
    lagged, bristled = drives.lagged, drives.bristled
    wanted = (*(["q"] if drives.cogging else []), *(["qd"] if bristled else []))
    size, constant_shape = _shape(plant, 0), _shape(plant, 2)

    def state(robot: Robot) -> tuple[int]:
        return (size(robot)[0] + drives.states,)

    @physics(s=state, u=of_actuators, constants=constant_shape)
    def driven_flow(robot: Robot, s: Array, u: Array, constants: Array, **options: Any) -> Array:
        (inner,) = size(robot)
        own, motors, bristles = s[:inner], s[inner : inner + len(lagged)], s[inner + len(lagged) :]
        force = [force_limited(u[i], limit) for i, limit in enumerate(drives.limit)]
        motor_rates = [(force[i] - g) / drives.lag[i] for i, g in zip(lagged, motors, strict=True)]
        for i, g in zip(lagged, motors, strict=True):
            force[i] = g
        signals = plant.signals(robot, own, constants, wanted) if wanted else {}
        if drives.cogging:
            q = signals["q"]
            force = [f + cogging_force(drives.cogging[i], q[i]) for i, f in enumerate(force)]
        bristle_rates = []
        for (i, model), b in zip(bristled, bristles, strict=True):
            w = signals["qd"][i]
            force[i] = force[i] - model.force(w, b)
            bristle_rates.append(model.bristle_rate(w, b))
        flow = plant.flow(robot, own, pack(force), constants, **options)
        return pack([*flow, *motor_rates, *bristle_rates])

    def driven_signals(robot: Robot, s: Array, constants: Array, wanted: Sequence[str]) -> dict[str, Any]:
        (inner,) = size(robot)
        others = tuple(name for name in wanted if name != MOTOR)
        signals = plant.signals(robot, s[:inner], constants, others)
        if MOTOR not in wanted:
            return signals
        if len(lagged) < len(drives.lag):
            raise KinematicsError(
                f"the forces of the motors of {robot.name} are no signal where current loops have no lag: "
                "they are the commands of the same moment; give all of them a lag, or a bandwidth"
            )
        return {**signals, MOTOR: s[inner : inner + len(lagged)]}

    for function in (driven_flow, driven_signals):
        vars(function)["made_from"] = (*plant, tuple(drives))
    return LoopModel(driven_flow, driven_signals)


def _shape(plant: LoopModel, place: int) -> Callable[[Robot], tuple[int, ...]]:
    """Shape of an input of the plant's flow, by its place, as a function of the robot."""

    def shape(robot: Robot) -> tuple[int, ...]:
        return list((input_shapes(plant.flow, robot) or {}).values())[place]

    return shape
