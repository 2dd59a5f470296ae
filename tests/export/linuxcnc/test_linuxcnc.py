"""Packages for LinuxCNC without LinuxCNC: modules behind stubs of its headers, machines, names, refusals.

`tests/linuxcnc` runs the real one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.jacobian import sample_poses
from nacelle.errors import ExportError
from nacelle.export.export import select_target
from nacelle.export.linuxcnc.axes import LETTERS, machine_axes, unit_of
from nacelle.export.linuxcnc.machine import Machine, axes_of_pose, pose_of_axes
from nacelle.export.linuxcnc.module import REASONS, component_name, hal_name
from nacelle.model.platform import Motion
from support.cc import COMPILERS
from support.hal_stub import ModuleStub
from support.hostile_names import HOSTILE
from support.library import NAMES, library_robot

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


def nine(machine: Machine, values: np.ndarray) -> np.ndarray:
    axes = np.zeros(9)
    axes[[LETTERS.index(axis.letter) for axis in machine.axes]] = values
    return axes


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rrr", "palida", "quattro"])
def test_a_module_computes_what_nacelle_does(name: str, tmp_path: Path) -> None:
    robot = library_robot(name)
    done = nacelle.export(robot, target="linuxcnc", out=tmp_path / "p")
    text = (done.out / f"{done.name}_kins.comp").read_text()
    machine, m = Machine(robot, f"{name}_kins", name), len(robot.actuators)
    module = ModuleStub(text, m)
    units = np.array([unit_of(turns) for turns in robot.revolute_actuators])
    rng = np.random.default_rng(2)
    joints = machine.joint_home
    for _ in range(20):
        values = machine.home + 0.2 * rng.uniform(machine.ranges[:, 0], machine.ranges[:, 1])
        code, joints = module.inverse(nine(machine, values), joints)
        assert code == 0
        assert module.get("inverse.status") == 0
        expected = nacelle.inverse_kinematics(robot, pose_of_axes(robot, values)).q
        np.testing.assert_allclose(joints / units, expected, atol=1e-10)
        code, axes = module.forward(joints, nine(machine, values))
        assert code == 0
        np.testing.assert_allclose(axes, nine(machine, values), atol=1e-7)
    assert 0 < module.get("worst-count") < 100
    # Out of reach: the joints stay, the reason is kept through a call that is well.
    away = nine(machine, machine.home)
    away[LETTERS.index(machine.axes[0].letter)] += 1e5 * robot.size
    code, same = module.inverse(away, joints)
    assert code == -1
    np.testing.assert_array_equal(same, joints)
    reason = module.get("reason")
    assert module.get("refused") == 1
    assert reason in REASONS
    assert reason != 0
    assert module.inverse(nine(machine, machine.home), joints)[0] == 0
    assert module.get("inverse.status") == 0
    assert module.get("reason") == reason
    assert module.inverse(np.full(9, np.nan), joints)[0] == -1
    assert module.get("reason") == 2
    assert module.forward(np.full(m, np.inf), away)[0] == -1


@needs_compiler
def test_geometry_is_taken_at_run_time(tmp_path: Path) -> None:
    robot = library_robot("delta")
    target = select_target("linuxcnc", {"parameters": "geometry"})
    done = nacelle.export(robot, target=target, out=tmp_path / "p")
    module = ModuleStub((done.out / "delta_kins.comp").read_text(), 3)
    numbers = robot.numbers.vector("geometry")
    for k, name in enumerate(robot.numbers.names("geometry")):
        assert module.get(f"geometry.{name}") == pytest.approx(numbers[k], rel=1e-15)
    numbers *= np.linspace(1.01, 0.98, len(numbers))
    longer = robot.with_numbers(numbers, "geometry")
    machine = Machine(longer, "delta_kins", "delta")
    values = machine.home + np.array([3.0, -5.0, 4.0])
    joints = np.degrees(nacelle.inverse_kinematics(longer, values / 1000.0).q)
    for k, name in enumerate(robot.numbers.names("geometry")):
        module.set(f"geometry.{name}", numbers[k])
    # Nothing happens before they are applied.
    _, before = module.inverse(nine(machine, values), joints)
    assert np.max(np.abs(before - joints)) > 0.1
    module.set("geometry.apply", 1)
    code, after = module.inverse(nine(machine, values), joints)
    assert (code, module.get("geometry.apply"), module.get("geometry.status")) == (0, 0, 0)
    np.testing.assert_allclose(after, joints, atol=1e-9)
    np.testing.assert_allclose(module.forward(after, np.zeros(9))[1], nine(machine, values), atol=1e-9)
    # Arms that are too short leave the module as it was.
    module.set("geometry.arm_length", 1e-3)
    module.set("geometry.apply", 1)
    np.testing.assert_allclose(module.inverse(nine(machine, values), joints)[1], joints, atol=1e-9)
    assert module.get("geometry.status") == 3


@pytest.mark.parametrize("name", NAMES)
def test_axes_stand_for_poses(name: str) -> None:
    robot = library_robot(name)
    x = sample_poses(robot, 20)
    again = pose_of_axes(robot, axes_of_pose(robot, x))
    error = np.minimum(np.abs(again - x), np.abs(again + x) if again.shape[-1] == 7 else np.inf)
    assert np.max(error) < 1e-12
    letters = [axis.letter for axis in machine_axes(robot)]
    assert letters == sorted(set(letters), key=LETTERS.index)


def test_a_machine_has_the_limits_of_its_description() -> None:
    robot = library_robot("palida")
    machine = Machine(robot, "palida_kins", "palida")
    sections = dict(re.findall(r"^\[(\w+)\]\n(.*?)\n(?=\[|\Z)", machine.ini(), re.M | re.S))
    for k, actuator in enumerate(robot.actuators):
        limits = re.findall(r"^M\w+_LIMIT = (.*)$", sections[f"JOINT_{k}"], re.M)
        np.testing.assert_allclose([float(limit) for limit in limits], 1000.0 * np.array(actuator.position))
    assert "COORDINATES = X Y Z A B C" in sections["TRAJ"]
    assert machine.hal("pins").count("motor-pos-cmd") == 6
    inside, outside = machine.home + 0.98 * machine.ranges[2, 1] * np.eye(6)[2], machine.home.copy()
    outside[2] += 1.1 * machine.ranges[2, 1] + 1.0
    assert machine.reaches(inside)
    assert not machine.reaches(outside[None])[0]


def test_a_program_stays_where_the_robot_reaches() -> None:
    machine = Machine(library_robot("fivebar"), "fivebar_kins", "fivebar")
    program = machine.program()
    points = [[float(v) for v in re.findall(r"[XY](-?[\d.]+)", line)] for line in program.splitlines()]
    ends = np.array([point for point in points if point])
    assert machine.reaches(ends).all()
    assert {"G17 G2", "G17 G3"} <= {line[:6] for line in program.splitlines()}
    assert np.ptp(ends, axis=0).min() > 10.0


def test_names_are_those_of_halcompile() -> None:
    assert hal_name("hal_arm_kins") == "arm-kins"
    assert hal_name("robot_3rrr_kins") == "robot-3rrr-kins"


def test_names_of_drives_stay_in_comments() -> None:
    robot = library_robot("fivebar")
    lines = Machine(robot, "fivebar_kins", "fivebar").ini().splitlines()
    for name in HOSTILE:
        drives = tuple(replace(actuator, name=name) for actuator in robot.actuators)
        named = Machine(replace(robot, actuators=drives), "fivebar_kins", "fivebar").ini().splitlines()
        assert [line for line in named if line[:1] != "#"] == [line for line in lines if line[:1] != "#"]
        assert max(map(len, named)) < 120


def test_what_linuxcnc_cannot_have_is_refused(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    with pytest.raises(ExportError, match="kinematics alone"):
        nacelle.export(robot, "inverse_dynamics", target="linuxcnc", out=tmp_path / "p")
    with pytest.raises(ExportError, match="'inertia' cannot be parameters of HAL"):
        select_target("linuxcnc", {"parameters": "inertia"})
    with pytest.raises(ExportError, match="16 joints"):
        component_name(SimpleNamespace(name="many", robot=SimpleNamespace(actuators=[None] * 17)))  # type: ignore[arg-type]
    motion = Motion(("x", "y", "z", "rx", "ry", "rz", "turn"))
    with pytest.raises(ExportError, match="turn is left over"):
        machine_axes(replace(library_robot("delta4"), motion=motion))
    assert not list(tmp_path.iterdir())
