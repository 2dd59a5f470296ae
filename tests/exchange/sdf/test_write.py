"""Robots as SDF: what our own reader makes of the file is the robot."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import nacelle
from nacelle.exchange.sdf.read import read_sdf
from nacelle.exchange.write.robot import assembled_graph
from nacelle.exchange.xml import read_xml
from support import round_trips
from support.described import mechanism
from support.export_robot_text import all_kinds
from support.library import NAMES, library_robot


def without_rotors(robot: nacelle.Robot) -> nacelle.Robot:
    """The robot without what SDF has not."""
    return replace(robot, joints=tuple(replace(j, rotor_inertia=0.0, gear_ratio=1.0) for j in robot.joints))


@pytest.mark.parametrize("name", ["h4", "c5", "space", "biped", "carriage"])
def test_bodies_and_joints_are_read_as_they_are(name: str, tmp_path: Path) -> None:
    robot = library_robot(name) if name in NAMES else mechanism(name)
    path = tmp_path / "robot.sdf"
    nacelle.export_robot(robot, "sdf", out=path)
    read, graph = read_sdf(read_xml(path), path), assembled_graph(robot)
    placed, poses = read.poses(), graph.poses()
    np.testing.assert_allclose(read.gravity, robot.gravity)
    assert (read.floating is None) == (graph.floating is None)
    for body, solid in graph.bodies.items():
        # A word of descriptions is not a body's name there.
        there = "nacelle-2" if body == "nacelle" else body
        np.testing.assert_allclose(placed[there].R, poses[body].R, atol=1e-14)
        np.testing.assert_allclose(placed[there].p, poses[body].p, atol=1e-14)
        np.testing.assert_allclose(read.bodies[there].com, solid.com, atol=1e-15)
        if not solid.is_massless:
            np.testing.assert_allclose(read.bodies[there].inertia, solid.inertia, atol=1e-11)
    loops = len(graph.joints) + len(graph.closures) - len(graph.bodies)
    # The visible base is one more body, on one more joint.
    assert len(read.joints) + len(read.closures) - len(read.bodies) == loops
    assert {link.child for link in read.joints if link.motor} == {
        link.child for link in graph.joints if link.motor
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "3rps", "hexaglide", "palida", "dymo"])
def test_what_comes_back_is_the_robot(name: str, tmp_path: Path) -> None:
    robot = without_rotors(library_robot(name))
    path = tmp_path / "robot.sdf"
    nacelle.export_robot(robot, "sdf", out=path)
    again = nacelle.import_robot(path)
    found = round_trips.errors(robot, again.robot, drives="joints")
    assert max(found["poses"], found["forces"]) < 1e-11


def test_coordinates_are_zero_in_the_drawn_pose() -> None:
    robot = all_kinds()
    done = nacelle.export_robot(robot, "sdf")
    model = ElementTree.fromstring(done.text).find("world/model")
    assert model is not None
    joints = {joint.get("name"): joint for joint in model.findall("joint")}
    value = assembled_graph(robot).joints[0].axes[0].value
    lower = float(joints["arm-crank-joint"].findtext("axis/limit/lower", ""))
    assert lower == pytest.approx(np.radians(-100.0) - value)
    assert joints["arm-end"].get("type") == "ball"
    assert joints["arm-pin"].get("type") == "universal"
    mimic = joints["arm-follower-joint"].find("axis/mimic")
    assert mimic is not None
    assert (mimic.get("joint"), mimic.findtext("multiplier"), mimic.findtext("offset")) == (
        "arm-other-joint",
        "-1.5",
        "0",
    )
    words = " ".join(done.losses)
    for word in ("rotors", "quadratic", "gear ratios", "end stops", "spherical", "tendon"):
        assert word in words
