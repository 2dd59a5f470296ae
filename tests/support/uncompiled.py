"""Kinematics over batches, without a compiler, and what tests of it share: robots, poses, differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import reference as dynamics
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.solve import newton_steps
from nacelle.model.robot import Robot
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.trajectory import Fourier
from nacelle.tree.closure import closure_state
from nacelle.tree.spanning_tree import tree_kinematics
from support.library import NAMES, library_robot

Array = np.ndarray
ROBOTS = Path(__file__).parents[1] / "robots"
FILES = ("c5-slides", "everything", "fivebar-mirror", "redundant", "shared")
MODES = tuple(f"{name}/{mode.name}" for name in NAMES for mode in library_robot(name).modes[1:])
ALL = (*NAMES, *MODES, *FILES)


@cache
def named_robot(name: str) -> Robot:
    """A robot of the library, in one of its modes ("dymo/planar"), or of the tests."""
    if name in FILES:
        return nacelle.load(ROBOTS / f"{name}.yaml")
    robot, _, mode = name.partition("/")
    return library_robot(robot).in_mode(mode) if mode else library_robot(robot)


def mark_slow_names(names: Iterable[str], *, long: Iterable[str]) -> list[Any]:
    """Parameters of a test: names, of which some take long to compile and are left to `make test-all`."""
    late = set(long)
    return [pytest.param(name, marks=pytest.mark.slow) if name in late else name for name in names]


def run_uncompiled(function: Callable[..., Any], robot: Robot, *arrays: Array) -> dict[str, Array]:
    """A physics function on samples (N, size), evaluated over batches: its outputs (N, *shape)."""
    return samples_of(function(robot, *(from_samples(array, 1) for array in arrays)), len(arrays[0]))


def samples_of(found: Any, count: int) -> dict[str, Array]:
    """What a physics function gave over batches, as samples (count, *shape)."""
    found = found if isinstance(found, dict) else {"": found}
    return {
        name: np.broadcast_to(to_samples(value), (count, *np.shape(value))) for name, value in found.items()
    }


class SharedStates:
    """State by state what `formulations.reference.state_at` gives, computed once for all functions.

    Functions of the same state (the same arrays, not equal ones) share it, which is most of their work.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for `state_at`."""
        self._compute = dynamics.state_at
        self._states: dict[tuple[int, int, int], tuple[Any, Any]] = {}
        self._batches: dict[int, tuple[Array, Array]] = {}
        monkeypatch.setattr(dynamics, "state_at", self._state_at)

    def _state_at(self, robot: Robot, x: Array, y: Array, v: Array) -> Any:
        key = (id(x), id(y), id(v))
        if key not in self._states:
            # The arrays are kept, so that their identities stay theirs.
            self._states[key] = ((x, y, v), self._compute(robot, x, y, v))
        return self._states[key][1]

    def run(self, function: Callable[..., Any], robot: Robot, *arrays: Array) -> dict[str, Array]:
        """As `run_uncompiled`."""
        for array in arrays:
            self._batches.setdefault(id(array), (array, from_samples(array, 1)))
        return samples_of(function(robot, *(self._batches[id(array)][1] for array in arrays)), len(arrays[0]))


def solve_uncompiled(robot: Robot, x: Array, stages: int = 1) -> Array:
    """What iteration must find at poses (N, nx) near the reference: y (N, ny)."""
    mechanism = mechanism_of(robot)
    x0, y0 = mechanism.reference
    y = np.broadcast_to(y0, (len(x), mechanism.unknown_count)).copy()
    for stage in range(1, stages + 1) if mechanism.unknown_count else ():
        part = stage / stages
        target = unit_poses(mechanism, (1.0 - part) * x0 + part * align_quaternions(mechanism, x, x0))
        for _ in range(30):
            step = run_uncompiled(newton_steps.loop_closing_step, robot, y, target)
            if np.max(step["error"]) < (2e-15 if stage == stages else 1e-9):
                break
            y = y + step["dy"]
            if stage == stages and np.max(np.abs(step["dy"])) < 1e-14:
                break
        assert np.max(step["error"]) < 1e-9
    return y


def unit_poses(mechanism: Mechanism, x: Array) -> Array:
    """The same with unit quaternions."""
    quat_slice = mechanism.layout.quaternion
    if quat_slice is not None:
        x = x.copy()
        x[:, quat_slice] /= np.linalg.norm(x[:, quat_slice], axis=1, keepdims=True)
    return x


def align_quaternions(mechanism: Mechanism, x: Array, x0: Array) -> Array:
    """The same with quaternions on the side of that of x0."""
    quat_slice = mechanism.layout.quaternion
    if quat_slice is not None:
        x = x.copy()
        x[:, quat_slice] *= np.where(x[:, quat_slice] @ x0[quat_slice] < 0.0, -1.0, 1.0)[:, None]
    return x


def coordinate_steps(robot: Robot, length: float, angle: float) -> Array:
    """Largest steps of the coordinates of v: a part of the robot's size, or an angle."""
    sizes = []
    for name in robot.motion.coordinates:
        turns = (
            robot.joints[robot.joint(name)].primitives[0].is_rotation
            if name in robot.motion.joint_names
            else name.startswith("r")
        )
        sizes.append(angle if turns else length * robot.size)
    return np.array(sizes)


