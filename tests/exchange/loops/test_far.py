"""Loops that are open by their own length at zero are closed the right way round and within limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.mjcf.read import read_mjcf
from nacelle.kinematics.mechanism.assembly import assemble
from support.pinocchio_files import File, errors
from support.urdf_files import LIMIT, joint_text, link_text, robot_document, write_file

# A rod between two cranks, cut in two halves on balls that a weld joins; at zero one of them is the wrong way
# round, about an axis across the rod and nearly by half a turn.
HALVES = (
    link_text("ground", 5.0, 0.0)
    + link_text("crank", 0.4, 0.05)
    + link_text("near", 0.3, 0.06)
    + link_text("rocker", 0.5, 0.04)
    + link_text("far", 0.2, 0.03)
    + joint_text("motor", ("ground", "crank"), 'xyz="0 0.02 0.1" rpy="0.2 0.1 -0.3"', LIMIT.format(9))
    + joint_text("ball_near", ("crank", "near"), 'xyz="0.1 0.01 0.02" rpy="0.1 0.7 -0.4"', kind="continuous")
    + joint_text("pivot", ("ground", "rocker"), 'xyz="0.4 0.1 0" rpy="0.6 -0.2 0.3"', kind="continuous")
    + joint_text("ball_far", ("rocker", "far"), 'xyz="0.05 0.02 0.25" rpy="{}"', kind="continuous")
    + joint_text("eye", ("near", "end"), 'xyz="0.2 0.05 0.1"', kind="fixed")
    + link_text("end", 0.02, 0.0)
    + joint_text("ear", ("far", "lug"), 'xyz="0.03 0.1 0.05" rpy="0.4 -0.8 1.1"', kind="fixed")
    + link_text("lug", 0.02, 0.0)
)
WELD = """closed_loop: [[eye, ear]]
type: [6d]
name_mot: [motor]
joint_name: [ball_near, ball_far]
joint_type: [SPHERICAL, SPHERICAL]
"""


@pytest.mark.parametrize("rpy", ["3.1 0.2 0.1", "0.1 3.0 0.3", "-0.2 0.3 -3.1", "0.3 0.1 0.2"])
def test_welds_close_the_right_way_round(tmp_path: Path, rpy: str) -> None:
    path = write_file(tmp_path, robot_document(HALVES.format(rpy)))
    side = write_file(tmp_path, WELD, "side.yaml")
    robot = nacelle.import_robot(path, closures=side).robot
    # The rod's spin is a motion of its own: it is not axisymmetric.
    assert robot.motion.n == 2
    file = File(path, robot, side)
    file.coordinates(nacelle.inverse_kinematics(robot, np.zeros(2)).bodies)
    # Translations and the rotation vector, half a turn of which would be pi.
    assert np.max(np.abs(file.rows()[2])) < 1e-9


def test_a_weld_that_was_the_wrong_way_round_moves_as_in_pinocchio(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(HALVES.format("3.1 0.2 0.1")))
    side = write_file(tmp_path, WELD, "side.yaml")
    done = nacelle.import_robot(path, closures=side)
    assert max(errors(File(path, done.robot, side), 10).values()) < 1e-9


# A leg as humanoids have it: at zero all links hang straight down. A crank at the hip bends the knee over a
# rod, one at the shin tilts the foot over another; neither rod reaches its end there.
KNEE = '<limit effort="0" velocity="12" lower="0.3" upper="2.4"/>'
LEG = (
    link_text("pelvis", 8.0, 0.0)
    + link_text("thigh", 3.0, 0.02)
    + link_text("shin", 2.0, 0.01)
    + link_text("foot", 0.8, 0.05)
    + link_text("knee_crank", 0.3, 0.03)
    + link_text("knee_rod", 0.2, 0.0)
    + link_text("foot_crank", 0.3, 0.03)
    + link_text("foot_rod", 0.2, 0.0)
    + joint_text("hip", ("pelvis", "thigh"), 'xyz="0 0.1 0"', LIMIT.format(90))
    + joint_text("knee", ("thigh", "shin"), 'xyz="0 0 -0.4"', KNEE)
    + joint_text(
        "ankle", ("shin", "foot"), 'xyz="0 0 -0.4"', KNEE.replace("0.3", "-0.9").replace("2.4", "0.9")
    )
    + joint_text("knee_motor", ("thigh", "knee_crank"), 'xyz="-0.06 0.05 -0.05"', LIMIT.format(80))
    + joint_text("knee_pin", ("knee_crank", "knee_rod"), 'xyz="-0.08 0 0"', kind="continuous")
    + joint_text("knee_eye", ("knee_rod", "knee_end"), 'xyz="0 0 -0.36"', kind="fixed")
    + joint_text("knee_ear", ("shin", "knee_lug"), 'xyz="-0.09 0.05 0.03"', kind="fixed")
    + joint_text("foot_motor", ("shin", "foot_crank"), 'xyz="0.01 -0.06 -0.1"', LIMIT.format(60))
    + joint_text("foot_pin", ("foot_crank", "foot_rod"), 'xyz="0.07 0 0"', kind="continuous")
    + joint_text("foot_eye", ("foot_rod", "foot_end"), 'xyz="0 0 -0.33"', kind="fixed")
    + joint_text("foot_ear", ("foot", "foot_lug"), 'xyz="-0.08 -0.06 0.01"', kind="fixed")
    + "".join(f'<link name="{name}"/>' for name in ("knee_end", "knee_lug", "foot_end", "foot_lug"))
)
RODS = """closed_loop: [[knee_eye, knee_ear], [foot_eye, foot_ear]]
type: [3d, 3d]
name_mot: [hip, knee_motor, foot_motor]
joint_name: [knee_pin, foot_pin]
joint_type: [UJOINT_YX, UJOINT_YX]
"""


def test_a_leg_closes_far_from_zero_within_its_limits(tmp_path: Path) -> None:
    path, side = write_file(tmp_path, robot_document(LEG)), write_file(tmp_path, RODS, "side.yaml")
    done = nacelle.import_robot(path, closures=side)
    assert done.robot.motion.n == 3
    assert not any("outside its limits" in str(warning) for warning in done.warnings)
    knee = float(done.text.split("knee:")[1].split("guess: ")[1].split(" ")[0])
    assert np.radians(knee) > 0.3
    assert max(errors(File(path, done.robot, side), 10).values()) < 1e-9


def test_rods_that_are_too_short_are_refused_with_their_gap(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(LEG.replace('xyz="0 0 -0.36"', 'xyz="0 0 -0.1"')))
    side = write_file(tmp_path, RODS, "side.yaml")
    with pytest.raises(DescriptionError, match=r"the loops do not close, neither .*knee_eye.* stays open by"):
        nacelle.import_robot(path, closures=side)


KEYS = """<mujoco><worldbody>
  <body name="a"><joint name="turn" axis="0 1 0" ref="20"/><geom size="0.1"/>
    <body name="b" pos="0.3 0 0"><joint name="ball" type="ball"/><geom size="0.1"/></body></body>
  <body name="c" pos="0 0.5 0"><freejoint/><geom size="0.1"/></body></worldbody>
  <keyframe><key name="first" qpos="0.4 1 0 0 0 0 0 1 1 0 0 0"/>
    <key name="second" qpos="0.7 0.5 0.5 0.5 0.5 0 0 1 1 0 0 0"/></keyframe></mujoco>"""


def test_all_keyframes_are_starts(tmp_path: Path) -> None:
    path = write_file(tmp_path, KEYS, "robot.xml")
    graph = read_mjcf(path)
    assert graph.joints[0].axes[0].value == 0.4
    drawn, second = graph.other_starts
    np.testing.assert_allclose(drawn["turn"], np.radians([20.0]))
    np.testing.assert_allclose(second["turn"], [0.7])
    np.testing.assert_allclose(second["ball"], [0.5, 0.5, 0.5, 0.5])
    (first, _) = read_mjcf(path, "second").other_starts[::-1]
    np.testing.assert_allclose(first["turn"], [0.4])


ELBOW = '<limit effort="0" velocity="12" lower="{}" upper="{}"/>'
BARS = (
    link_text("ground", 5.0, 0.0)
    + link_text("crank", 0.4, 0.1)
    + link_text("coupler", 0.3, 0.4)
    + link_text("rocker", 0.5, 0.1)
    + joint_text("motor", ("ground", "crank"), 'xyz="0 0 0"', LIMIT.format(9))
    + joint_text("elbow", ("crank", "coupler"), 'xyz="0.3 0 0"', ELBOW)
    + joint_text("pivot", ("ground", "rocker"), 'xyz="0.5 0 0" rpy="0 -1.5 0"', kind="continuous")
    + '<loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="0.5 0 0"/></predecessor>'
    '<successor link="rocker"><origin xyz="0.4 0 0"/></successor><axis xyz="0 1 0"/></loop>'
)


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 2.9), (-2.9, -0.2)])
def test_of_two_assemblies_the_one_within_the_limits_is_taken(
    tmp_path: Path, lower: float, upper: float
) -> None:
    done = nacelle.import_robot(write_file(tmp_path, robot_document(BARS.format(lower, upper))))
    elbow = done.robot.joint("bars.elbow")
    q = assemble(done.robot).q_tree
    assert lower < q[done.robot.q_slices[elbow]][0] < upper
