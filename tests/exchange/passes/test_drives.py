"""Limits of effort suggest motors where loops leave joints independent."""

from pathlib import Path

from nacelle.exchange.graph import Graph
from nacelle.exchange.passes.drives import without_dependent_motors
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from support.urdf_files import DRIVES, LIMIT, LOOPS, TREE, robot, written

EVERYWHERE = TREE.replace('type="continuous">', 'type="revolute">' + LIMIT.format(3))


def driven(graph: Graph) -> list[str]:
    """Names of driven joints."""
    assert all(joint.motor is None or joint.motor.sure for joint in graph.joints)
    return [joint.name for joint in graph.joints if joint.motor is not None]


def test_motors_of_a_loop_are_independent_from_the_base_outwards(tmp_path: Path) -> None:
    path = written(tmp_path, robot(EVERYWHERE + LOOPS["loop"]))
    graph = without_dependent_motors(read_urdf(read_xml(path), path))
    assert driven(graph) == ["left_motor", "right_motor"]
    assert graph.report.steps == ["nothing says what is driven: left_motor, right_motor, by limits of effort"]


def test_without_loops_all_are_driven(tmp_path: Path) -> None:
    path = written(tmp_path, robot(EVERYWHERE))
    assert driven(without_dependent_motors(read_urdf(read_xml(path), path))) == [
        "left_motor",
        "right_motor",
        "left_pin",
        "right_pin",
    ]


def test_what_a_file_says_stays(tmp_path: Path) -> None:
    path = written(tmp_path, robot(EVERYWHERE + LOOPS["loop"] + DRIVES.replace("right_motor", "left_pin")))
    graph = read_urdf(read_xml(path), path)
    assert without_dependent_motors(graph) is graph
    assert driven(graph) == ["left_motor", "left_pin"]
