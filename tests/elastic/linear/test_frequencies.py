"""Natural frequencies against a published table, other engines and mechanics that needs no model of beams."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy
from support.flexible import prrrp
from support.flexible.beamed import with_beam_links
from support.flexible.frame import frame_frequencies
from support.flexible.references import flexible_robot, frequencies
from support.library import library_robot

KEPT = [pytest.param(row, id=f"{row['robot']}-{k % 3}") for k, row in enumerate(frequencies())]


def with_beams(robot: Robot, **options: object) -> Robot:
    """The robot with other options of all its beams."""
    bodies = [
        dataclasses.replace(body, beam={**(body.beam or {}), **options}) if body.section else body
        for body in robot.bodies
    ]
    return dataclasses.replace(robot, bodies=tuple(bodies))


PAPER = {"shapes": "hermite", "number": 1, "frame": "clamped"}


@pytest.mark.costly
@pytest.mark.parametrize("q_4", prrrp.TABLE_2)
def test_table_2(q_4: float) -> None:
    """All 30 cells of the model's rows to the printed digits; converged values are up to 27 % lower."""
    robot, x = prrrp.robot_at(0.0, q_4)
    found = nacelle.elastic.natural_frequencies(with_beams(robot, **PAPER), x)
    np.testing.assert_array_equal(np.round(found.frequencies, 3), prrrp.TABLE_2[q_4])
    fine = nacelle.elastic.natural_frequencies(with_beams(robot, shapes="hermite", number=6), x, modes=6)
    np.testing.assert_allclose(fine.frequencies, frame_frequencies(robot, x, 6, 6), rtol=1e-9)
    default = nacelle.elastic.natural_frequencies(robot, x)
    np.testing.assert_allclose(default.frequencies, fine.frequencies, rtol=1e-3)


@pytest.mark.costly
@pytest.mark.parametrize("row", KEPT)
def test_exudyn(row: dict) -> None:
    """Exudyn with refined elements agrees to 0.1 % for all ten modes; in fact to about 1e-4."""
    robot = with_beams(flexible_robot(row["robot"]), number=4)
    found = nacelle.elastic.natural_frequencies(robot, row["x"], modes=10)
    np.testing.assert_allclose(found.frequencies, row["exudyn"], rtol=2e-4)
    assert found.rigid == 0
    assert found.rank_gap[0] > 1e6 * found.rank_gap[1]


@pytest.mark.costly
@pytest.mark.parametrize("name", ["dymo", "fivebar", "h4", "hexaglide", "quattro"])
def test_every_kind_of_joint(name: str) -> None:
    """Any robot whose links are beams agrees with a frame of finite elements at its reference pose."""
    robot = with_beams(with_beam_links(library_robot(name)), number=3)
    x = nacelle.reference_pose(robot)
    found = nacelle.elastic.natural_frequencies(robot, x, modes=8).frequencies
    np.testing.assert_allclose(found, frame_frequencies(robot, x, 12, 8), rtol=3e-4)


def test_redundant_actuators() -> None:
    """Three actuators for two motions: locked, the robot has one constraint more than it needs."""
    robot = with_beam_links(nacelle.load(Path(__file__).parents[2] / "robots" / "redundant.yaml"))
    x = nacelle.reference_pose(robot)
    found = nacelle.elastic.natural_frequencies(robot, x, modes=8)
    np.testing.assert_allclose(found.frequencies, frame_frequencies(robot, x, 8, 8), rtol=1e-4)
    assert nacelle.elastic.natural_frequencies(robot, x, locked=False).rigid == 2


def rotated_robot(robot: Robot, seed: int) -> Robot:
    """The same robot with other frames on all bodies of its legs."""
    random = np.random.default_rng(seed)
    frames = {}
    for body in (b for leg in robot.legs for b in leg.bodies):
        frames[body] = Pose(rotation_rpy(random.uniform(-3.0, 3.0, 3)), random.uniform(-0.1, 0.1, 3))
    bodies = list(robot.bodies)
    for body, frame in frames.items():
        back = frame.inverse()
        beam = dict(bodies[body].beam or {})
        if bodies[body].section:
            old = (
                flexible_tree(robot)
                .shapes[[s.beam.body for s in flexible_tree(robot).shapes].index(body)]
                .beam
            )
            beam["y"] = tuple((back.R @ old.frame.R[:, 1]).tolist())
        ten = transform_parameters(back.R, back.p, np.array(bodies[body].inertia))
        bodies[body] = dataclasses.replace(
            bodies[body], inertia=tuple(np.asarray(ten).tolist()), beam=beam or None, display=()
        )
    joints = [
        dataclasses.replace(
            joint,
            frame_predecessor=_seen(frames, joint.predecessor, joint.frame_predecessor),
            frame_successor=_seen(frames, joint.successor, joint.frame_successor),
        )
        for joint in robot.joints
    ]
    return dataclasses.replace(robot, bodies=tuple(bodies), joints=tuple(joints))


