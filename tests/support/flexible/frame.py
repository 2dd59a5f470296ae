"""Natural frequencies of a robot with flexible links by a plain linear frame of finite elements.

Every link is a chain of Euler-Bernoulli elements with twelve degrees of freedom (axial and torsion linear, bending
cubic Hermite, consistent mass with the rotary inertia of the section), other bodies are rigid. Joints, and locked
actuators, are linear constraints C u = 0, solved by a basis N of the null space of C from its singular value
decomposition, so that redundant constraints are no matter:

    N^T K N y = (2 pi f)^2 N^T M N y

In a planar robot only motions in its plane are admitted. Nothing of the package's dynamics is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from support.flexible.beams import Beam, Section, Structure, rigid_bodies, structure

Array = np.ndarray

# Below this share of the highest frequency that was asked for a motion is free: an idle spin.
_FREE = 1e-4


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
    M, K = assembled(structure(robot, x), elements, in_plane)
    return frequencies(M, K, modes)


def frequencies(M: Array, K: Array, modes: int) -> Array:
    """Lowest frequencies, Hz, of M u'' + K u = 0 without its free motions; M may be singular."""
    # Of M u = mu (K + s M) u, whose matrix on the right is definite: mu = 1 / (omega^2 + s).
    shift = np.trace(K) / np.trace(M) * 1e-9
    mu = linalg.eigh(M, K + shift * M, eigvals_only=True)[::-1]
    squares = 1.0 / mu[mu > 1e-14 * mu[0]] - shift
    kept = squares[squares > (_FREE * 2.0 * np.pi) ** 2]
    return np.sqrt(kept[:modes]) / (2.0 * np.pi)


def assembled(robot_at: Structure, elements: int, in_plane: bool = True) -> tuple[Array, Array]:
    """Mass and stiffness matrices along a basis of the motions that the joints allow."""
    robot, beams = robot_at.robot, robot_at.beams
    rigid = rigid_bodies(robot, beams)
    blocks = {body: k for k, body in enumerate(rigid)}
    first = {}
    count = len(rigid)
    for body in beams:
        first[body] = count
        count += elements + 1
    M, K = np.zeros((6 * count, 6 * count)), np.zeros((6 * count, 6 * count))
    for body in rigid:
        at = slice(6 * blocks[body], 6 * blocks[body] + 6)
        M[at, at] = rigid_mass(np.array(robot.bodies[body].inertia), robot_at.R[body])
    for body, beam in beams.items():
        M_e, K_e = element(beam.section, beam.length / elements)
        T = np.kron(np.eye(4), beam.R)
        for k in range(elements):
            at = slice(6 * (first[body] + k), 6 * (first[body] + k) + 12)
            M[at, at] += T @ M_e @ T.T
            K[at, at] += T @ K_e @ T.T
    rows = []
    for placed in robot_at.joints:
        U, s, _ = np.linalg.svd(placed.allowed)
        locked = U[:, int(np.sum(s > 1e-9)) :].T
        row = np.zeros((len(locked), 6 * count))
        ends = (placed.joint.predecessor, placed.joint.successor)
        for sign, body, at_tip in zip((-1.0, 1.0), ends, placed.at_tip, strict=True):
            if body == BASE:
                continue
            if body in beams:
                node, origin = _node(beams[body], first[body], elements, at_tip)
            else:
                node, origin = blocks[body], robot_at.p[body]
            row[:, 6 * node : 6 * node + 6] += sign * locked @ shifted(placed.point - origin)
        rows.append(row)
    free = np.kron(np.eye(count), _planar(robot_at.normal) if in_plane else np.eye(6))
    if robot.nacelle.kind == "point":  # a point has no orientation
        keep = np.linalg.norm(free[6 * blocks[PLATFORM] + 3 : 6 * blocks[PLATFORM] + 6], axis=0) < 0.5
        free = free[:, keep]
    C = np.vstack(rows) @ free
    # Interior nodes of beams are in no joint: the decomposition is of the few columns that are.
    touched = np.any(np.abs(C) > 1e-12, axis=0)
    null = linalg.null_space(C[:, touched], rcond=1e-10)
    N = np.hstack([free[:, ~touched], free[:, touched] @ null])
    return N.T @ M @ N, N.T @ K @ N


def _planar(normal: Array | None) -> Array:
    """Basis (6, 3) of the motions [v; w] in the plane; all six where there is no plane."""
    if normal is None:
        return np.eye(6)
    u, v = linalg.null_space(normal[None, :]).T
    return np.column_stack([np.r_[u, 0, 0, 0], np.r_[v, 0, 0, 0], np.r_[0, 0, 0, normal]])


def _node(beam: Beam, first: int, elements: int, at_tip: bool) -> tuple[int, Array]:
    return (first + elements, beam.tip) if at_tip else (first, beam.start)


def shifted(arm: Array) -> Array:
    """Matrix (6, 6) that takes a small motion [v; w] at a point of a rigid body to the point that is `arm` further."""
    T = np.eye(6)
    T[:3, 3:] = -_skew(arm)
    return T


def rigid_mass(ten: Array, R: Array) -> Array:
    """Mass matrix (6, 6) of a rigid body at its origin, base axes, from its ten parameters."""
    h, (xx, xy, yy, xz, yz, zz) = R @ ten[1:4], ten[4:]
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return np.block([[ten[0] * np.eye(3), -_skew(h)], [_skew(h), I]])


def _skew(r: Array) -> Array:
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def element(section: Section, L: float) -> tuple[Array, Array]:
    """Mass and stiffness (12, 12) of an element of length L along x; order [u; theta] of each end."""
    s = section
    M, K = np.zeros((12, 12)), np.zeros((12, 12))
    pair, spring = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0, np.array([[1.0, -1.0], [-1.0, 1.0]])
    for i, inertia, stiffness in ((0, s.A, s.E * s.A), (3, s.Iy + s.Iz, s.G * s.J)):
        at = np.ix_([i, i + 6], [i, i + 6])
        M[at] += s.rho * inertia * L * pair
        K[at] += stiffness / L * spring
    bend = np.array(
        [[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2], [-12, -6 * L, 12, -6 * L], [6 * L, 2 * L**2, -6 * L, 4 * L**2]]
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
        at, D = np.ix_([axis, angle, axis + 6, angle + 6], [axis, angle, axis + 6, angle + 6]), np.diag([1, sign, 1, sign])
        M[at] += s.rho * D @ (s.A * L / 420.0 * shift + I / (30.0 * L) * turn) @ D
        K[at] += s.E * I / L**3 * D @ bend @ D
    return M, K
