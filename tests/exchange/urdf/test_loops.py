"""Closures and couplings in URDF: all dialects mean the same robot."""

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.names import Names
from nacelle.exchange.urdf.loops import closures_of
from nacelle.exchange.urdf.places import Links
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import parsed, read_xml
from support.urdf_files import DRIVES, LOOPS, TREE, joint, link, robot, written


def test_dialects_mean_the_same_robot(tmp_path: Path) -> None:
    texts = [
        nacelle.import_robot(written(tmp_path, robot(TREE + loop + DRIVES))).text for loop in LOOPS.values()
    ]
    assert texts[0] == texts[1] == texts[2]
    assert "tip:\n        type: revolute" in texts[0].split("closures:")[1]


def test_types_of_closures() -> None:
    text = """<robot><constraint name="a" type="universal_joint"><parent link="p"/><child link="c"/>
      <parent_origin xyz="1 0 0"/><parent_axis xyz="0 0 2"/><child_axis xyz="0.6 0.8 0"/></constraint>
    <constraint name="b" type="link"><parent link="p"/><child link="c"/></constraint>
    <loop name="c" type="planar"><predecessor link="p"/><successor link="c"/><axis xyz="1 0 0"/></loop>
    <loop_joint name="d" type="spherical"><link1 link="p"/><link2 link="c" xyz="0 0 1"/></loop_joint>
    <loop_joint name="e" type="prismatic"><link1 link="p"/><link2 link="c"/></loop_joint></robot>"""
    links = Links({"p": "p", "c": "c"})
    universal, weld, planar, ball, slide = closures_of(parsed(text.encode(), "robot.urdf"), links, Names())
    assert [universal.kind, weld.kind, ball.kind, slide.kind] == [
        "universal",
        "fixed",
        "spherical",
        "prismatic",
    ]
    # One axis is fixed in the parent's frame, the other in the child's.
    np.testing.assert_allclose(universal.at.R @ universal.axes[0].direction, [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(universal.child_at.R @ universal.axes[1].direction, [0.6, 0.8, 0], atol=1e-15)
    assert np.isclose(np.linalg.det(universal.at.R), 1.0)
    assert np.isclose(np.linalg.det(universal.child_at.R), 1.0)
    assert [axis.turns for axis in planar.axes] == [False, False, True]
    np.testing.assert_allclose(slide.axes[0].direction, [1, 0, 0])
    np.testing.assert_allclose(ball.child_at.p, [0, 0, 1])


def test_mimic_joints_and_couplings_over_chains(tmp_path: Path) -> None:
    """q_rotor = 6 (q_left + q_pin) for a rotor on the ground, and a finger that mimics a motor."""
    more = link("rotor", 0.1, 0.0) + link("finger", 0.1, 0.0)
    more += joint("rotor_pin", ("ground", "rotor"), 'xyz="0 0 0"', kind="continuous")
    mimic = '<mimic joint="right_motor" multiplier="-0.5" offset="0.2"/>'
    more += joint("finger_pin", ("right_rod", "finger"), 'xyz="0.1 0 0"', mimic, "continuous")
    ends = '<predecessor link="left_rod"/><successor link="rotor"/>'
    more += f'<coupling name="belt">{ends}<ratio value="6"/></coupling>'
    path = written(tmp_path, robot(TREE + more))
    finger, belt = read_urdf(read_xml(path), path).couplings
    assert (finger.joint, finger.follows, finger.offset) == ("finger_pin", {"right_motor": -0.5}, 0.2)
    assert (belt.joint, belt.follows) == ("rotor_pin", {"left_pin": 6.0, "left_motor": 6.0})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('type="revolute"', 'type="gearbox"', "the closure 'tip' has the type 'gearbox'"),
        ('link="right_rod"', 'link="other"', "there is no link 'other'"),
        ('link="right_rod"', 'link="left_rod"', "joins a link to itself"),
        ("<axis", '<axis xyz="0 0 0"/><axis', "has no direction"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path, robot(TREE + LOOPS["loop"].replace(old, new)))
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > len(TREE.splitlines())
