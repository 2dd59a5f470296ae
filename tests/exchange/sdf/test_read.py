"""SDF as a graph: what dynamics see of it is what the world of the file is made of."""

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Graph
from nacelle.exchange.sdf.read import read_sdf
from nacelle.exchange.xml import parsed
from nacelle.spatial.rotation import rotation_y
from support.sdf_files import JOINTS, LINKS, MOMENTS, TIP, sdf, seen
from support.urdf_files import written


def graph_of(text: str) -> Graph:
    """The graph of a document."""
    return read_sdf(parsed(text.encode(), "robot.sdf"), Path("robot.sdf"))


def test_bodies_move_about_the_joints_of_the_file() -> None:
    """Each crank carries its rod: positions from rotations about points of the drawn pose."""
    angles = {"left_motor": 0.3, "left_pin": -0.2, "right_motor": 0.5, "right_pin": 0.1}
    found = seen(graph_of(sdf()).with_values({name: np.array([value]) for name, value in angles.items()}))
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
    done = nacelle.import_robot(written(tmp_path, sdf(), "robot.sdf"))
    assert done.robot.motion.coordinates == ("bars.left_motor", "bars.right_motor")
    assert done.losses == ()
    np.testing.assert_allclose(done.robot.gravity, [0.0, 0.0, -9.8])


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
        (sdf().replace("<inertial>", '<inertial auto="true">', 1), "inertia from shapes (auto) is not read"),
        ('<sdf><model name="a"/><model name="b"/></sdf>', "the file has 2 models that move"),
        ('<sdf><model name="a"/></sdf>', "the model has no link"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text, "robot.sdf")
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > 0


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
