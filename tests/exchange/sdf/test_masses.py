"""Masses by the shapes of collisions (auto): those of MuJoCo for the same shapes, of integrals for a cone."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco as mj
import numpy as np
import pytest
from scipy.integrate import quad

from nacelle.errors import DescriptionError
from nacelle.exchange import shape_mass
from nacelle.exchange.graph import Solid
from nacelle.exchange.sdf.read import read_sdf
from nacelle.exchange.xml import read_xml
from support.urdf_files import write_file

# Numbers of few bits: MuJoCo keeps points of meshes in single precision.
WEDGE = """v 0 0 0\nv 0.1875 0 0\nv 0 0.125 0\nv 0.03125 0.015625 0.15625
f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4
"""
# Shapes of SDF and the same in MJCF.
SHAPES = {
    "box": ("<box><size>0.2 0.04 0.06</size></box>", 'type="box" size="0.1 0.02 0.03"'),
    "sphere": ("<sphere><radius>0.07</radius></sphere>", 'type="sphere" size="0.07"'),
    "cylinder": (
        "<cylinder><radius>0.03</radius><length>0.2</length></cylinder>",
        'type="cylinder" size="0.03 0.1"',
    ),
    "capsule": (
        "<capsule><radius>0.03</radius><length>0.2</length></capsule>",
        'type="capsule" size="0.03 0.1"',
    ),
    "ellipsoid": (
        "<ellipsoid><radii>0.1 0.02 0.05</radii></ellipsoid>",
        'type="ellipsoid" size="0.1 0.02 0.05"',
    ),
    "mesh": (
        "<mesh><uri>model://arm/parts/wedge.obj</uri><scale>0.5 -0.75 1.25</scale></mesh>",
        'type="mesh" mesh="wedge"',
    ),
}


def collision(name: str, density: str = "", pose: str = "0.1 -0.2 0.3 0.4 0.5 0.6") -> str:
    """A collision with a shape."""
    return (
        f'<collision name="{name}"><pose>{pose}</pose>{density}'
        f"<geometry>{SHAPES[name][0]}</geometry></collision>"
    )


def solid(folder: Path, inertial: str, collisions: str) -> Solid:
    """The link of a file."""
    text = f"""<sdf version="1.11"><model name="arm"><joint name="j" type="revolute"><parent>world</parent>
      <child>link</child><axis><xyz>0 1 0</xyz></axis></joint>
      <link name="link"><inertial auto="true">{inertial}</inertial>{collisions}</link></model></sdf>"""
    path = write_file(folder, text, "robot.sdf")
    return read_sdf(read_xml(path), path).bodies["link"]


def model_folder(tmp_path: Path) -> Path:
    """The folder of a model with a mesh."""
    (tmp_path / "arm" / "parts").mkdir(parents=True)
    write_file(tmp_path / "arm" / "parts", WEDGE, "wedge.obj")
    return tmp_path / "arm"


def mujoco_body(folder: Path, geoms: str) -> mj.MjModel:
    """The same link in MuJoCo."""
    text = f"""<mujoco><compiler eulerseq="XYZ" angle="radian" meshdir="parts"/><asset>
      <mesh name="wedge" file="wedge.obj" scale="0.5 -0.75 1.25" inertia="exact"/></asset>
      <worldbody><body name="link"><joint/>{geoms}</body></worldbody></mujoco>"""
    return mj.MjModel.from_xml_path(str(write_file(folder, text, "robot.xml")))


def require_equal(ours: Solid, model: mj.MjModel, scale: float = 1.0) -> None:
    """Compare a body with MuJoCo's."""
    body, R = model.body("link"), np.zeros(9)
    mj.mju_quat2Mat(R, body.iquat)
    expected = scale * R.reshape(3, 3) @ np.diag(body.inertia) @ R.reshape(3, 3).T
    assert ours.mass == pytest.approx(scale * float(body.mass[0]), rel=1e-12)
    np.testing.assert_allclose(ours.com, body.ipos, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(ours.inertia, expected, atol=1e-11 * np.max(expected))


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_the_mass_that_mujoco_gives_it(tmp_path: Path, name: str) -> None:
    folder = model_folder(tmp_path)
    geom = f'<geom pos="0.1 -0.2 0.3" euler="0.4 0.5 0.6" {SHAPES[name][1]} density="700"/>'
    ours = solid(folder, "<density>700</density>", collision(name))
    require_equal(ours, mujoco_body(folder, geom))


def test_densities_of_collisions_come_first_and_a_mass_scales_all(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    geoms = "".join(
        f'<geom pos="0.1 -0.2 0.3" euler="0.4 0.5 0.6" {shape[1]} density="{1000 - 700 * (name == "box")}"/>'
        for name, shape in SHAPES.items()
    )
    collisions = collision("box", "<density>300</density>") + "".join(
        collision(name) for name in SHAPES if name != "box"
    )
    model = mujoco_body(folder, geoms)
    require_equal(solid(folder, "", collisions), model)
    total = float(model.body("link").mass[0])
    require_equal(solid(folder, "<mass>3</mass>", collisions), model, 3.0 / total)


def test_a_cone_is_the_sum_of_its_slices() -> None:
    radius, length, density = 0.3, 0.7, 900.0
    cone = shape_mass.cone(radius, length, density)

    def integral(power: int, part: float, exponent: int) -> float:
        return quad(
            lambda z: part * math.pi * density * (radius * (0.5 - z / length)) ** exponent * z**power,
            -length / 2, length / 2, epsabs=0.0, epsrel=1e-13,
        )[0]  # fmt: skip

    mass, first, second = (integral(power, 1.0, 2) for power in range(3))
    spin = integral(0, 0.5, 4)
    assert cone.mass == pytest.approx(mass, rel=1e-12)
    assert cone.com[2] == pytest.approx(first / mass, rel=1e-12)
    across = second - first**2 / mass + 0.5 * spin
    np.testing.assert_allclose(np.diag(cone.inertia), [across, across, spin], rtol=1e-12)


@pytest.mark.parametrize(
    ("collisions", "message"),
    [
        (collision("mesh").replace("wedge", "absent"), "there is no file"),
        (collision("mesh").replace("wedge.obj", "flat.obj"), "its triangles enclose no volume"),
        (collision("box").replace("<pose>", '<pose relative_to="j">'), "has its pose in another frame"),
        (collision("box").replace("box", "polyline"), "the mass of a shape <polyline> is not read"),
    ],
)
def test_what_gives_no_mass_is_refused_with_its_line(tmp_path: Path, collisions: str, message: str) -> None:
    folder = model_folder(tmp_path)
    write_file(folder / "parts", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "flat.obj")
    with pytest.raises(DescriptionError) as caught:
        solid(folder, "", collisions)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line == 3
