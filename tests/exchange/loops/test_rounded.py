"""Overconstrained loops in files of few digits: the least correction, its report, and its tolerance."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.digits import last_digit
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy, rpy_from_rotation
from nacelle.spatial.scalar import Array
from support.command import run
from support.urdf_files import write_file

# Corners of a four-bar (m) in a plane that is parallel to no axis: crank, coupler, rocker.
CORNERS = np.array([[0.0, 0.0], [0.05, 0.11], [0.27, 0.16], [0.31, 0.0]])
PLANE = rotation_rpy(np.array([0.31, -0.42, 0.73]))
INERTIAL = """<inertial><origin xyz="0.05 0.01 0.02"/><mass value="0.7"/>
  <inertia ixx="2e-3" iyy="3e-3" izz="4e-3" ixy="1e-4" ixz="2e-4" iyz="3e-4"/></inertial>"""


def text_of(values: Array, digits: int) -> str:
    """Numbers with so many decimals."""
    return " ".join(f"{value:.{digits}f}" for value in values)


def fourbars(digits: int, count: int = 1) -> str:
    """Planar four-bars in space as a URDF, each on the coupler of the one before."""
    rng = np.random.default_rng(4)
    corners, normal = CORNERS @ PLANE[:, :2].T, PLANE[:, 2]
    places = {"ground": Pose(np.eye(3), np.zeros(3))}

    def origin(body: str, at: Pose) -> str:
        X = places[body].inverse() @ at
        return f'<origin xyz="{text_of(X.p, digits)}" rpy="{text_of(rpy_from_rotation(X.R), digits)}"/>'

    pieces, ground = ['<link name="ground"/>'], "ground"
    for k in range(count):
        start = k * corners[2]
        crank, coupler, rocker = (f"{name}{k or ''}" for name in ("crank", "coupler", "rocker"))
        for name, corner in zip((crank, coupler, rocker), corners[[0, 1, 3]], strict=True):
            places[name] = Pose(rotation_rpy(rng.uniform(-1.0, 1.0, 3)), start + corner)
            pieces.append(f'<link name="{name}">{INERTIAL}</link>')
        joints = (("motor", ground, crank), ("elbow", crank, coupler), ("pivot", ground, rocker))
        for name, parent, child in joints:
            axis = text_of(places[child].R.T @ normal, digits)
            pieces.append(
                f'<joint name="{name}{k or ""}" type="revolute"><parent link="{parent}"/>'
                f'<child link="{child}"/>{origin(parent, places[child])}<axis xyz="{axis}"/>'
                f'<limit lower="-3" upper="3" effort="{5 * (name == "motor")}" velocity="9"/></joint>'
            )
        pin = Pose(places[rocker].R, start + corners[2])
        pieces.append(
            f'<loop name="pin{k or ""}" type="revolute"><predecessor link="{coupler}">{origin(coupler, pin)}'
            f'</predecessor><successor link="{rocker}">{origin(rocker, pin)}</successor>'
            f'<axis xyz="{text_of(places[rocker].R.T @ normal, digits)}"/></loop>'
        )
        ground = coupler
    return '<robot name="fourbar">\n' + "\n".join(pieces) + "\n</robot>"


@pytest.mark.parametrize(
    ("numbers", "digit"),
    [
        ("0.123457 -1.500000 0.000012 0.1 12.345678", 1e-6),
        ("0.123457 0.00123457 1.23457 1.23457e-05 0.05", 1e-5),
        ("0.30000000000000004 0.1234567890123456 1.2345678901234567 0.5", 1e-16),
        ("0.1 0.25 90 1e3 0.5", 0.0),
        ("0.1234 nan ${x}", 0.0),
    ],
)
def test_the_last_digit_of_a_file(numbers: str, digit: float) -> None:
    assert last_digit(numbers.split()) == pytest.approx(digit, rel=1e-12)


def shift_in_loss(losses: tuple[str, ...]) -> tuple[float, float]:
    """The largest shift (m) and rotation (rad) that the report names."""
    match = re.search(r"at most ([\d.e+-]+) µm \(\S+\) and ([\d.e+-]+) µrad", " ".join(losses))
    assert match is not None, losses
    return 1e-6 * float(match[1]), 1e-6 * float(match[2])


@pytest.mark.parametrize("digits", [4, 5, 6, 8])
def test_a_rounded_loop_keeps_its_mobility_and_says_what_was_corrected(tmp_path: Path, digits: int) -> None:
    exact = nacelle.import_robot(write_file(tmp_path, fourbars(17), "exact.urdf"))
    done = nacelle.import_robot(write_file(tmp_path, fourbars(digits), "robot.urdf"))
    assert not any("digits" in loss for loss in exact.losses)
    assert done.robot.motion.n == exact.robot.motion.n == 1
    length, angle = shift_in_loss(done.losses)
    last = 10.0**-digits
    assert 0.0 < length < 5.0 * last
    assert 0.0 < angle < 5.0 * last
    assert "joint frames changed: " in " ".join(done.steps)

    x, v, a = np.array([[-0.3], [0.0], [0.4]]), np.full((3, 1), 1.3), np.full((3, 1), -0.7)
    forces, expected = (nacelle.inverse_dynamics(robot, x, v, a).tau for robot in (done.robot, exact.robot))
    # The files differ by their rounding: no more than that is left.
    assert np.max(np.abs(forces - expected)) < 50.0 * last * np.max(np.abs(expected))


def test_a_correction_beyond_the_tolerance_is_refused_with_what_would_do(tmp_path: Path) -> None:
    path = write_file(tmp_path, fourbars(4), "robot.urdf")
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path, tolerance=1e-5)
    message = str(caught.value)
    place = next(k for k, line in enumerate(fourbars(4).splitlines(), 1) if "<loop" in line)
    assert f"robot.urdf:{place}:" in message
    assert "more than the tolerance of 10 µm" in message
    hint = re.search(r"--tolerance ([\d.e-]+)mm", message)
    assert hint is not None
    nacelle.import_robot(path, tolerance=1e-3 * float(hint[1]))


def test_the_command_takes_the_tolerance_with_its_unit(tmp_path: Path) -> None:
    path = write_file(tmp_path, fourbars(4), "robot.urdf")
    out = tmp_path / "robot.yaml"
    refused = run("import", str(path), "--out", str(out), "--tolerance", "10um", code=1)
    assert "more than the tolerance of 10 µm" in refused.output
    assert not out.exists()
    negative = run("import", str(path), "--out", str(out), "--tolerance", "-1mm", code=1)
    assert "the tolerance is a length above zero, not -0.001 m" in negative.output
    run("import", str(path), "--out", str(out), "--tolerance", "1mm")
    assert "µrad" in out.read_text()
    assert nacelle.load(out).motion.n == 1


@pytest.mark.slow
@pytest.mark.parametrize(("digits", "seconds"), [(17, 3.0), (6, 6.0)])
def test_a_file_of_twenty_bodies_takes_seconds(tmp_path: Path, digits: int, seconds: float) -> None:
    path = write_file(tmp_path, fourbars(digits, 7), "robot.urdf")
    start = time.process_time()
    done = nacelle.import_robot(path)
    # CPU time, which other processes lengthen by sharing the caches: twice what seven corrections take alone.
    assert time.process_time() - start < seconds
    assert done.robot.motion.n == 7
    assert len(done.robot.bodies) > 20
