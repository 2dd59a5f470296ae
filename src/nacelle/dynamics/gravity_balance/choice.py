"""Which joints get springs to balance gravity, and where counterweights may sit.

A spring along an axis of a joint with coordinate q requires k (q - q_0), N m or N; any revolute or prismatic
axis may have one, a spherical joint has no coordinate for it. A counterweight is a point mass (kg) at a place
(3,), m, in the frame of a body. `columns` gives what each of them does, `balancing` how large they are best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, did_you_mean
from nacelle.model.joint import Joint, Primitive
from nacelle.model.robot import Robot


def spring_axes(joint: Joint) -> tuple[int, ...]:
    """The axes of a joint along which a spring may act: all but spherical joints."""
    return tuple(k for k, primitive in enumerate(joint.primitives) if primitive is not Primitive.SPHERICAL)


def chosen_axes(
    robot: Robot, names: Any, counterweights: Mapping[str, Any] | None
) -> tuple[tuple[int, int], ...]:
    """Axes (joint, number) that get springs: all of the named joints, or the actuated ones."""
    if names is None:
        return () if counterweights else tuple((actuator.joint, 0) for actuator in robot.actuators)
    if isinstance(names, str):
        names = (names,)
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise KinematicsError(
            f"springs are named by their joints, such as {robot.joints[0].name!r}, got {names!r}"
        )
    all_names = [joint.name for joint in robot.joints]
    axes: list[tuple[int, int]] = []
    for name in names:
        if name not in all_names:
            raise KinematicsError(f"{robot.name} has no joint {name!r}; {did_you_mean(name, all_names)}")
        own = spring_axes(robot.joints[all_names.index(name)])
        if not own:
            kind = robot.joints[all_names.index(name)].kind
            raise KinematicsError(f"the joint {name} is {kind} and has no axis for a spring")
        axes += [(all_names.index(name), number) for number in own]
    if len(set(axes)) < len(axes):
        raise KinematicsError(f"a joint is named twice in springs: {', '.join(names)}")
    return tuple(axes)


def chosen_places(
    robot: Robot, counterweights: Mapping[str, Any] | None
) -> tuple[tuple[int, float, float, float], ...]:
    """Where counterweights may sit: body, and place in its frame."""
    all_names = [body.name for body in robot.bodies]
    places = []
    if counterweights is not None and not isinstance(counterweights, Mapping):
        raise KinematicsError(
            f"counterweights are a mapping of bodies to places, such as {{{all_names[-1]!r}: (0, 0, 0.1)}}, "
            f"got {counterweights!r}"
        )
    for name, given in (counterweights or {}).items():
        if not isinstance(name, str):
            raise KinematicsError(f"counterweights are named by their bodies, got {name!r}")
        if name not in all_names[1:]:
            raise KinematicsError(f"{robot.name} has no body {name!r}; {did_you_mean(name, all_names[1:])}")
        try:
            place = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            place = np.empty(0)
        if place.shape != (3,) or not np.all(np.isfinite(place)):
            raise KinematicsError(f"the place of the counterweight on {name} is three lengths, got {given}")
        px, py, pz = place.tolist()
        places.append((all_names.index(name), px, py, pz))
    return tuple(places)
