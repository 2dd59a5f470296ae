"""Digital controllers as programs: with the plant that they measure, by themselves, delayed by a sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import Compiled, compile_function, compile_rk4
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import LoopModel, LoopParts
from nacelle.simulation.flow import Options
from nacelle.simulation.sampled.law import Sampled
from nacelle.spatial.physics import input_shapes, physics
from nacelle.spatial.scalar import Array, pack


def _evaluate(law: Sampled, robot: Robot, given: dict[str, Any]) -> tuple[Array, Array]:
    """Forces (actuators,) and memory (nz,) of a law at what it takes, over any scalar."""
    shapes = law.shapes(robot)
    result = law.function(law.model(robot), *(given[name] for name in shapes), **dict(law.options))
    if not isinstance(result, dict) or set(result) < {"force", "memory"}:
        raise KinematicsError(f'the controller {law.name!r} gives {{"force": ..., "memory": ...}}')
    force, memory = np.asarray(result["force"]), np.asarray(result["memory"])
    if force.shape != (len(robot.actuators),) or memory.shape != law.memory.shape:
        raise KinematicsError(
            f"the controller {law.name!r} gives forces and a memory of the shapes {force.shape} and "
            f"{memory.shape}; {robot.name} has {len(robot.actuators)} actuators, and its memory has "
            f"{law.memory.shape}"
        )
    return force, memory


def control(law: Sampled, parts: LoopParts) -> Callable[..., Array]:
    """The law as a physics function of ([s; z], [t; r], [constants; gains]) that gives [u; z+]."""
    shapes = law.shapes(parts.robot)
    (n,), _, (count,) = (input_shapes(parts.model.flow, parts.robot) or {}).values()
    rows = 1 + shapes.get("r", (0,))[0]

    @physics(s=(n + len(law.memory),), w=(rows,), constants=(count + len(law.gains),))
    def controlled(robot: Robot, s: Array, w: Array, constants: Array) -> Array:
        given = {"t": w[0], "r": w[1:], "z": s[n:], "gains": constants[count:]}
        given |= parts.model.signals(robot, s[:n], constants[:count], tuple(shapes))
        force, memory = _evaluate(law, robot, given)
        return pack([*force, *memory])

    model = law.model(parts.robot)
    vars(controlled)["made_from"] = (law.function, model.hash, law.options, *parts.model, parts.options)
    return controlled


def law_alone(law: Sampled, robot: Robot) -> Compiled:
    """The law by itself as native code, of what it declares; for plants that are not compiled with it."""
    return _law_alone(law.function, law.model(robot), law.options)


@lru_cache(maxsize=32)
def _law_alone(function: Callable[..., Any], model: Robot, options: Options) -> Compiled:
    return compile_function(function, model, options=dict(options))


def signals_at(parts: LoopParts, wanted: tuple[str, ...], s: Array) -> dict[str, Array]:
    """Signals of a plant at states (..., size), by name."""
    results = _signals(parts.robot, parts.model, wanted)(s, parts.constants)
    return results if isinstance(results, dict) else {wanted[0]: results}


@lru_cache(maxsize=32)
def _signals(robot: Robot, model: LoopModel, wanted: tuple[str, ...]) -> Compiled:
    state, _, constants = (input_shapes(model.flow, robot) or {}).values()

    def signals(robot: Robot, s: Array, constants: Array) -> dict[str, Any]:
        results = model.signals(robot, s, constants, wanted)
        return {name: results[name] for name in wanted}

    vars(signals)["made_from"] = (*model, wanted)
    return compile_function(signals, robot, inputs={"s": state, "constants": constants})


class _Key(NamedTuple):
    """What tells one native loop from another."""

    robot: Robot
    model: LoopModel
    settings: Options
    function: Callable[..., Any]
    law_robot: Robot | None
    law_options: Options
    sizes: tuple[int, int]


@lru_cache(maxsize=32)
def _driver(key: _Key) -> Any:
    nz, gains = key.sizes
    law = Sampled(
        key.function,
        1.0,
        memory=np.zeros(nz),
        gains=np.zeros(gains),
        robot=key.law_robot,
        options=key.law_options,
    )
    (_,), _, (count,) = (input_shapes(key.model.flow, key.robot) or {}).values()
    parts = LoopParts(key.robot, key.model, key.settings, np.zeros(count))
    return compile_rk4(
        key.model.flow, key.robot, options=dict(key.settings), control=control(law, parts), sampled=True
    )


def native_loop(law: Sampled, parts: LoopParts) -> Any:
    """The native driver of X = [s; z; u] (`nacelle.emit.rk4`, sampled)."""
    sizes = (len(law.memory), len(law.gains))
    return _driver(_Key(parts.robot, parts.model, parts.options, law.function, law.robot, law.options, sizes))


# ---- a delay of a whole sample


@lru_cache(maxsize=32)
def waiting_law(function: Callable[..., Any], nz: int, inputs: int) -> Callable[..., Any]:
    """A law whose forces are those of the sample before."""
    declared = dict(vars(function)["physics_inputs"])
    with_z = {**declared, "z": (nz + inputs,)}
    names = tuple(with_z)

    @physics(**with_z)
    def waiting(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Array]:
        given = dict(zip(names, arrays, strict=True))
        z = given["z"]
        given["z"] = z[:nz]
        outputs = function(robot, *(given[name] for name in declared), **options)
        return {"force": z[nz:], "memory": pack([*outputs["memory"], *outputs["force"]])}

    vars(waiting)["made_from"] = (function, nz, inputs)
    waiting.__name__ = getattr(function, "__name__", "controller")
    return waiting
