"""The independent joints of a mechanism, by rank: driven joints first, then others in the order of the file.

With the rows J of all closures at the assembly, scaled to be without units, the rates that keep the loops
closed are u = N z, N a basis of the null space of J. Joints are independent as long as their rows of N are;
a joint is taken where its row has a part of at least 0.05 that those before do not span, and in a second
round where it has any. What spherical joints keep to themselves is an idle spin where it turns one body about
itself alone; otherwise such a joint is written as three hinges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nacelle.exchange.graph import Axis, Graph, Link, Solid, broken
from nacelle.exchange.text.description import Written, described
from nacelle.kinematics.mechanism.assembly import Assembly, assemble, rate_scale
from nacelle.kinematics.mechanism.closed import scaled_closures
from nacelle.model.read import read_data
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import rotation_quat
from nacelle.spatial.scalar import Array

# Singular values below this part of the largest are digits of the file.
_RANK = 1e-5
_CLEAR, _SOME = 0.05, 1e-4


@dataclass(frozen=True, eq=False)
class Chosen:
    """The graph in its assembly, the independent joints, and the bodies that spin idly."""

    graph: Graph
    joints: tuple[str, ...]
    spinning: tuple[str, ...]


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
    spinning = _spinning(graph, written, robot, left)
    return Chosen(graph, found, spinning)


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
        for joint in sorted(graph.joints, key=lambda j: (j.motor is None, _is_follower(graph, j))):
            if len(joint.axes) != 1 or joint.name in names or basis.shape[1] == N.shape[1]:
                continue
            row = N[m + robot.v_slices[robot.joint(written.joint(joint.name))].start]
            rest = row - basis @ (basis.T @ row)
            if np.linalg.norm(rest) > threshold * max(np.linalg.norm(row), 1e-3):
                basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
                names.append(joint.name)
    full = np.linalg.svd(basis, full_matrices=True)[0] if basis.size else np.eye(N.shape[1])
    order = {joint.name: k for k, joint in enumerate(graph.joints)}
    return N @ full[:, basis.shape[1] :], tuple(sorted(names, key=lambda name: order[name]))


def _is_follower(graph: Graph, joint: Link) -> bool:
    return any(coupling.joint == joint.name for coupling in graph.couplings)


def _shares(graph: Graph, written: Written, robot: Robot, left: Array) -> dict[str, Array]:
    """For each spherical joint its part (3, left) of the motions that are left."""
    m = robot.platform_nv
    return {
        joint.name: left[m + robot.v_slices[robot.joint(written.joint(joint.name))].start :][:3]
        for joint in graph.joints
        if joint.spherical
    }


def _spinning(graph: Graph, written: Written, robot: Robot, left: Array) -> tuple[str, ...]:
    shares = _shares(graph, written, robot, left)
    return tuple(j.child for j in graph.joints if j.spherical and np.linalg.norm(shares[j.name]) > 1e-6)


def _to_split(graph: Graph, written: Written, robot: Robot, left: Array) -> list[str]:
    """Spherical joints whose rotations are independent and more than the spin of one body."""
    carriers = {joint.parent for joint in graph.joints}
    split = []
    total = 0
    for joint in graph.joints:
        if not joint.spherical:
            continue
        share = _shares(graph, written, robot, left)[joint.name]
        rank = int(np.linalg.matrix_rank(share, 1e-6)) if share.size else 0
        total += rank
        tied = sum(joint.child in (closure.parent, closure.child) for closure in graph.closures)
        idle = rank == 1 and joint.child not in carriers and tied == 1
        if rank and not idle:
            split.append(joint.name)
    if left.shape[1] > total:
        raise broken(graph.file, f"{left.shape[1] - total} motions belong to no hinge, slide or ball joint")
    return split


def _as_hinges(graph: Graph, names: list[str]) -> Graph:
    """The graph with some spherical joints as three hinges about z, y and x."""
    bodies = dict(graph.bodies)
    joints: list[Link] = []
    for joint in graph.joints:
        if joint.name not in names:
            joints.append(joint)
            continue
        R = rotation_quat(joint.quat)
        angles = (np.arctan2(R[1, 0], R[0, 0]), -np.arcsin(np.clip(R[2, 0], -1, 1)), np.arctan2(R[2, 1], R[2, 2]))
        parent, at = joint.parent, joint.at
        for k, (axis, angle) in enumerate(zip(np.eye(3)[::-1], angles, strict=True)):
            child = joint.child if k == 2 else f"{joint.name}-{'zy'[k]}"
            bodies.setdefault(child, Solid())
            hinge = Axis(axis, value=float(angle), damping=joint.damping, armature=joint.armature)
            here = Link(f"{joint.name}-{'zyx'[k]}", parent, child, at, axes=(hinge,))
            joints.append(replace(here, child_at=joint.child_at) if k == 2 else here)
            parent, at = child, here.child_at
        graph.report.done(f"the ball joint {joint.name!r} moves by itself: three hinges about z, y and x")
        if joint.damping or joint.armature:
            graph.report.lost(f"damping and armature of the ball joint {joint.name!r} act about its three hinges")
    return replace(graph, joints=tuple(joints), bodies=bodies)
