"""Equalities of MJCF: closures whose points meet, couplings that MuJoCo's own residual confirms, springs."""

import mujoco as mj
import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Report
from nacelle.exchange.mjcf.equalities import ties

TEXT = """<mujoco><worldbody>
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
</tendon></mujoco>"""  # noqa: E501
BODIES, JOINTS = ["base", "a", "b", "c"], ["one", "two", "three"]


def test_closures_hold_in_the_drawn_pose() -> None:
    model = mj.MjModel.from_xml_string(TEXT)
    data = mj.MjData(model)
    mj.mj_forward(model, data)
    report = Report()
    read = ties(model, BODIES, JOINTS, {1, 2, 3}, report)
    assert [(c.kind, c.parent, c.child) for c in read.closures] == [
        ("spherical", "b", "c"),
        ("fixed", "b", "a"),
    ]
    for closure in read.closures:
        ends = [
            data.body(body).xpos + data.body(body).xmat.reshape(3, 3) @ frame.p
            for body, frame in ((closure.parent, closure.at), (closure.child, closure.child_at))
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)
    weld = read.closures[1]
    turned = [data.body(b).xmat.reshape(3, 3) @ f.R for b, f in (("b", weld.at), ("a", weld.child_at))]
    np.testing.assert_allclose(turned[0], turned[1], atol=1e-14)
    assert report.losses[0] == "the equality 2 left out: it is not active"
    assert report.losses[1].startswith("spring and damper of the tendon 'rope' left out")
    (strut,) = read.struts
    assert (strut.bodies, strut.stiffness, strut.length, strut.damping) == (("a", "c"), 50.0, 0.4, 2.0)


def test_couplings_have_the_residuals_of_mujoco() -> None:
    model = mj.MjModel.from_xml_string(TEXT)
    data = mj.MjData(model)
    data.qpos[:] = [0.7, -0.3, 0.9]
    mj.mj_forward(model, data)
    q = dict(zip(JOINTS, data.qpos, strict=True))
    couplings = ties(model, BODIES, JOINTS, {1, 2, 3}, Report()).couplings
    ours = [
        q[c.joint] - c.offset - sum(ratio * q[other] for other, ratio in c.follows.items()) for c in couplings
    ]
    # The tendon's equality is three times the joint's, whose coefficient is 3.
    theirs = data.efc_pos[[k for k in range(data.ne) if data.efc_id[k] in (3, 4, 5)]]
    np.testing.assert_allclose(ours, theirs / [1.0, 1.0, 3.0], atol=1e-14)


def test_what_is_no_joint_is_refused() -> None:
    bent = TEXT.replace("-2 0 0 0", "-2 1 0 0")
    with pytest.raises(DescriptionError, match="'one' follows another by a polynomial"):
        ties(mj.MjModel.from_xml_string(bent), BODIES, JOINTS, {1, 2, 3}, Report())
    rope = TEXT.replace('tendon1="sum"', 'tendon1="line"')
    with pytest.raises(DescriptionError, match="spatial tendon"):
        ties(mj.MjModel.from_xml_string(rope), BODIES, JOINTS, {1, 2, 3}, Report())
