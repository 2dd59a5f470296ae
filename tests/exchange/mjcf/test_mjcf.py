"""MJCF: what is compiled, driven, tied and left out, and where bodies are."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Axis, ExchangeReport
from nacelle.exchange.mjcf.read import (
    add_tendon_forces,
    axes_by_joint,
    compile_mjcf,
    fixed_terms,
    read_equalities,
    read_mjcf,
    rigid_specification,
    tendon_leader,
)
from nacelle.exchange.xml import parse_xml
from nacelle.model.joint import Interval


def write_file(folder: Path, text: str) -> Path:
    """A file with a text."""
    path = folder / "robot.xml"
    path.write_text(text)
    return path


# ---- A compiled file: names, places of equalities, what MuJoCo refuses at its line

TEXT = """<mujoco><worldbody>
  <body name="base"><joint name="turn"/><geom size="1"/></body>
  <body><joint/><geom size="1"/></body></worldbody>
<equality><joint joint1="turn"/></equality>
<equality>
<weld body1="base"/></equality></mujoco>"""


def test_warnings_are_reported_and_not_left_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_file(tmp_path, TEXT.replace("<joint/>", '<joint user="nan"/>'))
    read = compile_mjcf(path, ExchangeReport())
    assert [step.split(":")[0] for step in read.report.steps] == ["MuJoCo warns"]
    assert [file.name for file in tmp_path.iterdir()] == ["robot.xml"]


# ---- Actuators and tendons of MJCF: gear, largest force, what acts at the joint, losses

TEXT_OF_DRIVES = """<mujoco><worldbody>
  <body name="a"><joint name="one" armature="0.2" frictionloss="0.3" actuatorfrcrange="-3 3"/>
    <geom size="1"/></body>
  <body name="b"><joint name="two" type="slide"/><geom size="1"/></body>
  <body name="c"><joint name="three"/><geom size="1"/></body>
</worldbody>
<actuator>
  <motor name="direct" joint="one" gear="-10" ctrlrange="-2 2" armature="0.05" damping="0.02"/>
  <motor name="second" joint="one"/>
  <position name="servo" joint="two" kp="100" forcerange="-7 7"/>
  <motor name="both" tendon="sum" gear="4"/>
</actuator>
<tendon><fixed name="sum"><joint joint="one" coef="1"/><joint joint="three" coef="1"/></fixed></tendon>
</mujoco>"""


def test_motors_drive_their_joints(tmp_path: Path) -> None:
    path = write_file(tmp_path, TEXT_OF_DRIVES)
    read = compile_mjcf(path, ExchangeReport())
    axes = axes_by_joint(read)
    one, two, three = (axes[k] for k in range(3))
    assert one.motor is not None
    assert two.motor is not None
    assert three.motor is None
    assert (one.motor.name, one.motor.gear, one.motor.force) == ("direct", -10.0, 3.0)
    assert one.coulomb == 0.3
    assert (two.motor.name, two.motor.force, two.turns) == ("servo", 7.0, False)
    assert math.isinf(two.motor.speed)
    np.testing.assert_allclose(two.direction, [0.0, 0.0, 1.0])
    assert [loss.split(":")[0] for loss in read.report.losses] == [
        "the actuator 'second' left out",
        "the law of the actuator 'servo' left out",
        "the actuator 'both' left out",
    ]


def test_inertia_and_damping_of_an_actuator_are_those_that_mujoco_has_at_the_joint(tmp_path: Path) -> None:
    path = write_file(tmp_path, TEXT_OF_DRIVES)
    read = compile_mjcf(path, ExchangeReport())
    model, data = read.model, mj.MjData(read.model)
    data.qvel[0] = 0.7
    mj.mj_forward(model, data)
    M = np.zeros((3, 3))
    mj.mj_fullM(model, data, M)
    one = axes_by_joint(read)[0]
    I = 0.4 * model.body_mass[1]
    assert np.isclose(one.armature, M[0, 0] - I, rtol=1e-12)
    assert np.isclose(-one.damping * 0.7, data.qfrc_passive[0] + data.qfrc_actuator[0], rtol=1e-12)


# ---- What is only seen or felt is taken away and counted; files that it names need not be there

TEXT_OF_STRIP = """<mujoco>
  <default>
    <geom material="steel"/>
    <mesh scale="1 1 1"/>
    <default class="seen"><geom type="mesh" group="2"/></default>
  </default>
  <asset><mesh name="a" file="absent.stl"/><material name="steel" texture="t"/></asset>
  <worldbody>
    <light pos="0 0 1"/>
    <geom name="floor" type="plane" size="1 1 1" material="steel"/>
    <body name="heavy"><joint/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>
      <geom mesh="a" class="seen"/></body>
    <body name="still" childclass="seen"><geom mesh="a"/><camera name="eye"/></body>
    <body name="round" childclass="seen"><joint/><geom class="main" size="0.1"/></body>
  </worldbody>
  <sensor><jointpos joint="j"/></sensor>
  <contact><exclude body1="heavy" body2="still"/></contact>
