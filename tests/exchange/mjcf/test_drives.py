"""Actuators and tendons of MJCF: gear, largest force, what acts at the joint, losses."""

import math
from pathlib import Path

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.mjcf.compiled import compile_mjcf
from nacelle.exchange.mjcf.drives import axes_by_joint

TEXT = """<mujoco><worldbody>
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
    path = tmp_path / "a.xml"
    path.write_text(TEXT)
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
    path = tmp_path / "a.xml"
    path.write_text(TEXT)
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
