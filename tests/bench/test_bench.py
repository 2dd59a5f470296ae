"""The bench itself: its plants agree with the dynamics of nacelle, its logs read as they should."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from bench.faults import FAULTS
from bench.logs import RATE, Model, clean_log, compiled, excitation
from bench.plants import PLANTS, STEP, Plant
from bench.score import CLEAN, OUTCOMES, identified, scores


def _platform_motion(plant: Plant, machine: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pose, twist and acceleration of the platform."""
    model, data = machine.model, machine.data
    if plant.name == "fivebar":
        body, point = int(model.site("left.tip").bodyid[0]), data.site("left.tip").xpos
    else:
        body, point = model.body("platform").id, data.body("platform").xpos
    J, J_dot = np.zeros((2, 3, model.nv)), np.zeros((2, 3, model.nv))
    mujoco.mj_jac(model, data, *J, point, body)
    mujoco.mj_jacDot(model, data, *J_dot, point, body)
    v, a = J @ data.qvel, J @ data.qacc + J_dot @ data.qvel
    if plant.name == "hexapod":
        quaternion = Rotation.from_matrix(data.body("platform").xmat.reshape(3, 3)).as_quat()
        return np.concatenate([point, quaternion]), v.ravel(), a.ravel()
    n = len(plant.centre)
    return point[:n], v[0, :n], a[0, :n]


@pytest.mark.costly
@pytest.mark.parametrize("name", PLANTS)
def test_plants_agree_with_inverse_dynamics(name):
    """Forces that drive the plant are those that nacelle computes for its acceleration.

    To 5e-5 of the largest force and no nearer: MuJoCo's constraints and its dry friction are soft.
    """
    plant = PLANTS[name]
    numbers = plant.perturbed(0)
    robot = nacelle.loads(plant.description(numbers))
    machine = compiled(plant, numbers)
    model, data = machine.model, machine.data
    reference = plant.qpos(excitation(plant, 0, np.arange(1200) / RATE), numbers)[:, machine.coordinates]
    errors = []
    for k, goal in enumerate(reference):
        rate = data.qvel[machine.dofs]
        force = 4e3 * plant.inertia * (goal - data.qpos[machine.coordinates]) - 60.0 * plant.inertia * rate
        data.qfrc_applied[machine.dofs] = force
        if k % 50 == 49 and k > 500:
            mujoco.mj_forward(model, data)
            if np.min(np.abs(rate)) > 1e-2:
                tau = nacelle.inverse_dynamics(robot, *_platform_motion(plant, machine)).tau
                errors.append(np.max(np.abs(tau - force)) / np.max(np.abs(force)))
        mujoco.mj_step(model, data, nstep=round(1.0 / RATE / STEP))
    assert len(errors) >= 3
    assert max(errors) < 5e-5


def test_faults_are_forty_kinds():
    assert len(FAULTS) >= 40
    for name in PLANTS:
        assert sum(name in fault.robots for fault in FAULTS.values()) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
def test_ideal_logs_leave_nothing(name):
    """Without noise and quantisation the model explains all but 1e-3 of the forces' variation."""
    result = identified(clean_log(name, 0, ideal=True))
    assert np.max(result.fit.relative) < 1e-3


@pytest.mark.slow
def test_a_log_and_its_faults_are_judged():
    """A clean log is right, a wrong sign is named, on the quickest robot."""
    outcomes = scores(["fivebar"], [CLEAN, "sign of one current"], [0])
    assert [entry.outcome for entry in outcomes] == ["right", "named"]


# What the issue of the bench demands, and what is not reached yet, is in README.md.


@pytest.mark.soak
@pytest.mark.parametrize("name", PLANTS)
def test_clean_logs(name):
    """Of 200 clean logs at most 2 % are refused or suspected."""
    outcomes = scores([name], [CLEAN], list(range(67)))
    assert sum(entry.outcome == "false alarm" for entry in outcomes) <= 0.02 * len(outcomes)


@pytest.mark.soak
@pytest.mark.parametrize("name", PLANTS)
def test_held_out_faults(name):
    """Every log of a fault has an outcome; those that name columns, signs and units are named or refused."""
    outcomes = scores([name], list(FAULTS), [1])
    assert {entry.outcome for entry in outcomes} <= {*OUTCOMES}
    columns = {fault.name for fault in FAULTS.values() if fault.causes & {"swapped", "sign"}}
    for entry in outcomes:
        assert entry.fault not in columns or entry.outcome in ("named", "refused", "misnamed"), entry
