"""Import of MJCF: dynamics against MuJoCo's own equations, losses, errors with their places."""

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.verify.comparison import verify
from support.described import mechanism
from support.mujoco_files import compared

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


def written(folder: Path, text: str) -> Path:
    """A file with a text."""
    path = folder / "robot.xml"
    path.write_text(text)
    return path


@pytest.mark.slow
def test_dynamics_are_those_of_mujoco(tmp_path: Path) -> None:
    path = written(tmp_path, GRIPPER)
    done, found = compared(path, 20)
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
    return written(folder, HEXAPOD.format(sites, legs, ends, motors))


def test_a_free_platform_on_six_legs_is_a_nacelle(tmp_path: Path) -> None:
    done = nacelle.import_robot(hexapod(tmp_path))
    assert done.robot.motion.name == "se3"
    assert {joint.kind.value for joint in done.robot.joints} == {"universal", "prismatic", "spherical"}
    assert done.losses[-1] == "the free body 'apple' left out: nothing ties it to the robot"
    assert nacelle.import_robot(hexapod(tmp_path), nacelle="plate").robot.hash == done.robot.hash


@pytest.mark.slow
def test_a_hexapod_moves_as_in_mujoco(tmp_path: Path) -> None:
    assert max(compared(hexapod(tmp_path), 20)[1].values()) < 1e-9


LEG_FILE = Path(__file__).parent.parent / "support" / "described" / "cassie_leg.xml"


def test_the_leg_of_cassie_is_imported_as_it_is_described() -> None:
    done = nacelle.import_robot(LEG_FILE)
    assert done.losses == ()
    assert done.robot.hash == mechanism("cassie_leg").hash
    assert [damper.damping for damper in done.robot.dampers] == [0.01]


@pytest.mark.slow
def test_the_leg_of_cassie_moves_as_in_mujoco() -> None:
    done, found = compared(LEG_FILE, 100)
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
        (OPEN, "robot.xml:7:1: the loops do not close near the assembly: open.tie stays open by"),
    ],
)  # fmt: skip
def test_broken_files_are_one_error_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(written(tmp_path, text))
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1
