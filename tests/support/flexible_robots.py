"""Robots of the library with flexible links."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from nacelle.model.flexible import robot_beams
from nacelle.model.robot import Robot
from support.library import library_robot

ALUMINIUM = {"E": 70e9, "density": 2700.0, "nu": 0.3}
BAR = {"circle": 0.01}
# Links of robots of the library: words in their names.
LINKS = {
    "fivebar": ("proximal", "distal"),
    "3rrr": ("crank", "coupler"),
    "delta": ("rod",),
    "orthoglide": ("rod",),
}


def with_flexible_links(
    robot: Robot | str,
    words: tuple[str, ...] = (),
    *,
    section: Mapping[str, Any] | None = None,
    material: Mapping[str, Any] | None = None,
    **beam: Any,
) -> Robot:
    """A robot with the inertia of beams in all bodies with one of some words in their names."""
    if isinstance(robot, str):
        words, robot = words or LINKS[robot], library_robot(robot)
    bodies = tuple(
        dataclasses.replace(
            body,
            section=dict(section or BAR),
            material={**ALUMINIUM, **(material or {})},
            beam={**(body.beam or {}), **beam} or None,
        )
        if any(word in body.name for word in words)
        else body
        for body in robot.bodies
    )
    return with_beam_inertia(dataclasses.replace(robot, bodies=bodies))


def with_beams(robot: Robot, **beam: Any) -> Robot:
    """A robot with other shape functions of its flexible links."""
    bodies = tuple(
        dataclasses.replace(body, beam={**(body.beam or {}), **beam}) if body.section else body
        for body in robot.bodies
    )
    return with_beam_inertia(dataclasses.replace(robot, bodies=bodies))


def with_scaled_modulus(robot: Robot, factor: float) -> Robot:
    """A robot whose flexible links have E times a factor."""
    bodies = tuple(
        dataclasses.replace(body, material={**body.material, "E": body.material["E"] * factor})
        if body.material
        else body
        for body in robot.bodies
    )
    return dataclasses.replace(robot, bodies=bodies)


def with_beam_inertia(robot: Robot) -> Robot:
    """A robot whose flexible bodies have the inertia of their beams."""
    bodies = list(robot.bodies)
    for beam in robot_beams(robot):
        bodies[beam.body] = dataclasses.replace(bodies[beam.body], inertia=tuple(beam.inertia.tolist()))
    return dataclasses.replace(robot, bodies=tuple(bodies))


def prrrp(gravity: tuple[float, float, float] = (0.0, 0.0, 0.0), **beam: Any) -> Robot:
    """The robot of [BK2013] under a gravity."""
    robot = dataclasses.replace(library_robot("prrrp"), gravity=gravity)
    return with_beams(robot, **beam) if beam else robot
