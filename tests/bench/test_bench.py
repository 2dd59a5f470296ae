"""The bench: its plants agree with the dynamics of nacelle, its faults are 40 kinds, and what comes of them."""

import mujoco
import numpy as np
import pytest

import nacelle
from bench.logs import RATE, compiled, excitation
from bench.plants import PLANTS, STEP, description
from nacelle.trajectory.base import read_layout  # noqa: F401
from scipy.spatial.transform import Rotation


@pytest.mark.parametrize("name", PLANTS)
def test_plants_agree_with_inverse_dynamics(name):
    """Forces that drive the plant are those that nacelle computes for its acceleration."""
    plant = PLANTS[name]
    numbers = plant.perturbed(0)
    robot = nacelle.build(description(plant, numbers))
    machine = compiled(plant, numbers)
    model, data = machine.model, machine.data
    reference = plant.qpos(excitation(plant, 0, np.arange(1200) / RATE), numbers)[:, machine.coordinates]
    rng = np.random.default_rng(0)
    errors = []
    for k, wanted in enumerate(reference):
        rate = data.qvel[machine.dofs]
        force = 4e3 * plant.inertia * (wanted - data.qpos[machine.coordinates]) - 60.0 * plant.inertia * rate
        data.qfrc_applied[machine.dofs] = force
        if k % 50 == 49 and k > 500:
            mujoco.mj_forward(model, data)
            x, v, a = platform_motion(plant, machine)
            tau = nacelle.inverse_dynamics(robot, x, v, a).tau
            print(name, k, tau, force, tau - force)
            if np.min(np.abs(rate)) > 1e-2:
                errors.append(np.max(np.abs(tau - force)) / np.max(np.abs(force)))
        mujoco.mj_step(model, data, nstep=round(1.0 / RATE / STEP))
    print(errors)
    assert len(errors) >= 3
    assert max(errors) < 1e-4


def platform_motion(plant, machine):
    """Pose, twist and acceleration of the platform in the coordinates of nacelle."""
    model, data = machine.model, machine.data
    if plant.name == "fivebar":
        site = model.site("left.tip")
        body, point = int(site.bodyid[0]), data.site("left.tip").xpos
    else:
        body, point = model.body("platform").id, data.body("platform").xpos
    J, J_dot = np.zeros((2, 3, model.nv)), np.zeros((2, 3, model.nv))
    mujoco.mj_jac(model, data, *J, point, body)
    mujoco.mj_jacDot(model, data, *J_dot, point, body)
    v, a = J @ data.qvel, J @ data.qacc + J_dot @ data.qvel
    if plant.name == "hexapod":
        turn = Rotation.from_matrix(data.body("platform").xmat.reshape(3, 3)).as_quat()
        return np.concatenate([point, turn]), v.ravel(), a.ravel()
    n = len(plant.centre)
    return point[:n], v[0, :n], a[0, :n]
