"""Which entries of M and of the rows of constraints can differ from zero.

A body that rates i and j both move gives M_ij = J_i . I J_j; a row of a closure has the rates of its two
bodies. So by the tree alone, whatever the numbers,

    M_ij != 0    only if some frame with mass is moved by i and by j
    A_ki != 0    only if a body of closure k is moved by i

The large matrices of a robot with flexible links have few such entries, and a program computes only these,
M's on and above the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nacelle.dynamics.joint_effort import rotors
from nacelle.elastic.extended import Extended
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.spanning_tree import tree_movers
from nacelle.model.leg import BASE
from nacelle.model.loaded import has_mass
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class Pattern:
    """Places of entries, as index arrays (rows, columns).

    Attributes:
        mass: of M (r, r), on and above the diagonal.
        constraints: of A (rows, r), closures and idle spins.
        actuators: of the rates of the actuators (actuators, r).
        rates: r.
        rows: of A.
    """

    mass: tuple[Array, ...]
    constraints: tuple[Array, ...]
    actuators: tuple[Array, ...]
    rates: int
    rows: int


def moved_rates(extended: Extended) -> Array:
    """For every frame of the tree which rates r = [z; e] move it (frames, r), of bool."""
    return np.asarray(tree_movers(extended.tree) @ (extended.embedding != 0.0))


def joint_pattern(extended: Extended, moved: Array, index: int) -> Array:
    """Which rates the rate of a joint may have (r,), of bool."""
    tree = extended.tree
    if index < tree.tree:
        return np.asarray(extended.embedding[tree.platform_nv + tree.v_slices[index].start] != 0.0)
    joint = tree.joints[index]
    return np.asarray(moved[joint.predecessor] | moved[joint.successor])


@lru_cache(maxsize=64)
def pattern_of(extended: Extended) -> Pattern:
    """The places of a robot."""
    tree, moved = extended.tree, moved_rates(extended)
    size = moved.shape[1]
    nz = len(extended.rigid_rates)
    masks = [moved[body] for body in range(len(tree.bodies)) if body != BASE and has_mass(tree, body)]
    for k, shapes in enumerate(extended.shapes):
        mask = moved[shapes.beam.body].copy()
        mask[nz + extended.slices[k].start : nz + extended.slices[k].stop] = True
        masks.append(mask)
    masks += [joint_pattern(extended, moved, index) for index, _ in rotors(tree)]
    mass = np.zeros((size, size), dtype=bool)
    for mask in masks:
        mass |= np.outer(mask, mask)
    rows = [moved[j.predecessor] | moved[j.successor] for j in tree.closures for _ in j.locks]
    rows += [moved[spin.body] for spins in mechanism_of(extended.robot).spins for spin in spins]
    constraints = np.array(rows).reshape(len(rows), size)
    actuators = np.array([joint_pattern(extended, moved, a.joint) for a in tree.actuators]).reshape(-1, size)
    return Pattern(np.nonzero(np.triu(mass)), np.nonzero(constraints), np.nonzero(actuators), size, len(rows))
