"""URDF as a graph: bodies and inertia are Pinocchio's, dynamics of imported robots too."""

import os
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Graph
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from support.pinocchio_files import File, errors
from support.urdf_files import (
    DRIVES,
    ENDS,
    LOOPS,
    SIDE,
    TREE,
    joint_text,
    link_text,
    robot_document,
    write_file,
)

# Gepetto's example-parallel-robots, as NAME.urdf beside NAME.yaml.
MODELS = Path(os.environ.get("NACELLE_GEPETTO_MODELS", "/nowhere"))


def graph_of(path: Path, floating: bool = False) -> Graph:
    """The graph of a file."""
    return read_urdf(read_xml(path), path, floating=floating)


def test_bodies_are_where_pinocchio_has_them(tmp_path: Path) -> None:
    slide = joint_text(
        "lift", ("left_rod", "lid"), 'xyz="0 0.1 0" rpy="1 2 3"', '<axis xyz="0.6 0 0.8"/>', "prismatic"
    )
    path = write_file(
        tmp_path,
        robot_document(
            TREE
            + link_text("lid", 0.3, 0.1)
            + slide.replace("</joint>", '<limit effort="0" velocity="0"/></joint>')
        ),
    )
    model = pin.buildModelFromUrdf(str(path))
    data, angles = model.createData(), np.linspace(-0.7, 0.9, model.nv)
    q = pin.integrate(model, pin.neutral(model), angles)
    graph = graph_of(path)
    values = {model.names[k]: angles[[model.joints[k].idx_v]] for k in range(1, model.njoints)}
    placed = graph.with_values(values).poses()
    pin.framesForwardKinematics(model, data, q)
    for name, solid in graph.bodies.items():
        there = data.oMf[model.getFrameId(name, pin.FrameType.BODY)]
        np.testing.assert_allclose(placed[name].R, there.rotation, atol=1e-14)
        np.testing.assert_allclose(placed[name].p, there.translation, atol=1e-14)
        if name not in ("tool", "left_rod"):
            theirs = model.inertias[model.frames[model.getFrameId(name, pin.FrameType.BODY)].parentJoint]
            np.testing.assert_allclose(solid.inertia, theirs.inertia, atol=1e-15)
            np.testing.assert_allclose(solid.com, theirs.lever, atol=1e-15)
    axis = next(j for j in graph.joints if j.name == "left_motor").axes[0]
    assert (axis.limits, axis.damping) == ((-2.0, 2.5), 0.3)


@pytest.mark.slow
def test_dynamics_are_those_of_pinocchio(tmp_path: Path) -> None:
    """Loops by a closure file, with a light body at the tip that spins by itself."""
    path, side = write_file(tmp_path, robot_document(TREE + ENDS)), write_file(tmp_path, SIDE, "side.yaml")
    done = nacelle.import_robot(path, closures=side)
    assert done.robot.motion.coordinates == ("bars.left_motor", "bars.right_motor", "bars.tip_A")
    assert done.losses == ("meshes left out: bodies are drawn by their joints",)
    assert max(errors(File(path, done.robot, side), 10).values()) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("floating", [False, True])
def test_loops_and_couplings_in_the_file_move_as_in_pinocchio(tmp_path: Path, floating: bool) -> None:
    """A revolute loop and a finger that mimics a motor, on a base that is fixed or floats."""
    finger = link_text("finger", 0.1, 0.05)
    mimic = '<mimic joint="right_motor" multiplier="-0.5" offset="0.2"/>'
    finger += joint_text("finger_pin", ("right_rod", "finger"), 'xyz="0.1 0 0"', mimic, "continuous")
    text = robot_document(TREE + finger + LOOPS["loop"] + DRIVES)
    done = nacelle.import_robot(write_file(tmp_path, text), floating=floating)
    # Pinocchio reads neither: the loop and the ratio are added to its tree.
    plain = write_file(tmp_path, text.replace("<mimic", "<nothing"), "plain.urdf")
    file = File(plain, done.robot, floating=floating)
    file.add_frame("one", "left_rod", pin.SE3(np.eye(3), np.array([0.25, -0.01, 0.0])))
    file.add_frame(
        "other", "right_rod", pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.4, 0.0), np.array([0.25, 0.01, 0.0]))
    )
    file.add_loop("one", "other", np.delete(np.eye(6), 4, axis=1))
    file.ratios.append(("finger_pin", {"right_motor": -0.5}))
    assert max(errors(file, 10).values()) < 1e-12


def test_a_floating_root_is_the_platform(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(TREE + LOOPS["loop"] + DRIVES))
    done = nacelle.import_robot(path, floating=True)
    assert done.robot.motion.coordinates[-2:] == ("bars.left_motor", "bars.right_motor")
    assert graph_of(path, floating=True).floating == "ground"
    assert done.robot.bodies[1].name == "ground"


