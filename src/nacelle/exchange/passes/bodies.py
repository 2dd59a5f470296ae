"""Fewer bodies: welded ones become one, and weightless ones that no force moves are left out.

Bodies that are welded together become one, in the tree and across closures.

With the pose X of a body in the one that takes it over, its mass, centre and inertia are moved there and
added (parallel axes), and every joint on it is placed through X. A body that a fixed closure holds is taken
over too, with all that it carries: the joint that carried it closes the loop instead.

Joints that move nothing: the bodies beyond them have no mass, so that no force decides their motion.

Files have such bodies as frames or as wheels that are only drawn. Where no closure, spring, coupling or rotor
acts on them they are left out, from the ends of the tree inwards; engines refuse them or divide by zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import (
    BASE,
    Axis,
    Graph,
    Link,
    RotationDamper,
    Shape,
    Strut,
    combined_solid,
)
from nacelle.exchange.passes.roots import subtree_bodies
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import Pose

# The distance of two frames on one body, over the size, that a closure between them may have by rounding.
_APART = 1e-3


# ---- welded bodies become one


def without_fixed_joints(graph: Graph) -> Graph:
    """The graph without fixed joints, as far as they can be merged."""
    graph = _with_held_joints_fixed(graph)
    merged: dict[str, list[str]] = {}
    while True:
        weld = next((joint for joint in graph.joints if joint.kind == "fixed"), None)
        if weld is None:
            break
        left = tuple(joint for joint in graph.joints if joint is not weld)
        graph = _merge_body(replace(graph, joints=left), weld.child, weld.parent, weld.pose())
        merged.setdefault(weld.parent, []).extend([weld.child, *merged.pop(weld.child, [])])
    for body, others in merged.items():
        graph.report.add_step(f"welded to {body!r} and merged into it: {', '.join(others)}")
    while (reduced := _merge_welded_closure(graph)) is not None:
        graph = reduced
    return _without_self_closures(graph)


def _without_self_closures(graph: Graph) -> Graph:
    """The graph without closures and springs that have both ends on one body.

    Raises:
        DescriptionError: at a closure whose ends are apart there.
    """
    self_closures = [c for c in graph.closures if c.parent == c.child]
    for closure in self_closures:
        apart = _distance_on_body(closure)
        if apart > _APART * graph.size:
            raise file_error(
                graph.file,
                f"the closure {closure.name!r} holds two frames together that are on one body, "
                f"{closure.parent!r}, and {1e3 * apart:.3g} mm apart",
                "check on which bodies its frames are",
                closure.line,
            )
        graph.report.add_step(
            f"the closure {closure.name!r} has both ends on {closure.parent!r} and is left out"
        )
    return replace(
        graph,
        closures=tuple(c for c in graph.closures if c.parent != c.child),
        struts=tuple(strut for strut in graph.struts if strut.bodies[0] != strut.bodies[1]),
        dampers=tuple(damper for damper in graph.dampers if damper.bodies[0] != damper.bodies[1]),
    )


def _distance_on_body(closure: Link) -> float:
    """How far the ends of a closure on one body are apart (m), as far as its type holds them together."""
    between = closure.child_at.p - closure.at.p
    for axis in closure.axes:
        if not axis.turns:
            direction = closure.at.R @ axis.direction
            between = between - direction * (direction @ between)
    return float(np.linalg.norm(between))


def _with_held_joints_fixed(graph: Graph) -> Graph:
    """Joints that an equality holds at a value become fixed."""
    joints, couplings = list(graph.joints), []
    for coupling in graph.couplings:
        if coupling.follows:
            couplings.append(coupling)
            continue
        k = next(k for k, joint in enumerate(joints) if joint.name == coupling.joint)
        axis: Axis = joints[k].axes[0]
        joints[k] = replace(joints[k], at=joints[k].at @ axis.pose(coupling.offset), axes=())
        graph.report.add_step(
            f"the joint {coupling.joint!r} is held at {coupling.offset:g} and becomes fixed"
        )
    return replace(graph, joints=tuple(joints), couplings=tuple(couplings))


def _merge_welded_closure(graph: Graph) -> Graph | None:
    """The graph with one fixed closure less; None if none can be taken away."""
    for closure in graph.closures:
        if closure.kind != "fixed" or closure.parent == closure.child:
            continue
        others = tuple(c for c in graph.closures if c is not closure)
        for weld in sorted((closure, closure.reverse()), key=lambda weld: _merging_cost(graph, weld.child)):
            body, keeper = weld.child, weld.parent
            if _merging_cost(graph, body) > 2 or keeper in subtree_bodies(graph, body):
                continue
            message = f"{body!r} is welded to {keeper!r} by the closure {closure.name!r}: they are one body"
            loose = {name: pose for name, pose in graph.free_bodies.items() if name != body}
            opened = replace(graph, closures=others, free_bodies=loose)
            if body not in graph.free_bodies:
                (cut,) = (joint for joint in graph.joints if joint.child == body)
                joints = tuple(joint for joint in graph.joints if joint is not cut)
                opened = replace(opened, joints=joints, closures=(*others, cut))
                message += f", and the joint {cut.name!r} closes the loop"
            graph.report.add_step(message)
            return _merge_body(opened, body, keeper, weld.pose())
    return None


def _merging_cost(graph: Graph, body: str) -> int:
    """What it costs to take a body over: 0 if it moves freely, 3 if its joint must stay in the tree."""
    if body in graph.free_bodies:
        return 0
    if body in (BASE, graph.floating):
        return 3
    (carrier,) = (joint for joint in graph.joints if joint.child == body)
    return 3 if carrier.name in graph.coupled else 2 if carrier.motor is not None else 1


def _merge_body(graph: Graph, body: str, keeper: str, X: Pose) -> Graph:
    """The graph with one body part of another, in which it has the pose X."""
    bodies = dict(graph.bodies)
    solid = bodies.pop(body)
    shapes = tuple(Shape(shape.kind, shape.size, X @ shape.at) for shape in solid.shapes)
    base_shapes = graph.shapes
    if keeper == BASE:
        base_shapes = (*base_shapes, *shapes)
    else:
        bodies[keeper] = combined_solid(bodies[keeper], solid, X, shapes)
    return replace(
        graph,
        bodies=bodies,
        joints=tuple(_reattach_link(joint, body, keeper, X) for joint in graph.joints),
        closures=tuple(_reattach_link(joint, body, keeper, X) for joint in graph.closures),
        struts=tuple(_reattach_strut(strut, body, keeper, X) for strut in graph.struts),
        dampers=tuple(_reattach_damper(damper, body, keeper) for damper in graph.dampers),
        shapes=base_shapes,
    )


def _reattach_link(joint: Link, body: str, keeper: str, X: Pose) -> Link:
    if joint.parent == body:
        joint = replace(joint, parent=keeper, at=X @ joint.at)
    if joint.child == body:
        joint = replace(joint, child=keeper, child_at=X @ joint.child_at)
    return joint


def _reattach_damper(damper: RotationDamper, body: str, keeper: str) -> RotationDamper:
    first, second = (keeper if name == body else name for name in damper.bodies)
    return replace(damper, bodies=(first, second))


def _reattach_strut(strut: Strut, body: str, keeper: str, X: Pose) -> Strut:
    ends = [
        (keeper, X.R @ point + X.p) if name == body else (name, point)
        for name, point in zip(strut.bodies, strut.points, strict=True)
    ]
    return replace(strut, bodies=(ends[0][0], ends[1][0]), points=(ends[0][1], ends[1][1]))


# ---- joints that move nothing


def without_massless_ends(graph: Graph) -> Graph:
    """The graph without moving bodies at the ends of the tree that have neither mass nor inertia."""
    while (massless_end := _massless_end_joint(graph)) is not None:
        graph.report.add_loss(f"the joint {massless_end.name!r} left out: what it moves has no mass")
        graph = replace(
            graph,
            bodies={name: solid for name, solid in graph.bodies.items() if name != massless_end.child},
            joints=tuple(joint for joint in graph.joints if joint is not massless_end),
        )
    return graph


def _massless_end_joint(graph: Graph) -> Link | None:
    """A joint at the end of the tree that moves nothing."""
    loaded = {joint.parent for joint in graph.joints} | graph.held_names
    coupled = graph.coupled
    for joint in graph.joints:
        solid = graph.bodies[joint.child]
        has_rotor = joint.armature or any(axis.armature for axis in joint.axes)
        if (
            solid.is_massless
            and not has_rotor
            and joint.kind != "fixed"
            and joint.child not in loaded
            and joint.name not in coupled
        ):
            return joint
    return None
