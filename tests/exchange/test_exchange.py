"""Entries, graphs, trees and XML files that are refused at their places; imports of MJCF."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Solid
from nacelle.exchange.tree import with_spanning_tree
from nacelle.exchange.xml import finite_numbers, parse_xml, read_xml, require_physical, text_of, with_includes
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat, rotation_rpy
from nacelle.verify.comparison import verify
from support.described import mechanism
from support.mujoco_files import import_and_compare
from support.urdf_files import write_file

# ---- Numbers in XML, with errors at their places


def test_what_no_body_has() -> None:
    flat, long = (
        Solid(1.0, np.ones(3), np.diag([1.0, 2.0, 3.0])),
        Solid(1.0, np.ones(3), np.diag([1.0, 2.0, 4.0])),
    )
    assert require_physical(flat, parse_xml(b"<a/>", "f").fault) is flat
    with pytest.raises(DescriptionError, match=r"f:1:1.*triangle inequality.*mend the numbers"):
        require_physical(long, parse_xml(b"<a/>", "f").fault)


@pytest.mark.parametrize("text", ["1 2", "1 2 x", "nan 0 0", "1 inf 0", ""])
def test_what_is_not_three_numbers(text: str) -> None:
    with pytest.raises(DescriptionError, match=r"f:1:1.*'v' must be 3 numbers"):
        finite_numbers(parse_xml(b"<a/>", "f"), text, 3, "'v'")


# ---- Joints of a graph seen from both ends, and the poses that they give bodies

X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def random_pose_of(seed: int) -> Pose:
    """A pose without any zeros."""
    rng = np.random.default_rng(seed)
    quat = rng.normal(size=4)
    return Pose(rotation_quat(quat / np.linalg.norm(quat)), rng.normal(size=3))


LINKS = (
    Link("weld", BASE, "a", random_pose_of(1), random_pose_of(2)),
    Link("hinge", BASE, "a", random_pose_of(1), random_pose_of(2), (Axis(X, value=0.4),)),
    Link("slide", BASE, "a", random_pose_of(1), random_pose_of(2), (Axis(Y, turns=False, value=-0.3),)),
    Link("cross", BASE, "a", random_pose_of(1), random_pose_of(2), (Axis(X, value=0.4), Axis(Y, value=1.1))),
    Link(
        "ball",
        BASE,
        "a",
        random_pose_of(1),
        random_pose_of(2),
        spherical=True,
        quat=np.array([0.5, 0.1, -0.7, 0.5]),
    ),
)


def test_a_body_that_nothing_carries_is_an_error() -> None:
    graph = Graph("g", "g.xml", np.zeros(3), {"a": Solid()}, (replace(LINKS[1], parent="lost"),))
    with pytest.raises(DescriptionError, match=r"g\.xml: .*nothing carries the body 'lost'"):
        graph.poses()


# ---- xml
#
# XML without its dangers: bounded, without entities, includes within the folder, errors at their places.


def problem(text: str) -> str:
    """The one error of a document."""
    with pytest.raises(DescriptionError) as caught:
        parse_xml(text.encode(), "robot.xml")
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


def test_errors_name_line_and_column() -> None:
    assert problem('<a>\n  <!DOCTYPE b [<!ENTITY c "c">]></a>').startswith("robot.xml:2:")
    assert "a document type is declared" in problem('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>')
    assert problem("<a>\n<b></a>").startswith("robot.xml:2:6: this is no XML")
    assert "within each other" in problem("<a>" * 300 + "</a>" * 300)
    assert "no XML" in problem("")
    assert "no XML" in problem("<a>&ghost;</a>")


def test_includes_stay_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    main, part = tmp_path / "in" / "main.xml", tmp_path / "in" / "part.xml"
    part.write_text('<mujoco><b n="&lt;&quot;"/></mujoco>')
    (tmp_path / "outside.xml").write_text("<mujoco/>")
    (tmp_path / "in" / "link.xml").symlink_to(tmp_path / "outside.xml")
    main.write_text('<mujoco>\n<include file="part.xml"/>\n<c/></mujoco>')
    whole = with_includes(read_xml(main), main.parent)
    assert [child.tag for child in whole.children] == ["b", "c"]
    again = parse_xml(text_of(whole).encode(), str(main))
    assert again.children[0].get("n") == '<"'
    assert again.children[1].line == 3
    for file, words in (
        ("../outside.xml", "outside of the robot's folder"),
        ("link.xml", "outside of the robot's folder"),
        ("main.xml", "included twice"),
        ("absent.xml", "there is no file"),
    ):
        main.write_text(f'<mujoco>\n<include file="{file}"/></mujoco>')
        with pytest.raises(DescriptionError, match=words) as caught:
            with_includes(read_xml(main), main.parent)
        assert caught.value.problems[0].line == 2


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"absent\.xml"):
        read_xml(tmp_path / "absent.xml")
    with pytest.raises(DescriptionError, match="this is a folder"):
        read_xml(tmp_path)


def test_numbers_that_no_robot_has_are_refused() -> None:
    root = parse_xml(b'<a>\n<b name="inf" pos="0 0 1e12"/><b pos="0 nan 0"/></a>', "robot.xml")
    root.children[0].require_finite(("name",))
    with pytest.raises(DescriptionError, match=r"robot\.xml:2:31: pos of <b> is nan"):
        root.children[1].require_finite()
    # MuJoCo 4.0 stays locked for good after an empty anchor.
    with pytest.raises(DescriptionError, match="anchor of <c> is empty"):
        parse_xml(b'<c anchor=" "/>', "robot.xml").require_finite()


# ---- A spanning tree does not cut what acts, and reaches every body


def place_of_tree(k: int) -> Pose:
    """A pose like no other."""
    return Pose(rotation_rpy(np.array([0.3, -0.2, 0.5]) * k), np.array([0.1, 0.2, -0.3]) * k)


def hinge(name: str, parent: str, child: str, k: int) -> Link:
    """A hinge that is not at zero."""
    return Link(
        name,
        parent,
        child,
        place_of_tree(k),
        place_of_tree(k + 7),
        (Axis(np.array([0.0, 0.6, 0.8]), value=0.1 * k),),
    )


def graph(*links: Link) -> Graph:
    """Three bodies and some joints."""
    solids = {name: Solid(1.0) for name in ("c", "b", "a")}
    return Graph("g", "file", np.zeros(3), solids, links)


def test_what_acts_is_not_cut() -> None:
    """The second joint to a body closes the loop, unless it is driven: then a plain one before it does."""
    links = [
        hinge("j1", BASE, "a", 1),
        hinge("j2", "a", "b", 2),
        hinge("j3", "b", "c", 3),
        hinge("j4", BASE, "c", 4),
    ]
    assert [c.name for c in with_spanning_tree(graph(*links)).closures] == ["j4"]
    links[3] = replace(links[3], axes=(replace(links[3].axes[0], motor=Motor("m")),))
    made = with_spanning_tree(graph(*links))
    assert [c.name for c in made.closures] == ["j3"]
    assert [j.name for j in made.joints] == ["j1", "j4", "j2"]


def test_a_body_without_a_joint() -> None:
    with pytest.raises(DescriptionError, match="no joint leads from the base to the body 'c'"):
        with_spanning_tree(graph(hinge("ab", BASE, "a", 1), hinge("bc", "a", "b", 2)))


# ---- Import of MJCF: dynamics against MuJoCo's own equations, losses, errors with their places

INERTIAL = '<inertial mass="{}" pos="{} 0.01 0.02" fullinertia="2e-3 3e-3 4e-3 1e-4 2e-4 3e-4"/>'
GRIPPER = f"""<mujoco model="gripper">
  <worldbody>
    <body name="left_crank" pos="0 0 0.1" euler="0 10 0">{INERTIAL.format(0.4, 0.05)}
      <joint name="left_motor" axis="0 1 0" ref="20" damping="0.1" armature="0.02" range="-60 60"/>
      <body name="left_coupler" pos="0.1 0 0">{INERTIAL.format(0.3, 0.06)}
        <joint name="left_pin" axis="0 1 0" stiffness="2" springref="15"/></body></body>
    <body name="left_rocker" pos="0.2 0 0">{INERTIAL.format(0.2, 0.0)}
      <joint name="left_pivot" axis="0 1 0"/>
      <body name="left_tip" pos="0 0 0.1">{INERTIAL.format(0.1, 0.03)}
        <geom type="mesh" mesh="tip"/></body></body>
    <body name="right_slide" pos="0 0.5 0">{INERTIAL.format(0.5, 0.02)}
      <joint name="right_travel" type="slide" axis="1 0 0" damping="3" armature="0.7"/>
      <site name="a" pos="0 0 0.1"/>
      <body name="right_link" pos="0.1 0 0">{INERTIAL.format(0.3, 0.02)}
        <joint name="right_pin" axis="0 1 0"/></body></body>
    <body name="right_arm" pos="0.3 0.5 0.2">{INERTIAL.format(0.2, 0.02)}
      <joint name="right_pivot" axis="0 1 0"/><site name="b" pos="0.05 0 0"/>
      <body name="right_end" pos="-0.1 0 0.05">{INERTIAL.format(0.2, 0.01)}
        <joint name="right_knee" axis="0 1 0" damping="0.05"/></body></body>
  </worldbody>
  <asset><mesh name="tip" file="absent.stl"/></asset>
  <equality>
    <connect body1="left_coupler" body2="left_rocker" anchor="0.08 0 0.05"/>
    <connect body1="left_coupler" body2="left_rocker" anchor="0.08 0.1 0.05"/>
    <weld body1="right_end" body2="right_link"/>
    <joint joint1="right_travel" joint2="left_motor" polycoef="0.01 0.3 0 0 0"/>
  </equality>
  <tendon>
    <spatial stiffness="40" damping="3" springlength="0.2"><site site="a"/><site site="b"/></spatial>
    <fixed stiffness="2" damping="0.3" springlength="0.1">
      <joint joint="right_travel" coef="2"/><joint joint="left_motor" coef="0.5"/></fixed>
  </tendon>
  <actuator><motor name="drive" joint="left_motor" gear="-20" ctrlrange="-2 2"/></actuator>
