"""Several joints that act as one: hinges through a point, spherical closures between two bodies.

Hinges one after the other through a point: two perpendicular ones are universal, three spherical.

A hinge with the direction a turns its frame by R(a, q1), then comes the constant rotation D to the frame of
the next, which turns by R(b, q2):  R(a, q1) D R(b, q2) = R(a, q1) R(D b, q2) D. So the axes of the universal
joint are a and D b. Only massless bodies may lie between, and nothing may act that the new joint has not: a
spherical joint has no springs, drives, limits or friction of single axes.

Spherical closures between the same two bodies: two are a hinge along their line, three a weld.

Each pair of points keeps its distance, so two spherical joints whose points have the same distance on both
bodies leave one rotation: about the line through them.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise

import numpy as np

from nacelle.exchange.graph import Axis, Graph, Link, relative_quat
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array

# ---- hinges through a point


# How near axes must meet, over the size of the mechanism, and how near to a right angle they must be.
_MEET = 1e-9
_RIGHT = 1e-9


def group_hinges(graph: Graph, coordinates: Collection[str]) -> Graph:
    """The graph with universal and spherical joints in the place of hinges.

    Args:
        graph: the graph.
        coordinates: joints that stay as they are: coordinates of the motion.
    """
    fixed = {*coordinates, *graph.coupled}
    while (reduced := _group_next_hinges(graph, fixed)) is not None:
        graph = reduced
    return graph


def _group_next_hinges(graph: Graph, fixed: Collection[str]) -> Graph | None:
    for first in graph.joints:
        chain = _hinge_chain(graph, first, fixed)
        for length in (3, 2):
            reduced = _join_hinges(graph, chain[:length]) if len(chain) >= length else None
            if reduced is not None:
                return reduced
    return None


def _hinge_chain(graph: Graph, first: Link, fixed: Collection[str]) -> list[Link]:
    """Hinges one after the other with massless bodies between them."""
    chain = [first] if _is_bare_hinge(first, fixed) else []
    while chain and len(chain) < 3:
        body = chain[-1].child
        solid = graph.bodies[body]
        after = [joint for joint in graph.joints if joint.parent == body]
        if (
            not solid.is_massless
            or len(after) != 1
            or body in graph.held_names
            or not _is_bare_hinge(after[0], fixed)
        ):
            break
        chain.append(after[0])
    return chain


def _is_bare_hinge(joint: Link, fixed: Collection[str]) -> bool:
    axis = joint.axes[0] if joint.kind == "revolute" else None
    return axis is not None and axis.motor is None and not axis.armature and joint.name not in fixed


def _join_hinges(graph: Graph, chain: list[Link]) -> Graph | None:
    """The graph with a chain of two or three hinges as one joint; None if they do not form one."""
    directions, joint = _common_joint(chain, _MEET * graph.size)
    if joint is None:
        return None
    if len(chain) == 2:
        if abs(directions[0] @ directions[1]) > _RIGHT:
            return None
        axes = tuple(
            replace(link.axes[0], direction=direction)
            for link, direction in zip(chain, directions, strict=True)
        )
        joined, label = replace(joint, axes=axes), "a universal joint"
    else:
        plain = all(link.axes[0].is_bare for link in chain)
        if not plain or abs(np.linalg.det(np.array(directions))) < 0.1:
            return None
        R = np.eye(3)
        for link, direction in zip(chain, directions, strict=True):
            R = R @ Axis(direction).pose(link.axes[0].value).R
        joined, label = replace(joint, axes=(), spherical=True, quat=relative_quat(R)), "a spherical joint"
    names = ", ".join(repr(link.name) for link in chain)
    graph.report.add_step(f"the hinges {names} meet in a point: {label}")
    gone = {link.child for link in chain[:-1]}
    joints = tuple(joined if link is chain[0] else link for link in graph.joints if link not in chain[1:])
    bodies = {name: solid for name, solid in graph.bodies.items() if name not in gone}
    return replace(graph, joints=joints, bodies=bodies)


def _common_joint(chain: list[Link], near: float) -> tuple[list[Array], Link | None]:
    """Directions of all axes in the frame of the first, and the joint without its axes; None if they miss."""
    first = chain[0]
    # The common point, along the first axis.
    shift = _distance_to_crossing(chain[0], chain[1], near)
    if shift is None:
        return [], None
    at = Pose(first.at.R, first.at.p + first.at.R @ (first.axes[0].direction * shift))
    directions = [first.axes[0].direction]
    rotation = np.eye(3)
    # The point in the frame of the last body, followed through the chain.
    point = first.child_at.R @ (first.axes[0].direction * shift) + first.child_at.p
    for before, link in pairwise(chain):
        rotation = rotation @ before.child_at.R.T @ link.at.R
        here = link.at.R.T @ (point - link.at.p)
        if np.linalg.norm(np.cross(here, link.axes[0].direction)) > near:
            return [], None
        directions.append(rotation @ link.axes[0].direction)
        point = link.child_at.R @ here + link.child_at.p
    last = chain[-1]
    child_at = Pose(last.child_at.R @ rotation.T, point)
    return directions, replace(first, child=last.child, at=at, child_at=child_at, axes=())


def _distance_to_crossing(first: Link, second: Link, near: float) -> float | None:
    """How far along the first axis the second is met; None where they miss or are parallel."""
    between = first.child_at.inverse() @ second.at
    a, b = first.axes[0].direction, between.R @ second.axes[0].direction
    normal = np.cross(a, b)
    square = float(normal @ normal)
    if square < 1e-12 or abs(between.p @ normal) > near * math.sqrt(square):
        return None
    return float(np.cross(between.p, b) @ normal / square)


# ---- spherical closures between the same two bodies


# Distances on both bodies agree to this part, and points nearer than this part of the size are one.
_LENGTH_TOLERANCE = 1e-6
_SAME_POINT = 1e-6


def join_spherical_pairs(graph: Graph) -> Graph:
    """The graph with pairs of spherical closures as revolute ones."""
    left, near = list(graph.closures), _SAME_POINT * graph.size
    closures: list[Link] = []
    while left:
        first = left.pop(0)
        others = [closure for closure in left if first.kind == "spherical" and _same_bodies(first, closure)]
        pairs = ((closure, _hinge_of_pair(first, closure, near)) for closure in others)
        second, hinge = next((pair for pair in pairs if pair[1] is not None), (None, None))
        if second is None or hinge is None:
            closures.append(first)
            continue
        left.remove(second)
        graph.report.add_step(
            f"the closures {first.name!r} and {second.name!r} hold two points of a line: one revolute closure"
        )
        left = [closure for closure in left if not _is_on_axis(hinge, closure, near)]
        closures.append(hinge)
    return replace(graph, closures=tuple(closures))


def _same_bodies(first: Link, second: Link) -> bool:
    return second.kind == "spherical" and {second.parent, second.child} == {first.parent, first.child}


def _points_on_bodies(first: Link, second: Link) -> tuple[Array, Array]:
    """The point of another closure on the parent and on the child of the first."""
    if second.parent == first.parent:
        return second.at.p, second.child_at.p
    return second.child_at.p, second.at.p


def _hinge_of_pair(first: Link, second: Link, near: float) -> Link | None:
    """The revolute joint that two spherical ones make; None if they do not."""
    on_parent, on_child = _points_on_bodies(first, second)
    a, b = on_parent - first.at.p, on_child - first.child_at.p
    length_a, length_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if length_a < near or abs(length_a - length_b) > _LENGTH_TOLERANCE * length_a:
        return None
    a, b = a / length_a, b / length_b
    if np.allclose(a, b, rtol=0.0, atol=1e-12):
        return replace(first, spherical=False, axes=(Axis(a),))
    z = np.array([0.0, 0.0, 1.0])
    at, child_at = Pose(frame_with_z(a), first.at.p), Pose(frame_with_z(b), first.child_at.p)
    return replace(first, spherical=False, axes=(Axis(z),), at=at, child_at=child_at)


def _is_on_axis(hinge: Link, closure: Link, near: float) -> bool:
    """Whether a spherical closure holds one more point of a hinge's axis."""
    if not _same_bodies(hinge, closure):
        return False
    on_parent, on_child = _points_on_bodies(hinge, closure)
    axis = hinge.axes[0].direction
    a, b = hinge.at.R.T @ (on_parent - hinge.at.p), hinge.child_at.R.T @ (on_child - hinge.child_at.p)
    on_axis = float(np.linalg.norm(np.cross(a, axis))) < near
    return on_axis and bool(np.allclose(a, b, rtol=0.0, atol=near))