def _seen(frames: dict[int, Pose], body: int, pose: Pose) -> Pose:
    return frames[body].inverse() @ pose if body in frames else pose


@pytest.mark.costly
@pytest.mark.parametrize("name", ["fivebar-flexible", "delta-flexible"])
def test_frames_of_any_orientation(name: str) -> None:
    robot = flexible_robot(name)
    x = nacelle.reference_pose(robot)
    found = nacelle.elastic.natural_frequencies(robot, x).frequencies
    other = nacelle.elastic.natural_frequencies(
        rotated_robot(robot, 3), x, planar=flexible_tree(robot).in_plane or None
    )
    np.testing.assert_allclose(other.frequencies, found, rtol=1e-8)


def with_rotated_frames(robot: Robot, turn: np.ndarray) -> Robot:
    """The whole robot turned about the base's origin."""
    pose = Pose(turn, np.zeros(3))
    joints = [
        dataclasses.replace(joint, frame_predecessor=pose @ joint.frame_predecessor)
        if joint.predecessor == 0
        else joint
        for joint in robot.joints
    ]
    return dataclasses.replace(robot, joints=tuple(joints), reference=pose @ robot.reference)


def test_robots_of_any_orientation() -> None:
    robot, angle = flexible_robot("3rrr-flexible"), 0.7
    x = np.array([0.03, -0.02, 0.26])
    turn = rotation_rpy(np.array([0.0, 0.0, angle]))
    other = np.array([*(turn[:2, :2] @ x[:2]), x[2] + angle])
    found = nacelle.elastic.natural_frequencies(with_rotated_frames(robot, turn), other).frequencies
    np.testing.assert_allclose(found, nacelle.elastic.natural_frequencies(robot, x).frequencies, rtol=1e-9)


@pytest.mark.slow
def test_robots_of_any_orientation_in_space() -> None:
    robot = with_beam_links(library_robot("hexaglide"))
    turn = rotation_rpy(np.array([1.0, -0.6, 2.0]))
    turned_robot = with_rotated_frames(robot, turn)
    pairs = [
        (r, nacelle.elastic.natural_frequencies(r, nacelle.reference_pose(r))) for r in (robot, turned_robot)
    ]
    np.testing.assert_allclose(pairs[1][1].frequencies, pairs[0][1].frequencies, rtol=1e-8)


def test_frames_pinned_and_clamped_are_the_same_model() -> None:
    robot = flexible_robot("fivebar-flexible")
    x = [0.06, 0.25]
    pinned, clamped = (
        nacelle.elastic.natural_frequencies(
            with_beams(robot, shapes="hermite", number=3, frame=frame), x
        ).frequencies
        for frame in ("pinned", "clamped")
    )
    np.testing.assert_allclose(pinned, clamped, rtol=1e-8)


def test_size_and_material() -> None:
    """A robot s times as large has frequencies 1/s times as high, one of 1e4 times the E 100 times."""
    robot, x = prrrp.robot_at(0.0, 0.25)
    found = nacelle.elastic.natural_frequencies(robot, x)
    for s in (1e-3, 1e3):
        larger = nacelle.elastic.natural_frequencies(_scaled_robot(robot, s), s * x)
        np.testing.assert_allclose(larger.frequencies * s, found.frequencies, rtol=1e-9)
        np.testing.assert_allclose(larger.rank_gap[0], found.rank_gap[0], rtol=1e-9)
    bodies = [
        dataclasses.replace(b, material={**b.material, "E": 1e4 * b.material["E"]}) if b.material else b
        for b in robot.bodies
    ]
    stiff = nacelle.elastic.natural_frequencies(dataclasses.replace(robot, bodies=tuple(bodies)), x)
    np.testing.assert_allclose(stiff.frequencies, 100.0 * found.frequencies, rtol=1e-10)


def _scaled_robot(robot: Robot, s: float) -> Robot:
    """The robot s times as large, of the same materials."""
    mass = np.array([s**3] + [s**4] * 3 + [s**5] * 6)
    bodies = [
        dataclasses.replace(
            body,
            inertia=tuple((mass * body.inertia).tolist()),
            section=body.section and {"square": s * body.section["square"]},
        )
        for body in robot.bodies
    ]
    joints = [
        dataclasses.replace(
            joint,
            frame_predecessor=Pose(joint.frame_predecessor.R, s * joint.frame_predecessor.p),
            frame_successor=Pose(joint.frame_successor.R, s * joint.frame_successor.p),
            guess=tuple(s * g for g in joint.guess) if joint.kind.value == "prismatic" else joint.guess,
        )
        for joint in robot.joints
    ]
    reference = Pose(robot.reference.R, s * robot.reference.p)
    return dataclasses.replace(robot, bodies=tuple(bodies), joints=tuple(joints), reference=reference)


