"""Actuators of MJCF: gear, largest force, losses."""

import math

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import Report
from nacelle.exchange.mjcf.drives import motors

TEXT = """<mujoco><worldbody>
  <body name="a"><joint name="one" armature="0.2" frictionloss="0.3" actuatorfrcrange="-3 3"/>
    <geom size="1"/></body>
  <body name="b"><joint name="two" type="slide"/><geom size="1"/></body>
  <body name="c"><joint name="three"/><geom size="1"/></body>
</worldbody>
<actuator>
  <motor name="direct" joint="one" gear="10" ctrlrange="-2 2"/>
  <motor name="second" joint="one"/>
  <position name="servo" joint="two" kp="100" forcerange="-7 7"/>
  <motor name="both" tendon="sum" gear="4"/>
</actuator>
<tendon><fixed name="sum"><joint joint="one" coef="1"/><joint joint="three" coef="1"/></fixed></tendon>
</mujoco>"""


def test_motors_drive_their_joints() -> None:
    model = mj.MjModel.from_xml_string(TEXT)
    report = Report()
    axes = motors(model, ["one", "two", "three"], report)
    one, two, three = (axes[k] for k in range(3))
    assert one.motor is not None
    assert two.motor is not None
    assert three.motor is None
    assert (one.motor.name, one.motor.gear, one.motor.force) == ("direct", 10.0, 3.0)
    assert (one.armature, one.coulomb) == (0.2, 0.3)
    assert (two.motor.name, two.motor.force, two.turns) == ("servo", 7.0, False)
    assert math.isinf(two.motor.speed)
    np.testing.assert_allclose(two.direction, [0.0, 0.0, 1.0])
    assert [loss.split(":")[0] for loss in report.losses] == [
        "the actuator 'second' left out",
        "the law of the actuator 'servo' left out",
        "the actuator 'both' left out",
    ]
