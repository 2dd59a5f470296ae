"""Fixed tendons: sums of joints, the joint that leads them, and what acts along them, as MuJoCo has it."""

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import Axis, Report
from nacelle.exchange.mjcf.tendons import along_tendons, fixed_terms, followed

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
    report = Report()
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
