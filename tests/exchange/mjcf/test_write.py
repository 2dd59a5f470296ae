"""Robots as MJCF: MuJoCo's own matrices give the robot's forces; what comes back is the robot."""

from dataclasses import replace
from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

import nacelle
from nacelle.exchange.mjcf.write import write_mjcf
from nacelle.exchange.write.robot import assembled_graph
from support import exported_instants, round_trips
from support.described import all_kinds, mechanism
from support.exported_files import errors
from support.exported_instants import without_unexported_friction
from support.exported_mujoco import MujocoFile
from support.library import NAMES, library_robot
from support.random_robots.described import closed_robot

DESCRIBED = (
    "arm",
    "ball_screws",
    "belt_fivebar",
    "biped",
    "carriage",
    "coupled_gripper",
    "differential_wrist",
)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_library_robots_move_under_their_forces(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    robot = library_robot(name)
    file = MujocoFile(write_mjcf(assembled_graph(robot)))
    assert max(errors(file, robot).values()) < 1e-9
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", DESCRIBED)
def test_couplings_and_free_bases(name: str) -> None:
    robot = mechanism(name)
    assert max(errors(MujocoFile(write_mjcf(assembled_graph(robot))), robot).values()) < 1e-9


@pytest.mark.parametrize("seed", [0, 2, 3, 5])
def test_random_robots_in_their_assembly(seed: int) -> None:
    robot = without_unexported_friction(closed_robot(seed).robot)
    found = exported_instants.errors(MujocoFile(write_mjcf(assembled_graph(robot))), robot)
    assert max(found.values()) < 1e-9


def test_all_that_a_file_can_hold() -> None:
    robot = all_kinds()
    graph = assembled_graph(robot)
    text = write_mjcf(graph)
    file = MujocoFile(text)
    assert max(exported_instants.errors(file, robot).values()) < 1e-12
    assert graph.report.losses == ["largest rates of drives left out, MuJoCo has none: arm-motor"]
    model = file.model
    assert model.actuator("arm-motor").gear[0] == 10.0
    np.testing.assert_allclose(model.actuator("arm-motor").ctrlrange, [-3.0, 3.0])
    np.testing.assert_allclose(model.jnt("arm-crank").range, np.radians([-100.0, 200.0]))
    # A change of a mass is felt by the comparison.
    heavier = text.replace('inertial mass="1"', 'inertial mass="1.001"')
    assert exported_instants.errors(MujocoFile(heavier), robot)["powers"] > 1e-6


def test_a_hinge_in_which_nothing_acts_is_two_points() -> None:
    text = write_mjcf(assembled_graph(mechanism("gripper")))
    model = mj.MjModel.from_xml_string(text)
    assert [int(kind) for kind in model.eq_type] == [int(mj.mjtEq.mjEQ_CONNECT)] * 4
    data = mj.MjData(model)
    mj.mj_resetDataKeyframe(model, data, 0)
    mj.mj_forward(model, data)
    np.testing.assert_allclose(data.efc_pos[: data.ne], 0.0, atol=1e-15)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, *DESCRIBED])
def test_what_comes_back_is_the_robot(name: str, tmp_path: Path) -> None:
    robot = library_robot(name) if name in NAMES else mechanism(name)
    out = tmp_path / "robot.xml"
    nacelle.export_robot(robot, "mjcf", out=out)
    again = nacelle.import_robot(out)
    assert again.losses == ()
    if robot.platform.kind in ("rigid", "articulated"):
        assert set(again.robot.motion.coordinates) == {*robot.motion.coordinates}
    found = round_trips.errors(robot, again.robot)
    assert max(found["poses"], found["forces"]) < 1e-12


@pytest.mark.slow
def test_all_that_a_file_can_hold_comes_back(tmp_path: Path) -> None:
    """Friction of higher powers, end stops, springs, dampers, couplings."""
    out = tmp_path / "robot.xml"
    file = MujocoFile(nacelle.export_robot(all_kinds(), "mjcf", out=out).text)
    again = nacelle.import_robot(out)
    assert again.losses == ()
    assert "quadratic:" in again.text
    assert "stop: {stiffness:" in again.text
    own = round_trips.bodies_of(again.robot, file.names)
    assert max(exported_instants.errors(file, again.robot, own=own).values()) < 1e-12


def test_a_joint_named_as_part_of_another_stays() -> None:
    """The parts of "fold" are numbered; a joint that is called "fold-2" is no part of it."""
    robot = library_robot("c5")
    names = {"leg1.face": "fold", "leg2.face": "fold-2", "leg1.slide": "fold-1", "leg2.slide": "fold-2-1"}
    joints = tuple(replace(joint, name=names.get(joint.name, joint.name)) for joint in robot.joints)
    own, renamed = (assembled_graph(one).links for one in (robot, replace(robot, joints=joints)))
    assert len({link.name for link in renamed}) == len(renamed) == len(own)
    assert [len(link.axes) for link in renamed] == [len(link.axes) for link in own]


@pytest.mark.slow
def test_loops_that_lock_every_joint_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "robot.xml"
    nacelle.export_robot(without_unexported_friction(closed_robot(4).robot), "mjcf", out=out)
    with pytest.raises(nacelle.DescriptionError, match="nothing moves: the loops lock every joint"):
        nacelle.import_robot(out)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 8, 9, 13])
def test_random_robots_come_back(seed: int, tmp_path: Path) -> None:
    out = tmp_path / "robot.xml"
    file = MujocoFile(
        nacelle.export_robot(without_unexported_friction(closed_robot(seed).robot), "mjcf", out=out).text
    )
    again = nacelle.import_robot(out).robot
    own = round_trips.bodies_of(again, file.names)
    assert max(exported_instants.errors(file, again, own=own).values()) < 1e-12
