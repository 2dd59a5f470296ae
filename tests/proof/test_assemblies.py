"""Certified assemblies: all real solutions, against scans and searches that share no code with them."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.flags import Flag
from nacelle.model.robot import Robot
from nacelle.proof.assemblies import certified_assemblies, distance_equations
from nacelle.proof.equations import ProofError
from support.library import library_robot
from support.random_robots import random_robot
from support.random_robots.legs import BASE, PLATE, Z, draft, unit

# Innocenti and Merlet's planar platform, in tenths of metres: six assemblies.
ANCHORS = np.array([[0.0, 0.0], [1.591, 0.0], [0.0, 1.0]])
SIDES = (1.704, 1.654, 2.084)
LENGTHS = np.array([1.498, 1.538, 1.2])


def triangle(sides: tuple[float, float, float]) -> np.ndarray:
    """Corners (3, 2) of a platform with |12|, |13|, |23|, the first at its origin."""
    a, b, c = sides
    x = (a * a + c * c - b * b) / (2.0 * a)
    return np.array([[0.0, 0.0], [a, 0.0], [x, np.sqrt(c * c - x * x)]])


def planar_assemblies(
    anchors: np.ndarray, corners: np.ndarray, lengths: np.ndarray, count: int = 100001
) -> np.ndarray:
    """All poses (S, 3) with |p + R(phi) b_i - a_i| = l_i, by a scan of phi.

    Differences of the squares are linear in p; what is left of the first changes its sign at solutions.
    """

    def rest(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c, s = np.cos(phi)[:, None], np.sin(phi)[:, None]
        x, y = corners[:, 0], corners[:, 1]
        w = np.stack([c * x - s * y, s * x + c * y], axis=-1) - anchors
        square = np.sum(w**2, axis=-1) - lengths**2
        p = np.linalg.solve(2.0 * (w[:, 1:] - w[:, :1]), (square[:, :1] - square[:, 1:])[..., None])[..., 0]
        det = np.linalg.det(w[:, 1:] - w[:, :1])
        return p, (np.sum((p + w[:, 0]) ** 2, axis=-1) - lengths[0] ** 2) * det**2

    phi = np.linspace(-np.pi, np.pi, count)
    _, value = rest(phi)
    k = np.flatnonzero(np.sign(value[1:]) != np.sign(value[:-1]))
    low, high, sign = phi[k], phi[k + 1], np.sign(value[k])
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = np.sign(rest(middle)[1]) == sign
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.concatenate([rest(low)[0], low[:, None]], axis=1)


def planar_robot(kind: str, pose: np.ndarray, corners: np.ndarray, seed: int = 0) -> Robot:
    """A robot with the anchors (RPR), or elbows (RRR), of `ANCHORS`, and the platform at a pose."""
    rng = np.random.default_rng(seed)
    c, s = np.cos(pose[2]), np.sin(pose[2])
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    d = draft(rng, R, np.array([*pose[:2], 0.0]))
    for k in range(3):
        A, W = np.array([*ANCHORS[k], 0.0]), R @ [*corners[k], 0.0] + [*pose[:2], 0.0]
        d.start(f"leg{k + 1}")
        first, second = d.body(), d.body()
        if kind == "RPR":
            d.turn(BASE, first, A, Z)
            d.slide(first, second, unit(W - A), active=True)
        else:
            d.turn(BASE, first, A + np.append(rng.uniform(-0.8, 0.8, 2), 0.0), d.sign() * Z, active=True)
            d.turn(first, second, A, Z)
        d.turn(second, PLATE, W, Z, cut=True)
    return d.robot(kind, ("x", "y", "rz"))


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Largest differences (A, B) of poses, the last coordinate an angle."""
    off = np.abs(a[:, None] - b[None])
    off[..., 2] = np.abs((off[..., 2] + np.pi) % (2.0 * np.pi) - np.pi)
    return off.max(axis=-1)


@pytest.mark.parametrize("kind", ["RPR", "RRR"])
def test_six_assemblies_of_a_planar_platform(kind: str) -> None:
    corners = triangle(SIDES)
    truth = planar_assemblies(ANCHORS, corners, LENGTHS)
    assert len(truth) == 6
    robot = planar_robot(kind, truth[2], corners)
    q = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)).q
    result = certified_assemblies(robot, q)
    assert result.complete
    assert len(result.x) == 6
    off = distances(result.x, truth)
    assert off.min(axis=0).max() < 1e-9
    assert off.min(axis=1).max() < 1e-9
    assert result.radius.max() < 1e-9
    assert np.sum(result.flags == 0) >= 1


@pytest.mark.parametrize("seed", range(3))
def test_random_platforms_against_scans(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-1.0, 1.0, (3, 2))
    pose = np.array([*rng.uniform(0.0, 1.0, 2), rng.uniform(-3.0, 3.0)])
    robot = planar_robot("RPR", pose, corners, seed)
    q = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)).q
    c, s = np.cos(pose[2]), np.sin(pose[2])
    W = corners @ np.array([[c, s], [-s, c]]) + pose[:2]
    truth = planar_assemblies(ANCHORS, corners, np.linalg.norm(W - ANCHORS, axis=1))
    result = certified_assemblies(robot, q)
    assert result.complete
    assert len(result.x) == len(truth)
    assert distances(result.x, truth).min(axis=1).max() < 1e-8


