"""Natural frequencies of a robot with flexible links by a plain linear frame of finite elements.

Every link is a chain of Euler-Bernoulli elements with twelve degrees of freedom (axial and torsion
linear, bending cubic Hermite, consistent mass with the rotary inertia of the section), other bodies are
rigid. Joints, and locked actuators, are linear constraints C u = 0, solved by a basis N of the null space
of C from its singular value decomposition, so that redundant constraints do no harm:

    N^T K N y = (2 pi f)^2 N^T M N y

In a planar robot only motions in its plane are admitted. Nothing of the package's dynamics is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from support.flexible.beams import (
    PlacedJoint,
    Section,
    Structure,
    rigid_bodies,
    rigid_mass,
    shift_matrix,
    structure,
)

Array = np.ndarray


def frame_frequencies(
    robot: Robot, x: Sequence[float] | Array, elements: int = 16, modes: int = 10, in_plane: bool = True
) -> Array:
    """Natural frequencies (modes,), Hz, ascending, of the undeformed robot at x with locked actuators.

    Args:
        robot: the robot; bodies with section and material are beams.
        x: reduced pose (nx,).
        elements: elements a beam.
        modes: how many.
        in_plane: whether a planar robot is held in its plane.
    """
    at = structure(robot, x)
    if not in_plane:
        at = replace(at, normal=None)
    M, K = assemble_matrices(at, elements)
    return frequencies(M, K, modes, free_motions(at))


def frequencies(M: Array, K: Array, modes: int, free: int) -> Array:
    """Lowest frequencies, Hz, of M u'' + K u = 0 without its free motions; M may be singular."""
    # Of M u = mu (K + s M) u, whose matrix on the right is definite: mu = 1 / (omega^2 + s).
    shift = np.trace(K) / np.trace(M) * 1e-9
    mu = linalg.eigh(M, K + shift * M, eigvals_only=True)[::-1]
    squares = 1.0 / mu[mu > 1e-14 * mu[0]] - shift
    return np.sqrt(squares[free : free + modes]) / (2.0 * np.pi)


def free_motions(at: Structure) -> int:
    """Number of motions without strain, in which every beam moves as a rigid body: idle spins of rods.

    A robot that is not held by its locked actuators has more of them.
    """
    held = tuple(
        replace(placed, allowed=np.zeros((6, 0))) if placed.stiffness else placed for placed in at.joints
    )
    at = replace(at, joints=held)
    bodies = [k for k in range(len(at.robot.bodies)) if k != BASE]
    basis = _free_basis(at, len(bodies), bodies.index(PLATFORM))
    rows = constraints(at, len(bodies), lambda body, _: (bodies.index(body), at.p[body]))
    return basis.shape[1] - int(np.linalg.matrix_rank(rows @ basis, tol=1e-9))


def null_space(C: Array) -> Any:
    """Sparse basis (n, k) of the null space of C (m, n), by parts of C that share no row and no column."""
    m, n = C.shape
    rows, columns = np.nonzero(np.abs(C) > 1e-12 * np.max(np.abs(C)))
    graph = sparse.coo_matrix((np.ones(len(rows)), (rows, m + columns)), shape=(m + n, m + n))
    parts = sparse.csgraph.connected_components(graph, directed=False)[1]
    bases, order = [], []
    for part in np.unique(parts[m:]):
        at, of = np.flatnonzero(parts[m:] == part), np.flatnonzero(parts[:m] == part)
        bases.append(linalg.null_space(C[np.ix_(of, at)], rcond=1e-10) if len(of) else np.eye(len(at)))
        order.append(at)
    return sparse.csr_matrix(sparse.block_diag(bases))[np.argsort(np.concatenate(order))]


def assemble_matrices(at: Structure, elements: int) -> tuple[Array, Array]:
    """Mass and stiffness matrices along a basis of the motions that the joints allow."""
    robot, beams = at.robot, at.beams
    blocks = {body: k for k, body in enumerate(rigid_bodies(robot, beams))}
    first = {body: len(blocks) + k * (elements + 1) for k, body in enumerate(beams)}
    count = len(blocks) + len(beams) * (elements + 1)
    M, K = np.zeros((6 * count, 6 * count)), np.zeros((6 * count, 6 * count))
    for body, block in blocks.items():
        part = slice(6 * block, 6 * block + 6)
        M[part, part] = rigid_mass(np.array(robot.bodies[body].inertia), at.R[body])
    for body, beam in beams.items():
        M_e, K_e = element_matrices(beam.section, beam.length / elements)
        T = np.kron(np.eye(4), beam.R)
        for k in range(first[body], first[body] + elements):
            part = slice(6 * k, 6 * k + 12)
            M[part, part] += T @ M_e @ T.T
            K[part, part] += T @ K_e @ T.T
        for k, mass in zip((first[body], first[body] + elements), beam.tips, strict=True):
            part = slice(6 * k, 6 * k + 6)
            M[part, part] += mass

    def block_of(body: int, at_tip: bool) -> tuple[int, Array]:
        if body not in beams:
            return blocks[body], at.p[body]
        beam = beams[body]
        return (first[body] + elements, beam.tip) if at_tip else (first[body], beam.start)

    for placed in at.joints:
        if placed.stiffness:
            rate = placed.allowed.T @ relative_motion(placed, count, block_of)
            K += placed.stiffness * rate.T @ rate
    free = _free_basis(at, count, blocks[PLATFORM])
    N = sparse.csr_matrix(free) @ null_space(constraints(at, count, block_of) @ free)
    return N.T @ M @ N, N.T @ K @ N


Blocks = Callable[[int, bool], tuple[int, Array]]


def constraints(at: Structure, count: int, block_of: Blocks) -> Array:
    """Rows of C over small motions [v; w] of `count` frames; block_of: a body's frame and its origin."""
    rows = []
    for placed in at.joints:
        U, s, _ = np.linalg.svd(placed.allowed)
        rows.append(U[:, int(np.sum(s > 1e-9)) :].T @ relative_motion(placed, count, block_of))
    return np.vstack(rows)


