"""The independent joints of a mechanism, by rank: driven joints first, then others in the order of the file.

With the rows J of all closures at the assembly, scaled to be without units, the rates that keep the loops
closed are u = N z, N a basis of the null space of J. Joints are independent as long as their rows of N are;
a joint is taken where its row has a part of at least 0.05 that those before do not span, and in a second
round where it has any. A spherical joint has no coordinate that could be independent: where its rotations
are among the motions (a ball pendulum, the spin of a rod between two balls) it is written as three hinges,
the last along the rod.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nacelle.exchange.graph import Axis, Damper, Graph, Link, Solid, broken
from nacelle.exchange.text.description import Written, described
from nacelle.kinematics.mechanism.assembly import Assembly, assemble, rate_scale
from nacelle.kinematics.mechanism.closed import scaled_closures
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z, rotation_quat
from nacelle.spatial.scalar import Array

# Singular values below this part of the largest are digits of the file.
_RANK = 1e-5
_CLEAR, _SOME = 0.05, 1e-4


@dataclass(frozen=True, eq=False)
class Chosen:
    """The graph in its assembly, and the independent joints."""

    graph: Graph
    joints: tuple[str, ...]


def chosen_motion(graph: Graph) -> Chosen:
    """Close the loops and choose independent joints.

    Raises:
        DescriptionError: if the loops do not close, or nothing moves.
    """
    for _ in range(1 + sum(joint.spherical for joint in graph.joints)):
        written, robot, assembled = _assembled(graph)
        graph = _at_assembly(graph, written, robot, assembled)
        left, found = _independent(graph, written, robot, assembled)
        split = _to_split(graph, written, robot, left)
        if not split:
            break
        graph = _as_hinges(graph, split)
    return Chosen(graph, found)


def _assembled(graph: Graph) -> tuple[Written, Robot, Assembly]:
    singles = [joint.name for joint in graph.joints if len(joint.axes) == 1]
    if not singles and graph.floating is None:
        raise broken(graph.file, "nothing moves: the file has no hinge, slide or free body")
    # Any motion will do to build the tree.
    written = described(graph, tuple(singles[:1]))
    robot, _ = read_data(written.data)
    found = assemble(robot)
    if found.open:
        gaps = ", ".join(f"{name} {gap}" for name, gap in found.open.items())
        raise broken(graph.file, f"the loops do not close near the assembly: {gaps}")
    return written, robot, found


def _at_assembly(graph: Graph, written: Written, robot: Robot, found: Assembly) -> Graph:
    values = {}
    for joint in graph.joints:
        index = robot.joint(written.joint(joint.name))
        value = np.array(found.q[robot.q_slices[index]], dtype=float)
        values[joint.name] = value
    return replace(graph.with_values(values), pose=found.platform if graph.floating else graph.pose)


def _independent(
    graph: Graph, written: Written, robot: Robot, found: Assembly
) -> tuple[Array, tuple[str, ...]]:
    """The null space that joints of one axis leave (rates, left), and the names that are chosen."""
    J = scaled_closures(robot, found.closures)
    unit = rate_scale(robot)
    if len(J):
        _, s, Vt = np.linalg.svd(J)
        rank = int(np.sum(s > _RANK * s[0]))
        N = Vt[rank:].T
    else:
        N = np.eye(len(unit))
    m = robot.platform_nv
    basis = np.zeros((N.shape[1], 0))
    if graph.floating is not None:
        basis = np.linalg.qr(N[:6].T)[0]
    names: list[str] = []
    for threshold in (_CLEAR, _SOME):
        for joint in sorted(graph.joints, key=lambda j: _rank(graph, j)):
            if len(joint.axes) != 1 or joint.name in names or basis.shape[1] == N.shape[1]:
                continue
            row = N[m + robot.v_slices[robot.joint(written.joint(joint.name))].start]
            rest = row - basis @ (basis.T @ row)
            if float(np.linalg.norm(rest)) > threshold * max(float(np.linalg.norm(row)), 1e-3):
                basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
                names.append(joint.name)
    full = np.linalg.svd(basis, full_matrices=True)[0] if basis.size else np.eye(N.shape[1])
    order = {joint.name: k for k, joint in enumerate(graph.joints)}
    return N @ full[:, basis.shape[1] :], tuple(sorted(names, key=lambda name: order[name]))


def _rank(graph: Graph, joint: Link) -> tuple[bool, bool, bool]:
    """Driven joints first, leaders before those that follow, hinges that carry a mass before others."""
    follows = any(coupling.joint == joint.name for coupling in graph.couplings)
    return joint.motor is None, follows, graph.bodies[joint.child].mass == 0.0


def _shares(graph: Graph, written: Written, robot: Robot, left: Array) -> dict[str, Array]:
    """For each spherical joint its part (3, left) of the motions that are left."""
    m = robot.platform_nv
    return {
        joint.name: left[m + robot.v_slices[robot.joint(written.joint(joint.name))].start :][:3]
        for joint in graph.joints
        if joint.spherical
    }


def _to_split(graph: Graph, written: Written, robot: Robot, left: Array) -> list[str]:
    """Spherical joints whose rotations are among the motions that are left."""
    shares = _shares(graph, written, robot, left)
    split = [name for name, share in shares.items() if share.size and np.linalg.norm(share) > 1e-6]
    if left.shape[1] and not split:
        raise broken(graph.file, f"{left.shape[1]} motions belong to no hinge, slide or ball joint")
    return split


def _as_hinges(graph: Graph, names: list[str]) -> Graph:
    """The graph with some spherical joints as three hinges, which are at zero in the assembly."""
    bodies = dict(graph.bodies)
    dampers = list(graph.dampers)
    joints: list[Link] = []
    for joint in graph.joints:
        if joint.name not in names:
            joints.append(joint)
            continue
        parent = joint.parent
        at = joint.at @ Pose(rotation_quat(joint.quat), np.zeros(3))
        axes = _spin_frame(graph, joint)
        for k, word in enumerate(("tilt", "swing", "spin")):
            child = joint.child if k == 2 else f"{joint.name}-{word}"
            bodies.setdefault(child, Solid())
            axis = Axis(axes[:, k], armature=joint.armature)
            hinge = Link(f"{joint.name}-{word}", parent, child, at, axes=(axis,))
            joints.append(replace(hinge, child_at=joint.child_at) if k == 2 else hinge)
            parent, at = child, hinge.child_at
        graph.report.done(
            f"the ball joint {joint.name!r} is three hinges: what it turns by itself is a coordinate"
        )
        if joint.damping:
            dampers.append(Damper(joint.name, (joint.parent, joint.child), joint.damping))
        if joint.armature:
            graph.report.lost(f"armature of the ball joint {joint.name!r} acts about its three hinges")
    return replace(graph, joints=tuple(joints), bodies=bodies, dampers=tuple(dampers))


def _spin_frame(graph: Graph, joint: Link) -> Array:
    """Axes of three hinges (3, 3) in the frame of a spherical joint: the last along the line to a closure."""
    ends = [c.at.p for c in graph.closures if c.parent == joint.child]
    ends += [c.child_at.p for c in graph.closures if c.child == joint.child]
    line = joint.child_at.R.T @ (ends[0] - joint.child_at.p) if ends else np.zeros(3)
    long = float(np.linalg.norm(line))
    return frame_with_z(line / long) if long > 0.0 else np.eye(3)
