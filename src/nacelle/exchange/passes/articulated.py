"""An articulated nacelle: several bodies on joints without drives that legs hold together.

No single body tells how such a robot moves: the half plates of a Quattro only translate, the tool on the
plate of a Delta turns by itself. With the twists V_b (6, n) of the bodies along the n motions of the robot,
a set C of bodies around one of them, p, shows all of it where rank [V_b, b in C] = n; its own motions are
as many as rank [V_b - V_p, b in C]. From p the set grows

1. by bodies that show motions which it does not show yet, until it shows all;
2. by bodies that bring no motions of their own beyond those that it has (the second half plate, links).

It is a nacelle where no body of it is on the base or the last link of a leg that ends in a point, the rest
leaves at least three legs between it and the base, two of them driven, and the drives move it in all n
motions. Of several the one with the fewest motions of its own is taken, then that with the most legs; p is
the body that the most legs hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nacelle.exchange.graph import BASE, Graph, Link
from nacelle.exchange.passes.freedom import Freedom, freedom, rank_above
from nacelle.exchange.passes.motion import at_assembly
from nacelle.exchange.passes.nacelle import DRIVEN, LegCount, ends_a_leg, legs_of
from nacelle.exchange.passes.roots import at_pose
from nacelle.exchange.tree import spanned

# Motions below this part of the largest come from tolerances of the legs.
_CLEAR = 0.03
# Drives below this part of the strongest move nothing.
_DRIVEN = 1e-3


@dataclass(frozen=True)
class _Cluster:
    main: str
    bodies: tuple[str, ...]
    own: int
    legs: LegCount
    held: LegCount

    @property
    def worth(self) -> tuple[int, ...]:
        return self.own, *(-n for n in (*self.legs.order, *self.held.order)), len(self.bodies)


def with_articulated(graph: Graph, name: str | None = None) -> Graph | None:
    """The graph with an articulated nacelle; None if it has none.

    Args:
        graph: a graph in which no body floats.
        name: of the body that coordinates place; chosen if None.

    Raises:
        DescriptionError: if the loops do not close.
    """
    if len(_motors(graph)) < DRIVEN or not graph.closures:
        return None
    graph = at_assembly(graph)
    found = _cluster(graph, name)
    if found is None:
        return None
    others = [body for body in found.bodies if body != found.main]
    graph.report.done(
        f"the nacelle is {found.main!r} with {', '.join(repr(body) for body in others)}, "
        f"which {found.legs} carry"
    )
    return _placed(graph, found)


def _motors(graph: Graph) -> list[Link]:
    return [link for link in (*graph.joints, *graph.closures) if link.motor is not None]


def _cluster(graph: Graph, name: str | None) -> _Cluster | None:
    motion = freedom(graph)
    driven = np.array([motion.rates[link.name] for link in _motors(graph)])
    if not motion.count or rank_above(driven, _DRIVEN) < motion.count:
        return None
    links = (*graph.joints, *graph.closures)
    barred = {end for link in links if BASE in (link.parent, link.child) for end in (link.parent, link.child)}
    barred |= {body for body in graph.bodies if ends_a_leg(graph, body)}
    choices = [body for body in graph.bodies if body not in barred and name in (None, body)]
    clusters = [_grown(graph, motion, body, barred) for body in choices]
    fit = [
        cluster
        for cluster in clusters
        if cluster is not None and len(cluster.bodies) > 1 and cluster.legs.enough
    ]
    return min(fit, key=lambda cluster: cluster.worth, default=None)


def _grown(graph: Graph, motion: Freedom, main: str, barred: Iterable[str]) -> _Cluster | None:
    """The set of bodies around one; None where it does not show all motions."""
    bodies = [main]

    def seen(more: Sequence[str] = ()) -> int:
        return rank_above(np.concatenate([motion.twists[body] for body in (*bodies, *more)]), _CLEAR)

    def own(more: Sequence[str] = ()) -> int:
        relative = [motion.twists[body] - motion.twists[main] for body in (*bodies, *more)]
        return rank_above(np.concatenate(relative), _CLEAR, float(np.linalg.norm(motion.twists[main], 2)))

    while seen() < motion.count:
        showing = [body for body in _beside(graph, bodies, barred) if seen([body]) > seen()]
        if not showing:
            return None
        bodies.append(min(showing, key=lambda body: own([body])))
    while more := [body for body in _beside(graph, bodies, barred) if own([body]) == own()]:
        bodies.append(more[0])
    order = tuple(body for body in graph.bodies if body in bodies)
    return _Cluster(main, order, own(), legs_of(graph, bodies), legs_of(graph, bodies, main))


def _beside(graph: Graph, bodies: Sequence[str], barred: Iterable[str]) -> list[str]:
    """Bodies that joints without drives connect to some others, in the order of the file."""
    coupled = {name for coupling in graph.couplings for name in (coupling.joint, *coupling.follows)}
    near = set()
    for link in (*graph.joints, *graph.closures):
        ends = {link.parent, link.child}
        if link.motor is None and link.name not in coupled and len(ends & set(bodies)) == 1:
            near |= ends - set(bodies)
    return [body for body in graph.bodies if body in near and body not in barred]


def _placed(graph: Graph, cluster: _Cluster) -> Graph | None:
    """The graph with the nacelle's tree on its main body and the legs' on the base.

    None where a coupled joint would close a loop.
    """
    inside = set(cluster.bodies)
    poses = graph.poses()

    def phase(link: Link) -> int:
        within = len(inside & {link.parent, link.child})
        return {2: 0, 0: 1, 1: 2}[within]

    closing = {closure.name for closure in graph.closures}
    made = spanned(replace(graph, floating=cluster.main, pose=poses[cluster.main]), phase)
    coupled = {name for coupling in graph.couplings for name in (coupling.joint, *coupling.follows)}
    if coupled & {closure.name for closure in made.closures}:
        return None
    joints = tuple(
        at_pose(joint, poses[joint.parent].inverse() @ poses[joint.child]) if joint.name in closing else joint
        for joint in made.joints
    )
    parts = tuple(body for body in cluster.bodies if body != cluster.main)
    return replace(made, joints=joints, parts=parts)
