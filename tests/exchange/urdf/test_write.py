"""Robots as URDF with closures beside them: Pinocchio's own matrices give the robot's forces."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

import nacelle
from support import exported_instants
from support.described import all_kinds, mechanism
from support.exported_files import errors
from support.exported_instants import without_unexported_friction
from support.exported_pinocchio import pinocchio_file
from support.library import NAMES, library_robot
from support.random_robots.described import closed_robot


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_library_robots_move_under_their_forces(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    robot = library_robot(name)
    file = pinocchio_file(robot, tmp_path)
    assert capfd.readouterr().err == ""
    assert max(errors(file, robot).values()) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arm", "ball_screws", "belt_fivebar", "biped", "carriage", "cart_pole"])
def test_couplings_and_free_bases(name: str, tmp_path: Path) -> None:
    robot = mechanism(name)
    assert max(errors(pinocchio_file(robot, tmp_path), robot).values()) < 1e-9


@pytest.mark.parametrize("seed", [0, 3])
def test_random_robots_in_their_assembly(seed: int, tmp_path: Path) -> None:
    robot = without_unexported_friction(closed_robot(seed).robot)
    assert max(exported_instants.errors(pinocchio_file(robot, tmp_path), robot).values()) < 1e-9


def test_what_urdf_has_not_is_said() -> None:
    done = nacelle.export_robot(all_kinds(), "urdf")
    words = " ".join(done.losses)
    for word in (
        "quadratic",
        "springs of joints",
        "end stops",
        "spherical",
        "tendon",
        "rotor",
        "mimic",
        "gravity",
    ):
        assert word in words
    root = ElementTree.fromstring(done.text)
    crank = next(joint for joint in root.findall("joint") if joint.get("name") == "arm-crank")
    limit = crank.find("limit")
    assert limit is not None
    assert (float(limit.get("effort", "")), float(limit.get("velocity", ""))) == (30.0, 5.0)
    transmission = root.find("transmission")
    assert transmission is not None
    assert transmission.findtext("actuator/mechanicalReduction") == "10"
    beside = YAML(typ="safe").load(done.texts[".yaml"])
    assert beside["name_mot"] == ["arm-crank", "arm-other"]
    assert beside["type"] == ["6d"]
    assert beside["armature"]["arm-crank"] == pytest.approx(0.01)


def test_a_spherical_closure_is_held_by_a_point() -> None:
    robot = library_robot("palida")
    beside = YAML(typ="safe").load(nacelle.export_robot(robot, "urdf").texts[".yaml"])
    assert beside["type"] == ["3d"] * 5
    assert len(beside["closed_loop"]) == 5
    # Without loops and drives there is nothing to say beside the robot.
    assert set(nacelle.export_robot(_undriven(), "urdf").texts) == {".urdf"}


def _undriven() -> nacelle.Robot:
    robot = mechanism("cart_pole")
    joints = tuple(replace(joint, guess=(0.0,) * joint.nq) for joint in robot.joints)
    return replace(robot, actuators=(), joints=joints)


def test_the_assembly_is_read_back(tmp_path: Path) -> None:
    # From zero its loops do not close.
    robot, out = library_robot("3rrr"), tmp_path / "robot.urdf"
    nacelle.export_robot(robot, "urdf", out=out)
    again = nacelle.import_robot(out, closures=out.with_suffix(".yaml"))
    assert again.losses == ()
    assert again.robot.motion.coordinates == robot.motion.coordinates


@pytest.mark.parametrize(
    ("line", "said"), [("  x: 1.0", "no hinge or slide 'x'"), ("  arm-crank: a", "a number")]
)
def test_a_wrong_assembly_is_one_error(line: str, said: str, tmp_path: Path) -> None:
    out = tmp_path / "robot.urdf"
    nacelle.export_robot(all_kinds(), "urdf", out=out)
    beside = out.with_suffix(".yaml")
    beside.write_text(
        beside.read_text().replace("assembly:\n", f"assembly:\n{line}\n").replace("  arm-crank: 1", "#")
    )
    with pytest.raises(nacelle.DescriptionError, match=said):
        nacelle.import_robot(out, closures=beside)