def relative_motion(placed: PlacedJoint, count: int, block_of: Blocks) -> Array:
    """Motion [v; w] of a joint's second body against its first at the joint (6, 6 count)."""
    rows = np.zeros((6, 6 * count))
    ends = (placed.joint.predecessor, placed.joint.successor)
    for sign, body, at_tip in zip((-1.0, 1.0), ends, placed.at_tip, strict=True):
        if body != BASE:
            block, origin = block_of(body, at_tip)
            rows[:, 6 * block : 6 * block + 6] += sign * shift_matrix(placed.point - origin)
    return rows


def _free_basis(at: Structure, count: int, platform: int) -> Array:
    """Motions of `count` frames that plane and point platform admit; `platform`: number of the platform's."""
    basis = np.kron(np.eye(count), _planar(at.normal))
    if at.robot.platform.kind == "point":  # a point has no orientation
        turns = np.linalg.norm(basis[6 * platform + 3 : 6 * platform + 6], axis=0) > 0.5
        basis = basis[:, ~turns]
    return basis


def _planar(normal: Array | None) -> Array:
    """Basis (6, 3) of the motions [v; w] in the plane; all six where there is no plane."""
    if normal is None:
        return np.eye(6)
    u, v = linalg.null_space(normal[None, :]).T
    return np.column_stack([np.r_[u, 0, 0, 0], np.r_[v, 0, 0, 0], np.r_[0, 0, 0, normal]])


def element_matrices(section: Section, L: float) -> tuple[Array, Array]:
    """Mass and stiffness (12, 12) of an element of length L along x; order [u; theta] of each end."""
    s = section
    M, K = np.zeros((12, 12)), np.zeros((12, 12))
    pair, spring = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0, np.array([[1.0, -1.0], [-1.0, 1.0]])
    for i, inertia, stiffness in ((0, s.A, s.E * s.A), (3, s.Iy + s.Iz, s.G * s.J)):
        at = np.ix_([i, i + 6], [i, i + 6])
        M[at] += s.rho * inertia * L * pair
        K[at] += stiffness / L * spring
    bend = np.array(
        [
            [12, 6 * L, -12, 6 * L],
            [6 * L, 4 * L**2, -6 * L, 2 * L**2],
            [-12, -6 * L, 12, -6 * L],
            [6 * L, 2 * L**2, -6 * L, 4 * L**2],
        ]
    )
    shift = np.array(
        [
            [156, 22 * L, 54, -13 * L],
            [22 * L, 4 * L**2, 13 * L, -3 * L**2],
            [54, 13 * L, 156, -22 * L],
            [-13 * L, -3 * L**2, -22 * L, 4 * L**2],
        ]
    )
    turn = np.array(
        [
            [36, 3 * L, -36, 3 * L],
            [3 * L, 4 * L**2, -3 * L, -(L**2)],
            [-36, -3 * L, 36, -3 * L],
            [3 * L, -(L**2), -3 * L, 4 * L**2],
        ]
    )
    # Bending along y turns about +z, bending along z about -y.
    for axis, angle, sign, I in ((1, 5, 1.0, s.Iz), (2, 4, -1.0, s.Iy)):
        at, D = (
            np.ix_([axis, angle, axis + 6, angle + 6], [axis, angle, axis + 6, angle + 6]),
            np.diag([1, sign, 1, sign]),
        )
        M[at] += s.rho * D @ (s.A * L / 420.0 * shift + I / (30.0 * L) * turn) @ D
        K[at] += s.E * I / L**3 * D @ bend @ D
    return M, K
