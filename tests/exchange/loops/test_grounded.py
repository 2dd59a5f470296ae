"""Platforms that a closure joins to the base with no body between."""

from __future__ import annotations

from pathlib import Path

import pytest

import nacelle
from nacelle.errors import DescriptionError
from support.loop_files import MujocoFile, compare
from support.urdf_files import write_file

PENDULUM = """<mujoco><worldbody>
  <body name="a" pos="0 0 1"><freejoint/><geom size=".1" pos="0.1 0.2 0"/></body>{more}</worldbody>
  <equality><connect body1="a" anchor="0.1 0 0"/>{equality}</equality></mujoco>"""
# A plate on a ball at its middle and on three driven struts between ball joints.
STRUT = """<body name="low{k}" pos="{x} {y} 0"><joint name="u{k}" axis="1 0 0"/>
  <joint name="w{k}" axis="0 1 0"/><geom size="0.03" pos="0 0 0.1"/>
  <body name="top{k}" pos="0 0 0.4"><joint name="drive{k}" type="slide" axis="0 0 1"/>
  <geom size="0.02" pos="0.01 0 0"/></body></body>"""
POINTS = [(0.4, 0.1), (-0.2, 0.35), (-0.15, -0.4)]
TRIPOD = (
    """<mujoco><worldbody><body name="plate" pos="0 0 0.4"><freejoint/>
  <geom type="box" size="0.3 0.2 0.02" pos="0.02 0.01 0.03"/></body>"""
    + "".join(STRUT.format(k=k, x=x, y=y) for k, (x, y) in enumerate(POINTS))
    + '</worldbody><equality><connect body1="plate" anchor="0 0 0"/>'
    + "".join(
        f'<connect body1="plate" body2="top{k}" anchor="{x} {y} 0"/>' for k, (x, y) in enumerate(POINTS)
    )
    + "</equality><actuator>"
    + "".join(f'<motor joint="drive{k}"/>' for k in range(3))
    + "</actuator></mujoco>"
)


@pytest.mark.parametrize(("text", "driven"), [(PENDULUM.format(more="", equality=""), 0), (TRIPOD, 3)])
def test_a_ball_on_the_base_holds_the_platform(tmp_path: Path, text: str, driven: int) -> None:
    path = write_file(tmp_path, text, "robot.xml")
    robot = nacelle.import_robot(path).robot
    assert robot.motion.n == 3
    assert len(robot.actuators) == driven
    worst = compare(robot, MujocoFile(path), 5)
    assert max(worst.closures, worst.M, worst.bias) < 1e-12


def test_two_mechanisms_in_one_file_are_refused(tmp_path: Path) -> None:
    more = '<body name="b" pos="1 0 1"><freejoint/><geom size=".1" pos="0.1 0.2 0"/></body>'
    text = PENDULUM.format(more=more, equality='<connect body1="b" anchor="0 0 0"/>')
    with pytest.raises(DescriptionError, match="hang on ball joints alone and are not joined to"):
        nacelle.import_robot(write_file(tmp_path, text, "robot.xml"))
