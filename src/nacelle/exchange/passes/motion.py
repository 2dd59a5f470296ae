"""Independent coordinates of a mechanism, by rank, and the motors that they leave.

The platform's coordinates are taken first, then driven joints, then others. With the rows J of all closures
at the assembly, scaled to be without units, the rates that keep the loops closed are u = N z, N a basis of
the null space of J. Coordinates are independent as long as their rows of N are. Of the platform's six the
first is taken whose row has at least half of the largest part that those before do not span; a joint where
its row has a part of at least 0.05 that those before do not span, and in a second round where it has any. The
spin of an axisymmetric rod between two balls is idle and counts for nothing; it stays where nothing acts on
it. Another spherical joint has no coordinate that could be independent: where its rotations are among the
motions (a ball pendulum, the spin of an uneven rod) it is written as three hinges, the last along the rod.

What is driven where a file does not say: joints with a limit of effort that loops leave independent.

Files often limit the effort of every joint, of those too that loops move. Motors that are only suggested are
kept at joints that are independent of each other, chosen from the base outwards.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from nacelle.errors import did_you_mean
from nacelle.exchange.description import leg_pieces
from nacelle.exchange.graph import BASE, Axis, ExchangeReport, Graph, Link, Motor, RotationDamper
from nacelle.exchange.passes.assembly import RANK, AssembledGraph, assemble_graph, null_space_of_rows
from nacelle.exchange.tree import chain_links, massless_bodies, with_spanning_tree
from nacelle.kinematics.mechanism.assembly import rate_scale, scaled_closures
from nacelle.model.platform import AXES
from nacelle.model.source.node import file_error
from nacelle.spatial.inertia import is_axisymmetric, parameters_from_com
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z, rotation_quat
from nacelle.spatial.scalar import Array

# ---- independent coordinates


_CLEAR, _MINIMAL = 0.05, 1e-4
# A platform that moves by less than this part of all rates stands still.
_STILL = 1e-6
# A rod is axisymmetric to this part of its size and inertia, as a description requires.
_AXISYMMETRIC = 1e-9


@dataclass(frozen=True, eq=False)
class ChosenMotion:
    """The graph in its assembly, and its independent coordinates.

    Attributes:
        graph: the graph.
        axes: of the platform.
        joints: names of joints.
        left: how many motions these leave: those of legs between base and platform, which have none.
    """

    graph: Graph
    axes: tuple[str, ...]
    joints: tuple[str, ...]
    left: int = 0


def choose_motion(graph: Graph) -> ChosenMotion:
    """Close the loops and choose independent joints.

    Raises:
        DescriptionError: if the loops do not close, or nothing moves.
    """
    left = np.zeros((0, 0))
    for _ in range(1 + sum(joint.spherical for joint in graph.joints)):
        closed = assemble_graph(graph)
        graph = closed.graph
        left, axes, joints = _independent_coordinates(closed)
        split = _balls_to_split(closed, left)
        if not split:
            break
        graph = _split_balls(graph, split)
    return ChosenMotion(graph, axes, joints, left.shape[1])


def _independent_coordinates(closed: AssembledGraph) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """The motions that all chosen coordinates leave (rates, left), axes of the platform, names of joints."""
    graph, N = closed.graph, _motion_basis(closed)
    span = _RowSpace(N.shape[1])
    axes: list[str] = []
    # Screws turn much where the platform moves little, so its coordinates are compared with each other alone.
    largest = max((float(np.linalg.norm(row)) for row in N[:6]), default=0.0)
    while graph.floating is not None and largest > _STILL:
        parts = [0.0 if axis in axes else span.part(row) for axis, row in zip(AXES, N[:6], strict=True)]
        if max(parts) < _CLEAR * largest:
            break
        k = next(k for k, part in enumerate(parts) if part >= 0.5 * max(parts))
        span.take(N[k])
        axes.append(AXES[k])
    names: list[str] = []
    leg_joints = _leg_joints(graph)
    for threshold in (_CLEAR, _MINIMAL):
        for joint in sorted(graph.joints, key=lambda j: _coordinate_priority(graph, j)):
            if len(joint.axes) != 1 or joint.name in names or joint.name in leg_joints or span.is_full:
                continue
            row = N[closed.first_rate(joint)]
            if span.part(row) > threshold * max(float(np.linalg.norm(row)), 1e-3):
                span.take(row)
                names.append(joint.name)
    order = {joint.name: k for k, joint in enumerate(graph.joints)}
    in_order = tuple(sorted(names, key=lambda name: order[name]))
    return N @ span.complement(), tuple(sorted(axes, key=AXES.index)), in_order


def _motion_basis(closed: AssembledGraph) -> Array:
    """A basis N (rates, mobility) of the scaled rates that keep the loops closed, idle spins left out."""
    J = scaled_closures(closed.robot, closed.assembly.closures)
    if not len(J):
        return np.eye(J.shape[1])
    spins = [spin for spin in _internal_freedoms(closed) if float(np.max(np.abs(J @ spin))) < RANK]
    return null_space_of_rows(np.concatenate([J, *(spin[None] for spin in spins)]))


def _internal_freedoms(closed: AssembledGraph) -> list[Array]:
    """Rates (rates,) of rods that spin about the line between their two balls and do not feel it."""
    graph = closed.graph
    spins = []
    for joint in graph.joints:
        ends = _closure_points(graph, joint.child)
        feels = joint.damping or joint.armature or any(end.damping or end.armature for end, _ in ends)
        acted = any(joint.child in pair for pair in graph.between)
        carries = any(next_joint.parent == joint.child for next_joint in graph.joints)
        if not joint.spherical or len(ends) != 1 or not ends[0][0].spherical or feels or acted or carries:
            continue
        line = ends[0][1] - joint.child_at.p
        solid = graph.bodies[joint.child]
        long = float(np.linalg.norm(line))
        ten = parameters_from_com(solid.mass, solid.com - joint.child_at.p, solid.inertia)
        if long == 0.0 or not is_axisymmetric(ten, line / long, long, _AXISYMMETRIC):
            continue
        start = closed.first_rate(joint)
        spin = np.zeros(len(rate_scale(closed.robot)))
        spin[start : start + 3] = joint.child_at.R.T @ (line / long)
        spins.append(spin)
    return spins


def _closure_points(graph: Graph, body: str) -> list[tuple[Link, Array]]:
    """Closures at a body, each with its point on it."""
    ends = [(c, c.at.p) for c in graph.closures if c.parent == body]
    return ends + [(c, c.child_at.p) for c in graph.closures if c.child == body]


class _RowSpace:
    """A space that rows span, with an orthonormal basis (size, rows)."""

    def __init__(self, size: int) -> None:
        self.basis = np.zeros((size, 0))

    @property
    def is_full(self) -> bool:
        return self.basis.shape[1] == self.basis.shape[0]

    def _residual(self, row: Array) -> Array:
        return np.asarray(row - self.basis @ (self.basis.T @ row))

    def part(self, row: Array) -> float:
        """Length of the part of a row that is not in the space."""
        return float(np.linalg.norm(self._residual(row)))

    def take(self, row: Array) -> None:
        rest = self._residual(self._residual(row))
        self.basis = np.column_stack([self.basis, rest / np.linalg.norm(rest)])

    def complement(self) -> Array:
        """A basis (size, others) of what the space leaves."""
        if not self.basis.size:
            return np.eye(len(self.basis))
        return np.asarray(np.linalg.svd(self.basis, full_matrices=True)[0][:, self.basis.shape[1] :])


def _coordinate_priority(graph: Graph, joint: Link) -> tuple[bool, bool, bool]:
    """Driven joints first, leaders before those that follow, hinges that carry a mass before others."""
    follows = any(coupling.joint == joint.name for coupling in graph.couplings)
    return joint.motor is None, follows, graph.bodies[joint.child].mass == 0.0


def _balls_to_split(closed: AssembledGraph, left: Array) -> list[str]:
    """Spherical joints whose rotations are among the motions that are left (rates, left)."""
    leg_joints = _leg_joints(closed.graph)
    balls = [joint for joint in closed.graph.joints if joint.spherical and joint.name not in leg_joints]
    shares = {joint.name: left[closed.first_rate(joint) :][:3] for joint in balls}
    return [name for name, share in shares.items() if share.size and np.linalg.norm(share) > 1e-6]


def _leg_joints(graph: Graph) -> set[str]:
    """Joints of legs between base and platform: no coordinates, since the platform's pose gives them."""
    if graph.floating is None:
        return set()
    aboard = (graph.floating, *graph.parts)
    legs = [leg for leg in leg_pieces(graph) if leg.is_joined_to([BASE]) and leg.is_joined_to(aboard)]
    return {joint.name for leg in legs for joint in leg.joints}