def poses_around(robot: Robot, count: int, seed: int = 0, length: float = 0.03, angle: float = 0.08) -> Array:
    """Poses (count, nx) around the reference pose."""
    mechanism = mechanism_of(robot)
    rng = np.random.default_rng(seed)
    step = rng.uniform(-1.0, 1.0, (count, robot.motion.n)) * coordinate_steps(robot, length, angle)
    return integrate_poses(
        mechanism, np.broadcast_to(mechanism.reference[0], (count, mechanism.layout.nx)), step
    )


def integrate_poses(mechanism: Mechanism, x: Array, step: Array) -> Array:
    """Poses moved by steps (N, n): the rotation vector of an orientation in base axes."""
    layout = mechanism.layout
    linear, quat = layout.split_x(x)
    plain, rotation = layout.split_v(step)
    if quat is not None:
        quat = quat_multiply(quat_exp(rotation), quat)
    return layout.join_x(linear + plain, quat)


def fourier_trajectory(robot: Robot, seed: int = 0, length: float = 0.02, angle: float = 0.05) -> Fourier:
    """A smooth trajectory around the reference pose, of two harmonics and 2 pi seconds."""
    rng = np.random.default_rng(seed)
    size = coordinate_steps(robot, length, angle) * [[1.0], [0.4]]
    a, b = (rng.uniform(-1.0, 1.0, (2, robot.motion.n)) * size for _ in range(2))
    return Fourier(mechanism_of(robot).reference[0], a, b, motion=robot.motion, frequency=0.5 / np.pi)


def trajectory_states(robot: Robot, times: Array) -> tuple[Array, Array, Array, Array]:
    """Poses, unknowns, twists and accelerations along the smooth path of `wave`."""
    sample = fourier_trajectory(robot)(times)
    y = solve_uncompiled(robot, sample.x)
    v, a = sample.v, sample.a
    mechanism = mechanism_of(robot)
    if mechanism.parasitic and 0 < len(mechanism.chart.rotations) < 3:
        found = run_uncompiled(kinematic_model.coordinate_motions, robot, sample.x, y, v, a)
        v, a = found["v"], found["a"]
    return sample.x, y, v, a


# Central differences over nine points: the error is h^8 f^(9) / 630.
_WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
STEP = 0.02


def stencil_times(times: Array) -> Array:
    """Nine times around each of some times (T, 9)."""
    return times[:, None] + STEP * np.arange(-4, 5)


def central_difference(values: Array) -> Array:
    """Derivative in the middle of nine samples: (T, 9, ...) to (T, ...)."""
    return np.einsum("k,tk...->t...", _WEIGHTS, values) / STEP


def unwrap_coordinates(robot: Robot, q: Array) -> Array:
    """Coordinates (..., samples, nq) without jumps of full turns, angles being followed along the samples."""
    q = q.copy()
    for joint, q_slice in zip(robot.tree_joints, robot.q_slices, strict=True):
        start = q_slice.start
        for primitive in joint.primitives:
            if primitive.nq == 1 and primitive.is_rotation:
                q[..., start] = np.unwrap(q[..., start], axis=-1)
            start += primitive.nq
    return q


def wrap_angles(angle: Array) -> Array:
    """Angles in [-pi, pi)."""
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def closure_error(robot: Robot, platform: Pose, q: Array) -> float:
    """What one configuration of floats leaves open, over the robot's size, straight from the tree."""
    state = closure_state(robot, tree_kinematics(robot, platform, q))
    scale = np.concatenate(
        [[robot.size if lock[0] == "offset" else 1.0 for lock in joint.locks] for joint in robot.closures]
    )
    return float(np.max(np.abs(state.residual) / scale, initial=0.0))
