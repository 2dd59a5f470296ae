"""Inertial numbers that a link passes on to the link that carries it.

What lies on the axis of a revolute joint moves as the link before it does, and so do the second moments of
a link on a prismatic joint: of the numbers m, h, S of a node

    revolute    m, h along the axis, S along the axis        count on the parent, where the joint is
    prismatic   S                                            counts on the parent: both turn alike
    spherical   m                                            counts on the parent

([AGH2005] (21)-(23)). The rules hold for every geometry, also for one that is given at run time.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.inertia import PAIRS, InertialNumbers, length_power, moved_inertia
from nacelle.dynamics.general.inertial import end_ties, reference_point
from nacelle.kinematics.general.placed import Placed
from nacelle.kinematics.general.vectors import all_zero, is_zero
from nacelle.model.joint import Primitive
from nacelle.spatial.scalar import Scalar, divide, norm, pack


def carried_inwards(numbers: InertialNumbers, placed: Placed) -> InertialNumbers:
    """The numbers with what links pass on taken to the links that carry them, from the ends to the base."""
    trees, ends = placed.trees, end_ties(placed)
    nodes = dict(numbers.nodes)
    for index in reversed(range(1, len(trees.nodes))):
        # What counts about the point where a leg holds the nacelle goes there.
        if index not in nodes or index in trees.roots or index in ends:
            continue
        node = trees.node(index)
        places = _passed(node.primitive)
        values: list[Scalar] = nodes[index].tolist()
        passed = pack([value if k in places else 0.0 for k, value in enumerate(values)])
        nodes[index] = pack([0.0 if k in places else value for k, value in enumerate(values)])
        if node.parent:
            # What is on the axis does not turn with the joint; second moments alone have no place.
            shift = (
                node.o - reference_point(placed, node.parent) if node.primitive.is_rotation else np.zeros(3)
            )
            there = moved_inertia(passed, node.G.R, shift)
            nodes[node.parent] = there if node.parent not in nodes else nodes[node.parent] + there
    return InertialNumbers(nodes, numbers.bodies, numbers.ends, numbers.rates)


def lengths(placed: Placed) -> dict[int, Scalar]:
    """For every node the distance to the first joint or end that it carries, m; not of those without one.

    In this unit of length what depends on what does so by factors that are the same for all lengths of a bar.
    """
    trees = placed.trees
    distances: dict[int, Scalar] = {}
    points = [(tie.node, tie.own) for ties in placed.ties for tie in ties]
    points += [tie.other for ties in placed.ties for tie in ties if tie.other is not None]
    for index in range(1, len(trees.nodes)):
        node = trees.node(index)
        points.append((node.parent, node.G.p))
    for index, point in points:
        if index and index not in distances and not all_zero(point):
            distances[index] = norm(point)
    return distances


def in_lengths(numbers: InertialNumbers, unit: dict[int, Scalar], *, back: bool = False) -> InertialNumbers:
    """The numbers of nodes in units of their lengths, or back in metres."""
    nodes = {}
    for index, values in numbers.nodes.items():
        length = unit.get(index, 1.0)
        factor = length if back else divide(1.0, length)
        square = factor * factor
        nodes[index] = pack(
            [
                value if is_zero(value) else value * (1.0, factor, square)[length_power(k)]
                for k, value in enumerate(values)
            ]
        )
    return InertialNumbers(nodes, numbers.bodies, numbers.ends, numbers.rates)


def column_unit(key: tuple[str, int, int], unit: dict[int, Scalar]) -> Scalar:
    """By what a column is multiplied where numbers are in units of their nodes' lengths."""
    kind, index, place = key
    length = unit.get(index, 1.0) if kind == "node" else 1.0
    return (1.0, length, length * length)[length_power(place)] if kind == "node" else 1.0


def _passed(primitive: Primitive) -> tuple[int, ...]:
    """Places of the numbers that are passed on: m, h (3), S by `PAIRS`."""
    if primitive is Primitive.SPHERICAL:
        return (0,)
    if not primitive.is_rotation:
        return tuple(range(4, 10))
    axis = primitive.axis
    return (0, 1 + axis, 4 + PAIRS.index((axis, axis)))
