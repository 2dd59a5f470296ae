"""Angular dampers between bodies as damping of the joint between the same bodies.

The torque -d (w_2 - w_1) has in a spherical joint and along a hinge between the two bodies the power of the
damping d of that joint; along a slide it has none. Formats have no others: dampers between bodies that no
such joint joins are left out and reported.
"""

from __future__ import annotations

from dataclasses import replace

from nacelle.exchange.graph import Graph, Link, RotationDamper


def in_joints(graph: Graph) -> Graph:
    """The graph without dampers between bodies."""
    joints, closures = list(graph.joints), list(graph.closures)
    lost = []
    for damper in graph.dampers:
        links, k = _between(joints, closures, damper)
        if k < 0:
            lost.append(damper.name)
        else:
            links[k] = _damped(links[k], damper.damping)
    if lost:
        graph.report.lost(
            f"angular dampers between bodies that no single joint joins left out: {', '.join(lost)}"
        )
    return replace(graph, joints=tuple(joints), closures=tuple(closures), dampers=())


def _between(joints: list[Link], closures: list[Link], damper: RotationDamper) -> tuple[list[Link], int]:
    """The list and place of a joint of one axis, or spherical, between the bodies of a damper; -1 if none."""
    for links in (joints, closures):
        for k, link in enumerate(links):
            if {link.parent, link.child} == set(damper.bodies) and len(link.axes) < 2:
                return links, k
    return joints, -1


def _damped(link: Link, damping: float) -> Link:
    if link.spherical:
        return replace(link, damping=link.damping + damping)
    turning = tuple(
        replace(axis, damping=axis.damping + damping) if axis.turns else axis for axis in link.axes
    )
    return replace(link, axes=turning)
