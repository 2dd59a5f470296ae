"""What a state and an acceleration ask for: wrenches on bodies, and efforts along the axes of joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from nacelle.dynamics.joint_effort import Effort, friction_efforts, rotor_efforts, spring_efforts
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import Wrench, inertial_wrench
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class Settings:
    """What counts.

    Attributes:
        friction: whether friction does.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; None for at once.
        external: wrenches that act on bodies from outside, about their origins, base axes.
    """

    friction: bool = True
    smooth: float | None = None
    external: Mapping[int, Wrench] = field(default_factory=dict)


def body_wrenches(state: State, u_dot: Array, external: Mapping[int, Wrench]) -> dict[int, Wrench]:
    """For every body that needs one, the wrench about its origin: inertia less weight less external."""
    robot, motion, velocity = state.robot, state.now.motion, state.moving.velocity
    gravity = np.asarray(robot.gravity)
    wrenches: dict[int, Wrench] = {}
    for body, pose in enumerate(motion.poses):
        if body == 0:
            continue
        if has_mass(robot, body):
            movers = motion.movers[body]
            rate = velocity.biases[body] + motion.columns[:, movers] @ u_dot[movers]
            parameters = body_parameters(robot, body)
            wrenches[body] = inertial_wrench(parameters, pose, velocity.twists[body], rate, gravity)
        if body in external:
            f, n = wrenches.get(body, (np.zeros(3), np.zeros(3)))
            wrenches[body] = Wrench(f - external[body].f, n - external[body].n)
    return wrenches


def joint_efforts(state: State, u_dot: Array, settings: Settings) -> list[Effort]:
    """Efforts of rotors, springs and friction."""
    efforts = [*rotor_efforts(state, u_dot), *spring_efforts(state)]
    return [*efforts, *friction_efforts(state, settings.smooth)] if settings.friction else efforts