def test_a_double_solution_is_not_certified() -> None:
    # Legs that meet in one point: a singular pose, at which two assemblies coincide.
    corners = triangle(SIDES)
    pose = np.array([0.3, 0.2, 0.4])
    c, s = np.cos(pose[2]), np.sin(pose[2])
    W = corners @ np.array([[c, s], [-s, c]]) + pose[:2]
    # The third corner moves onto the line from its anchor to the point where the first two lines meet.
    a, b = W[0] - ANCHORS[0], W[1] - ANCHORS[1]
    t = np.linalg.solve(np.stack([a, -b], axis=1), ANCHORS[1] - ANCHORS[0])
    centre = ANCHORS[0] + t[0] * a
    W[2] = ANCHORS[2] + 0.6 * (centre - ANCHORS[2])
    corners = (W - pose[:2]) @ np.array([[c, -s], [s, c]])
    robot = planar_robot("RPR", pose, corners)
    q = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)).q
    result = certified_assemblies(robot, q)
    assert not result.complete
    assert "undecided" in result.describe()[-1]
    assert distances(result.x, pose[None]).min(initial=1.0) > 1e-6


@pytest.mark.parametrize("name", ["fivebar"])
def test_translations(name: str) -> None:
    robot = library_robot(name)
    x = nacelle.reference_pose(robot)
    q = nacelle.inverse_kinematics(robot, x).q
    result = certified_assemblies(robot, q)
    assert result.complete
    assert len(result.x) == 2
    own = np.abs(result.x - x).max(axis=1)
    assert own.min() < 1e-12
    assert result.flags[np.argmin(own)] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["delta", "orthoglide", "prrrp", "3rrr", "delta-codourey"])
def test_all_assemblies_of_robots_against_seeded_searches(name: str) -> None:
    robot = library_robot(name)
    rng = np.random.default_rng(3)
    x = nacelle.reference_pose(robot) + 0.02 * robot.size * rng.uniform(
        -1.0, 1.0, 3 if name != "prrrp" else 2
    )
    q = nacelle.inverse_kinematics(robot, x).q
    result = certified_assemblies(robot, q)
    assert result.complete
    assert np.abs(result.x - x).max(axis=1).min() < 1e-9
    for other in nacelle.forward_kinematics(robot, q, assemblies=True).assemblies.x:
        assert np.abs(result.x - other).max(axis=1).min() < 1e-7


@pytest.mark.soak
@pytest.mark.parametrize("name", ["gough-stewart", "palida"])
def test_all_assemblies_of_hexapods(name: str) -> None:
    robot = library_robot(name)
    q = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot)).q
    result = certified_assemblies(robot, q)
    assert result.complete
    assert len(result.x) == {"gough-stewart": 12, "palida": 16}[name]
    joints = nacelle.inverse_kinematics(robot, result.x, limits=False)
    on_branch = (result.flags & int(Flag.OTHER_BRANCH)) == 0
    assert np.abs(joints.q - q)[on_branch].max() < 1e-9
    for other in nacelle.forward_kinematics(robot, q, assemblies=True).assemblies.x:
        turned = np.minimum(
            np.abs(result.x - other).max(axis=1),
            np.abs(result.x - other * [1, 1, 1, -1, -1, -1, -1]).max(axis=1),
        )
        assert turned.min() < 1e-7


@pytest.mark.parametrize("profile", ["6 UPS", "6 RUS", "6 PSS", "6 UPS cut at the slide"])
def test_equations_are_those_of_the_robot(profile: str) -> None:
    # At any pose the distances are kept by the actuators of inverse kinematics.
    try:
        equations = distance_equations(random_robot(profile, 1))
    except ProofError:
        pytest.skip("a leg is no plain rod or strut")
    robot = equations.robot
    x = nacelle.reference_pose(robot)
    q = nacelle.inverse_kinematics(robot, x, limits=False).q
    quat = x[3:]
    chart = int(np.argmax(np.abs(quat)))
    u = np.delete(quat / quat[chart], chart)
    gaps = np.asarray(equations.gaps(np.concatenate([x[:3], u]), q, chart), dtype=float)
    assert np.abs(gaps).max() < 1e-12


def test_other_robots_are_refused() -> None:
    with pytest.raises(ProofError, match="parasitic"):
        certified_assemblies(library_robot("3rps"), [0.0, 0.0, 0.0])
    with pytest.raises(ProofError, match="2 finite numbers"):
        certified_assemblies(library_robot("fivebar"), [0.0, float("nan")])


@pytest.mark.soak
@pytest.mark.parametrize("profile", ["planar RPR", "planar RRR", "planar PRR"])
@pytest.mark.parametrize("part", range(5))
def test_seeded_searches_find_no_more(profile: str, part: int) -> None:
    for seed in range(70 * part, 70 * part + 70):
        robot = random_robot(profile, seed)
        # Away from the reference pose, near which most robots of the profile have two assemblies alone.
        rng = np.random.default_rng(seed)
        q = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot), limits=False).q
        q = q + 0.1 * rng.uniform(-1.0, 1.0, 3)
        result = certified_assemblies(robot, q)
        for other in nacelle.forward_kinematics(robot, q, assemblies=True).assemblies.x:
            assert result.undecided or distances(result.x, other[None]).min(initial=np.inf) < 1e-7
