"""Masses and inertias are those that MuJoCo computes from shapes and meshes, with its compiler's settings."""

from __future__ import annotations

from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.mjcf.read import read_mjcf
from support.urdf_files import write_file

# A wedge without symmetry, its faces seen from outside.
WEDGE = """v 0 0 0\nv 0.2 0 0\nv 0 0.1 0\nv 0.03 0.02 0.15
f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4
"""
BODIES = """<body name="crank"><joint axis="0 0 1"/><geom class="seen" mesh="wedge" {geom}/>
    <geom type="box" size="0.1 0.02 0.03" pos="0.1 0 0" euler="10 20 30" density="500"/>
    <body name="rod" pos="0.3 0 0"><joint axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.2 0.1 0" size="0.02" mass="0.4"/>
      <geom type="ellipsoid" size="0.01 0.02 0.03" pos="0.1 0 0" group="4"/>
      <geom class="seen" mesh="wedge" mass="0"/></body></body>
  <body name="still" pos="0 0 1"><geom class="seen" mesh="wedge"/></body>"""
FILE = """<mujoco><compiler meshdir="parts" {compiler}/>
  <default><mesh scale="0.9 0.8 1.1"/><default class="seen"><geom type="mesh" group="2" {seen}/></default></default>
  <asset><texture name="t" file="absent.png"/><mesh name="wedge" file="wedge.obj" {mesh}/>
    <mesh file="absent.stl"/></asset>
  <worldbody>{bodies}</worldbody></mujoco>"""  # noqa: E501  # a file as it is written
SETTINGS = [
    {},
    {"mesh": 'inertia="exact"'},
    {"mesh": 'inertia="shell"'},
    {"mesh": 'inertia="convex" refpos="0.1 0 0" refquat="1 2 3 4"'},
    {"geom": 'pos="0.1 0.2 0.3" euler="20 40 60" mass="0.7"'},
    {"compiler": 'inertiagrouprange="0 2"'},
    {"compiler": 'boundmass="0.6" boundinertia="1e-3"'},
    {"compiler": 'settotalmass="7"'},
    {"compiler": 'balanceinertia="true"', "mesh": 'inertia="shell"'},
    {"seen": 'mesh="wedge" density="2700"'},
]


def file_text(**settings: str) -> str:
    """The file with some settings."""
    full = dict.fromkeys(("compiler", "mesh", "seen", "geom"), "") | settings
    return FILE.format(bodies=BODIES.format(geom=full["geom"]), **full)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: " ".join(settings.values()) or "plain")
def test_bodies_have_the_mass_that_mujoco_gives_them(tmp_path: Path, settings: dict[str, str]) -> None:
    (tmp_path / "parts").mkdir()
    write_file(tmp_path / "parts", WEDGE, "wedge.obj")
    path = write_file(tmp_path, file_text(**settings), "robot.xml")
    # MuJoCo itself reads no file that is only drawn.
    plain = file_text(**settings).replace('<texture name="t" file="absent.png"/>', "")
    model = mj.MjModel.from_xml_path(
        str(write_file(tmp_path, plain.replace('<mesh file="absent.stl"/>', ""), "plain.xml"))
    )
    graph = read_mjcf(path)
    for name in ("crank", "rod"):
        body, solid = model.body(name), graph.bodies[name]
        R = np.zeros(9)
        mj.mju_quat2Mat(R, body.iquat)
        expected = R.reshape(3, 3) @ np.diag(body.inertia) @ R.reshape(3, 3).T
        assert solid.mass == pytest.approx(float(body.mass[0]), rel=1e-12)
        np.testing.assert_allclose(solid.com, body.ipos, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(solid.inertia, expected, rtol=1e-12, atol=1e-12 * np.max(expected))
    assert any(
        step.startswith("masses of meshes as MuJoCo computes them: crank") for step in graph.report.steps
    )


def test_the_missing_mesh_of_a_mass_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_file(tmp_path, file_text(), "robot.xml")
    with pytest.raises(DescriptionError) as caught:
        read_mjcf(path)
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert "the mass of the body 'crank' comes from the shape 'wedge'" in str(problem)
    assert "there is no file 'wedge.obj'" in str(problem)
    nameless = write_file(tmp_path, file_text().replace('mesh="wedge"', 'mesh="x"', 1), "x.xml")
    with pytest.raises(DescriptionError, match=r"x\.xml:5:.* the shape 'x', which is no mesh of the file"):
        read_mjcf(nameless)
