"""Inertial numbers that a link passes on to what moves alike: by rules that hold for every geometry.

What lies on the axis of a revolute joint moves as the link before it does, and so do the second moments of a
link on a prismatic joint; the point where a link holds the nacelle moves with the nacelle. Of the numbers m,
h, S of a link about its reference point

    revolute    m, h along the axis, S along the axis        count on the link before, where the joint is
    prismatic   S                                            counts on the link before: both turn alike
    spherical   m                                            counts on the link before
    at the end  m                                            counts on the nacelle's body, at that point

([AGH2005] (21)-(23)). What is passed on to the base does nothing. Nothing is decided by numbers.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.inertia import PAIRS, InertialNumbers, moved_inertia
from nacelle.dynamics.general.inertial import end_ties, inertial_numbers, reference_point
from nacelle.kinematics.general.placed import Placed
from nacelle.model.joint import Primitive
from nacelle.spatial.scalar import Array, pack, plus


def carried_numbers(placed: Placed) -> InertialNumbers:
    """The inertial numbers of a robot, with what links pass on taken to where it counts."""
    numbers, trees, ends = inertial_numbers(placed), placed.trees, end_ties(placed)
    nodes, bodies = dict(numbers.nodes), dict(numbers.bodies)
    for index, (leg, number) in ends.items():
        tie = placed.ties[leg][number]
        if index in nodes and tie.local is not None:
            mass, nodes[index] = _split(nodes[index], (0,))
            body, local = tie.held
            at_point = moved_inertia(mass, np.eye(3), local)
            bodies[body] = plus(bodies[body], at_point) if body in bodies else at_point
    # What counts about the point where a leg holds the nacelle stays there.
    for index in reversed(range(1, len(trees.nodes))):
        if index not in nodes or index in trees.roots or index in ends:
            continue
        node = trees.node(index)
        passed, nodes[index] = _split(nodes[index], _passed_on(node.primitive))
        if node.parent:
            # Second moments alone have no place.
            shift = (
                node.o - reference_point(placed, node.parent) if node.primitive.is_rotation else np.zeros(3)
            )
            there = moved_inertia(passed, node.G.R, shift)
            nodes[node.parent] = there if node.parent not in nodes else plus(nodes[node.parent], there)
    return InertialNumbers(nodes, bodies, numbers.rates)


def _split(numbers: Array, places: tuple[int, ...]) -> tuple[Array, Array]:
    """Ten numbers as those at some places, and the others."""
    listed = numbers.tolist()
    return (
        pack([value if k in places else 0.0 for k, value in enumerate(listed)]),
        pack([0.0 if k in places else value for k, value in enumerate(listed)]),
    )


def _passed_on(primitive: Primitive) -> tuple[int, ...]:
    """Places of the numbers that are passed on: m, h (3), S by `PAIRS`."""
    if primitive is Primitive.SPHERICAL:
        return (0,)
    if not primitive.is_rotation:
        return tuple(range(4, 10))
    axis = primitive.axis
    return (0, 1 + axis, 4 + PAIRS.index((axis, axis)))
