"""MJCF: what is compiled, driven and left out."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import ExchangeReport
from nacelle.exchange.mjcf.compiled import compile_mjcf
from nacelle.exchange.mjcf.drives import axes_by_joint
from nacelle.exchange.mjcf.strip import stripped
from nacelle.exchange.xml import parsed, text_of

# ---- A compiled file: names, places of equalities, what MuJoCo refuses at its line

TEXT = """<mujoco><worldbody>
  <body name="base"><joint name="turn"/><geom size="1"/></body>
  <body><joint/><geom size="1"/></body></worldbody>
<equality><joint joint1="turn"/></equality>
<equality>
<weld body1="base"/></equality></mujoco>"""


def test_a_body_whose_mass_was_in_a_mesh_has_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(TEXT.replace('<joint/><geom size="1"/>', '<joint/><geom type="mesh" mesh="m"/>'))
    with pytest.raises(DescriptionError) as caught:
        compile_mjcf(path, ExchangeReport())
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert "<inertial>" in problem.hint


def test_warnings_are_reported_and_not_left_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.xml"
    path.write_text(TEXT.replace("<joint/>", '<joint user="nan"/>'))
    read = compile_mjcf(path, ExchangeReport())
    assert [step.split(":")[0] for step in read.report.steps] == ["MuJoCo warns"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.xml"]


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
    path = tmp_path / "a.xml"
    path.write_text(TEXT_OF_DRIVES)
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
    path.write_text(TEXT_OF_DRIVES)
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
    <body name="light" childclass="seen"><joint/><geom mesh="a"/><camera name="eye"/></body>
    <body name="round" childclass="seen"><joint/><geom class="main" size="0.1"/></body>
  </worldbody>
  <sensor><jointpos joint="j"/></sensor>
  <contact><exclude body1="heavy" body2="light"/></contact>
</mujoco>"""


def test_what_is_seen_is_counted() -> None:
    report = ExchangeReport()
    root = stripped(parsed(TEXT_OF_STRIP.encode(), "a.xml"), report)
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
