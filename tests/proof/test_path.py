"""Proofs of motions: what is proved holds at every sample, and planted defects are never proved away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import Interval
from nacelle.model.robot import Robot
from nacelle.proof.equations import ProofError, apart_pairs, leg_capsules, robot_equations
from nacelle.proof.matrices import inverse_condition, spectral_norm
from nacelle.proof.path import Bounds, PathProof, _Motion, _Prover, _Segments, nearest_points, prove
from nacelle.spatial.rotation import quat_exp, quat_multiply
from nacelle.trajectory import BSpline, Line, Trajectory
from support.library import library_robot

DEVIATION = 1e-6


def smooth_motion(robot: Robot, size: float, seed: int = 0) -> Trajectory:
    """A spline through four poses near the reference, of a size relative to the robot's."""
    x0, layout = mechanism_of(robot).reference[0], mechanism_of(robot).layout
    rng, points = np.random.default_rng(seed), []
    for _ in range(4):
        x = x0 + size * rng.uniform(-1.0, 1.0, len(x0)) * np.where(
            np.array(layout.units) == "m", robot.size, 3.0
        )
        if layout.quaternion is not None:
            turn = quat_exp(3.0 * size * rng.uniform(-1.0, 1.0, 3))
            x[layout.quaternion] = quat_multiply(turn, x0[layout.quaternion])
        points.append(x)
    return BSpline(np.array(points), motion=robot.motion, duration=1.0)


def assert_holds_at_samples(proof: PathProof, count: int = 400) -> None:
    """What a proof claims, at samples within its deviation, by nacelle's kinematics in floats."""
    robot, rng = proof.robot, np.random.default_rng(1)
    t = np.sort(rng.uniform(proof.times[0], proof.times[-1], count))
    x = proof.trajectory(t).x
    x = x + rng.uniform(-1.0, 1.0, x.shape) * proof.bounds.deviation
    quaternion = mechanism_of(robot).layout.quaternion
    if quaternion is not None:
        x[:, quaternion] /= np.linalg.norm(x[:, quaternion], axis=1, keepdims=True)
    joints = nacelle.inverse_kinematics(robot, x, follow=True)
    assert joints.ok.all()
    assert joints.margins.min(initial=np.inf) >= proof.least_margin > proof.bounds.serial
    if proof.bounds.parallel is not None:
        measured = nacelle.jacobian(robot, x).conditioning.min()
        assert measured >= proof.least_conditioning > proof.bounds.parallel
        # Bounds are worth something.
        assert proof.least_conditioning > 0.02 * measured
    assert proof.least_way > 0.0


@pytest.mark.parametrize("name", ["fivebar"])
def test_what_is_proved_holds(name: str) -> None:
    robot = library_robot(name)
    proof = prove(robot, smooth_motion(robot, 0.03), deviation=DEVIATION)
    assert proof.proved, proof.describe()
    assert proof.times[0] == 0.0
    assert proof.times[-1] == proof.trajectory.duration
    assert_holds_at_samples(proof)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(nacelle.robot_names()) - {"fivebar"}))
@pytest.mark.parametrize("seed", range(2))
def test_what_is_proved_holds_for_all_robots(name: str, seed: int) -> None:
    robot = library_robot(name)
    proof = prove(robot, smooth_motion(robot, 0.02, seed), deviation=1e-8)
    if not proof.proved:
        # Not for want of tightness: something near is violated, or singular.
        assert proof.unproved is not None
        assert proof.unproved.violated, proof.describe()
    elif len(proof.times) > 1:
        assert_holds_at_samples(proof)


def with_limit(robot: Robot, joint: int, limits: Interval) -> Robot:
    """A robot with other limits of one joint."""
    joints = list(robot.joints)
    joints[joint] = replace(joints[joint], limits=(limits, *joints[joint].limits[1:]))
    return replace(robot, joints=tuple(joints))


def test_a_limit_that_is_touched_is_never_proved() -> None:
    robot = library_robot("fivebar")
    joint = robot.actuators[0].joint
    path = smooth_motion(robot, 0.03)
    angle = nacelle.inverse_kinematics(robot, path(np.linspace(0.0, 1.0, 200001)).x).q[:, 0]
    top = float(angle.max())
    time = float(np.argmax(angle)) / 200000
    touched = prove(with_limit(robot, joint, Interval(-np.pi, top)), path)
    assert not touched.proved
    assert touched.unproved is not None
    assert touched.unproved.start - 1e-3 <= time <= touched.unproved.stop + 1e-3
    assert not touched.unproved.violated
    assert robot.joints[joint].name in touched.unproved.reason
    # It is the limit that is in the way: a little room is enough.
    assert prove(with_limit(robot, joint, Interval(-np.pi, top + 1e-5)), path).proved
    beyond = prove(with_limit(robot, joint, Interval(-np.pi, top - 1e-3)), path)
    assert beyond.unproved is not None
    assert beyond.unproved.violated
    before = int(200000 * beyond.times[-1])
    assert angle[:before].max() <= top - 1e-3 + 1e-9
    assert angle[before : before + 10].max() > top - 1e-3 - 1e-5


