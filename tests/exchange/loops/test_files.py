"""Files with loops against the engine that owns their format: small ones, and those of named folders."""

from __future__ import annotations

import os
import re
from dataclasses import astuple, replace
from pathlib import Path

import pytest

import nacelle
from nacelle.errors import DescriptionError
from support.loop_files import MujocoFile, PinocchioFile, closure_file, compare, loop_files
from support.urdf_files import DRIVES, LOOPS, TREE, joint_text, robot_document, write_file

# Folders of files to try, of which none is part of the project.
FOLDERS = [Path(name) for name in os.environ.get("NACELLE_LOOP_FILES", "").split(os.pathsep) if name]
FRAMES = "".join(
    f'<link name="closing_tip_{k}"/>\n'
    + joint_text(f"frame{k}", (body, f"closing_tip_{k}"), f'xyz="0.25 {y} 0"', kind="fixed")
    for k, body, y in ((1, "left_rod", -0.01), (2, "right_rod", 0.01))
)
FINGER = """<mujoco><worldbody>
  <body name="crank"><inertial mass="0.2" pos="0.03 0 0.01" diaginertia="1e-5 6e-5 6e-5"/>
    <joint name="motor" axis="0 1 0" armature="0.002"/>
    <body name="coupler" pos="0.06 0 0"><inertial mass="0.3" pos="0.05 0 0.01" diaginertia="2e-5 9e-5 9e-5"/>
      <joint name="pin" axis="0 1 0"/></body></body>
  <body name="rocker" pos="0.1 0 -0.05"><inertial mass="0.2" pos="0 0 0.03" diaginertia="6e-5 6e-5 1e-5"/>
    <joint name="pivot" axis="0 1 0"/></body></worldbody>
  <equality><connect body1="coupler" body2="rocker" anchor="0.04 0 0.05"/></equality></mujoco>"""


def test_urdfs_are_as_in_pinocchio(tmp_path: Path) -> None:
    for name, contents in (("loop", LOOPS["loop"]), ("frames", FRAMES)):
        path = write_file(tmp_path, robot_document(TREE + contents + DRIVES), f"{name}.urdf")
        robot = nacelle.import_robot(path).robot
        worst = compare(robot, PinocchioFile(path, None), 5)
        assert worst.bodies >= 4
        assert max(worst.closures, worst.M, worst.bias) < 1e-12


def test_an_mjcf_is_as_in_mujoco_and_a_wrong_mass_shows(tmp_path: Path) -> None:
    path = write_file(tmp_path, FINGER, "finger.xml")
    robot = nacelle.import_robot(path).robot
    worst = compare(robot, MujocoFile(path), 5)
    assert max(worst.closures, worst.M, worst.bias) < 1e-12
    heavier = tuple(
        replace(body, inertia=(*(1.001 * v for v in body.inertia),)) if "rocker" in body.name else body
        for body in robot.bodies
    )
    wrong = compare(replace(robot, bodies=heavier), MujocoFile(path), 5)
    assert 1e-6 < min(wrong.M, wrong.bias) < 1e-2


@pytest.mark.skipif(not FOLDERS, reason="NACELLE_LOOP_FILES names no folders")
@pytest.mark.parametrize("path", loop_files(FOLDERS), ids=lambda path: "/".join(path.parts[-3:]))
def test_public_files_come_in_or_are_refused(path: Path) -> None:
    try:
        done = nacelle.import_robot(path, closures=closure_file(path))
    except DescriptionError as error:
        # Why is read by whoever runs this: docs/exchange/files.md lists which files are to be refused.
        pytest.skip(f"refused: {error}")
    if path.suffix == ".sdf":
        return
    engine = MujocoFile(path) if path.suffix == ".xml" else PinocchioFile(path, closure_file(path))
    moves = re.findall(
        r"([\d.e+-]+) µ(?:m|rad)", " ".join(step for step in done.steps if "frames changed" in step)
    )
    moved = 1e-6 * max(map(float, moves), default=0.0) / min(done.robot.size, 1.0)
    worst = compare(done.robot, engine, 10, 1e-4 if moved else 1e-12)
    print(astuple(worst))
    # What the correction moved is no error: the engine has the numbers of the file.
    assert max(worst.closures, worst.M, worst.bias) < 1e-9 + 3.0 * moved
