"""The mass of a robot with flexible links as points: bodies by four points each, beams by Gauss points.

Integrals over a beam that the package has in closed form are sums over these points here.
"""

from __future__ import annotations

import numpy as np

from nacelle.elastic.frames import ElasticFrames
from nacelle.model.leg import BASE
from nacelle.model.robot import body_parameters, has_mass

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def mass_points(frames: ElasticFrames) -> tuple[np.ndarray, np.ndarray]:
    """Masses (n,), kg, and positions (n, 3), m, base axes: centres of mass of bodies, points of beams."""
    masses, positions = [], []
    own = frames.elastic_tree
    for body, pose in enumerate(frames.motion.poses):
        if body != BASE and has_mass(own.tree, body):
            ten = np.asarray(body_parameters(own.tree, body), dtype=float)
            masses.append(ten[0])
            positions.append(pose.p + pose.R @ ten[1:4] / (ten[0] or 1.0))
    for k, shapes in enumerate(own.shapes):
        pose, q = frames.floating_frame(k), frames.qe[own.slices[k]]
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            xi = 0.5 * (node + 1.0)
            moved = shapes.section_motion(xi)[:3] @ q
            masses.append(0.5 * weight * shapes.beam.mass)
            positions.append(pose.p + pose.R @ (np.array([xi * shapes.beam.length, 0.0, 0.0]) + moved))
    return np.array(masses), np.array(positions, dtype=float)
