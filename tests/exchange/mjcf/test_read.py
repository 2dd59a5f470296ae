"""An MJCF file as a graph: bodies are where MuJoCo has them, at any coordinates."""

from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.mjcf.compiled import compile_mjcf
from nacelle.exchange.mjcf.read import read_mjcf

TEXT = """<mujoco model="tree">
  <compiler eulerseq="zyx"/>
  <default>
    <joint axis="0 1 0" damping="0.5"/>
    <default class="soft"><joint stiffness="3" springref="12"/></default>
  </default>
  <worldbody>
    <body name="trunk" pos="0.1 0 1"><freejoint/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
      <body name="arm" pos="0.2 0.1 0" euler="10 20 30" childclass="soft">
        <inertial mass="2" pos="0.1 0 0" quat="1 1 0 0" diaginertia="1 2 2.5"/>
        <joint name="one" pos="0.1 0.2 0.3" ref="15"/>
        <joint name="two" type="slide" axis="0.6 0 0.8" pos="0 0.1 0" ref="0.2" class="main"/>
        <joint name="three" axis="0 0 1" pos="0.3 0 0" range="-10 20"/>
        <body name="hand" pos="0 0.4 0" euler="0 0 90">
          <inertial mass="0.1" pos="0 0 0" diaginertia="1 1 1"/>
          <joint name="wrist" type="ball" class="main" pos="0.02 0 0.01" damping="0.7"/>
        </body>
      </body>
    </body>
    <body name="object"><freejoint/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>
  </worldbody>
  <keyframe><key name="up" qpos="0 1 2 0.8 0 0.6 0 0.3 0.1 -0.4 0.5 0.5 0.1 -0.7 0 0 0 1 0 0 0"/></keyframe>
</mujoco>"""


def test_bodies_are_where_mujoco_has_them(tmp_path: Path) -> None:
    path = tmp_path / "tree.xml"
    path.write_text(TEXT)
    graph = read_mjcf(path)
    model = compile_mjcf(path, ExchangeReport()).model
    data = mj.MjData(model)
    data.qpos[:] = model.key_qpos[0]
    mj.mj_kinematics(model, data)
    placed = graph.poses()
    for name in ("trunk", "arm", "hand"):
        np.testing.assert_allclose(placed[name].p, data.body(name).xpos, atol=1e-14)
        np.testing.assert_allclose(placed[name].R.ravel(), data.body(name).xmat, atol=1e-14)
    joints = {joint.name: joint for joint in graph.joints}
    assert list(joints) == ["one", "two", "three", "wrist"]
    one, two = joints["one"].axes[0], joints["two"].axes[0]
    assert (one.damping, one.stiffness, two.stiffness) == (0.5, 3.0, 0.0)
    assert np.isclose(one.rest, np.radians(12.0))
    np.testing.assert_allclose(joints["three"].axes[0].limits, np.radians([-10.0, 20.0]))
    assert joints["wrist"].damping == 0.7
    np.testing.assert_allclose(graph.bodies["arm"].inertia, np.diag([1.0, 2.5, 2.0]), atol=1e-15)
    assert list(graph.loose) == ["trunk", "object"]
    assert graph.report.losses == []


def test_the_drawn_pose_is_at_the_references(tmp_path: Path) -> None:
    path = tmp_path / "tree.xml"
    path.write_text(TEXT)
    graph = read_mjcf(path, keyframe="")
    np.testing.assert_allclose(graph.poses()["arm"].p, [0.3, 0.1, 1.0], atol=1e-15)
    with pytest.raises(DescriptionError, match="no keyframe is called 'down'"):
        read_mjcf(path, keyframe="down")


def test_what_mujoco_refuses_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "tree.xml"
    path.write_text(TEXT.replace('mass="0.1"', 'mass="-0.1"'))
    with pytest.raises(DescriptionError, match=r"tree\.xml:\d+.*MuJoCo cannot read it"):
        read_mjcf(path)
