"""Energies of a bent robot against sums over points of mass, and of springs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacelle.dynamics.settings import Settings
from nacelle.elastic.dynamics.energy import dissipation, potential
from nacelle.elastic.dynamics.equations import posed, reduced_motion
from nacelle.elastic.dynamics.models import elastic_energies
from nacelle.elastic.dynamics.plan import rate_choice
from support.beam_points import mass_points
from support.elastic_states import general_state
from support.flexible_robots import flexible, prrrp

GRAVITY = (1.0, -2.0, -9.0)


def test_potential_is_strain_and_weight() -> None:
    heavy, light = prrrp(GRAVITY), prrrp()
    state = general_state(heavy, np.random.default_rng(0))
    motion = reduced_motion(posed(rate_choice(heavy), state.p), state.y).motion
    masses, places = mass_points(motion.at.frames)
    weight = -float(masses @ places @ np.array(GRAVITY))
    strain = float(elastic_energies(light, state.p, state.y)["potential"])
    assert strain > 0.0
    assert potential(motion.at.frames, motion.state) == pytest.approx(strain + weight, rel=1e-12)


def test_small_strain_is_the_linear_one() -> None:
    """E A u^2 / (2 L) of a bar of [BK2013] that is longer by u."""
    robot = prrrp()
    own = rate_choice(robot).extended
    p = rate_choice(robot).reference.copy()
    stretch = 1e-5
    p[len(p) - own.ne + own.names.index("leg1.2.axial-1")] = stretch
    found = elastic_energies(robot, p, np.zeros(rate_choice(robot).n))["potential"]
    assert found == pytest.approx(0.5 * 70e9 * 4e-6 / 0.4 * stretch**2, rel=1e-12)


def test_drives_with_springs_store_and_lose_energy() -> None:
    robot = flexible("fivebar", ("distal",))
    actuated = [actuator.joint for actuator in robot.actuators]
    joints = [
        dataclasses.replace(joint, drive_stiffness=40.0, drive_damping=0.5) if k in actuated else joint
        for k, joint in enumerate(robot.joints)
    ]
    sprung = dataclasses.replace(robot, joints=tuple(joints), gravity=(0.0, 0.0, 0.0))
    plan = rate_choice(sprung)
    own = plan.extended
    place = own.slices[len(own.shapes)].start
    p, nz = plan.reference.copy(), len(own.rigid_rates)
    p[len(p) - own.ne + place] = 0.02
    frames_now = reduced_motion(posed(plan, p), np.zeros(plan.n)).motion
    assert potential(frames_now.at.frames, frames_now.state) == pytest.approx(0.5 * 40.0 * 0.02**2, rel=1e-9)
    r = np.zeros(own.embedding.shape[1])
    r[nz + place] = 3.0
    lost = dissipation(frames_now.at.frames, frames_now.state, r, Settings(False))
    assert lost == pytest.approx(0.5 * 3.0**2)
