"""Fixed tendons: sums of joints, and the joint that leads them."""

import mujoco as mj

from nacelle.exchange.mjcf.tendons import fixed_terms, followed

TEXT = """<mujoco><worldbody>
  <body name="a"><joint name="one"/><geom size="1"/></body>
  <body name="b"><joint name="two"/><geom size="1"/></body>
  <body name="c"><joint name="three"/><geom size="1"/><site name="s"/></body><site name="t" pos="1 1 1"/>
</worldbody>
<equality><joint joint1="two" joint2="one" polycoef="0.1 -2 0 0 0"/></equality>
<tendon>
  <fixed name="sum"><joint joint="one" coef="3"/><joint joint="two" coef="0.5"/></fixed>
  <fixed name="apart"><joint joint="one" coef="1"/><joint joint="three" coef="1"/></fixed>
  <spatial name="line"><site site="s"/><site site="t"/></spatial>
</tendon></mujoco>"""


def test_the_leader_of_a_sum() -> None:
    model = mj.MjModel.from_xml_string(TEXT)
    assert fixed_terms(model, 0) == {0: 3.0, 1: 0.5}
    assert fixed_terms(model, 2) is None
    assert followed(model, {0: 3.0, 1: 0.5}) == (0, 2.0)
    assert followed(model, {0: 1.0, 2: 1.0}) is None
