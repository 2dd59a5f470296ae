"""What ends a run of a robot: limits of joints, a leg at full stretch, the approach to a singularity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nacelle.kinematics import functions
from nacelle.kinematics.jacobian import conditioning, scaled_inverse
from nacelle.kinematics.limits import closure_coordinates, limited, relative_pose
from nacelle.kinematics.native import native
from nacelle.model.joint import JointKind, Primitive
from nacelle.simulation.events import Event
from nacelle.simulation.plant import RigidPlant
from nacelle.spatial.scalar import Array

# Squared ratios below which a run ends: a leg near its stretched position, a pose near a singularity.
STRETCHED = 1e-6
SINGULAR = 1e-6
# How far beyond a limit a joint may be, rad or m: a run may start at a limit.
SLACK = 1e-9
# How near to a full turn from the reference orientation the platform may come, rad.
_NEAR_TURN = 0.05


def standard_events(plant: RigidPlant, *, limits: bool = True) -> list[Event]:
    """Limits of joints and actuators, legs at full stretch, and the approach to a parallel singularity."""
    look = _Look(plant)
    events = [
        Event("a leg is at full stretch", lambda t, s: look.gates(s) - STRETCHED),
        Event("a parallel singularity is near", lambda t, s: look.conditioning(s) ** 2 - SINGULAR),
    ]
    angular = plant.known.layout.angular
    if angular is not None:
        events.append(
            Event(
                "the platform has turned round from its reference orientation",
                lambda t, s: 2.0 * np.pi - _NEAR_TURN - np.linalg.norm(s[:, angular], axis=1),
            )
        )
    return events + _limits(plant, look) if limits else events


class _Look:
    """Positions at the states that are looked at, found once for all events."""

    def __init__(self, plant: RigidPlant) -> None:
        self.plant, self.robot = plant, plant.robot
        self._states: Array | None = None
        self._found: dict[str, Any] = {}

    def _at(self, name: str, s: Array, make: Callable[[Array, Array], Any]) -> Any:
        if self._states is not s:
            self._states, self._found = s, {}
        if name not in self._found:
            self._found[name] = make(self.plant.split(s)[0], self.plant.unknowns(s))
        return self._found[name]

    def positions(self, s: Array) -> dict[str, Array]:
        found: dict[str, Array] = self._at("positions", s, native(functions.joint_positions, self.robot))
        return found

    def bodies(self, s: Array) -> dict[str, Array]:
        found: dict[str, Array] = self._at("bodies", s, native(functions.body_poses, self.robot))
        return found

    def gates(self, s: Array) -> Array:
        gates = self.positions(s)["gates"]
        return np.asarray(np.nan_to_num(np.min(gates, axis=-1, initial=1.0), nan=-1.0))

    def conditioning(self, s: Array) -> Array:
        J = self._at("jacobian", s, native(functions.inverse_jacobian, self.robot))["J"]
        return np.asarray(np.nan_to_num(conditioning(scaled_inverse(self.robot, J)), nan=0.0))

    def coordinates(self, j: int, s: Array) -> Array:
        """Coordinates (N, nq) of a joint, in the tree or a closure."""
        if j < self.robot.tree:
            return np.asarray(self.positions(s)["q"][:, self.robot.q_slices[j]])
        joint, found = self.robot.joints[j], self.bodies(s)
        return closure_coordinates(joint, *relative_pose(joint, found["R"], found["p"]))


def _limits(plant: RigidPlant, look: _Look) -> list[Event]:
    robot, events = plant.robot, []
    for k, actuator in enumerate(robot.actuators):
        turns = bool(robot.joints[actuator.joint].primitives[0].turns)

        def driven(s: Array, k: int = k) -> Array:
            return np.asarray(look.positions(s)["active"][:, k])

        events += _sides(actuator.name, actuator.position, turns, driven)
    for j, joint in enumerate(robot.joints):
        if not limited(joint) or joint.kind is JointKind.POINT:
            continue
        start = 0
        for place, (primitive, pair) in enumerate(zip(joint.primitives, joint.limits, strict=False)):
            span = slice(start, start + primitive.nq)
            start += primitive.nq
            ball = primitive is Primitive.BALL

            def value(s: Array, j: int = j, span: slice = span, ball: bool = ball) -> Array:
                part = look.coordinates(j, s)[:, span]
                if not ball:
                    return np.asarray(part[:, 0])
                tilt = 1.0 - 2.0 * (part[:, 0] ** 2 + part[:, 1] ** 2)
                return np.asarray(np.arccos(np.clip(tilt, -1.0, 1.0)))

            name = joint.name if len(joint.primitives) == 1 else f"{joint.name} (axis {place + 1})"
            events += _sides(f"joint {name}", pair, primitive.turns and not ball, value)
    return events


def _sides(
    name: str, bounds: tuple[float, float], turns: bool, value: Callable[[Array], Array]
) -> list[Event]:
    """Events at the two limits of a coordinate; angles count modulo a turn, around the middle."""
    low, high = bounds
    middle = (
        0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else low if np.isfinite(low) else high
    )

    def measured(s: Array) -> Array:
        found = value(s)
        return middle + (found - middle + np.pi) % (2.0 * np.pi) - np.pi if turns else found

    events = []
    if np.isfinite(low):
        events.append(Event(f"{name} is at its lower limit", lambda t, s: measured(s) - low + SLACK))
    if np.isfinite(high):
        events.append(Event(f"{name} is at its upper limit", lambda t, s: high - measured(s) + SLACK))
    return events
