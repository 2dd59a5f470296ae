"""What drives joints of a URDF: transmissions, ros2_control, limits of effort."""

import math
from pathlib import Path

import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Graph, Motor
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from support.urdf_files import DRIVES, TREE, robot, written


def motors(folder: Path, text: str) -> tuple[dict[str, Motor], Graph]:
    """Motors of a document by their joints, and its graph."""
    path = written(folder, robot(text))
    graph = read_urdf(read_xml(path), path)
    return {joint.name: joint.motor for joint in graph.joints if joint.motor is not None}, graph


def test_transmissions(tmp_path: Path) -> None:
    rotor = '<drake:rotor_inertia value="1e-4"/>'
    found, graph = motors(tmp_path, TREE + DRIVES.replace("</actuator>", f"{rotor}</actuator>"))
    left, right = found["left_motor"], found["right_motor"]
    assert (left.gear, left.force, left.speed, right.gear) == (20.0, 9.0, 12.0, 1.0)
    assert (left.name, right.name) == ("m1", "right_motor")
    assert math.isclose(next(j for j in graph.joints if j.name == "left_motor").axes[0].armature, 400e-4)
    assert not graph.report.steps


def test_a_differential_is_said(tmp_path: Path) -> None:
    ends = '<joint name="left_pin"/><joint name="right_pin"/>'
    both = f'<transmission name="d" type="Differential">{ends}</transmission>'
    found, graph = motors(tmp_path, TREE + both)
    assert set(found) == {"left_pin", "right_pin"}
    assert (
        graph.report.losses[-1]
        == "the transmission 'd' (Differential) left out: its joints are driven directly"
    )


def test_ros2_control_and_limits_of_effort(tmp_path: Path) -> None:
    system = """<ros2_control name="s" type="system"><joint name="left_pin">
      <command_interface name="effort"/></joint>
      <joint name="right_pin"><state_interface name="position"/></joint></ros2_control>"""
    assert set(motors(tmp_path, TREE + system)[0]) == {"left_pin"}
    found, _graph = motors(
        tmp_path, TREE.replace('name="right_motor"', 'name="right_motor" independent="false"')
    )
    assert set(found) == {"left_motor"}
    assert not found["left_motor"].sure


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<transmission name="t"><joint name="none"/></transmission>', "there is no joint 'none' to drive"),
        (
            '<transmission name="t"><joint name="tool_weld"/></transmission>',
            "is fixed, which a motor cannot drive",
        ),
        (DRIVES.replace(">20<", ">twenty<"), "<mechanicalReduction> must be a number, not 'twenty'"),
        (DRIVES.replace(">20<", ">0<"), "a reduction of zero"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        motors(tmp_path, TREE + text)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > len(TREE.splitlines())
