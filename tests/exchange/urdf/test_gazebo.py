"""Joints of SDF within a URDF close its loops."""

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from support.urdf_files import TREE, robot, written

WELD = """<gazebo><joint name="glue" type="{}"><pose>0.1 0.2 0.3 0 0 0.5</pose><parent>{}</parent>
  <child>right_rod</child>{}</joint></gazebo><gazebo reference="tool"><material>Red</material></gazebo>"""
AXIS = "<axis><xyz>0 1 0</xyz></axis>"


def test_frames_meet_in_the_drawn_pose(tmp_path: Path) -> None:
    for kind, parent, inner, made in (
        ("fixed", "left_rod", "", "fixed"),
        ("ball", "tool", "", "spherical"),
        ("revolute", "world", AXIS, "revolute"),
    ):
        path = written(tmp_path, robot(TREE + WELD.format(kind, parent, inner)))
        graph = read_urdf(read_xml(path), path)
        (closure,) = graph.closures
        assert closure.kind == made
        placed = graph.poses()
        one, other = placed[closure.parent] @ closure.at, placed[closure.child] @ closure.child_at
        np.testing.assert_allclose(one.p, other.p, atol=1e-15)
        np.testing.assert_allclose(one.R, other.R, atol=1e-15)
        np.testing.assert_allclose(closure.child_at.p, [0.1, 0.2, 0.3])
        assert graph.report.losses[-1] == "elements left out: <gazebo>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WELD.format("fixed", "none", ""), "there is no link 'none'"),
        (WELD.format("fixed", "right_rod", ""), "joins a link to itself"),
        (WELD.format("revolute", "left_rod", ""), "of the type 'revolute' has no axis or is not read"),
        (WELD.format("spline", "left_rod", AXIS), "of the type 'spline' has no axis or is not read"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(written(tmp_path, robot(TREE + text)))
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > len(TREE.splitlines())
