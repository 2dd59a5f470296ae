"""Equalities of MJCF: closures whose points meet, couplings that MuJoCo's own residual confirms, springs."""

from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.mjcf.compiled import compile_mjcf
from nacelle.exchange.mjcf.equalities import equalities

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
</tendon></mujoco>"""  # noqa: E501  # a file as it is written
JOINTS = ["one", "two", "three"]


def written(folder: Path, text: str) -> Path:
    """A file with a text."""
    path = folder / "robot.xml"
    path.write_text(text)
    return path


def test_closures_hold_in_the_drawn_pose(tmp_path: Path) -> None:
    read = compile_mjcf(written(tmp_path, TEXT), ExchangeReport())
    model = read.model
    data = mj.MjData(model)
    mj.mj_forward(model, data)
    found = equalities(read)
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
    read = compile_mjcf(written(tmp_path, TEXT), ExchangeReport())
    model = read.model
    data = mj.MjData(model)
    data.qpos[:] = [0.7, -0.3, 0.9]
    mj.mj_forward(model, data)
    q = dict(zip(JOINTS, data.qpos, strict=True))
    couplings = equalities(read).couplings
    ours = [
        q[c.joint] - c.offset - sum(ratio * q[other] for other, ratio in c.follows.items()) for c in couplings
    ]
    # The tendon's equality is three times the joint's, whose coefficient is 3.
    theirs = data.efc_pos[[k for k in range(data.ne) if data.efc_id[k] in (3, 4, 5)]]
    np.testing.assert_allclose(ours, theirs / [1.0, 1.0, 3.0], atol=1e-14)


def test_what_is_no_joint_is_refused_at_its_place(tmp_path: Path) -> None:
    bent = TEXT.replace("-2 0 0 0", "-2 1 0 0")
    with pytest.raises(DescriptionError, match=r"robot\.xml:10:3: the joint 'one' follows another by a poly"):
        equalities(compile_mjcf(written(tmp_path, bent), ExchangeReport()))
    rope = TEXT.replace('tendon1="sum"', 'tendon1="line"')
    with pytest.raises(DescriptionError, match=r"robot\.xml:12:3: .*spatial tendon"):
        equalities(compile_mjcf(written(tmp_path, rope), ExchangeReport()))
