"""Nacelles of several bodies, found without names: other orders, other numbers, tolerances."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Solid
from nacelle.exchange.passes.articulated import with_articulated
from nacelle.spatial.pose import Pose, identity
from support.library import library_robot
from support.shuffled_files import shuffled
from support.varied_library import varied

# The bodies of the nacelles, by the descriptions of the library.
BODIES = {
    "delta4": {"plate", "tool"},
    "h4": {"side-1", "bar", "side-2"},
    "quattro": {"plate-1", "link-1", "plate-2", "link-2"},
}


@pytest.mark.parametrize("name", BODIES)
def test_names_and_orders_do_not_matter(name: str, tmp_path: Path) -> None:
    text, names = shuffled(nacelle.export_robot(varied(name, 1), "mjcf").text, 3)
    file = tmp_path / "robot.xml"
    file.write_text(text, encoding="utf-8")
    robot = nacelle.import_robot(file).robot
    assert robot.nacelle.kind == "articulated"
    assert {names[robot.bodies[body].name] for body in robot.nacelle.bodies} == BODIES[name]
    assert robot.motion.coordinates[:3] == ("x", "y", "z")
    assert len(robot.motion.coordinates) == 4
    assert len(robot.legs) == 4


def test_legs_with_tolerances(tmp_path: Path) -> None:
    """Side parts that tilt a little as they move are still one nacelle."""
    robot = library_robot("h4")
    rng = np.random.default_rng(1)
    joints = []
    for joint in robot.joints:
        frame = joint.frame_predecessor
        if str(joint.kind) == "spherical":
            longer = 1.0 + 1e-3 * rng.uniform(-1.0, 1.0)
            joint = dataclasses.replace(joint, frame_predecessor=Pose(frame.R, longer * frame.p))
        joints.append(joint)
    robot = dataclasses.replace(robot, joints=tuple(joints))
    file = tmp_path / "robot.xml"
    nacelle.export_robot(robot, "mjcf", out=file)
    again = nacelle.import_robot(file).robot
    assert {again.bodies[body].name for body in again.nacelle.bodies} == BODIES["h4"]
    assert again.motion.coordinates == ("x", "y", "z", "turn")


def test_the_body_that_is_placed_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "h4.xml"
    nacelle.export_robot(library_robot("h4"), "mjcf", out=file)
    done = nacelle.import_robot(file, nacelle="side-2")
    assert done.robot.bodies[1].name == "side-2"
    assert done.robot.motion.coordinates == ("x", "y", "z", "turn-2")
    assert "the nacelle is 'side-2' with 'side-1', 'bar', which 4 driven legs carry" in done.steps


def test_robots_without_one() -> None:
    z = np.array([0.0, 0.0, 1.0])
    drive = Axis(z, motor=Motor("m"))
    arm = Link("shoulder", BASE, "arm", identity(), axes=(drive,))
    graph = Graph("g", "g.xml", np.zeros(3), {"arm": Solid(1.0)}, (arm,))
    assert with_articulated(graph) is None