def test_the_child_of_a_floating_joint_of_the_root_is_the_platform(tmp_path: Path) -> None:
    free = joint_text("free", ("world", "ground"), 'xyz="0 0 1" rpy="0.1 0 0"', kind="floating")
    floating = nacelle.import_robot(
        write_file(tmp_path, robot_document(TREE + LOOPS["loop"] + DRIVES)), floating=True
    )
    for world in ("", '<link name="world"/>'):
        path = write_file(tmp_path, robot_document(TREE + LOOPS["loop"] + DRIVES + world + free))
        done = nacelle.import_robot(path)
        assert done.robot.motion.coordinates == floating.robot.motion.coordinates
        assert done.robot.bodies[1].name == "ground"
        np.testing.assert_allclose(done.robot.reference.p, [0.0, 0.0, 1.0])
    buoy = link_text("buoy", 1.0, 0.0) + joint_text(
        "rope", ("ground", "buoy"), 'xyz="0 0 1"', kind="floating"
    )
    with pytest.raises(DescriptionError, match="the joint 'rope' is floating, which holds nothing"):
        nacelle.import_robot(write_file(tmp_path, robot_document(TREE + LOOPS["loop"] + free + buoy)))


def test_a_root_beside_the_world_moves_freely(tmp_path: Path) -> None:
    floor = joint_text("floor", ("world", "slab"), 'xyz="0 0 0"', kind="fixed") + link_text("slab", 9.0, 0.0)
    done = nacelle.import_robot(write_file(tmp_path, robot_document(TREE + LOOPS["loop"] + DRIVES + floor)))
    assert "no joint carries the link 'ground': it moves freely" in done.steps
    assert done.robot.bodies[1].name == "ground"


def test_comments_may_have_two_hyphens(tmp_path: Path) -> None:
    text = robot_document(TREE + "<!-- a -- b\n--->\n" + LOOPS["loop"] + DRIVES)
    assert nacelle.import_robot(write_file(tmp_path, text)).robot.motion.n == 2
    with pytest.raises(DescriptionError, match=r"robot\.urdf:\d+:\d+: this is no XML"):
        nacelle.import_robot(write_file(tmp_path, text.replace("</robot>", "")))


def test_a_planar_joint_is_two_slides_and_a_hinge(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(TREE.replace('type="continuous"', 'type="planar"', 1)))
    kinds = [j.kind for j in graph_of(path).joints if j.name.startswith("left_pin")]
    assert kinds == ["prismatic", "prismatic", "revolute"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (robot_document(TREE.replace('child link="left_rod"', 'child link="left_rood"')),
         "there is no link 'left_rood' (did you mean 'left_rod'?)"),
        (robot_document(TREE + link_text("alone", 1.0, 0.0)),
         "no joint leads from the base to the body 'alone'"),
        (robot_document(TREE + link_text("tool", 1.0, 0.0)), "two elements <link> are called 'tool'"),
        (robot_document(TREE.replace('xyz="0.2 0.01 0"', 'xyz="0.2 0.01"')),
         "'xyz' of <origin> must be 3 numbers, not '0.2 0.01'"),
        (robot_document(TREE.replace('lower="-2"', 'lower="3"')),
         "the lower limit 3 is above the upper one 2.5"),
        (robot_document(TREE.replace('"revolute"', '"hinge"', 1)),
         "has the type 'hinge', which URDF does not have"),
        (robot_document(TREE.replace('"continuous"', '"floating"', 1)), "is floating, which holds nothing"),
        (robot_document(TREE.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', 1)),
         "the axis of <axis> has no direction"),
        (robot_document(TREE.replace('izz="4e-3"', 'izz="4e-2"')),
         "the inertia breaks the triangle inequality"),
        (robot_document(TREE + '<xacro:leg side="left"/>'),
         "<xacro:leg> is a macro, which is not read (run xacro"),
        ('<!DOCTYPE a [<!ENTITY b "ha">]><robot name="&b;"/>', "a document type is declared"),
        (robot_document(""), "the robot has no link"),
    ],
)  # fmt: skip
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = write_file(tmp_path, text)
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > 0 or "no joint leads" in message


def test_loops_that_do_not_close_are_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    far = LOOPS["loop"].replace("0.25 -0.01", "2.5 -0.01")
    with pytest.raises(DescriptionError, match="the loops do not close, neither"):
        nacelle.import_robot(write_file(tmp_path, robot_document(TREE + far + DRIVES)))


@pytest.mark.skipif(not MODELS.is_dir(), reason="NACELLE_GEPETTO_MODELS names no folder")
@pytest.mark.parametrize("urdf", sorted(MODELS.glob("*.urdf")), ids=lambda path: path.stem)
def test_public_models(urdf: Path) -> None:
    side = urdf.with_suffix(".yaml")
    done = nacelle.import_robot(urdf, closures=side)
    assert set(done.losses) == {
        "meshes left out: bodies are drawn by their joints",
        "collision shapes left out: nothing stops bodies that meet",
    }
    worst = errors(File(urdf, done.robot, side), 100)
    print(urdf.stem, {name: f"{value:.0e}" for name, value in worst.items()})
    assert max(worst.values()) < 1e-9
