"""SDF: frames and poses, joints, models as graphs, robots as files; errors at their places."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Graph
from nacelle.exchange.sdf.read import frames_of, pose_of, read_sdf
from nacelle.exchange.write.robot import assembled_graph
from nacelle.exchange.xml import parse_xml, read_xml
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_y
from support import round_trips
from support.described import all_kinds, mechanism
from support.library import NAMES, library_robot
from support.sdf_files import JOINTS, LINKS, MOMENTS, TIP, link_pose, number_text, sdf, world_properties
from support.urdf_files import write_file

# ---- Frames of SDF: placed in each other, attached to links, in nested models

TEXT = b"""<model name="m"><pose>0 0 1 0 0 0</pose>
<link name="a"><pose relative_to="f">1 0 0 0 0 0</pose></link>
<frame name="f"><pose degrees="true">0 2 0 0 0 90</pose></frame>
<frame name="g" attached_to="j"><pose>0 0 3 0 0 0</pose></frame>
<joint name="j" type="fixed"><parent>a</parent><child>inner::b</child><pose>0.5 0 0 0 0 0</pose></joint>
<model name="inner"><pose relative_to="a">0 0 0 0 0 0</pose>
  <link name="b"><pose rotation_format="quat_xyzw">0 0 4 0 0 0 1</pose></link>
  <frame name="h" attached_to="b"/></model>