</mujoco>"""


@pytest.mark.slow
def test_dynamics_are_those_of_mujoco(tmp_path: Path) -> None:
    path = write_file(tmp_path, GRIPPER, "robot.xml")
    done, found = import_and_compare(path, 20)
    assert done.robot.motion.coordinates == ("left.motor",)
    assert done.losses == ("meshes left out (1)",)
    assert "type: revolute" in done.text.split("closures:")[1]
    assert "gear_ratio: -20" in done.text
    assert max(found.values()) < 1e-9


HEXAPOD = """<mujoco model="hexapod"><worldbody>
  <body name="plate" pos="0 0 0.6"><freejoint/>{}
    <inertial mass="5" pos="0 0.01 0.05" fullinertia="0.1 0.12 0.2 0.001 0.002 0.003"/></body>
  {}
  <body name="apple" pos="3 0 0"><freejoint/><geom size="0.1"/></body>
</worldbody><equality>{}</equality><actuator>{}</actuator></mujoco>"""
LEG = """<body name="low{k}" pos="{x} {y} 0"><joint name="u{k}" axis="1 0 0" damping="0.1"/>
  <joint name="v{k}" axis="0 1 0" damping="0.1"/>
  <inertial mass="1.5" pos="0.01 0 0.1" diaginertia="0.02 0.02 0.003"/>
  <body name="up{k}" pos="0 0 0.3"><site name="e{k}" pos="0 0 0.3"/>
    <joint name="s{k}" type="slide" axis="0 0 1" damping="5" armature="3"/>
    <inertial mass="0.7" pos="0 0 0.1" diaginertia="0.01 0.01 0.001"/></body></body>"""


def hexapod(folder: Path) -> Path:
    """The legs stand upright as drawn, with their tops beside the platform: the loops are closed first."""
    angles = np.radians([20, 40, 140, 160, 260, 280])
    points = [(0.5 * np.cos(a), 0.5 * np.sin(a)) for a in angles]
    tops = [(0.2 * np.cos(a), 0.2 * np.sin(a)) for a in np.radians([-10, 70, 110, 190, 230, 310])]
    legs = "".join(LEG.format(k=k, x=x, y=y) for k, (x, y) in enumerate(points))
    sites = "".join(f'<site name="t{k}" pos="{x} {y} 0"/>' for k, (x, y) in enumerate(tops))
    ends = "".join(f'<connect site1="e{k}" site2="t{k}"/>' for k in range(6))
    motors = "".join(f'<motor name="m{k}" joint="s{k}" gear="-10"/>' for k in range(6))
    return write_file(folder, HEXAPOD.format(sites, legs, ends, motors), "robot.xml")


def test_a_free_platform_on_six_legs_is_a_platform(tmp_path: Path) -> None:
    done = nacelle.import_robot(hexapod(tmp_path))
    assert done.robot.motion.name == "se3"
    assert {joint.kind.value for joint in done.robot.joints} == {"universal", "prismatic", "spherical"}
    assert done.losses[-1] == "the free body 'apple' left out: nothing ties it to the robot"
    assert nacelle.import_robot(hexapod(tmp_path), platform="plate").robot.hash == done.robot.hash


@pytest.mark.slow
def test_a_hexapod_moves_as_in_mujoco(tmp_path: Path) -> None:
    assert max(import_and_compare(hexapod(tmp_path), 20)[1].values()) < 1e-9


LEG_FILE = Path(__file__).parent.parent / "support" / "described" / "cassie_leg.xml"


def test_the_leg_of_cassie_is_imported_as_it_is_described() -> None:
    done = nacelle.import_robot(LEG_FILE)
    assert done.losses == ()
    assert done.robot.hash == mechanism("cassie_leg").hash
    assert [damper.damping for damper in done.robot.dampers] == [0.01]


@pytest.mark.slow
def test_the_leg_of_cassie_moves_as_in_mujoco() -> None:
    done, found = import_and_compare(LEG_FILE, 100)
    assert max(found.values()) < 1e-9
    assert verify(done.robot, states=4).ok


# A closure of sites holds points that the drawn pose has apart: 3 m cannot be reached with 0.5 m.
OPEN = """<mujoco model="open"><worldbody><site name="far" pos="3 0 0"/>
  <body name="arm"><joint name="turn" axis="0 1 0"/><geom size="0.1"/>
    <body name="hand" pos="0.5 0 0"><joint name="bend" axis="0 1 0"/><geom size="0.1"/>
      <site name="tip"/></body></body>
</worldbody>
<equality>
            <connect name="tie" site1="tip" site2="far"/></equality></mujoco>"""
BOMB = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><mujoco model="&c;"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "robot.xml:1:13: a document type is declared"),
        ('<mujoco>\n<include file="../other.xml"/></mujoco>', "robot.xml:2:1: the included file"),
        ("<mujoco>\n<worldbody>", "this is no XML"),
        ("<html/>", "not the root of a format"),
        ('<mujoco><worldbody/><equality>\n<weld body1="a" body2="b"/></equality></mujoco>', "robot.xml:2"),
        (GRIPPER.replace("0.3 0 0 0", "0.3 1 0 0"), "robot.xml:26:5: the joint 'right_travel' follows"),
        (OPEN, "robot.xml:7:1: the loops do not close, neither from the pose of the file nor from others"),
    ],
)  # fmt: skip
def test_broken_files_are_one_error_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(write_file(tmp_path, text, "robot.xml"))
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1