def _split_balls(graph: Graph, names: list[str]) -> Graph:
    """The graph with some spherical joints as three hinges, which are at zero in the assembly."""
    bodies = dict(graph.bodies)
    dampers = list(graph.dampers)
    joints: list[Link] = []
    for joint in graph.joints:
        if joint.name not in names:
            joints.append(joint)
            continue
        at = joint.at @ Pose(rotation_quat(joint.quat), np.zeros(3))
        whole = Link(joint.name, joint.parent, joint.child, at, joint.child_at)
        names_of_hinges = [f"{joint.name}-{word}" for word in ("tilt", "swing", "spin")]
        axes = [Axis(direction, armature=joint.armature) for direction in _hinge_axes(graph, joint).T]
        hinges = [
            replace(whole, name=name, axes=(axis,)) for name, axis in zip(names_of_hinges, axes, strict=True)
        ]
        joints += chain_links(whole, hinges, names_of_hinges[:2])
        bodies |= massless_bodies([name for name in names_of_hinges[:2] if name not in bodies])
        graph.report.add_step(
            f"the ball joint {joint.name!r} is three hinges: what it turns by itself is a coordinate"
        )
        if joint.damping:
            dampers.append(RotationDamper(joint.name, (joint.parent, joint.child), joint.damping))
        if joint.armature:
            graph.report.add_loss(f"armature of the ball joint {joint.name!r} acts about its three hinges")
    return replace(graph, joints=tuple(joints), bodies=bodies, dampers=tuple(dampers))


