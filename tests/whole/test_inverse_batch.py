"""Large batches with bad rows among them: right rows right, bad rows flagged, memory bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose import pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp
from nacelle.spatial.scalar import Array
from support.uncompiled import named_robot

INVALID, UNREACHABLE, FAR = 0, 1, 2


def mixed_poses(robot: Robot, count: int, seed: int = 0) -> tuple[Array, Array]:
    """Poses near the reference with bad rows among them, and what each row is (-1: fine)."""
    rng = np.random.default_rng(seed)
    x = np.empty((count, 7))
    x[:, :3] = mechanism_of(robot).reference[0][:3] + rng.uniform(-0.03, 0.03, (count, 3))
    x[:, 3:] = quat_exp(rng.uniform(-0.08, 0.08, (count, 3))) * rng.uniform(0.5, 2.0, (count, 1))
    kind = np.full(count, -1)
    rows = np.arange(count)
    kind[rows % 97 == 5] = INVALID
    kind[rows % 101 == 7] = UNREACHABLE
    kind[rows % 89 == 3] = FAR
    bad = np.flatnonzero(kind == INVALID)
    x[bad[0::4], 1] = np.nan
    x[bad[1::4], 3:] = 0.0
    x[bad[2::4], 0] = np.inf
    x[bad[3::4], 5] = -np.inf
    # A strut reaches as far as numbers do: its length overflows.
    x[kind == UNREACHABLE, 2] = -1e200
    x[kind == FAR, 2] -= 3.0
    return x, kind


def lengths(robot: Robot, x: Array) -> Array:
    """Lengths of the struts by plain geometry, from the foot to the head."""
    quat = x[:, 3:] / np.linalg.norm(x[:, 3:], axis=1, keepdims=True)
    result = []
    for leg in robot.legs:
        foot = robot.joints[leg.joints[0]].frame_predecessor.p
        head = robot.joints[leg.closures[0]].frame_successor.p
        t = 2.0 * np.cross(quat[:, :3], head)
        place = x[:, :3] + head + quat[:, 3:] * t + np.cross(quat[:, :3], t)
        result.append(np.linalg.norm(place - foot, axis=1))
    return np.stack(result, axis=1)


def check_batch(robot: Robot, count: int) -> None:
    x, kind = mixed_poses(robot, count)
    before = x.copy()
    found = inverse_kinematics(robot, x)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(found.flags[kind == INVALID], int(Flag.INVALID))
    np.testing.assert_array_equal(found.flags[kind == UNREACHABLE], int(Flag.UNREACHABLE))
    np.testing.assert_array_equal(found.flags[kind == FAR], int(Flag.OUT_OF_LIMITS))
    np.testing.assert_array_equal(found.flags[kind == -1], 0)
    lost = (kind == INVALID) | (kind == UNREACHABLE)
    assert np.all(np.isnan(found.q_tree[lost]))
    assert np.all(np.isnan(found.q[lost]))
    kept = x[~lost]
    assert np.max(np.abs(found.q[~lost] - lengths(robot, kept))) < 2e-15 * 8
    np.testing.assert_array_equal(found.ok, kind == -1)
    np.testing.assert_array_equal(found.reachable, ~lost)


def test_feet_and_heads_are_the_joints() -> None:
    """The strut's slide is its length, so plain geometry applies."""
    robot = named_robot("palida")
    x = pose(robot, [0.01, 0.02, -0.68], rotation_vector=[0.02, -0.05, 0.03])
    assert np.allclose(inverse_kinematics(robot, x).q, lengths(robot, x[None])[0], rtol=0, atol=1e-15)


def test_hundred_thousand_poses() -> None:
    check_batch(named_robot("palida"), 100_003)


def test_iterated_batch_with_bad_rows() -> None:
    """The same where legs need iteration: rows do not disturb each other."""
    robot = named_robot("3rps")
    rng = np.random.default_rng(1)
    x = mechanism_of(robot).reference[0] + rng.uniform(-0.02, 0.02, (4001, 3))
    bad = np.arange(4001) % 11 == 4
    x[bad, 1] = np.nan
    found = inverse_kinematics(robot, x)
    np.testing.assert_array_equal(found.flags[bad], int(Flag.INVALID))
    assert np.all(found.reachable[~bad])
    alone = inverse_kinematics(robot, x[~bad][:50])
    np.testing.assert_allclose(found.q_tree[~bad][:50], alone.q_tree, rtol=0, atol=1e-14)
    assert np.all(np.isnan(found.q_tree[bad]))
    assert np.all(np.isnan(found.q[bad]))


_MEASURE = """
import resource
from kinematics_batch import check_batch, mixed_poses
from nacelle.kinematics.solve.inverse import inverse_kinematics
from support.uncompiled import named_robot

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

robot = named_robot("palida")
inverse_kinematics(robot, mixed_poses(robot, 20_000)[0])
x, _ = mixed_poses(robot, {count})
before = peak()
found = inverse_kinematics(robot, x)
grown = peak() - before
parts = (found.x, found.y, found.q_tree, found.q, found.margins, found.flags)
outputs = sum(part.nbytes for part in parts)
print(grown, (outputs + x.nbytes) / 2**20)
check_batch(robot, {count})
"""


@pytest.mark.slow
def test_a_million_poses() -> None:
    """The peak of memory in a process of its own: what is given back, a copy of the poses, and 200 MB."""
    tests = Path(__file__).parents[1]
    head = (
        "import sys, importlib.util\n"
        f"sys.path.insert(0, {str(tests)!r})\n"
        f"spec = importlib.util.spec_from_file_location('kinematics_batch', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules['kinematics_batch'] = module\n"
        "spec.loader.exec_module(module)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", head + _MEASURE.format(count=1_000_000)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    grown, outputs = (float(word) for word in done.stdout.split())
    assert grown < outputs + 200.0
