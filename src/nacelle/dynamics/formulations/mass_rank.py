"""Robots whose mass matrix is singular at every pose: forces determine no acceleration there.

M dv/dt = f has a solution for every force f only if M has full rank. A robot without masses, or with inertia
along some motions only, has none. With d_i = M_ii the matrix M_ij / sqrt(d_i d_j) has no units; its
eigenvectors of eigenvalues that are zero up to rounding are the motions without inertia.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from nacelle.dynamics.formulations import reference
from nacelle.errors import SingularError
from nacelle.kinematics.iteration.unknowns import unknowns
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import checked_poses
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Eigenvalues of the scaled matrix below this are zero up to rounding.
_ROUNDING = 1e-13
# Entries of an eigenvector below this belong to coordinates that take no part.
_PART = 0.05
# Poses near the reference at which a matrix that is singular there is examined again, and how far away.
_POSES, _FAR = 4, 0.02


def is_singular(M: Array) -> Array:
    """Which mass matrices (..., n, n) are singular up to rounding (...); none that is not finite."""
    found = np.zeros(M.shape[:-2], dtype=bool)
    for place in np.ndindex(found.shape):
        found[place] = np.all(np.isfinite(M[place])) and np.any(_zero_motions(M[place]))
    return found


def without_inertia_at(robot: Robot, x: Array, M: Array) -> SingularError:
    """The error for a pose x (nx,) whose mass matrix (n, n) is singular."""
    names = [name for name, bad in zip(robot.motion.coordinates, _zero_motions(M), strict=True) if bad]
    place = ", ".join(f"{value:.6g}" for value in x)
    return SingularError(
        f"{robot.name}: the mass matrix is singular at the pose [{place}], along {', '.join(names)}, so that "
        "forces determine no acceleration",
        "mass",
    )


def require_inertia(robot: Robot) -> None:
    """Demand a mass matrix of full rank; robots with symbols in the place of numbers are not examined.

    Raises:
        SingularError: with the coordinates along which nothing has inertia.
    """
    left = _without_inertia(robot) if robot.numeric is robot else ()
    if left:
        raise SingularError(
            f"nothing of {robot.name} has inertia along {', '.join(left)}: its mass matrix is singular, so "
            "that forces determine no acceleration; give its bodies masses and moments of inertia, or its "
            "actuators rotors with inertia",
            "mass",
        )


@lru_cache(maxsize=64)
def _without_inertia(robot: Robot) -> tuple[str, ...]:
    """Coordinates of the motion along which nothing has inertia, at any pose."""
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    left = _zero_motions(reference.inertia(robot, x, y)["M"])
    if not np.any(left):
        return ()
    # Singular at the reference; a robot that is not so near it is singular at some poses alone.
    near = x + _FAR * robot.size * np.random.default_rng(0).normal(size=(_POSES, len(x)))
    poses, _ = checked_poses(robot, near)
    for M in native(reference.inertia, robot)(poses, unknowns(mechanism, poses).y)["M"]:
        if np.all(np.isfinite(M)):
            left &= _zero_motions(M)
    return tuple(name for name, bad in zip(robot.motion.coordinates, left, strict=True) if bad)


def _zero_motions(M: Array) -> Array:
    """Which coordinates (n,) take part in motions without inertia."""
    scale = np.sqrt(np.maximum(np.diag(M), 0.0))
    left = ~(scale > 0.0)
    unit = np.where(left, 1.0, scale)
    values, vectors = np.linalg.eigh(M / np.outer(unit, unit) + np.diag(np.where(left, 1.0, 0.0)))
    return np.asarray(left | np.any(np.abs(vectors[:, values < _ROUNDING]) > _PART, axis=1))