def test_free_actuators_and_masses() -> None:
    """Rigid motions are exact zeros; effective masses of all modes add up to what moves along a direction."""
    robot, x = prrrp.robot_at(0.0, 0.0)
    free = nacelle.elastic.natural_frequencies(robot, x, locked=False)
    assert free.rigid == 2
    assert np.all(free.frequencies[:2] == 0.0)
    assert free.frequencies[2] > 28.0
    moving = sum(body.mass for body in robot.bodies[1:])
    np.testing.assert_allclose(free.effective_mass[2].sum(), moving, rtol=1e-9)
    M = free.model.M
    np.testing.assert_allclose(free.shapes.T @ M @ free.shapes, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(free.strain_energy[:, 2:].sum(axis=0), 1.0, rtol=1e-9)
    locked = nacelle.elastic.natural_frequencies(robot, x)
    assert locked.rigid == 0
    # The load at P vibrates in the fifth and sixth mode: nearly all of its 1 kg.
    np.testing.assert_allclose(locked.modal_mass[4:], 1.0, rtol=0.02)
    # Both drives moved alike move everything along z: the same excitation as minus that of the base.
    np.testing.assert_allclose(locked.actuator_participation.sum(axis=0), locked.participation[2], atol=1e-9)


def test_drives_with_springs_alone() -> None:
    """Rigid links on elastic drives: frequencies of the rigid robot's mass matrix on its drives' springs."""
    robot = library_robot("fivebar")
    k = 500.0
    driven = {actuator.joint for actuator in robot.actuators}
    joints = [
        dataclasses.replace(joint, drive_stiffness=k, drive_damping=0.02, rotor_inertia=0.0)
        if index in driven
        else joint
        for index, joint in enumerate(robot.joints)
    ]
    sprung = dataclasses.replace(robot, joints=tuple(joints))
    x = np.array([0.05, 0.3])
    found = nacelle.elastic.natural_frequencies(sprung, x)
    M = nacelle.mass_matrix(sprung, x)
    J = nacelle.jacobian(sprung, x).inverse
    values, vectors = np.linalg.eig(np.linalg.solve(M, k * J.T @ J))
    order = np.argsort(values)
    np.testing.assert_allclose(found.frequencies, np.sqrt(values[order]) / (2.0 * np.pi), rtol=1e-9)
    # Damping is proportional to stiffness: ratio = c w / (2 k), and poles are exact.
    w = np.sqrt(values[order])
    np.testing.assert_allclose(found.damping, 0.02 * w / (2.0 * k), rtol=1e-9)
    poles = found.poles
    np.testing.assert_allclose(np.sort(np.abs(poles))[::2], w, rtol=1e-9)
    assert np.all(poles.real < 0.0)
    del vectors


def test_batches_and_poses_out_of_reach() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    batch = np.array([[x, [5.0, 0.0]], [x + 0.01, x]])
    found = nacelle.elastic.natural_frequencies(robot, batch, modes=4)
    assert found.frequencies.shape == (2, 2, 4)
    assert np.all(np.isnan(found.frequencies[0, 1]))
    alone = nacelle.elastic.natural_frequencies(robot, x + 0.01, modes=4)
    np.testing.assert_allclose(found.frequencies[1, 0], alone.frequencies, rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.displacement()[1, 0]), np.abs(alone.displacement()), atol=1e-9)
    grid = nacelle.elastic.frequency_map(robot, {"x": (0.2, 0.41, 8), "z": (0.2, 0.3, 3)}, modes=2)
    assert grid.frequencies.shape == (8, 3, 2)
    np.testing.assert_array_equal(np.isnan(grid.frequencies[..., 0]), ~grid.grid.reachable)
    low, pose = grid.lowest()
    np.testing.assert_allclose(
        nacelle.elastic.natural_frequencies(robot, pose).frequencies[0], low, rtol=1e-9
    )


def test_robots_without_flexible_links_are_refused() -> None:
    robot = library_robot("delta")
    with pytest.raises(KinematicsError, match="no flexible link"):
        nacelle.elastic.natural_frequencies(robot, nacelle.reference_pose(robot))
    with pytest.raises(KinematicsError, match="must be above zero"):
        nacelle.elastic.natural_frequencies(*prrrp.robot_at(0.0, 0.0), modes=0)
