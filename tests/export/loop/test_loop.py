"""Loop: assembly, law, plant, recorded."""

from __future__ import annotations

import numpy as np

from nacelle.compile import make_program
from nacelle.control.kind import DesiredMotion
from nacelle.control.law import law_of
from nacelle.control.named import controller
from nacelle.dynamics.poses import sample_poses
from nacelle.export.loop.assembly import assembly_entry
from nacelle.export.loop.law import controller_entries
from nacelle.export.loop.plant import plant_entries
from nacelle.export.loop.recorded import BRIDGED, FINE, STOPPED, record
from nacelle.export.states import seeded_states
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.rotation_path import quat_exp
from support.library import library_robot

# ---- The number that says whether a pose is reached


def test_reached_and_not() -> None:
    robot = library_robot("quattro")
    program = assembly_entry(robot, "p").program
    x = sample_poses(robot, 20, seed=1)
    joints = inverse_kinematics(robot, x)
    for pose, y, margins in zip(x, joints.y, joints.margins, strict=True):
        (margin,) = program.evaluate([*pose.tolist(), *y.tolist()])
        assert 0.0 < margin <= np.min(margins) * (1.0 + 1e-12)
    pose, y = mechanism_of(robot).reference
    with np.errstate(all="ignore"):
        (away,) = program.evaluate([np.float64(pose[0] + 5.0), *pose[1:].tolist(), *y.tolist()])
    assert not away > 0.0


# ---- The law in a package is the controller's own program


def test_the_same_program() -> None:
    robot = library_robot("fivebar")
    made = controller(robot, "cf-rb-friction", bandwidth=10.0)
    law, rest = controller_entries(made, "p")
    function = law_of(made.kind)
    own = make_program(function, robot, input_shapes(function, robot))
    assert law.program.code == own.code
    assert law.program.results == own.results
    x = seeded_states(robot, 1).x[0]
    assert np.array_equal(np.array(rest.program.evaluate(x.tolist()), dtype=float), made.start(x))
    # Reference vectors have forces that say something.
    given = law.at(seeded_states(robot, 4))
    rows = np.concatenate(list(given.values()), axis=1)
    forces = np.array([law.program.evaluate(row.tolist())[:2] for row in rows], dtype=float)
    assert np.unique(forces).size == forces.size


# ---- States of a plant and its poses are each other's opposite, at large rotations too


def test_pose_and_state() -> None:
    entries = plant_entries(library_robot("palida"), "p", friction=True, smooth=None)
    programs = {entry.label: entry.program for entry in entries}
    rng = np.random.default_rng(4)
    for angle in (0.0, 1e-9, 1e-3, 1.0, 3.0):
        axis = rng.normal(size=3)
        quat = quat_exp(angle * axis / np.linalg.norm(axis))
        given = np.array([*rng.normal(size=3), *quat, *rng.normal(size=6)])
        # Either of the two quaternions of an orientation gives the same state.
        turned = np.concatenate([given[:3], -given[3:7], given[7:]])
        state, same = (
            np.array(programs["plant_state"].evaluate(row.tolist()), dtype=float) for row in (given, turned)
        )
        assert np.allclose(state, same, atol=1e-15)
        assert np.isclose(np.linalg.norm(state[3:6]), angle, rtol=1e-12)
        back = np.array(programs["plant_pose"].evaluate(state.tolist()), dtype=float)
        back[3:7] *= np.sign(back[3:7] @ quat)
        assert np.max(np.abs(back - given)) < 1e-14


# ---- recorded
#
# Recorded samples: 50 digits carried on, against the native controller; what each sample returns.


def test_a_record_is_that_of_the_controller() -> None:
    made = controller(library_robot("fivebar"), "cf-rb-friction", bandwidth=10.0)
    samples = record(made, controller_entries(made, "p"))
    memory = made.start(samples.start)
    assert np.array_equal(memory, samples.first)
    limit = samples.tolerance["double"]["force"] * samples.scale["force"]
    for k, (q, *motion) in enumerate(zip(*samples.inputs.values(), strict=True)):
        force, memory = made.step(memory, q, DesiredMotion(*motion))
        assert np.max(np.abs(force - samples.force[k])) <= limit
    assert samples.status == [FINE] * 9 + [BRIDGED] * 2 + [FINE] * 13 + [BRIDGED] * 10 + [STOPPED] * 4
    # Forces are within the drives' limits, so that an error shows.
    assert np.max(np.abs(samples.force)) < 0.9 * np.min(made.gain("limit"))
    assert samples.tolerance["double"]["force"] < 1e-9
