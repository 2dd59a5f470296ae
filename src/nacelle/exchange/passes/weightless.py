"""Joints that move nothing: the bodies beyond them have no mass, so that no force decides their motion.

Files have such bodies as frames or as wheels that are only drawn. Where no closure, spring, coupling or rotor
acts on them they are left out, from the ends of the tree inwards; engines refuse them or divide by zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import Graph, Link


def weighted(graph: Graph) -> Graph:
    """The graph without moving bodies at the ends of the tree that have neither mass nor inertia."""
    while (idle := _idle(graph)) is not None:
        graph.report.lost(f"the joint {idle.name!r} left out: what it moves has no mass")
        graph = replace(
            graph,
            bodies={name: solid for name, solid in graph.bodies.items() if name != idle.child},
            joints=tuple(joint for joint in graph.joints if joint is not idle),
        )
    return graph


def _idle(graph: Graph) -> Link | None:
    """A joint at the end of the tree that moves nothing."""
    held = {joint.parent for joint in graph.joints}
    held |= {body for closure in graph.closures for body in (closure.parent, closure.child)}
    held |= {body for strut in graph.struts for body in strut.bodies}
    held |= {body for damper in graph.dampers for body in damper.bodies}
    coupled = {name for coupling in graph.couplings for name in (coupling.joint, *coupling.follows)}
    for joint in graph.joints:
        solid = graph.bodies[joint.child]
        light = solid.mass == 0.0 and not np.any(solid.inertia)
        turned = joint.armature or any(axis.armature for axis in joint.axes)
        if (
            light
            and not turned
            and joint.kind != "fixed"
            and joint.child not in held
            and joint.name not in coupled
        ):
            return joint
    return None