</mujoco>"""


def test_what_is_seen_is_counted() -> None:
    report = ExchangeReport()
    spec = rigid_specification(parse_xml(TEXT_OF_STRIP.encode(), "a.xml"), report)
    assert [len(kept) for kept in (spec.meshes, spec.lights, spec.cameras, spec.sensors)] == [
        0,
        0,
        0,
        0,
    ]
    assert report.losses == [
        "sensors left out (1)",
        "pairs and exclusions of contacts left out (1)",
        "meshes left out (2)",
    ]
    assert [geom.name for geom in spec.geoms] == ["floor", ""]


@pytest.mark.parametrize("tag", ["attach", "composite", "flexcomp", "plugin", "deformable"])
def test_bodies_that_are_not_rigid_are_refused_at_their_place(tag: str) -> None:
    text = f"<mujoco><worldbody>\n<{tag}/></worldbody></mujoco>"
    with pytest.raises(DescriptionError, match=f"a.xml:2:1.*<{tag}>"):
        rigid_specification(parse_xml(text.encode(), "a.xml"), ExchangeReport())


# ---- Equalities of MJCF: closures whose points meet, couplings that MuJoCo's own residual confirms, springs

TEXT_OF_EQUALITIES = """<mujoco><worldbody>
  <body name="a" pos="0.1 0.2 0.3" euler="10 20 30"><joint name="one" ref="20"/><geom size="1"/><site name="s" pos="0 0 1"/>
    <body name="b" pos="0 0 1" euler="40 0 0"><joint name="two" axis="1 0 0" ref="-5"/><geom size="1"/></body></body>
  <body name="c" pos="1 0 0"><joint name="three" type="slide" ref="0.3"/><geom size="1"/><site name="t" pos="1 0 0"/></body>
</worldbody>
<equality>
  <connect body1="b" body2="c" anchor="0.3 0.1 0.2"/>
  <weld body1="b" body2="a"/>
  <weld body1="c" active="false"/>
  <joint joint1="one" joint2="three" polycoef="0.4 -2 0 0 0"/>
  <joint joint1="two" polycoef="0.25 0 0 0 0"/>
  <tendon tendon1="sum" polycoef="0.1 0 0 0 0"/>
</equality>
<tendon>
  <fixed name="sum"><joint joint="one" coef="3"/><joint joint="two" coef="-0.5"/></fixed>
  <spatial name="line" stiffness="50" damping="2" springlength="0.4"><site site="s"/><site site="t"/></spatial>
  <spatial name="rope" stiffness="50" springlength="0 0.4"><site site="s"/><site site="t"/></spatial>
