"""Exported controllers and plants for tests: the struct of C, its reset and step, called from Python."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import twist_scales
from nacelle.simulation.flow import pose_from_coordinates, reference_orientation
from support import packages

QUICK = ("-O1", "-fno-math-errno", "-fno-trapping-math")
Array = np.ndarray


def address_of(array: Array) -> ctypes.c_void_p:
    """The address of an array."""
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


class CController:
    """A controller of a C package: one array [memory; gains], as its struct lies."""

    def __init__(
        self, library: ctypes.CDLL, name: str, controller: Controller, precision: str = "double"
    ) -> None:
        self.memory_size = controller.kind.memory(controller.robot).size
        self.real, end = (np.float32, "_f") if precision == "float" else (np.float64, "")
        self.struct = np.full(self.memory_size + len(controller.gains), 7.0, self.real)
        self.m = len(controller.robot.actuators)
        self._library, self._name, self._end = library, name, end
        self._pose_size = mechanism_of(controller.robot).layout.nx
        self._reset = getattr(library, f"{name}_controller_reset{end}")
        self._step = getattr(library, f"{name}_controller_step{end}")

    @property
    def memory(self) -> Array:
        """Its memory."""
        return self.struct[: self.memory_size]

    @property
    def gains(self) -> Array:
        """Its gains."""
        return self.struct[self.memory_size :]

    def reset(self, x: Array) -> int:
        """Start at a pose."""
        return int(self._reset(address_of(self.struct), address_of(np.array(x, dtype=self.real))))

    def reset_encoders(self, q: Array) -> tuple[int, Array]:
        """Start at readings: what it returns, and the pose."""
        x = np.full(self._pose_size, np.nan, self.real)
        reset = getattr(self._library, f"{self._name}_controller_reset_encoders{self._end}")
        return int(reset(address_of(self.struct), address_of(np.array(q, dtype=self.real)), address_of(x))), x

    @property
    def reason(self) -> int:
        """Why it has stopped."""
        reason = getattr(self._library, f"{self._name}_controller_reason{self._end}")
        return int(reason(address_of(self.struct)))

    @property
    def reason_text(self) -> str:
        """The same as a text."""
        text = getattr(self._library, f"{self._name}_controller_reason_text")
        text.restype = ctypes.c_char_p
        return str(text(self.reason).decode())

    def step(self, q: Array, motion: DesiredMotion) -> tuple[int, Array]:
        """A sample: what it returns, and forces."""
        force = np.full(self.m, np.nan, self.real)
        arrays = [np.array(array, dtype=self.real) for array in (q, *motion)]
        return int(self._step(address_of(self.struct), *map(address_of, arrays), address_of(force))), force


def compile_package(folder: Path, flags: Any = QUICK) -> ctypes.CDLL:
    """A package as a library."""
    return packages.compile_package(folder, flags)


def macro_value(folder: Path, name: str) -> int:
    """The value of a macro in a package's headers."""
    text = "".join(path.read_text() for path in (folder / "include").glob("*.h"))
    found = re.search(rf"#define {name} (\d+)", text)
    assert found is not None, name
    return int(found[1])


def swinging_motion(
    controller: Controller, count: int, *, reach: float = 0.05, seed: int = 0
) -> tuple[Array, list[DesiredMotion]]:
    """Readings (count, actuators) and a desired motion around the reference pose, from rest.

    c = c_0 + reach sin^2(w t) d, slower than 0.7 of what drives may. Readings are off by some 1e-4; where a
    rotation is free its axis is kept, so that the rates of the rotation vector are the angular velocity.
    """
    robot, T = controller.robot, controller.period
    mechanism, rng = mechanism_of(robot), np.random.default_rng(seed)
    d = rng.uniform(-1.0, 1.0, robot.motion.n) * twist_scales(robot) * reach
    x0, layout = np.array(mechanism.reference[0]), mechanism.layout
    if layout.quaternion is not None:
        x0 = np.concatenate([x0[: layout.quaternion.start], np.zeros(3), x0[layout.quaternion.stop :]])
    quat_0, w = reference_orientation(mechanism), np.pi / (count * T)
    speed = np.array([actuator.speed for actuator in robot.actuators])

    def moved(d: Array) -> tuple[Array, list[DesiredMotion]]:
        motions = []
        for k in range(count):
            s, c = np.sin(w * k * T), np.cos(w * k * T)
            x = np.asarray(pose_from_coordinates(mechanism, x0 + s * s * d, quat_0), dtype=float)
            motions.append(DesiredMotion(x, 2.0 * w * s * c * d, 2.0 * w * w * (c * c - s * s) * d))
        return controller.coordinates(np.array([motion.x for motion in motions])), motions

    q, motions = moved(d)
    fastest = float(np.max(np.abs(np.diff(q, axis=0)) / T / speed))
    if fastest > 0.7:
        q, motions = moved(0.7 / fastest * d)
    return q + 1e-4 * rng.uniform(-1.0, 1.0, q.shape[1]) + 1e-5 * rng.uniform(-1.0, 1.0, q.shape), motions
