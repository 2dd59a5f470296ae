"""How the bodies of a mechanism can move: their twists along all motions that its joints leave.

The unknowns are the twists [v / size; w] of all bodies, v of the point of a body at the centre of the
robot, in base axes. A joint between two bodies leaves their relative twist in the span of its axes: about
the direction d through the point p it is [p x d; d], along d it is [d; 0]. What is perpendicular to these
columns is a row a joint, and the motions are the null space of all rows. So the tree of the file plays no
part. A body between two balls spins about the line between them without moving anything else; that spin is
no motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.exchange.graph import BASE, Graph, Link
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Singular values below this part of the largest are digits of the file.
_RANK = 1e-5


@dataclass(frozen=True, eq=False)
class Freedom:
    """The motions of a mechanism in its assembly.

    Attributes:
        count: how many there are.
        twists: of each body and the base (6, count), without units.
        rates: of joints and closures with one axis (count,), by their names, without units.
    """

    count: int
    twists: dict[str, Array]
    rates: dict[str, Array]


def rank_above(rows: Array, part: float, largest: float | None = None) -> int:
    """How many singular values of some rows (rows, count) are more than a part of the largest.

    Args:
        rows: twists or rates along the motions.
        part: the part.
        largest: the largest singular value, if it is not that of the rows.
    """
    if not rows.size:
        return 0
    s = np.linalg.svd(rows, compute_uv=False)
    return int(np.sum(s > max(part * (s[0] if largest is None else largest), 1e-9)))


def freedom(graph: Graph) -> Freedom:
    """The motions of a graph whose loops are closed; a floating body is free."""
    poses = graph.poses()
    centre = np.mean([pose.p for pose in poses.values()], axis=0)
    poses = {body: Pose(pose.R, pose.p - centre) for body, pose in poses.items()}
    size = max(float(np.linalg.norm(pose.p)) for pose in poses.values()) or 1.0
    bodies = list(graph.bodies)
    place = {body: 6 * k for k, body in enumerate(bodies)}
    columns = 6 * len(bodies)
    links = (*graph.joints, *graph.closures)
    axes = {link.name: _columns(link, poses[link.parent], size) for link in links}
    rows = [np.zeros((0, columns))]
    for link in links:
        S = axes[link.name]
        U, s, _ = np.linalg.svd(S, full_matrices=True)
        locked = U[:, int(np.sum(s > 1e-9)) :].T
        rows.append(_between(locked, link, place, columns))
    single = {link.name: link for link in links if len(link.axes) == 1}
    rates = {
        name: _between(np.linalg.pinv(axes[name]), link, place, columns)[0] for name, link in single.items()
    }
    for coupling in graph.couplings:
        row = rates[coupling.joint].copy()
        for other, ratio in coupling.follows.items():
            units = (1.0 if single[coupling.joint].axes[0].turns else size) / (
                1.0 if single[other].axes[0].turns else size
            )
            row -= ratio / units * rates[other]
        rows.append(row[None])
    rows += [_spin(graph, body, poses[body], place[body], columns) for body in bodies]
    _, s, Vt = np.linalg.svd(np.concatenate(rows), full_matrices=True)
    N = Vt[int(np.sum(s > _RANK * max(s[0], 1e-300))) if len(s) else 0 :].T
    twists = {body: N[at : at + 6] for body, at in place.items()}
    count = N.shape[1]
    return Freedom(
        count, twists | {BASE: np.zeros((6, count))}, {name: row @ N for name, row in rates.items()}
    )


def _columns(link: Link, parent: Pose, size: float) -> Array:
    """Relative twists (6, freedoms) that a joint leaves, base axes."""
    at = parent @ link.at
    if link.spherical:
        return np.column_stack([_turn(at.p, d, size) for d in np.eye(3)])
    columns = []
    for axis in link.axes:
        d = at.R @ axis.direction
        columns.append(_turn(at.p, d, size) if axis.turns else np.concatenate([d, np.zeros(3)]))
        at = at @ axis.pose(axis.value)
    return np.column_stack(columns) if columns else np.zeros((6, 0))


def _turn(point: Array, direction: Array, size: float) -> Array:
    return np.concatenate([np.cross(point, direction) / size, direction])


def _between(rows: Array, link: Link, place: dict[str, int], columns: int) -> Array:
    """Rows over a relative twist as rows over all twists."""
    made = np.zeros((len(rows), columns))
    for body, sign in ((link.child, 1.0), (link.parent, -1.0)):
        if body != BASE:
            made[:, place[body] : place[body] + 6] += sign * rows
    return made


def _spin(graph: Graph, body: str, pose: Pose, at: int, columns: int) -> Array:
    """The row that holds the spin of a body between two balls; none for other bodies."""
    ends = [(link, link.at) for link in (*graph.joints, *graph.closures) if link.parent == body]
    ends += [(link, link.child_at) for link in (*graph.joints, *graph.closures) if link.child == body]
    row = np.zeros((1, columns))
    if len(ends) != 2 or not all(link.spherical for link, _ in ends):
        return row[:0]
    line = pose.R @ (ends[1][1].p - ends[0][1].p)
    row[0, at + 3 : at + 6] = line / max(float(np.linalg.norm(line)), 1e-300)
    return row
