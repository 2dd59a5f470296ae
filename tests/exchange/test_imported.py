"""Import of MJCF: dynamics against MuJoCo's own equations, losses, errors with their places."""

from pathlib import Path

import mujoco as mj
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Report
from nacelle.exchange.mjcf.read import compiled
from support.mujoco_files import File, errors

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
      <joint name="right_travel" type="slide" axis="1 0 0" damping="3" armature="0.7"/></body>
  </worldbody>
  <asset><mesh name="tip" file="absent.stl"/></asset>
  <equality>
    <connect body1="left_coupler" body2="left_rocker" anchor="0.08 0 0.05"/>
    <connect body1="left_coupler" body2="left_rocker" anchor="0.08 0.1 0.05"/>
    <joint joint1="right_travel" joint2="left_motor" polycoef="0.01 0.3 0 0 0"/>
  </equality>
  <actuator><motor name="drive" joint="left_motor" gear="20" ctrlrange="-2 2"/></actuator>
</mujoco>"""


def written(folder: Path, text: str) -> Path:
    """A file with a text."""
    path = folder / "robot.xml"
    path.write_text(text)
    return path


def test_dynamics_are_those_of_mujoco(tmp_path: Path) -> None:
    path = written(tmp_path, GRIPPER)
    done = nacelle.import_robot(path)
    assert done.robot.motion.coordinates == ("left.motor",)
    assert done.losses == ("1 meshes left out",)
    assert "type: revolute" in done.text.split("closures:")[1]
    model = compiled(path, Report())
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONTACT) | int(mj.mjtDisableBit.mjDSBL_LIMIT)
    assert max(errors(File(model, done.robot), 20).values()) < 1e-9


BOMB = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><mujoco model="&c;"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "robot.xml:1:13: a document type is declared"),
        ('<mujoco>\n<include file="../other.xml"/></mujoco>', "robot.xml:2:1: the included file"),
        ("<mujoco>\n<worldbody>", "this is no XML"),
        ("<robot/>", "not the root of a format"),
        ('<mujoco><worldbody/><equality>\n<weld body1="a" body2="b"/></equality></mujoco>', "robot.xml:2"),
        (GRIPPER.replace("0.3 0 0 0", "0.3 1 0 0"), "by a polynomial"),
    ],
)  # fmt: skip
def test_broken_files_are_one_error_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(written(tmp_path, text))
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1
