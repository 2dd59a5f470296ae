"""Energies of a robot with flexible links, over any scalar.

    T = r^T M r / 2      V = sum e^T K e / 2 of beams - sum m g . c + sum k (q - q_0)^2 / 2 of springs      J
    P = friction along joints' rates + e'^T C e'                                                         W

r (r,) all rates, M (r, r) of the tree of frames; e elastic coordinates of a beam with its stiffness K and
damping C, c the centre of mass of a body of mass m, base axes. Without loss the actuators' work is the change
of T + V, with it d(T + V)/dt = tau . q_a' - P: a balance that checks the model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.dynamics.joint_effort import joint_efforts
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.elastic.beam.newton_euler import first_moment, strain_energy
from nacelle.elastic.frames import ElasticFrames
from nacelle.spatial.scalar import Array, Scalar, dot, pack, product


def kinetic_energy(frames: ElasticFrames, r: Array) -> Scalar:
    """Kinetic energy T, J, at rates r."""
    return 0.5 * dot(r, product(frames.mass_matrix(), r))


def potential_energy(frames: ElasticFrames, state: State) -> Scalar:
    """Potential energy V of strain, weight and springs, J."""
    elastic_tree = frames.elastic_tree
    gravity = np.asarray(elastic_tree.robot.gravity)
    total: Scalar = 0.0
    for k, shapes in enumerate(elastic_tree.shapes):
        qe, pose = frames.qe[elastic_tree.slices[k]], frames.floating_frame(k)
        total = total + strain_energy(shapes, qe)
        total = total - dot(gravity, shapes.beam.mass * pose.p + product(pose.R, first_moment(shapes, qe)))
    for number, drive in enumerate(elastic_tree.springs, start=len(elastic_tree.shapes)):
        stretch = frames.qe[elastic_tree.slices[number].start]
        total = total + 0.5 * drive.stiffness * stretch * stretch
    for _, pose, ten in frames.massive_bodies():
        total = total - dot(gravity, ten[0] * pose.p + product(pose.R, pack(list(ten[1:4]))))
    for index, joint in enumerate(elastic_tree.tree.joints):
        for number, spring in enumerate(joint.springs):
            if spring is not None:
                stretch = state.now.coordinate(index, number) - spring.rest
                total = total + 0.5 * spring.stiffness * stretch * stretch
    return total


def dissipated_power(frames: ElasticFrames, state: State, r: Array, physics: Physics) -> Scalar:
    """Power that friction in joints and damping of beams take, W."""
    elastic_tree = frames.elastic_tree
    total: Scalar = 0.0
    for k, shapes in enumerate(elastic_tree.shapes):
        rate = r[elastic_tree.rate_slices[k]]
        if np.any(shapes.damping):
            total = total + dot(rate, product(shapes.damping, rate))
    for number, drive in enumerate(elastic_tree.springs, start=len(elastic_tree.shapes)):
        rate = r[elastic_tree.rate_slices[number].start]
        total = total + drive.damping * rate * rate
    if physics.friction:
        rubbing = replace(physics, springs=False, inertia=False)
        for effort in joint_efforts(state, np.zeros(elastic_tree.embedding.shape[0]), rubbing):
            total = total + dot(product(effort.rows, state.moving.u), effort.values)
    return total
