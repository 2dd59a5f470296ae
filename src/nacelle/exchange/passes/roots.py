"""One body that moves freely, or none: free bodies that closures tie to others are carried by a closure.

A free joint transmits nothing, so a free body with a closure to the rest moves as if the closure's joint
carried it: the closure becomes a joint of the tree and the free one goes. Where the closure holds another
body of its tree, the joints on the way are turned round (re-rooting). The body at which the most comes
together stays free: it is the platform. Free bodies that nothing ties to the robot are objects, and are left
out.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import BASE, Graph, Link, Solid, UniqueNames, relative_quat
from nacelle.model.build.graph import connected_components
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array

# Which closure carries a body, the first that there is.
_ORDER = {"fixed": 0, "revolute": 1, "prismatic": 1, "universal": 2, "spherical": 3}


def without_free_bodies(graph: Graph) -> Graph:
    """The graph without loose bodies.

    Raises:
        DescriptionError: if two bodies move freely and no closure ties them.
    """
    if not graph.free_bodies:
        return graph
    graph = _without_loose_objects(graph)
    if not graph.free_bodies:
        return graph
    trunk = max(graph.free_bodies, key=lambda body: _platform_priority(graph, body))
    others = {body: pose for body, pose in graph.free_bodies.items() if body != trunk}
    graph = replace(graph, floating=trunk, pose=graph.free_bodies[trunk], free_bodies=others)
    while graph.free_bodies:
        graph = _attach_free_body(graph)
    return graph


def without_floating(graph: Graph) -> Graph | None:
    """The graph without a floating body: a closure carries it; None where no closure ties it to the base."""
    body = graph.floating
    if body is None:
        return graph
    tied = next(piece for piece in _connected_bodies(replace(graph, struts=(), dampers=())) if BASE in piece)
    loose = replace(graph, floating=None, free_bodies={body: graph.pose})
    return _attach_free_body(loose) if body in tied else None


def with_leg_bodies(graph: Graph) -> Graph:
    """The graph with a massless body in each leg that is one closure between the base and the platform.

    The closure becomes a joint that carries the body, which is welded to the platform.
    """
    aboard = {graph.floating, *graph.parts}
    direct = [
        link
        for closure in graph.closures
        for link in (closure, closure.reverse())
        if link.parent == BASE and link.child in aboard
    ]
    if not direct:
        return graph
    names, links = UniqueNames(graph.bodies), UniqueNames(link.name for link in graph.links)
    poses, bodies = graph.poses(), dict(graph.bodies)
    joints, welds = [], []
    for link in direct:
        body = names.new(f"{link.name}-end", "end")
        bodies[body] = Solid()
        joints.append(replace(joint_at_pose(link, poses[link.child]), child=body))
        welds.append(Link(links.new(f"{link.name}-weld", "weld"), body, link.child, identity()))
    left = tuple(c for c in graph.closures if c.name not in {link.name for link in direct})
    return replace(graph, bodies=bodies, joints=(*graph.joints, *joints), closures=(*left, *welds))


def subtree_bodies(graph: Graph, body: str) -> set[str]:
    """A body and all that the tree carries on it."""
    bodies, left = {body}, [body]
    while left:
        here = left.pop()
        after = [joint.child for joint in graph.joints if joint.parent == here]
        bodies.update(after)
        left += after
    return bodies


def _platform_priority(graph: Graph, body: str) -> tuple[int, int]:
    """How much comes together at a body: bodies that it carries and closures, then closures alone."""
    closures = sum(body in (closure.parent, closure.child) for closure in graph.closures)
    return len(subtree_bodies(graph, body)) + closures, closures


def _without_loose_objects(graph: Graph) -> Graph:
    """The robot: what is tied to the base, and the largest of the pieces that float."""
    pieces = _connected_bodies(graph)
    grounded = next(piece for piece in pieces if BASE in piece)
    floating = sorted((piece for piece in pieces if BASE not in piece), key=len, reverse=True)
    bodies = set(grounded)
    if floating and (len(floating[0]) > 1 or len(grounded) == 1):
        bodies |= floating[0]
    for body in graph.free_bodies:
        if body not in bodies:
            graph.report.add_loss(f"the free body {body!r} left out: nothing ties it to the robot")
    return _subgraph(graph, bodies)


def _connected_bodies(graph: Graph) -> list[set[str]]:
    """Bodies that joints, closures or springs connect."""
    links = [(link.parent, link.child) for link in graph.links]
    return [set(piece) for piece in connected_components([BASE, *graph.bodies], [*links, *graph.between])]


def _subgraph(graph: Graph, bodies: set[str]) -> Graph:
    """The graph with some of its bodies."""
    joints = tuple(joint for joint in graph.joints if joint.child in bodies)
    names = {joint.name for joint in joints}
    return replace(
        graph,
        bodies={name: solid for name, solid in graph.bodies.items() if name in bodies},
        joints=joints,
        closures=tuple(c for c in graph.closures if {c.parent, c.child} <= bodies),
        couplings=tuple(c for c in graph.couplings if {c.joint, *c.follows} <= names),
        struts=tuple(strut for strut in graph.struts if set(strut.bodies) <= bodies),
        dampers=tuple(damper for damper in graph.dampers if set(damper.bodies) <= bodies),
        free_bodies={body: pose for body, pose in graph.free_bodies.items() if body in bodies},
    )


def _attach_free_body(graph: Graph) -> Graph:
    """The graph with one of its loose bodies carried by a closure."""
    carried = set().union(
        *(subtree_bodies(graph, body) for body in (BASE, graph.floating) if body is not None)
    )
    choices = [
        (closure, link)
        for closure in graph.closures
        for link in (closure, closure.reverse())
        if link.parent in carried and link.child not in carried
    ]
    if not choices:
        names = ", ".join(repr(body) for body in graph.free_bodies)
        raise file_error(
            graph.file, f"no closure ties the free bodies {names} to the robot, springs alone do"
        )
    closure, link = min(choices, key=lambda choice: _ORDER[choice[0].kind])
    root = next(body for body in graph.free_bodies if link.child in subtree_bodies(graph, body))
    poses = graph.poses()
    link = joint_at_pose(link, poses[link.parent].inverse() @ poses[link.child])
    way = _path_to(graph, root, link.child)
    reversed_joints = {joint.name: joint.reverse() for joint in way}
    joints = [reversed_joints.get(joint.name, joint) for joint in graph.joints]
    message = f"; {', '.join(repr(joint.name) for joint in way)} turned round" if way else ""
    graph.report.add_step(f"the closure {closure.name!r} carries the free body {root!r}{message}")
    return replace(
        graph,
        joints=(*joints, link),
        closures=tuple(remaining for remaining in graph.closures if remaining is not closure),
        free_bodies={body: pose for body, pose in graph.free_bodies.items() if body != root},
    )


def _path_to(graph: Graph, root: str, body: str) -> list[Link]:
    """The joints of the tree from a root to a body."""
    way: list[Link] = []
    while body != root:
        joint = next(joint for joint in graph.joints if joint.child == body)
        way.insert(0, joint)
        body = joint.parent
    return way


def joint_at_pose(link: Link, X: Pose) -> Link:
    """A joint with the coordinates at which its child has the pose X in its parent, or nearly."""
    R: Array = link.at.R.T @ X.R @ link.child_at.R
    if link.spherical:
        return replace(link, quat=relative_quat(R))
    if len(link.axes) != 1:
        return link
    (axis,) = link.axes
    value = float(axis.direction @ (link.at.R.T @ (X.R @ link.child_at.p + X.p - link.at.p)))
    if axis.turns:
        a = axis.direction
        skew = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        value = math.atan2(float(a @ skew), 0.5 * (float(np.trace(R)) - float(a @ R @ a)))
    return replace(link, axes=(replace(axis, value=value),))
