"""Closure files beside a URDF: loops, drives, types of joints; errors with their places."""

from pathlib import Path

import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.urdf.gepetto import read_side
from support.urdf_files import ENDS, SIDE, TREE, robot, written


def test_points_types_and_motors(tmp_path: Path) -> None:
    side = (
        SIDE.replace("6d", "3D")
        + "joint_name: [tip_A, left_pin, tip_B]\njoint_type: [FIXED, UJOINT_YZ, SPHERICAL]\n"
    )
    said = read_side(written(tmp_path, side, "side.yaml"))
    assert [said.kind(name) for name in ("tip_A", "left_pin", "tip_B", "left_motor")] == [
        "fixed", "universal_yz", "spherical", ""
    ]  # fmt: skip
    ((one, other, welded),) = said.loops
    assert (one.value, other.value, welded) == ("tip_A", "tip_B", False)
    assert [node.value for node in said.motors or ()] == ["left_motor", "right_motor"]


def test_without_types_loops_are_welds(tmp_path: Path) -> None:
    assert read_side(written(tmp_path, "closed_loop: [[a, b]]\n", "side.yaml")).loops[0][2]
    assert read_side(written(tmp_path, "name_mot:\n", "side.yaml")).motors == ()


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (SIDE.replace("tip_B", "tip_C"), "side.yaml:1:23", "the URDF has no joint or link 'tip_C'"),
        (SIDE.replace("right_motor", "right"), "side.yaml:3:24", "the URDF has no joint 'right' to drive"),
        (SIDE.replace("6d", "5d"), "side.yaml:2:8", "'5d' is no type of a loop"),
        (SIDE.replace("[6d]", "[6d, 6d]"), "side.yaml:1:1", "'closed_loop' has 1 entries and 'type' 2"),
        ("joint_name: [tip]\njoint_type: [FIXED]\n", "side.yaml:1:14", "the URDF has no joint 'tip'"),
        ("loops: []", "side.yaml:1:1", "a closure file has no 'loops'"),
        ("closed_loop: [[a]]", "side.yaml:1:15", "a loop is a pair of names of frames"),
        ("closed_loop: [a: b", "side.yaml:1", "not YAML"),
        ("[1, 2]", "side.yaml:1:1", "a closure file is a mapping"),
        ("joint_name: [tip_A]\njoint_type: [BALL]\n", "side.yaml:2:14", "'BALL' is no type of a joint"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    path, side = written(tmp_path, robot(TREE + ENDS)), written(tmp_path, text, "side.yaml")
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path, closures=side)
    (problem,) = caught.value.problems
    assert place in str(problem)
    assert message in str(problem)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="there is no such file"):
        read_side(tmp_path / "side.yaml")
