"""Motions of a reference: their weighted forces make M a_r + C v_r + g with M' - 2 C skew-symmetric."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.formulations import tree
from nacelle.dynamics.reference_motion import reference_motions
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.uncompiled import any_robot, solve_uncompiled


def test_coriolis_forces_do_no_more_work_than_the_mass_matrix_takes() -> None:
    robot = any_robot("delta-codourey")
    mechanism = mechanism_of(robot)
    x, _ = mechanism.reference
    v, v_ref = np.array([0.3, -0.2, 0.5]), np.array([-0.4, 0.1, 0.2])
    still = np.zeros(3)

    def force(motions: list[tuple[float, np.ndarray, np.ndarray]], at: np.ndarray) -> np.ndarray:
        own = solve_uncompiled(robot, at[None])[0]
        return sum(
            weight * tree.generalised_force(state_at(robot, at, own, speed), a, Settings(friction=False))
            for weight, speed, a in motions
        )

    def with_reference(u: np.ndarray, speed: np.ndarray = v) -> np.ndarray:
        return force(reference_motions(mechanism, (speed, u), still, (still, still)), x)

    gravity = force([(1.0, still, still)], x)
    # Along the motion itself the reference is the motion.
    assert_same(with_reference(v), force([(1.0, v, still)], x), 1e-10)
    # Linear in the reference.
    assert_same(with_reference(2.0 * v_ref) - gravity, 2.0 * (with_reference(v_ref) - gravity), 1e-9)

    # v_ref . (M' - 2 C) v_ref = 0, with M' by differences.
    def mass(at: np.ndarray) -> np.ndarray:
        zero = force([(1.0, still, still)], at)
        return np.stack([force([(1.0, still, e)], at) - zero for e in np.eye(3)], axis=1)

    h = 1e-5
    M_rate = (mass(x + h * v) - mass(x - h * v)) / (2 * h)
    coriolis = v_ref @ (with_reference(v_ref) - gravity)
    assert abs(v_ref @ M_rate @ v_ref - 2.0 * coriolis) < 1e-6 * abs(coriolis)