</tendon></mujoco>"""  # noqa: E501  # a file as it is written
JOINTS = ["one", "two", "three"]


def test_closures_hold_in_the_drawn_pose(tmp_path: Path) -> None:
    read = compile_mjcf(write_file(tmp_path, TEXT_OF_EQUALITIES), ExchangeReport())
    model = read.model
    data = mj.MjData(model)
    mj.mj_forward(model, data)
    found = read_equalities(read)
    losses = read.report.losses
    assert [(c.kind, c.parent, c.child) for c in found.closures] == [
        ("spherical", "b", "c"),
        ("fixed", "b", "a"),
    ]
    for closure in found.closures:
        ends = [
            data.body(body).xpos + data.body(body).xmat.reshape(3, 3) @ frame.p
            for body, frame in ((closure.parent, closure.at), (closure.child, closure.child_at))
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)
    weld = found.closures[1]
    turned = [data.body(b).xmat.reshape(3, 3) @ f.R for b, f in (("b", weld.at), ("a", weld.child_at))]
    np.testing.assert_allclose(turned[0], turned[1], atol=1e-14)
    assert losses[0] == "the equality 2 left out: it is not active"
    assert losses[1].startswith("spring and damper of the tendon 'rope' left out")
    (strut,) = found.struts
    assert (strut.bodies, strut.stiffness, strut.length, strut.damping) == (("a", "c"), 50.0, 0.4, 2.0)


def test_couplings_have_the_residuals_of_mujoco(tmp_path: Path) -> None:
    read = compile_mjcf(write_file(tmp_path, TEXT_OF_EQUALITIES), ExchangeReport())
    model = read.model
    data = mj.MjData(model)
    data.qpos[:] = [0.7, -0.3, 0.9]
    mj.mj_forward(model, data)
    q = dict(zip(JOINTS, data.qpos, strict=True))
    couplings = read_equalities(read).couplings
    ours = [
        q[c.joint] - c.offset - sum(ratio * q[other] for other, ratio in c.follows.items()) for c in couplings
    ]
    # The tendon's equality is three times the joint's, whose coefficient is 3.
    theirs = data.efc_pos[[k for k in range(data.ne) if data.efc_id[k] in (3, 4, 5)]]
    np.testing.assert_allclose(ours, theirs / [1.0, 1.0, 3.0], atol=1e-14)


def test_what_is_no_joint_is_refused_at_its_place(tmp_path: Path) -> None:
    bent = TEXT_OF_EQUALITIES.replace("-2 0 0 0", "-2 1 0 0")
    with pytest.raises(DescriptionError, match=r"robot\.xml:10:3: the joint 'one' follows another by a poly"):
        read_equalities(compile_mjcf(write_file(tmp_path, bent), ExchangeReport()))
    rope = TEXT_OF_EQUALITIES.replace('tendon1="sum"', 'tendon1="line"')
    with pytest.raises(DescriptionError, match=r"robot\.xml:12:3: .*spatial tendon"):
        read_equalities(compile_mjcf(write_file(tmp_path, rope), ExchangeReport()))


# ---- An MJCF file as a graph: bodies are where MuJoCo has them, at any coordinates

TEXT_OF_READ = """<mujoco model="tree">
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
    path = write_file(tmp_path, TEXT_OF_READ)
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
    assert list(graph.free_bodies) == ["trunk", "object"]
    assert graph.report.losses == []


def test_the_drawn_pose_is_at_the_references(tmp_path: Path) -> None:
    path = write_file(tmp_path, TEXT_OF_READ)
    graph = read_mjcf(path, keyframe="")
    np.testing.assert_allclose(graph.poses()["arm"].p, [0.3, 0.1, 1.0], atol=1e-15)
    with pytest.raises(DescriptionError, match="no keyframe is called 'down'"):
        read_mjcf(path, keyframe="down")


def test_what_mujoco_refuses_has_its_line(tmp_path: Path) -> None:
    path = write_file(tmp_path, TEXT_OF_READ.replace('mass="0.1"', 'mass="-0.1"'))
    with pytest.raises(DescriptionError, match=r"robot\.xml:\d+.*MuJoCo cannot read it"):
        read_mjcf(path)


# ---- Fixed tendons: sums of joints, the joint that leads them, and what acts along them, as MuJoCo has it

TEXT_OF_TENDONS = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="a"><joint name="one" ref="30"/><geom size="1"/>
    <body name="b"><joint name="two"/><geom size="1"/></body></body>
  <body name="c"><joint name="three"/><geom size="1"/><site name="s"/></body><site name="t" pos="1 1 1"/>
</worldbody>
<equality><joint joint1="two" joint2="one" polycoef="0.1 -2 0 0 0"/></equality>
<tendon>
  <fixed name="sum" stiffness="5" damping="0.6" springlength="0.7" armature="0.2">
    <joint joint="one" coef="3"/><joint joint="two" coef="0.5"/></fixed>
  <fixed name="apart" stiffness="1"><joint joint="one" coef="1"/><joint joint="three" coef="1"/></fixed>
  <spatial name="line"><site site="s"/><site site="t"/></spatial>
