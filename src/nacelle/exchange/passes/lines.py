"""Spherical closures between the same two bodies: two are a hinge along their line, three a weld.

Each pair of points keeps its distance, so two spherical joints whose points have the same distance on both
bodies leave one rotation: about the line through them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import Axis, Graph, Link
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array

# Distances on both bodies agree to this part, and points nearer than this part of the size are one.
_ALIKE = 1e-6
_APART = 1e-6


def spherical_pairs_joined(graph: Graph) -> Graph:
    """The graph with pairs of spherical closures as revolute ones."""
    left, near = list(graph.closures), _APART * graph.size
    made: list[Link] = []
    while left:
        first = left.pop(0)
        if first.kind != "spherical":
            made.append(first)
            continue
        second = next(
            (other for other in left if _same_bodies(first, other) and _hinge(first, other, near)), None
        )
        if second is None:
            made.append(first)
            continue
        left.remove(second)
        hinge = _hinge(first, second, near)
        assert hinge is not None
        graph.report.done(
            f"the closures {first.name!r} and {second.name!r} hold two points of a line: one revolute closure"
        )
        left = [other for other in left if not _on_line(hinge, other, near)]
        made.append(hinge)
    return replace(graph, closures=tuple(made))


def _same_bodies(first: Link, other: Link) -> bool:
    return other.kind == "spherical" and {other.parent, other.child} == {first.parent, first.child}


def _points(first: Link, other: Link) -> tuple[Array, Array]:
    """The point of another closure on the parent and on the child of the first."""
    if other.parent == first.parent:
        return other.at.p, other.child_at.p
    return other.child_at.p, other.at.p


def _hinge(first: Link, second: Link, near: float) -> Link | None:
    """The revolute joint that two spherical ones make; None if they do not."""
    on_parent, on_child = _points(first, second)
    a, b = on_parent - first.at.p, on_child - first.child_at.p
    long, other = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if long < near or abs(long - other) > _ALIKE * long:
        return None
    a, b = a / long, b / other
    if np.allclose(a, b, rtol=0.0, atol=1e-12):
        return replace(first, spherical=False, axes=(Axis(a),))
    z = np.array([0.0, 0.0, 1.0])
    at, child_at = Pose(frame_with_z(a), first.at.p), Pose(frame_with_z(b), first.child_at.p)
    return replace(first, spherical=False, axes=(Axis(z),), at=at, child_at=child_at)


def _on_line(hinge: Link, other: Link, near: float) -> bool:
    """Whether a spherical closure holds one more point of a hinge's axis."""
    if not _same_bodies(hinge, other):
        return False
    on_parent, on_child = _points(hinge, other)
    axis = hinge.axes[0].direction
    a, b = hinge.at.R.T @ (on_parent - hinge.at.p), hinge.child_at.R.T @ (on_child - hinge.child_at.p)
    on_axis = float(np.linalg.norm(np.cross(a, axis))) < near
    return on_axis and bool(np.allclose(a, b, rtol=0.0, atol=near))