</model>"""


def test_poses_follow_one_another() -> None:
    frames = frames_of(parse_xml(TEXT, "m.sdf"))
    # f is at (0, 2, 1) and turned by a quarter: its x axis is y of the world.
    np.testing.assert_allclose(frames.pose("a").p, [0, 3, 1], atol=1e-15)
    np.testing.assert_allclose(frames.pose("inner::b").p, [0, 3, 5], atol=1e-15)
    np.testing.assert_allclose(frames.pose("j").p, [0, 3.5, 5], atol=1e-15)
    np.testing.assert_allclose(frames.pose("g").p, [0, 3.5, 8], atol=1e-15)
    np.testing.assert_allclose(frames.pose("inner::h").p, frames.pose("inner::b").p)
    assert frames.link("g") == frames.link("inner::h") == frames.link("inner::__model__") == "inner::b"
    assert frames.link("f") == frames.link("__model__") == "a"
    assert frames.full("b", "inner::", parse_xml(TEXT, "m")) == "inner::b"
    assert list(frames.links) == ["a", "inner::b"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            b'<frame name="f">',
            b'<frame name="f" attached_to="a">',
            "m.sdf:2:1: the frame 'a' is placed in itself",
        ),
        (b'relative_to="f"', b'relative_to="x"', "m.sdf:2:1: there is no link, joint or frame 'x'"),
        (b'name="g"', b'name="f"', "m.sdf:4:1: two elements are called 'f'"),
        (b'<frame name="h"', b"<frame", "m.sdf:8:3: a <frame> has no name"),
        (b"0 2 0 0 0 90", b"0 2 0", "m.sdf:3:17: <pose> must be 6 numbers"),
    ],
)
def test_errors_name_the_place(old: bytes, new: bytes, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        frames_of(parse_xml(TEXT.replace(old, new), "m.sdf")).pose("a")
    assert message in str(caught.value)


# ---- Values in the texts of SDF elements


def test_poses_in_all_their_forms() -> None:
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    half = math.sqrt(0.5)
    for text in (
        f"<pose>1 2 3 0 0 {math.pi / 2}</pose>",
        '<pose degrees="true">1 2 3 0 0 90</pose>',
        f'<pose rotation_format="quat_xyzw">1 2 3 0 0 {half} {half}</pose>',
    ):
        pose = pose_of(parse_xml(text.encode(), "a"))
        np.testing.assert_allclose(pose.R, quarter, atol=1e-15)
        np.testing.assert_array_equal(pose.p, [1, 2, 3])
    with pytest.raises(DescriptionError, match="a quaternion of zeros"):
        pose_of(parse_xml(b'<pose rotation_format="quat_xyzw">1 2 3 0 0 0 0</pose>', "a"))


# ---- Joints of SDF: axes in any frame, screws, gearboxes, mimic axes


def model(*joints: str, version: str = "1.9") -> Graph:
    """Three links and some joints."""
    inertial = "<inertial><mass>1</mass></inertial>"
    links = "".join(
        f'<link name="{name}"><pose>{k} 0 0 0 0 {0.5 * k}</pose>{inertial}</link>'
        for k, name in enumerate("abc")
    )
    pose = "<pose>0 0 0 0 0 0.25</pose>"
    text = f'<sdf version="{version}"><model name="m">{pose}{links}{"".join(joints)}</model></sdf>'
    return read_sdf(parse_xml(text.encode(), "m.sdf"), Path("m.sdf"))


def joint(name: str, kind: str, ends: str, inner: str = "<axis><xyz>0 0 1</xyz></axis>") -> str:
    """A joint between links with names of one letter; w is the world."""
    parent, child = ("world" if end == "w" else end for end in ends)
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inner}</joint>'
    )


WELDS = joint("base", "fixed", "wa"), joint("hold", "fixed", "ac")


def test_axes_are_expressed_in_any_frame() -> None:
    """Joint b is turned by 0.75 against the world and by 0.5 against its model."""
    for words, turn in (("", 0.75), ('expressed_in="__model__"', 0.25), ('expressed_in="c"', 1.25)):
        axis = f"<axis><xyz {words}>2 0 0</xyz></axis>"
        graph = model(*WELDS, joint("j", "prismatic", "ab", axis))
        link = next(j for j in graph.joints if j.name == "j")
        world = graph.poses()["b"].R @ link.child_at.R @ link.axes[0].direction
        np.testing.assert_allclose(world, [math.cos(turn), math.sin(turn), 0.0], atol=1e-15)
    old = "<axis><xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>"
    link = next(j for j in model(*WELDS, joint("j", "revolute", "ab", old)).joints if j.name == "j")
    np.testing.assert_allclose(link.axes[0].direction, [math.cos(0.5), -math.sin(0.5), 0.0], atol=1e-15)
    plain = joint("j", "revolute", "ab", "<axis><xyz>1 0 0</xyz></axis>")
    older = next(j for j in model(*WELDS, plain, version="1.4").joints if j.name == "j")
    np.testing.assert_allclose(older.axes[0].direction, link.axes[0].direction, atol=1e-15)


def test_what_acts_along_an_axis() -> None:
    inner = """<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort>
      <velocity>3</velocity></limit><dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>4</spring_stiffness>
      <spring_reference>0.3</spring_reference></dynamics></axis>"""
    link = next(j for j in model(*WELDS, joint("j", "revolute", "ab", inner)).joints if j.name == "j")
    axis = link.axes[0]
    assert (axis.damping, axis.coulomb, axis.stiffness, axis.rest, axis.limits) == (
        0.1,
        0.2,
        4.0,
        0.3,
        (-1.0, math.inf),
    )
    assert link.motor is not None
    assert (link.motor.force, link.motor.speed) == (5.0, 3.0)


def test_joints_of_two_axes_are_two_hinges() -> None:
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0.6 0.8 0</xyz></axis2>"
    graph = model(*WELDS, joint("j", "revolute2", "ab", axes))
    links = [j for j in graph.joints if j.name.startswith("j")]
    assert [(j.parent, j.child, j.kind) for j in links] == [
        ("a", "j-carrier", "revolute"),
        ("j-carrier", "b", "revolute"),
    ]
    np.testing.assert_allclose(links[1].axes[0].direction, [0.6, 0.8, 0.0])
    ball = model(*WELDS, joint("j", "ball", "ab", ""))
    assert next(j for j in ball.joints if j.name == "j").spherical


def test_screws_go_forward_as_they_turn() -> None:
    """4 mm a turn, right-handed; the old pitch is in radians for a metre, left-handed."""
    for words in (
        "<screw_thread_pitch>0.004</screw_thread_pitch>",
        f"<thread_pitch>{-2 * math.pi / 0.004}</thread_pitch>",
    ):
        graph = model(*WELDS, joint("j", "screw", "ab", "<axis><xyz>0 0 1</xyz></axis>" + words))
        (coupling,) = graph.couplings
        assert coupling.joint == "j-2"
        assert math.isclose(coupling.follows["j"], 0.004 / (2 * math.pi))
        assert [j.kind for j in graph.joints if j.name in ("j", "j-2")] == ["revolute", "prismatic"]


def test_gearboxes_couple_hinges_on_their_reference_body() -> None:
    """theta_2 = -ratio theta_1; the second hinge goes from the gear to the body, about -z: two signs."""
    box = "<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
    axes = "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>"
    one, other = joint("p", "revolute", "ab"), joint("q", "revolute", "ca", "<axis><xyz>0 0 -1</xyz></axis>")
    (coupling,) = model(WELDS[0], one, other, joint("g", "gearbox", "bc", axes + box)).couplings
    assert (coupling.joint, coupling.follows) == ("q", {"p": -3.0})
    (plain,) = model(
        WELDS[0], one, joint("q", "revolute", "ac"), joint("g", "gearbox", "bc", axes + box)
    ).couplings
    assert plain.follows == {"p": -3.0}
    turned = axes.replace("0 0 1</xyz></axis2>", "0 0 -1</xyz></axis2>")
    (turned_round,) = model(
        WELDS[0], one, joint("q", "revolute", "ac"), joint("g", "gearbox", "bc", turned + box)
    ).couplings
    assert turned_round.follows == {"p": 3.0}


def test_mimic_axes_follow_with_a_reference() -> None:
    """q = 2 (leader - 0.5) + 0.1."""
    mimic = (
        '<mimic joint="p"><multiplier>2</multiplier><offset>0.1</offset><reference>0.5</reference></mimic>'
    )
    inner = f"<axis><xyz>0 0 1</xyz>{mimic}</axis>"
    graph = model(WELDS[0], joint("p", "revolute", "ab"), joint("q", "revolute", "ac", inner))
    (coupling,) = graph.couplings
    assert (coupling.joint, coupling.follows) == ("q", {"p": 2.0})
    assert math.isclose(coupling.offset, -0.9)


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ((*WELDS, joint("j", "revolute", "ab", "")), "the joint 'j' has no axis"),
        ((*WELDS, joint("j", "universal", "ab")), "the joint 'j' has no axis"),
        ((*WELDS, joint("j", "revolute", "bb")), "joins a link to itself"),
        ((*WELDS, '<joint name="j" type="fixed"><parent>a</parent></joint>'), "the joint 'j' has no child"),
        (
            (*WELDS, joint("j", "fixed", "ab"), joint("g", "gearbox", "bc")),
            "the gearbox 'g' has no reference body",
        ),
        (
            (*WELDS, joint("j", "revolute", "ab", "<axis><mimic joint='hold'/></axis>")),
            "'hold' has no axis to follow",
        ),
        ((*WELDS, joint("j", "screw", "ab", "<axis/><thread_pitch>0</thread_pitch>")), "of zero radians"),
    ],
)
def test_errors_of_joints_name_the_place(joints: tuple[str, ...], message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        model(*joints)
    assert message in str(caught.value)
    assert caught.value.problems[0].line == 1


# ---- SDF as a graph: what dynamics see of it is what the world of the file is made of


def graph_of(text: str) -> Graph:
    """The graph of a document."""
    return read_sdf(parse_xml(text.encode(), "robot.sdf"), Path("robot.sdf"))


def test_bodies_move_about_the_joints_of_the_file() -> None:
    """Each crank carries its rod: positions from rotations about points of the drawn pose."""
    angles = {"left_motor": 0.3, "left_pin": -0.2, "right_motor": 0.5, "right_pin": 0.1}
    found = world_properties(
        graph_of(sdf()).with_values({name: np.array([value]) for name, value in angles.items()})
    )
    for side in ("left", "right"):
        hip, knee = np.array(LINKS[f"{side}_crank"][0]), np.array(LINKS[f"{side}_rod"][0])
        R1, R2 = rotation_y(angles[f"{side}_motor"]), rotation_y(angles[f"{side}_pin"])
        for name in (f"{side}_crank", f"{side}_rod"):
            _, _, com, mass = LINKS[name]
            point, R = np.array(com), np.eye(3)
            if name.endswith("rod"):
                point, R = knee + R2 @ (point - knee), R2
            point, R = hip + R1 @ (point - hip), R1 @ R
            wanted = np.concatenate([[mass], point, (R @ MOMENTS @ R.T).ravel()])
            np.testing.assert_allclose(found[name], wanted, atol=1e-14)
        end = "at" if side == "left" else "to"
        tip = hip + R1 @ (knee + R2 @ (np.array(TIP) - knee) - hip)
        np.testing.assert_allclose(found[f"tip-{end}"], [*tip, 0.0, 1.0, 0.0], atol=1e-14)


def test_a_five_bar_is_imported(tmp_path: Path) -> None:
    done = nacelle.import_robot(write_file(tmp_path, sdf(), "robot.sdf"))
    assert done.robot.motion.coordinates == ("bars.left_motor", "bars.right_motor")
    assert done.losses == ()
    np.testing.assert_allclose(done.robot.gravity, [0.0, 0.0, -9.8])


def drake_ends(kind: str, ends: tuple[str, str], points: tuple[str, str], y: float) -> str:
    """Parts of a constraint between points of both rods, at the tip and away from it along the axis."""
    parts = ""
    for tag, point, name in zip(ends, points, ("left_rod", "right_rod"), strict=True):
        at = link_pose(name).inverse() @ Pose(np.eye(3), np.array([TIP[0], TIP[1] + y, TIP[2]]))
        parts += f"<{kind}_{tag}>{name}</{kind}_{tag}><{kind}_{point}>{number_text(at.p)}</{kind}_{point}>"
    return f"<{kind}>{parts}</{kind}>"


@pytest.mark.parametrize("kind", ["balls", "bushing", "weld"])
def test_a_five_bar_is_closed_by_elements_of_drake(tmp_path: Path, kind: str) -> None:
    expected = nacelle.import_robot(write_file(tmp_path, sdf(), "robot.sdf")).robot
    tree = re.sub(r'<joint name="tip".*?</joint>', "", sdf(), flags=re.S)
    ball = "drake:ball_constraint", ("body_A", "body_B"), ("p_AP", "p_BQ")
    frames = "".join(
        f'<frame name="tip_{name}" attached_to="{name}"><pose relative_to="__model__">'
        f"{number_text(np.array(TIP))} 1.5707963267948966 0 0</pose></frame>"
        for name in ("left_rod", "right_rod")
    )
    bushing = "".join(
        f"<drake:bushing_{tag}>{text}</drake:bushing_{tag}>"
        for tag, text in (
            ("frameA", "tip_left_rod"),
            ("frameC", "tip_right_rod"),
            ("torque_stiffness", "1e4 1e4 0"),
            ("force_stiffness", "1e5 1e5 1e5"),
        )
    )
    # A stub on a hinge at the tip, which is welded to the other rod.
    stub = (
        f'<link name="stub"><pose>{number_text(np.array(TIP))} 0 0 0</pose>'
        "<inertial><mass>1e-9</mass><inertia>"
        "<ixx>1e-15</ixx><iyy>1e-15</iyy><izz>1e-15</izz></inertia></inertial></link>"
        '<joint name="pin" type="revolute"><parent>left_rod</parent><child>stub</child>'
        "<axis><xyz>0 1 0</xyz></axis></joint>"
        '<frame name="end" attached_to="right_rod"><pose relative_to="stub"/></frame>'
        "<drake:weld_constraint><parent>stub</parent><child>end</child></drake:weld_constraint>"
    )
    contents = {
        "balls": drake_ends(*ball, 0.0) + drake_ends(*ball, 0.1),
        "bushing": f"{frames}<drake:linear_bushing_rpy>{bushing}</drake:linear_bushing_rpy>",
        "weld": stub,
    }[kind]
    text = tree.replace("</model>", f"{contents}</model>").replace("<sdf", '<sdf xmlns:drake="x"')
    robot = nacelle.import_robot(write_file(tmp_path, text, "drake.sdf")).robot
    assert {closure.kind.value for closure in robot.closures} == {"fixed", "revolute"}
    assert robot.motion.coordinates == expected.motion.coordinates
    x, v, a = np.array([[0.05, -0.1]]), np.array([[0.7, -0.4]]), np.array([[0.3, 0.9]])
    forces = [nacelle.inverse_dynamics(bars, x, v, a).tau for bars in (robot, expected)]
    # The stub has a part 1e-9 of the mass.
    np.testing.assert_allclose(*forces, rtol=1e-7 if kind == "weld" else 1e-11)


def test_a_model_that_nothing_holds_floats(tmp_path: Path) -> None:
    free = sdf().replace("<parent>world</parent>", "<parent>hip</parent>")
    free = free.replace(
        '<model name="bars">',
        '<model name="bars"><pose>0 0 1 0 0 0</pose><link name="hip"><inertial/></link>',
    )
    graph = graph_of(free)
    assert graph.floating == "hip"
    np.testing.assert_allclose(graph.pose.p, [0, 0, 1])
    assert set(JOINTS) == {joint.name for joint in graph.joints}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (sdf("<include><uri>model://arm</uri></include>"), "robot.sdf:11:1: <include> is not read"),
        ("<sdf><include/></sdf>", "robot.sdf:1:6: <include> is not read"),
        (
            sdf().replace("<child>left_rod</child>", "<child>rod</child>"),
            "there is no link, joint or frame 'rod'",
        ),
        (sdf().replace('type="revolute"', 'type="spline"', 1), "has the type 'spline', which is not read"),
        (sdf().replace("<mass>0.5</mass>", "<mass>half</mass>"), "<mass> must be a number, not 'half'"),
        (sdf().replace("<inertial>", '<inertial auto="true">', 1), "and none has a volume"),
        ('<sdf><model name="a"/><model name="b"/></sdf>', "the file has 2 models that move"),
        ('<sdf><model name="a"/></sdf>', "the model has no link"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = write_file(tmp_path, text, "robot.sdf")
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > 0


def test_a_parent_frame_elsewhere_is_warned_of() -> None:
    frame = (
        '<frame name="pin" attached_to="left_crank"><pose relative_to="left_pin">{} 0 0 0 0 0</pose></frame>'
    )
    text = sdf().replace("<parent>left_crank</parent>", "<parent>pin</parent>")
    (warning,) = graph_of(text.replace("</model>", frame.format(0.2) + "</model>")).report.warnings
    assert "the frame 'pin', the parent of the joint 'left_pin', is 200 mm from it" in str(warning)
    assert not graph_of(text.replace("</model>", frame.format(0) + "</model>")).report.warnings


def test_names_that_hint_at_loops_are_warned_of_where_nothing_closes_them() -> None:
    frame = '<frame name="loop_closure_A" attached_to="left_rod"/>'
    tree = re.sub(r'<joint name="tip".*?</joint>', "", sdf(), flags=re.S).replace(
        "</model>", f"{frame}</model>"
    )
    (warning,) = graph_of(tree).report.warnings
    assert "the names loop_closure_A hint at loops" in str(warning)
    assert not graph_of(sdf().replace("</model>", f"{frame}</model>")).report.warnings


def test_losses_are_said() -> None:
    world = sdf("<plugin name='p'><joint_name>left_motor</joint_name></plugin>")
    world = world.replace('<sdf version="1.9">', "<sdf><world name='w'><gravity>0 0 -1.62</gravity>")
    world = world.replace("</sdf>", "<model name='floor'><static>true</static></model></world></sdf>")
    graph = graph_of(world.replace("</link>", "<sensor/><collision/></link>"))
    np.testing.assert_array_equal(graph.gravity, [0.0, 0.0, -1.62])
    assert [joint.name for joint in graph.joints if joint.motor] == ["left_motor"]
    assert graph.report.losses == [
        "the static model 'floor' left out",
        "collision shapes left out: nothing stops bodies that meet",
        "plugins left out, but for the joints that they drive",
        "elements left out: <sensor>",
    ]


# ---- Robots as SDF: what our own reader makes of the file is the robot


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
        np.testing.assert_allclose(placed[body].R, poses[body].R, atol=1e-14)
        np.testing.assert_allclose(placed[body].p, poses[body].p, atol=1e-14)
        np.testing.assert_allclose(read.bodies[body].com, solid.com, atol=1e-15)
        if not solid.is_massless:
            np.testing.assert_allclose(read.bodies[body].inertia, solid.inertia, atol=1e-11)
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
