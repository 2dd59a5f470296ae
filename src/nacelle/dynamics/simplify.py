"""Simpler robots with the same motion ([CB1997], section 4.2).

A rod is a leg body between two joints, each spherical or universal, in the tree or closing a loop. Its
mass may be left out, or split into two point masses that belong to the bodies at its ends: of a DELTA's
forearm [CB1997] gives 2/3 to the arm and 1/3 to the platform. Both keep the geometry, so that the simpler
robot is a robot like any other.

A slender uniform rod between points that accelerate with a_1 and a_2 requires m (a_1 / 3 + a_2 / 6) at the
first and m (a_1 / 6 + a_2 / 3) at the second: no split is exact; halves are where it only has weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.errors import ParameterError, did_you_mean
from nacelle.kinematics.legs.chain import end_frames
from nacelle.kinematics.legs.leg_type import leg_type
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import parameters_from_com
from nacelle.spatial.scalar import Array


class RodEnd(NamedTuple):
    """An end of a rod: the body that it is joined to, and the joint's place in that body's frame, m."""

    body: int
    point: Array


class TwoEndRod(NamedTuple):
    """A rod: its body, its end towards the base, and its end towards the platform."""

    body: int
    inner: RodEnd
    outer: RodEnd


def find_rods(robot: Robot) -> tuple[TwoEndRod, ...]:
    """The rods of a robot: leg bodies between two spherical or universal joints."""

    def end(body: int, j: int) -> RodEnd:
        _, neighbour, frame = end_frames(robot.joints[j], body)
        return RodEnd(neighbour, frame.p)

    return tuple(
        TwoEndRod(link.body, end(link.body, link.inner), end(link.body, link.outer))
        for leg in robot.legs
        for link in leg_type(robot, leg).links
    )


def _require_rods(robot: Robot) -> tuple[TwoEndRod, ...]:
    present = find_rods(robot)
    if not present:
        raise ParameterError(
            f"no leg of {robot.name} has a rod: a rod is a leg body between two joints, each spherical or "
            "universal; name the bodies to neglect"
        )
    return present


def neglect_masses(robot: Robot, bodies: Sequence[str | int] | None = None) -> Robot:
    """The robot with massless leg bodies.

    Args:
        robot: the robot.
        bodies: names or indices of leg bodies; all rods if None.

    Raises:
        ParameterError: if a body is not in a leg, or none is given and the robot has no rods.
    """
    if bodies is None:
        chosen = [rod.body for rod in _require_rods(robot)]
    else:
        chosen = [_leg_body(robot, body) for body in bodies]
    return _with_inertias(robot, {body: np.zeros(10) for body in chosen})


def _leg_body(robot: Robot, body: str | int) -> int:
    names = {robot.bodies[k].name: k for leg in robot.legs for k in leg.bodies}
    index = names.get(body, -1) if isinstance(body, str) else int(body)
    if index not in names.values():
        raise ParameterError(
            f"no leg of {robot.name} has a body {body!r}; {did_you_mean(str(body), list(names))}"
        )
    return index


def lump_rods(robot: Robot, share: float = 2.0 / 3.0) -> Robot:
    """The robot with the mass of each rod at its two ends, as point masses at the joints.

    Args:
        robot: the robot.
        share: of a rod's mass that goes to the body towards the base ([CB1997]: 2/3 to the arm); the rest
            goes to the body towards the platform. What goes to the base itself does not move and is left out.

    Raises:
        ParameterError: if the share is not between 0 and 1, or the robot has no rods.
    """
    if not 0.0 <= share <= 1.0:
        raise ParameterError(f"the share of a rod's mass is between 0 and 1, got {share:g}")
    present = _require_rods(robot)
    changed: dict[int, Array] = {rod.body: np.zeros(10) for rod in present}
    for rod in present:
        mass = robot.bodies[rod.body].mass
        for end, part in ((rod.inner, share), (rod.outer, 1.0 - share)):
            if end.body != BASE:
                before = changed.get(end.body, np.asarray(robot.bodies[end.body].inertia))
                changed[end.body] = before + parameters_from_com(part * mass, end.point, np.zeros((3, 3)))
    return _with_inertias(robot, changed)


def _with_inertias(robot: Robot, changed: dict[int, Array]) -> Robot:
    parameters = [changed.get(k, body.inertia) for k, body in enumerate(robot.bodies) if k != BASE]
    return robot.with_parameters(np.concatenate(parameters), "inertia")
