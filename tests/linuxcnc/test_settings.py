"""Settings for LinuxCNC's own kinematics: what error they leave, by these modules themselves."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nacelle
from calibration.linear_delta import linear_delta
from nacelle.calibration.firmware import firmware_settings
from nacelle.calibration.parameters import Geometry, encoders_of
from nacelle.calibration.poses import default_parameters, drawn_poses
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import rotation_axis_angle, rpy_from_rotation
from support.library import library_robot
from support.random_robots import random_robot

Array = np.ndarray
MODULES = Path(os.environ.get("LINUXCNC_MODULES", "/usr/lib/linuxcnc/modules"))
PINS = Path(__file__).parents[2] / "benchmarks" / "hal_pins.h"

pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(not MODULES.is_dir(), reason=f"{MODULES}: no folder; LINUXCNC_MODULES names it"),
]


@pytest.fixture(scope="module")
def hal(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """What modules need of HAL, in this process."""
    path = tmp_path_factory.mktemp("hal") / "hal.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-x", "c", str(PINS), "-o", str(path)], check=True)
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.pin_value.restype = ctypes.c_void_p
    return library


class Module:
    """A module of kinematics with its settings."""

    def __init__(self, hal: ctypes.CDLL, settings: str) -> None:
        pins = re.findall(r"setp (\S+) (\S+)", settings)
        hal.forget_pins()
        self._module = ctypes.CDLL(str(MODULES / f"{pins[0][0].partition('.')[0]}.so"))
        assert self._module.rtapi_app_main() == 0
        for name, value in pins:
            ctypes.c_double.from_address(hal.pin_value(name.encode())).value = float(value)

        # The first call starts from what the module has kept, and that is nothing.
        _status(self._module.kinematicsForward, np.ones(9), np.zeros(9))

    def forward(self, joints: Array, pose: Array) -> int:
        """The pose (9,), mm and degrees, of joints (k,), from one near by; status."""
        return _status(self._module.kinematicsForward, np.pad(joints, (0, 9 - len(joints))), pose)

    def inverse(self, pose: Array) -> Array:
        """The joints (9,) of a pose (9,)."""
        joints = np.zeros(9)
        assert _status(self._module.kinematicsInverse, pose, joints) == 0
        return joints


def _status(function: Callable[..., int], given: Array, result: Array) -> int:
    """Of a call of the module's."""
    given, flags = np.ascontiguousarray(given), (ctypes.c_ulong * 2)()
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (given, result)]
    return function(*pointers, flags, ctypes.byref(flags, 8))


def joints_of(settings: str, robot: Robot, x: Array) -> Array:
    """What the module's joints (S, k) are where the robot is at x, as the settings say."""
    readings = nacelle.inverse_kinematics(robot, x).q - [one.encoder_zero for one in robot.actuators]
    names = [actuator.name for actuator in robot.actuators]
    columns = []
    for line in re.findall(r"# JOINT_\d.*", settings):
        minus, name, offset, unit = re.fullmatch(
            r"# JOINT_\d is (minus )?(\S+) (\S+) (mm|deg)", line
        ).groups()
        factor = (-1.0 if minus else 1.0) * (180.0 / np.pi if unit == "deg" else 1e3)
        columns.append(factor * readings[:, names.index(name)] + float(offset))
    return np.stack(columns, axis=1)


def errors(robot: Robot, hal: ctypes.CDLL) -> tuple[float, float]:
    """Of the position, rms, m, as the settings say it, and by the module."""
    found = firmware_settings(robot, "linuxcnc")
    module, text = Module(hal, found.text), found.text
    x = drawn_poses(robot, 200, seed=8)
    joints, bodies = joints_of(text, robot, x), nacelle.inverse_kinematics(robot, x).bodies
    p = 1e3 * bodies.p[:, 1]
    frame = re.search(r"rotated by (\S+) deg about z(?:, less (\S+) mm in z)?", text)
    if frame:
        p = p @ rotation_axis_angle(np.array([0.0, 0.0, 1.0]), np.radians(float(frame[1]))).T
        p[:, 2] -= float(frame[2] or 0.0)
    off = []
    for k in range(len(x)):
        pose = np.zeros(9)
        pose[:3] = p[k]
        if robot.platform_nv == 6:
            pose[3:6] = np.degrees(rpy_from_rotation(bodies.R[k, 1]))
        there = pose.copy()
        # Newton's method of genhexkins does not converge where the platform is far from level.
        if module.forward(joints[k], there) == 0:
            np.testing.assert_allclose(module.inverse(there)[: joints.shape[1]], joints[k], atol=1e-6)
            off.append(np.linalg.norm(there[:3] - p[k]))
    assert len(off) > 0.7 * len(x)
    return found.error, 1e-3 * float(np.sqrt(np.mean(np.square(off))))


ROBOTS = {
    "linear-delta": linear_delta,
    **{name: lambda name=name: library_robot(name) for name in ("delta", "gough-stewart", "palida")},
    "6 UPS": lambda: random_robot("6 UPS", 1),
    "6 SPS": lambda: random_robot("6 SPS", 2),
}


@pytest.mark.parametrize("deviates", [False, True])
@pytest.mark.parametrize("name", ROBOTS)
def test_the_error_is_that_of_the_module(name: str, deviates: bool, hal: ctypes.CDLL) -> None:
    robot = ROBOTS[name]()
    if deviates:
        chosen = default_parameters(robot)
        values = np.random.default_rng(1).normal(size=len(chosen)) * [one.tolerance for one in chosen]
        robot = Geometry(robot, chosen, encoders_of(robot)).machine(values)
    stated, measured = errors(robot, hal)
    # Settings are written to a nanometre; what is stated is of first order, at other poses.
    assert measured == pytest.approx(stated, rel=0.1, abs=3e-9)
