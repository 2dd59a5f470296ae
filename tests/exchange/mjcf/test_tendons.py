"""Fixed tendons: sums of joints, the joint that leads them, and what acts along them, as MuJoCo has it."""

from pathlib import Path

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import Axis, ExchangeReport
from nacelle.exchange.mjcf.compiled import compile_mjcf
from nacelle.exchange.mjcf.drives import axes_by_joint
from nacelle.exchange.mjcf.tendons import along_tendons, bounded_ends, fixed_terms, followed

TEXT = """<mujoco><option gravity="0 0 0"/><worldbody>
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
    model = mj.MjModel.from_xml_string(TEXT)
    assert fixed_terms(model, 0) == {0: 3.0, 1: 0.5}
    assert fixed_terms(model, 2) is None
    leader = followed(model, {0: 3.0, 1: 0.5})
    assert leader is not None
    assert (leader.joint, leader.ratio) == (0, 2.0)
    assert followed(model, {0: 1.0, 2: 1.0}) is None
    axes = {k: Axis(np.array([0.0, 0.0, 1.0])) for k in range(3)}
    report = ExchangeReport()
    along_tendons(model, axes, report)
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
    file = tmp_path / "slack.xml"
    file.write_text(SLACK, encoding="utf-8")
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
    axes = {0: Axis(np.array([0.0, 1.0, 0.0]), limits=(-1.0, 1.0)), 1: Axis(np.array([0.0, 0.0, 1.0]))}
    report = ExchangeReport()
    along_tendons(model, axes, report)
    assert report.losses == [
        "the slack spring of the tendon 'stop' left out: its joint has other limits than -0.1 and 0.2"
    ]
    assert axes[0].stop == 0.0


def test_far_ends_are_none() -> None:
    assert bounded_ends(-1e6, 0.3) == (-np.inf, 0.3)
    assert bounded_ends(-2.0, 1e6) == (-2.0, np.inf)
