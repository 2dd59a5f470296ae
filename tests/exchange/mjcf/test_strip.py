"""What is only seen or felt is taken away and counted; files that it names need not be there."""

import mujoco as mj
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.mjcf.strip import stripped
from nacelle.exchange.xml import parsed, text_of

TEXT = """<mujoco>
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
    <body name="light" childclass="seen"><joint/><geom mesh="a"/><camera name="eye"/></body>
    <body name="round" childclass="seen"><joint/><geom class="main" size="0.1"/></body>
  </worldbody>
  <sensor><jointpos joint="j"/></sensor>
  <contact><exclude body1="heavy" body2="light"/></contact>
</mujoco>"""


def test_what_is_seen_is_counted() -> None:
    report = ExchangeReport()
    root = stripped(parsed(TEXT.encode(), "a.xml"), report)
    assert {element.tag for element in root.all()} & {"asset", "mesh", "light", "camera", "sensor"} == set()
    assert report.losses == [
        "sensors left out (1)",
        "pairs and exclusions of contacts left out (1)",
        "meshes left out (1)",
        "meshes of the body 'light', with the mass that they would give it, left out (1)",
    ]
    left = text_of(root).replace('<body name="light"', '<body name="light" pos="0 0 0"')
    left = left.replace('<joint></joint></body><body name="round"', '</body><body name="round"')
    model = mj.MjModel.from_xml_string(left.replace('childclass="seen"><joint></joint></body>', "></body>"))
    assert model.ngeom == 2


@pytest.mark.parametrize("tag", ["composite", "flexcomp", "plugin", "extension", "deformable"])
def test_bodies_that_are_not_rigid_are_refused_at_their_place(tag: str) -> None:
    text = f"<mujoco><worldbody>\n<{tag}/></worldbody></mujoco>"
    with pytest.raises(DescriptionError, match=f"a.xml:2:1.*<{tag}>"):
        stripped(parsed(text.encode(), "a.xml"), ExchangeReport())
