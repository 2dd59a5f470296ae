"""Samples of element states with 50 digits, by which identities of a model from elements are recognised.

A state of the elements is consistent: directions have unit length and the loops are closed. Such relations of
the inputs are identities, and values that are equal by them are computed once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nacelle.kinematics.elements.from_pose import element_arrays, element_shapes
from nacelle.kinematics.iteration.precise_states import Numbers, PreciseStates
from nacelle.kinematics.iteration.samples import input_samples
from nacelle.model.robot import Robot
from nacelle.program.identities.samples import PreciseInputs
from nacelle.program.precise import exact


def element_samples(
    robot: Robot, shapes: Mapping[str, tuple[int, ...]], groups: tuple[str, ...] = ()
) -> PreciseInputs | None:
    """Samples of the inputs of a function of the element state (`input_samples`)."""
    return input_samples(robot, shapes, groups, _elements)


def _elements(states: PreciseStates, state: Numbers) -> dict[str, Numbers]:
    """The variables of the elements at a state x, y, v, a."""
    flat = exact(states.program(element_arrays), [*states.parameters, *state])
    given: dict[str, Numbers] = {}
    start = 0
    for name, shape in element_shapes(states.robot).items():
        size = int(np.prod(shape))
        given[name] = flat[start : start + size]
        start += size
    return given
