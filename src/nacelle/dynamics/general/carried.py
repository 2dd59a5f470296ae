"""Inertial numbers that a link passes on to the link that carries it.

What lies on the axis of a revolute joint moves as the link before it does, and so do the second moments of
a link on a prismatic joint: of the numbers m, h, S of a node

    revolute    m, h along the axis, S along the axis        count on the parent, where the joint is
    prismatic   S                                            counts on the parent: both turn alike
    spherical   m                                            counts on the parent

([AGH2005] (21)-(23)). The rules hold for every geometry, so they serve where it is given at run time.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.inertia import PAIRS, Numbers, moved
from nacelle.dynamics.general.inertial import end_ties, reference_point
from nacelle.kinematics.general.placed import Placed
from nacelle.model.joint import Primitive
from nacelle.spatial.scalar import Scalar, pack


def carried(numbers: Numbers, placed: Placed) -> Numbers:
    """The numbers with what links pass on taken to the links that carry them, from the ends to the base."""
    chains, ends = placed.chains, end_ties(placed)
    nodes = dict(numbers.nodes)
    for index in reversed(range(1, len(chains.nodes))):
        # What counts about the point where a leg holds the nacelle goes there.
        if index not in nodes or index in chains.roots or index in ends:
            continue
        node = chains.node(index)
        places = _passed(node.primitive)
        values: list[Scalar] = nodes[index].tolist()
        passed = pack([value if k in places else 0.0 for k, value in enumerate(values)])
        nodes[index] = pack([0.0 if k in places else value for k, value in enumerate(values)])
        if node.parent:
            # What is on the axis does not turn with the joint; second moments alone have no place.
            shift = node.o - reference_point(placed, node.parent) if node.primitive.turns else np.zeros(3)
            there = moved(passed, node.G.R, shift)
            nodes[node.parent] = there if node.parent not in nodes else nodes[node.parent] + there
    return Numbers(nodes, numbers.bodies, numbers.ends, numbers.rates)


def _passed(primitive: Primitive) -> tuple[int, ...]:
    """Places of the numbers that are passed on: m, h (3), S by `PAIRS`."""
    if primitive is Primitive.BALL:
        return (0,)
    if not primitive.turns:
        return tuple(range(4, 10))
    axis = primitive.axis
    return (0, 1 + axis, 4 + PAIRS.index((axis, axis)))
