"""Computed torque fed by a platform that is observed, wherever it is observed from.

The law is that of `nacelle.control.laws.computed_torque`, sample for sample and with the same gains; what
encoders and forward kinematics give there, pose x and twist v, is handed over here. It gives the forces and
the derivative a of the twist that they make by the model, which an observer takes to predict.

    z+, force, a = law(z, [x; v], [x_d; v_d; a_d], gains)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile import Compiled, compile_function
from nacelle.control.controller import STOP_REASONS, Controller
from nacelle.control.kind import desired_of_row, row_size
from nacelle.control.laws.computed_torque import ComputedTorque
from nacelle.control.pieces.admissible import released
from nacelle.control.pieces.desired import closed_unknowns
from nacelle.control.pieces.pose import Platform
from nacelle.errors import KinematicsError
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array


class Command(NamedTuple):
    """What a sample gives: forces (actuators,), N or N m, and the derivative of the twist (n,) they make."""

    force: Array
    acceleration: Array


@lru_cache(maxsize=32)
def observed_law(kind: ComputedTorque) -> Callable[..., dict[str, Array]]:
    """The physics function (robot, z, x, v, r, gains) of computed torque at an observed platform."""

    @physics(
        z=lambda robot: (kind.memory(robot).size,),
        x=lambda robot: (mechanism_of(robot).layout.nx,),
        v=lambda robot: (robot.motion.n,),
        r=row_size,
        gains=lambda robot: (kind.gains(robot).size,),
    )
    def law(robot: Robot, z: Array, x: Array, v: Array, r: Array, gains: Array) -> dict[str, Array]:
        fields, n = kind.memory(robot), robot.motion.n
        memory = fields.split(z)
        platform = Platform(
            x=x,
            y=closed_unknowns(robot, memory["y"], x),
            v=v,
            unmodelled=np.zeros(n),
            missed=memory["missed"],
            stopped=memory["stopped"],
        )
        motion, k = desired_of_row(robot, r), kind.gains(robot).split(gains)
        step = released(robot, memory, kind.commanded(robot, memory, platform, motion, k), motion, k)
        return {"force": step.force, "memory": fields.join(step.memory)}

    law.__name__ = f"{kind.name}-observed"
    vars(law)["made_from"] = (type(kind).__module__, repr(kind), "observed")
    return law


@lru_cache(maxsize=32)
def _compiled(kind: ComputedTorque, robot: Robot) -> Compiled:
    return compile_function(observed_law(kind), robot)


class ObservedController:
    """A controller of computed torque at an observed platform, with its memory.

    Args:
        controller: computed torque in Cartesian space, tuned.
        x: pose at the start (nx,).

    Raises:
        KinematicsError: if the controller is another one.
    """

    def __init__(self, controller: Controller, x: Any) -> None:
        kind = controller.kind
        if not isinstance(kind, ComputedTorque) or kind.space != "cartesian" or kind.observer:
            raise KinematicsError(
                f"an observed platform is controlled by 'ct-cartesian', got {controller.name!r}"
            )
        self.controller = controller
        self._law = _compiled(kind, controller.robot)
        self._fields = kind.memory(controller.robot)
        self._memory = controller.start(x)

    def step(self, x: Array, v: Array, row: Array) -> Command:
        """One sample at a pose (nx,) and twist (n,), for a desired motion [x; v; a].

        Raises:
            KinematicsError: if the controller stops.
        """
        found = self._law(self._memory, x, v, row, self.controller.gains)
        self._memory = np.asarray(found["memory"])
        stopped = self._memory[self._fields.place("stopped")][0]
        if stopped > 0.0:
            raise KinematicsError(STOP_REASONS[stopped])
        return Command(np.asarray(found["force"]), self._memory[self._fields.place("acceleration")].copy())