def test_singularities_are_never_proved_away() -> None:
    robot = library_robot("fivebar")
    start, end = nacelle.pose(robot, x=0.0, y=0.4), nacelle.pose(robot, x=0.0, y=-0.4)
    path = Line(start, end, motion=robot.motion, duration=1.0)
    proof = prove(robot, path, serial=0.0, parallel=0.0)
    assert not proof.proved
    good = proof.times[-1]
    x = path(np.linspace(0.0, good, 300)).x
    assert nacelle.jacobian(robot, x).conditioning.min() > 0.0
    # A path that ends where a leg is stretched.
    far = nacelle.pose(robot, x=0.0, y=5.0)
    beyond = prove(robot, Line(start, far, motion=robot.motion, duration=1.0), serial=0.0, parallel=None)
    assert beyond.unproved is not None
    assert beyond.times[-1] < 1.0
    assert nacelle.inverse_kinematics(robot, path(0.0).x).ok


def test_clearance_holds_at_samples() -> None:
    robot = library_robot("fivebar")
    path = smooth_motion(robot, 0.03)
    proof = prove(robot, path, clearance=0.0)
    assert proof.proved
    equations = robot_equations(robot, capsules=True)
    pairs = apart_pairs(robot, equations.capsules).tolist()
    x, z = path(np.linspace(0.0, 1.0, 50)).x, np.zeros(0)
    least = np.inf
    for pose in x:
        ends = equations.quantities(pose, z)["ends"]
        for i, first in enumerate(equations.capsules):
            for j, second in enumerate(equations.capsules[:i]):
                if [i, j] in pairs:
                    p, q = nearest_points(ends[i], ends[j])
                    least = min(least, np.linalg.norm(p - q) - first.radius - second.radius)
    assert 0.0 < proof.least_clearance <= least
    near = prove(robot, path, clearance=float(least) + 1e-4)
    assert near.unproved is not None
    assert near.unproved.violated
    assert "apart" in near.unproved.reason


def test_capsules_are_those_of_the_description() -> None:
    capsules = leg_capsules(library_robot("delta"))
    assert capsules
    assert all(capsule.radius > 0.0 for capsule in capsules)


def test_wrong_input() -> None:
    robot = library_robot("fivebar")
    other = library_robot("delta")
    with pytest.raises(ProofError, match="of the motion xyz"):
        prove(robot, smooth_motion(other, 0.01))
    with pytest.raises(ProofError, match="serial is nan"):
        prove(robot, smooth_motion(robot, 0.01), serial=float("nan"))


@given(st.integers(0, 2**31), st.integers(2, 6), st.floats(0.0, 0.2))
@settings(max_examples=40)
def test_bounds_of_matrices(seed: int, n: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(n + seed % 2, n))
    box = np.stack([middle - width, middle + width], axis=-1)
    assert spectral_norm(middle) >= np.linalg.norm(middle, 2)
    assert spectral_norm(middle) <= 1.3 * np.linalg.norm(middle, 2)
    bound = inverse_condition(box)
    for _ in range(20):
        s = np.linalg.svd(rng.uniform(box[..., 0], box[..., 1]), compute_uv=False)
        assert np.isnan(bound) or bound <= s[-1] / s[0]
    if width == 0.0:
        s = np.linalg.svd(middle, compute_uv=False)
        assert bound >= 0.6 * s[-1] / s[0]


def test_solutions_are_in_the_boxes_that_prove_them() -> None:

    robot = library_robot("3rps")
    path = smooth_motion(robot, 0.03)
    equations = robot_equations(robot)
    prover = _Prover(equations, _Motion(path, 1e-9), Bounds(0.0, None, None, 1e-9))
    edges = np.linspace(0.0, 1.0, 65)
    start, stop = edges[:-1], edges[1:]

    verdicts = prover.judge(_Segments(start, stop, prover._unknowns(0.5 * (start + stop), None)))
    assert (verdicts.reasons < 0).all()
    s = np.linspace(-1.0, 1.0, 21)
    for k in range(0, 64, 8):
        t = 0.5 * (start[k] + stop[k]) + 0.5 * (stop[k] - start[k]) * s
        z = nacelle.inverse_kinematics(robot, path(t).x, follow=True).y[:, list(equations.kept)]
        off = np.abs(z - verdicts.z[k] - s[:, None] * verdicts.slope[k])
        assert (off <= verdicts.solution[k] + 1e-13).all()
        assert off.max() > 0.01 * verdicts.solution[k].max()
