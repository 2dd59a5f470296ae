"""Frames of bent robots: kinetic energy and constraints against sums over points of mass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.plan import rate_choice
from nacelle.elastic.frames import ElasticFrames, frames_at, stiffness_matrix
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.kinematics.tree.closure import closure_gaps
from nacelle.model.leg import BASE
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import inertia_about_com
from support.beam_points import mass_points
from support.elastic_states import general_state
from support.flexible_robots import flexible, prrrp

CASES = [prrrp, lambda: flexible("delta", number=1)]
STEP = 1e-6


def bent(
    make: Callable[[], Robot],
) -> tuple[ElasticFrames, np.ndarray, Callable[[np.ndarray], ElasticFrames]]:
    """A robot in a bent state, rates that keep its loops closed, and the robot after a small motion."""
    robot = make()
    own = rate_choice(robot).extended
    state = general_state(robot, np.random.default_rng(3))

    def after(step: np.ndarray) -> ElasticFrames:
        return frames_at(own, *positions.split_positions(own, positions.stepped(own, state.p, step)))

    return after(np.zeros(len(state.r))), state.r, after


def rotation_energy(frames: ElasticFrames, r: np.ndarray) -> float:
    """Energy of rotation about centres of mass, of sections of beams (Simpson's rule) and of rotors, J."""
    own, nz, total = frames.extended, len(frames.extended.rigid_rates), 0.0
    for joint, place in zip(own.robot.tree_joints, own.robot.v_slices, strict=True):
        rate = joint.gear_ratio * float(r[own.robot.platform_nv + place.start])
        total += 0.5 * joint.rotor_inertia * rate**2
    for body, pose in enumerate(frames.motion.poses):
        if body != BASE and has_mass(own.tree, body):
            w = pose.R.T @ (frames.jacobian(body, pose.p) @ r)[3:]
            total += 0.5 * float(w @ inertia_about_com(np.asarray(body_parameters(own.tree, body))) @ w)
    xi = np.linspace(0.0, 1.0, 201)
    weights = np.array([1.0, *([4.0, 2.0] * 100)[:-1], 1.0]) / 600.0
    for k, shapes in enumerate(own.shapes):
        pose, part = frames.floating(k), own.slices[k]
        w = pose.R.T @ (frames.jacobian(shapes.beam.body, pose.p) @ r)[3:]
        rates = r[nz + part.start : nz + part.stop]
        spins = np.array([w + shapes.movement(at)[3:] @ rates for at in xi])
        total += 0.5 * shapes.beam.length * float(weights @ (spins**2 @ shapes.section_inertia))
    return total


@pytest.mark.parametrize("make", CASES)
def test_mass_matrix_is_the_kinetic_energy(make: Callable[[], Robot]) -> None:
    frames, r, after = bent(make)
    masses, ahead = mass_points(after(STEP * r))
    _, behind = mass_points(after(-STEP * r))
    v = (ahead - behind) / (2.0 * STEP)
    expected = 0.5 * float(masses @ np.sum(v * v, axis=1)) + rotation_energy(frames, r)
    assert 0.5 * float(r @ frames.mass_matrix() @ r) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("make", CASES)
def test_constraints_are_the_rates_of_the_gaps(make: Callable[[], Robot]) -> None:
    frames, r, after = bent(make)
    tree = frames.extended.tree
    r = r + np.random.default_rng(1).normal(size=len(r))  # rates that open the loops
    opened = [np.asarray(closure_gaps(tree, after(t * r).motion), dtype=float) for t in (STEP, -STEP)]
    rates = (opened[0] - opened[1]) / (2.0 * STEP) / row_scale(tree)
    np.testing.assert_allclose((frames.constraints() @ r)[: len(rates)], rates, atol=1e-7)
    assert np.max(np.abs(rates)) > 0.1


def test_stiffness_of_a_bar() -> None:
    """Axial: E A / L of both beams of [BK2013]; platform and joints have none."""
    own = rate_choice(prrrp()).extended
    K = stiffness_matrix(own)
    nz = len(own.rigid_rates)
    axial = [nz + k for k, name in enumerate(own.names) if name.endswith("axial-1")]
    np.testing.assert_allclose(K[axial, axial], 70e9 * 4e-6 / 0.4, rtol=1e-12)
    assert not np.any(K[:nz])