</tendon></mujoco>"""


def test_what_acts_along_a_sum_acts_along_its_leader() -> None:
    model = mj.MjModel.from_xml_string(TEXT_OF_TENDONS)
    assert fixed_terms(model, 0) == {0: 3.0, 1: 0.5}
    assert fixed_terms(model, 2) is None
    leader = tendon_leader(model, {0: 3.0, 1: 0.5})
    assert leader is not None
    assert (leader.joint, leader.ratio) == (0, 2.0)
    assert tendon_leader(model, {0: 1.0, 2: 1.0}) is None
    axes = {k: Axis(np.array([0.0, 0.0, 1.0])) for k in range(3)}
    report = ExchangeReport()
    add_tendon_forces(model, axes, report)
    (loss,) = report.losses
    assert "'apart' left out: its joints do not follow one of them" in loss
    model.tendon_stiffness[1] = 0.0
    data = mj.MjData(model)
    q = np.radians(30.0) + 0.3
    data.qpos[:2] = q, 0.1 - 2.0 * 0.3
    data.qvel[:2] = 0.4, -0.8
    mj.mj_forward(model, data)
    along = np.array([1.0, -2.0, 0.0])
    axis = axes[0]
    force = -axis.stiffness * (q - axis.rest) - axis.damping * 0.4
    np.testing.assert_allclose(force, along @ data.qfrc_passive, rtol=1e-12)
    with_tendon, without = np.zeros((3, 3)), np.zeros((3, 3))
    mj.mj_fullM(model, data, with_tendon)
    model.tendon_armature[0] = 0.0
    mj.mj_forward(model, data)
    mj.mj_fullM(model, data, without)
    np.testing.assert_allclose(axis.armature, along @ (with_tendon - without) @ along, rtol=1e-9)


SLACK = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="a"><joint name="one" axis="0 1 0" damping="0.1 0.2 0.3"/><geom size="1"/></body>
  <body name="b"><joint name="two" type="slide" range="-1 1"/><geom size="1"/></body></worldbody>
<tendon>
  <fixed name="stop" stiffness="5" springlength="-0.4 0.2" damping="0.01 0.02 0.03">
    <joint joint="one" coef="-2"/></fixed>
  <fixed name="range" limited="true" range="-1 3"><joint joint="two" coef="2"/></fixed>
</tendon>
<actuator><motor name="m" joint="one" gear="-3" damping="0.001 0.002 0.003"/></actuator></mujoco>"""


def test_slack_springs_are_end_stops_and_ranges_are_limits(tmp_path: Path) -> None:
    """Forces on both sides of the slack and rates of both signs, as MuJoCo has them."""
    file = write_file(tmp_path, SLACK)
    report = ExchangeReport()
    axes = axes_by_joint(compile_mjcf(file, report))
    assert not report.losses
    axis = axes[0]
    np.testing.assert_allclose(axis.limits, [-0.1, 0.2], rtol=1e-12)
    assert axes[1].limits == (-0.5, 1.0)
    model = mj.MjModel.from_xml_string(SLACK)
    data = mj.MjData(model)
    for q, rate in ((0.1, 0.7), (0.5, -0.7), (-0.3, 0.4)):
        data.qpos[0], data.qvel[0] = q, rate
        mj.mj_forward(model, data)
        beyond = q - np.clip(q, *axis.limits)
        friction = axis.damping * rate + axis.quadratic * rate * abs(rate) + axis.cubic * rate**3
        passive = data.qfrc_passive[0] + data.qfrc_actuator[0]
        np.testing.assert_allclose(-axis.stop * beyond - friction, passive, rtol=1e-12)


def test_a_slack_beside_other_limits_is_lost() -> None:
    model = mj.MjModel.from_xml_string(SLACK)
    axes = {
        0: Axis(np.array([0.0, 1.0, 0.0]), limits=Interval(-1.0, 1.0)),
        1: Axis(np.array([0.0, 0.0, 1.0])),
    }
    report = ExchangeReport()
    add_tendon_forces(model, axes, report)
    assert report.losses == [
        "the slack spring of the tendon 'stop' left out: its joint has other limits than -0.1 and 0.2"
    ]
    assert axes[0].stop == 0.0