def _hinge_axes(graph: Graph, joint: Link) -> Array:
    """Axes of three hinges (3, 3) in the frame of a spherical joint: the last along the line to a closure."""
    ends = _closure_points(graph, joint.child)
    line = joint.child_at.R.T @ (ends[0][1] - joint.child_at.p) if ends else np.zeros(3)
    long = float(np.linalg.norm(line))
    return frame_with_z(line / long) if long > 0.0 else np.eye(3)


# ---- what is driven


def with_drives(graph: Graph, names: Collection[str]) -> Graph:
    """The graph with the named joints driven and no other; actuators of the file may name theirs.

    Raises:
        DescriptionError: if a name is that of no hinge or slide, or of no actuator.
    """
    known = {key: link.name for link in graph.links for key in _names_of_drive(link)}
    for name in names:
        if name not in known:
            raise file_error(
                graph.file, f"no joint with one axis is called {name!r}", did_you_mean(name, known)
            )
    driven = {known[name] for name in names}
    others = [link.name for link in graph.links if link.motor is not None and link.name not in driven]
    if others:
        graph.report.add_step(f"not driven, since others are named: {', '.join(others)}")
    joints, closures = (
        tuple(_with_motor(link, link.name in driven) for link in links)
        for links in (graph.joints, graph.closures)
    )
    graph = replace(graph, joints=joints, closures=closures)
    return with_spanning_tree(graph) if any(link.motor for link in closures) else graph


def _names_of_drive(link: Link) -> list[str]:
    if len(link.axes) != 1:
        return []
    return [link.name, *([link.motor.name] if link.motor is not None else [])]


def _with_motor(link: Link, is_driven: bool) -> Link:
    if len(link.axes) != 1:
        return link
    motor = replace(link.motor or Motor(link.name), is_certain=True) if is_driven else None
    return replace(link, axes=(replace(link.axes[0], motor=motor),))


# ---- what is driven where a file does not say


def without_dependent_motors(graph: Graph) -> Graph:
    """The graph without motors that are suggested at joints that depend on others.

    Raises:
        DescriptionError: if the loops do not close, or nothing moves.
    """
    suggested = [link for link in graph.links if link.motor and not link.motor.is_certain]
    if not suggested:
        return graph
    independent = {link.name for link in suggested}
    if graph.closures or graph.couplings:
        # What this choice does to the graph is done again later, and reported there.
        independent &= set(choose_motion(replace(graph, report=ExchangeReport())).joints)
    names = ", ".join(link.name for link in suggested if link.name in independent) or "no joint"
    graph.report.add_step(f"nothing says what is driven: {names}, by limits of effort")
    return replace(
        graph,
        joints=tuple(_with_certain_motor(link, independent) for link in graph.joints),
        closures=tuple(_with_certain_motor(link, independent) for link in graph.closures),
    )


def _with_certain_motor(link: Link, independent: Collection[str]) -> Link:
    if link.motor is None or link.motor.is_certain:
        return link
    motor = replace(link.motor, is_certain=True) if link.name in independent else None
    return replace(link, axes=(replace(link.axes[0], motor=motor),))
