"""Constants of the description as variables: what follows from them that is no free number.

Free numbers of a variant are inputs of the compiled programs. Constants may decide more: limits, sections,
what is drawn. So a variant as a robot of its own is read from its description again, with its constants c
(C,) in place. Limits l are linear in them, as references ("$a", "2*$a") are multiples of one constant,

    l(c) = l(c_0) + (c - c_0) dl/dc,       each row of dl/dc from the description with one c_i displaced

and masses of beams, which follow from their sections, are read for each variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics.limits import limit_vector
from nacelle.kinematics.mechanism.check import check_robot
from nacelle.model.build.parametric import (
    ConstantNumber,
    ParametricDescription,
    number_with_quantity,
    with_value,
)
from nacelle.model.flexible import is_flexible
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.read import read_source
from nacelle.model.robot import Robot
from nacelle.model.source.node import Source
from nacelle.model.units import QUANTITIES
from nacelle.spatial.scalar import Array


def known_constants(robot: Robot) -> dict[str, ConstantNumber]:
    """Numbers of the constants of a robot's description, by name."""
    description = robot.declaration
    return description.constants if isinstance(description, ParametricDescription) else {}


def read_with(robot: Robot, values: Mapping[str, float]) -> Robot:
    """A robot from its description with other values of constants, SI units; not checked.

    Raises:
        DescriptionError: if it makes no robot.
    """
    description = robot.declaration
    assert isinstance(description, ParametricDescription)
    return _read_again(robot, description.with_constants(values))[0]


def limit_slopes(robot: Robot, steps: Mapping[str, float]) -> Array:
    """Derivatives (C, m) of the limits (`limit_vector`) by constants, each displaced by a step to see it.

    Raises:
        KinematicsError: if a constant decides what is the same in all variants of a program.
    """
    rows, known, limits = [], known_constants(robot), limit_vector(robot)
    for name, step in steps.items():
        displaced = read_with(robot, {name: known[name].value + step})
        if _fixed_numbers(displaced) != _fixed_numbers(robot):
            raise KinematicsError(
                f"the constant {name!r} decides more than numbers, limits and sections: couplings, end stops "
                "or rates of friction, which are the same in all variants of a study"
            )
        with np.errstate(invalid="ignore"):
            rows.append(np.nan_to_num((limit_vector(displaced) - limits) / (step or 1.0)))
    return np.reshape(rows, (-1, len(limits)))


def _fixed_numbers(robot: Robot) -> list[Any]:
    """What programs know of a robot that is no number of theirs."""
    scales = [[[term.scale for term in axis] for axis in joint.friction] for joint in robot.joints]
    stops = [joint.limits for joint in robot.joints if any(joint.stops)]
    return [scales, stops, [(joint.terms, joint.offset) for joint in robot.joints]]


def beam_numbers(robot: Robot) -> tuple[str, ...]:
    """Free numbers that follow from sections of beams: those of their masses that are not described."""
    names, beams = robot.numbers.names(), [body.name for body in robot.bodies if is_flexible(body)]
    return tuple(f"{beam}.{key}" for beam in beams for key in INERTIA_NAMES if f"{beam}.{key}" in names)


def _read_again(robot: Robot, source: Source) -> tuple[Robot, Source]:
    """A robot from a changed description, with the payloads that were added to it."""
    read, expanded = read_source(source)
    payload = (*read.payload, *robot.payload[len(read.payload) :])
    return replace(read, payload=payload, folder=robot.folder), expanded


# ---- constants that are fixed at their present value


def with_free_constants(robot: Robot, ranges: Mapping[str, tuple[Any, Any]]) -> Robot:
    """The robot with constants of its description between two texts or numbers, so that they are free.

    Raises:
        NacelleError: if the robot does not assemble there.
    """
    source = getattr(robot.declaration, "source", None)
    if source is None:
        return robot
    root = source.root
    for name, between in ranges.items():
        root = with_value(root, ("constants", name), _between(*between))
    return check_robot(*_read_again(robot, Source(source.file, root))).require().robot


def fixed_constants(robot: Robot) -> tuple[str, ...]:
    """Constants of the description that are no free numbers at their present value, but may be at others."""
    source = getattr(robot.declaration, "source", None)
    node = None if source is None else source.root.value.get("constants")
    names = () if node is None or not isinstance(node.value, dict) else tuple(node.value)
    known = {name.split(".")[0] for name in (*robot.numbers.names(), *known_constants(robot))}
    return tuple(name for name in names if name not in known)


def _between(low: Any, high: Any) -> Any:
    """A quantity between two as they are written, at no round part of the way."""
    ends = [number_with_quantity(end) for end in (low, high)]
    if ends[0] is None or ends[1] is None:
        raise KinematicsError(f"{low!r} and {high!r} are no numbers with units")
    (first, quantity), (last, second) = ends[0], ends[1]
    value, unit = (
        first + 0.3819660112501051 * (last - first),
        QUANTITIES[quantity].si or QUANTITIES[second].si,
    )
    return f"{value!r} {unit}" if unit else value
