"""The platform: the body, or the articulated bodies, that the legs carry.

It is placed by coordinates of its own, so its joint is cut. Without base and platform the mechanism falls
apart into its legs. A body is taken as the platform where this leaves at least three pieces that touch both,
at least two of them driven, and no other body has as many driven ones, or as many with as many others. Where
legs meet in a point there is no such body: the last link of one of them, on which the others end in that
point, is not the platform.

An articulated platform: several bodies on joints without drives that legs hold together.

No single body tells how such a robot moves: the half plates of a Quattro only translate, the tool on the
plate of a Delta turns by itself. With the twists V_b (6, n) of the bodies along the n motions of the robot,
a set C of bodies around one of them, p, shows all of it where rank [V_b, b in C] = n; its own motions are
as many as rank [V_b - V_p, b in C]. From p the set grows

1. by bodies that show motions which it does not show yet, until it shows all;
2. by bodies that bring no motions of their own beyond those that it has (the second half plate, links).

It is a platform where no body of it is on the base or the last link of a leg that ends in a point, the rest
leaves at least three legs between it and the base, two of them driven, and the drives move it in all n
motions. Of several the one with the fewest motions of its own is taken, then that with the most legs; p is
the body that the most legs hold.

How the bodies of a mechanism can move: their twists along all motions that its joints leave.

The motions are the rates that keep the loops of its robot closed. They are given by the twists [v / size; w]
that they give all bodies, v of the point of a body at the centre of the robot, in base axes: the basis is
orthonormal in these, so that the tree of the file plays no part. A body between two balls spins about the
line between them without moving anything else; that spin is no motion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.errors import did_you_mean
from nacelle.exchange.graph import BASE, Graph, Link
from nacelle.exchange.passes.assembly import AssembledGraph, assemble_graph, null_space_of_rows
from nacelle.exchange.passes.roots import joint_at_pose
from nacelle.exchange.tree import with_spanning_tree
from nacelle.kinematics.mechanism.assembly import rate_scale, scaled_closures
from nacelle.model.build.graph import connected_components
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# ---- one body


# Fewest legs that make a body the platform, and fewest of them that are driven.
MIN_LEGS, MIN_DRIVEN_LEGS = 3, 2
# How near ball joints must be to act in one point, over the size of the mechanism.
_MEET = 1e-9


def with_platform(graph: Graph, name: str | None = None) -> Graph:
    """The graph with its platform as the floating body.

    Args:
        graph: the graph; one that floats has its platform already.
        name: of the body; chosen if None, none if empty.

    Raises:
        DescriptionError: if there is no such body, or another one floats.
    """
    if name is not None and name and name not in graph.bodies:
        raise file_error(graph.file, f"no body is called {name!r}", did_you_mean(name, graph.bodies))
    if graph.floating is not None:
        if name and name != graph.floating:
            raise file_error(graph.file, f"the body {graph.floating!r} moves freely: it is the platform")
        return graph
    body = _platform_body(graph) if name is None else name
    if not body:
        return graph
    carrier = next(joint for joint in graph.joints if joint.child == body)
    if carrier.name in graph.coupled:
        if name is None:
            return graph
        raise file_error(graph.file, f"the joint {carrier.name!r} of the platform is coupled to others")
    if name is None:
        graph.report.add_step(f"the platform is {body!r}, which {count_legs(graph, [body])} carry")
    return replace(
        graph,
        joints=tuple(joint for joint in graph.joints if joint is not carrier),
        closures=(*graph.closures, carrier),
        floating=body,
        pose=graph.poses()[body],
    )


def _platform_body(graph: Graph) -> str:
    """The one body at which the most legs meet, driven ones first; empty if no body is."""
    counts = {body: count_legs(graph, [body]) for body in graph.bodies if not is_last_leg_body(graph, body)}
    best = sorted(counts, key=lambda body: counts[body].order, reverse=True)[:2]
    if not best or not counts[best[0]].is_platform or len({counts[body].order for body in best}) < len(best):
        return ""
    return best[0]


@dataclass(frozen=True)
class LegCount:
    """How many legs a platform has: with a drive, and without one."""

    driven: int
    passive: int

    @property
    def order(self) -> tuple[int, int]:
        """The more, the rather it is a platform."""
        return self.driven, self.passive

    @property
    def is_platform(self) -> bool:
        """Whether they make a platform."""
        return self.driven >= MIN_DRIVEN_LEGS and self.driven + self.passive >= MIN_LEGS

    def __str__(self) -> str:
        """In words."""
        others = f" and {self.passive} other{'s' if self.passive > 1 else ''}" if self.passive else ""
        return f"{self.driven} driven legs{others}"


def count_legs(graph: Graph, platform: Collection[str], at: str | None = None) -> LegCount:
    """The pieces that touch both the base and some bodies when these are taken out.

    Args:
        graph: the graph.
        platform: the bodies.
        at: the one of them that counts; any if None.
    """
    counts = {True: 0, False: 0}
    for piece in _components_without(graph, platform):
        links = _links_at(graph, piece)
        touched = {end for link in links for end in (link.parent, link.child)}
        holds = at in touched if at is not None else bool(touched & set(platform))
        if BASE in touched and holds:
            counts[any(link.motor is not None for link in links)] += 1
    return LegCount(counts[True], counts[False])


def _links_at(graph: Graph, piece: Collection[str]) -> list[Link]:
    """Joints and closures at some bodies."""
    return [link for link in graph.links if link.parent in piece or link.child in piece]


def _components_without(graph: Graph, platform: Collection[str]) -> list[list[str]]:
    """What the mechanism falls apart into when some bodies and the base are taken out."""
    links = [(link.parent, link.child) for link in graph.links]
    return connected_components([body for body in graph.bodies if body not in platform], links)


def is_last_leg_body(graph: Graph, body: str) -> bool:
    """Whether a body is the last of a leg that meets the others in a point, so that it is no platform.

    All legs but one are joined to it by balls in one point, and that one is as long as the others with it.
    """
    pieces = [
        piece
        for piece in _components_without(graph, [body])
        if any(BASE in ends for ends in _link_ends(graph, piece))
    ]
    at: list[Array | None] = [_ball_point(graph, piece, body) for piece in pieces]
    for k, odd in enumerate(pieces):
        points = [point for n, point in enumerate(at) if n != k and point is not None]
        others = [piece for n, piece in enumerate(pieces) if n != k]
        if not others or len(points) < len(others):
            continue
        near = all(np.linalg.norm(point - points[0]) < _MEET * graph.size for point in points)
        if near and all(len(piece) == len(odd) + 1 for piece in others):
            return True
    return False


def _link_ends(graph: Graph, piece: Collection[str]) -> list[tuple[str, str]]:
    return [(link.parent, link.child) for link in _links_at(graph, piece)]


def _ball_point(graph: Graph, piece: Collection[str], body: str) -> Array | None:
    """The point on a body of the one ball joint that joins a piece to it; None if others do."""
    joined = [link for link in _links_at(graph, piece) if body in (link.parent, link.child)]
    if len(joined) != 1 or not joined[0].spherical:
        return None
    (ball,) = joined
    return ball.at.p if ball.parent == body else ball.child_at.p


# ---- how bodies can move


@dataclass(frozen=True, eq=False)
class Mobility:
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


def mobility(closed: AssembledGraph) -> Mobility:
    """The motions of a graph whose loops are closed and in which no body floats."""
    graph, motion, unit = closed.graph, closed.assembly.motion, rate_scale(closed.robot)
    index = {joint.child: closed.robot.joints[closed.joint(joint)].successor for joint in graph.joints}
    poses = graph.poses()
    centre = np.mean([pose.p for pose in poses.values()], axis=0)
    size = max(float(np.linalg.norm(pose.p - centre)) for pose in poses.values()) or 1.0
    spins = [spin for body in index for spin in _spin_rows(graph, body, motion.jacobian(index[body])[3:])]
    rows = [scaled_closures(closed.robot, closed.assembly.closures), *(spin * unit for spin in spins)]
    rates = unit[:, None] * null_space_of_rows(np.vstack(rows))
    columns = []
    for body, k in index.items():
        v, w = np.split(motion.jacobian(k) @ rates, 2)
        columns.append(
            np.vstack([v - np.cross(centre - poses[body].p, w, axisb=0, axisc=0), size * w]) / size
        )
    basis = np.linalg.svd(np.concatenate(columns), full_matrices=False)[0]
    twists = {body: basis[6 * k : 6 * k + 6] for k, body in enumerate(index)}
    twists[BASE] = np.zeros((6, basis.shape[1]))
    single = {link.name: link for link in graph.links if len(link.axes) == 1}
    return Mobility(
        basis.shape[1],
        twists,
        {name: _joint_rate(link, poses[link.parent], twists) for name, link in single.items()},
    )


def _spin_rows(graph: Graph, body: str, J: Array) -> list[Array]:
    """The row over the rates that holds the spin of a body between two balls; none for other bodies.

    Args:
        graph: the graph.
        body: the body.
        J: its angular velocity (3, rates) over the rates, base axes.
    """
    ends = [(link, link.at) for link in graph.links if link.parent == body]
    ends += [(link, link.child_at) for link in graph.links if link.child == body]
    if len(ends) != 2 or not all(link.spherical for link, _ in ends):
        return []
    line = graph.poses()[body].R @ (ends[1][1].p - ends[0][1].p)
    return [line / max(float(np.linalg.norm(line)), 1e-300) @ J]


def _joint_rate(link: Link, parent: Pose, twists: dict[str, Array]) -> Array:
    """Rates (count,) of a joint of one axis, w or v / size of its child against its parent."""
    (axis,) = link.axes
    relative = twists[link.child] - twists[link.parent]
    return np.asarray(parent.R @ link.at.R @ axis.direction @ relative[3 * axis.turns :][:3])


# ---- an articulated platform


# Motions below this part of the largest come from tolerances of the legs.
_CLEAR = 0.03
# Drives below this part of the strongest move nothing.
_DRIVEN = 1e-3


@dataclass(frozen=True)
class _PlatformCluster:
    main: str
    bodies: tuple[str, ...]
    size: int
    legs: LegCount
    held: LegCount

    @property
    def sort_key(self) -> tuple[int, ...]:
        return self.size, *(-n for n in (*self.legs.order, *self.held.order)), len(self.bodies)


def with_articulated_platform(graph: Graph, name: str | None = None) -> Graph | None:
    """The graph with an articulated platform; None if it has none.

    Args:
        graph: a graph in which no body floats.
        name: of the body that coordinates place; chosen if None.

    Raises:
        DescriptionError: if the loops do not close.
    """
    if len(_motors(graph)) < MIN_DRIVEN_LEGS or not graph.closures:
        return None
    closed = assemble_graph(graph)
    graph, cluster = closed.graph, _find_cluster(closed, name)
    if cluster is None:
        return None
    others = [body for body in cluster.bodies if body != cluster.main]
    graph.report.add_step(
        f"the platform is {cluster.main!r} with {', '.join(repr(body) for body in others)}, "
        f"which {cluster.legs} carry"
    )
    return _with_cluster_as_platform(graph, cluster)


def _motors(graph: Graph) -> list[Link]:
    return [link for link in graph.links if link.motor is not None]


def _find_cluster(closed: AssembledGraph, name: str | None) -> _PlatformCluster | None:
    graph, motion = closed.graph, mobility(closed)
    driven = np.array([motion.rates[link.name] for link in _motors(graph)])
    if not motion.count or rank_above(driven, _DRIVEN) < motion.count:
        return None
    links = graph.links
    barred = {end for link in links if BASE in (link.parent, link.child) for end in (link.parent, link.child)}
    barred |= {body for body in graph.bodies if is_last_leg_body(graph, body)}
    choices = [body for body in graph.bodies if body not in barred and name in (None, body)]
    clusters = [_grow_cluster(graph, motion, body, barred) for body in choices]
    fit = [
        cluster
        for cluster in clusters
        if cluster is not None and len(cluster.bodies) > 1 and cluster.legs.is_platform
    ]
    return min(fit, key=lambda cluster: cluster.sort_key, default=None)


def _grow_cluster(
    graph: Graph, motion: Mobility, main: str, barred: Iterable[str]
) -> _PlatformCluster | None:
    """The set of bodies around one; None where it does not show all motions."""
    bodies = [main]

    def count_seen(more: Sequence[str] = ()) -> int:
        return rank_above(np.concatenate([motion.twists[body] for body in (*bodies, *more)]), _CLEAR)

    def body_count(more: Sequence[str] = ()) -> int:
        relative = [motion.twists[body] - motion.twists[main] for body in (*bodies, *more)]
        return rank_above(np.concatenate(relative), _CLEAR, float(np.linalg.norm(motion.twists[main], 2)))

    while count_seen() < motion.count:
        showing = [
            body for body in _adjacent_bodies(graph, bodies, barred) if count_seen([body]) > count_seen()
        ]
        if not showing:
            return None
        bodies.append(min(showing, key=lambda body: body_count([body])))
    while more := [
        body for body in _adjacent_bodies(graph, bodies, barred) if body_count([body]) == body_count()
    ]:
        bodies.append(more[0])
    order = tuple(body for body in graph.bodies if body in bodies)
    return _PlatformCluster(
        main, order, body_count(), count_legs(graph, bodies), count_legs(graph, bodies, main)
    )


def _adjacent_bodies(graph: Graph, bodies: Sequence[str], barred: Iterable[str]) -> list[str]:
    """Bodies that joints without drives connect to some others, in the order of the file."""
    coupled = graph.coupled
    near = set()
    for link in graph.links:
        ends = {link.parent, link.child}
        if link.motor is None and link.name not in coupled and len(ends & set(bodies)) == 1:
            near |= ends - set(bodies)
    return [body for body in graph.bodies if body in near and body not in barred]


def _with_cluster_as_platform(graph: Graph, cluster: _PlatformCluster) -> Graph | None:
    """The graph with the platform's tree on its main body and the legs' on the base.

    None where a coupled joint would close a loop.
    """
    inside = set(cluster.bodies)
    poses = graph.poses()

    def phase(link: Link) -> int:
        within = len(inside & {link.parent, link.child})
        return {2: 0, 0: 1, 1: 2}[within]

    closing = {closure.name for closure in graph.closures}
    tree = with_spanning_tree(replace(graph, floating=cluster.main, pose=poses[cluster.main]), phase)
    coupled = graph.coupled
    if coupled & {closure.name for closure in tree.closures}:
        return None
    joints = tuple(
        joint_at_pose(joint, poses[joint.parent].inverse() @ poses[joint.child])
        if joint.name in closing
        else joint
        for joint in tree.joints
    )
    parts = tuple(body for body in cluster.bodies if body != cluster.main)
    return replace(tree, joints=joints, parts=parts)
