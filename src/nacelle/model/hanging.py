"""Chains of the nacelle's mechanism: written as legs, they hang on it alone, or on the base alone.

All chains of a robot without a nacelle are such. Their bodies and joints have the names of legs ("arm.hip"),
and are bodies and joints of `robot.nacelle`.
"""

from __future__ import annotations

from graphlib import TopologicalSorter

from nacelle.model.data import RobotData
from nacelle.model.leg import Leg


def chain_name(name: str) -> str:
    """The chain in which a body or joint of the nacelle is written: "arm" of "arm.hip"; "" if in none."""
    return name.partition(".")[0] if "." in name else ""


def hanging_chains(robot: RobotData) -> tuple[Leg, ...]:
    """The chains of the nacelle's mechanism, in an order that gives the same tree when they are read.

    The tree is read layer by layer (`nacelle.model.build.graph`), in each layer in the order of the chains:
    the chains come in the order that they have in every layer.
    """
    nacelle = robot.nacelle
    if nacelle.kind not in ("articulated", "none"):
        return ()
    names = {b: chain_name(robot.bodies[b].name) for b in nacelle.bodies}
    depth = dict.fromkeys(range(len(robot.bodies)), 0)
    order: dict[str, dict[str, None]] = {name: {} for name in names.values() if name}
    last: dict[int, str] = {}
    for j in nacelle.joints:
        joint = robot.joints[j]
        depth[joint.successor] = layer = depth[joint.predecessor] + 1
        name = names[joint.successor]
        if name and layer in last and last[layer] != name:
            order[name][last[layer]] = None
        if name:
            last[layer] = name
    return tuple(_chain(robot, name) for name in TopologicalSorter(order).static_order())


def _chain(robot: RobotData, name: str) -> Leg:
    nacelle = robot.nacelle
    return Leg(
        name,
        tuple(b for b in nacelle.bodies if chain_name(robot.bodies[b].name) == name),
        tuple(j for j in nacelle.joints if chain_name(robot.joints[j].name) == name),
        tuple(c for c in nacelle.closures if chain_name(robot.joints[c].name) == name),
    )
