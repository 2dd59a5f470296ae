"""Proved workspaces: no sample contradicts them, and planted defects are never proved away."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle import robots
from nacelle.proof.workspace import INSIDE, OUTSIDE, UNDECIDED, ProvenWorkspace, find_leaves, prove_workspace
from nacelle.spatial.rotation import quat_exp, quat_multiply
from support.library import library_robot

TURN = np.deg2rad(15.0)
REGIONS = {
    "fivebar": {"x": (-0.35, 0.35), "y": (0.05, 0.45)},
    "3rrr": {"x": (-0.2, 0.2), "y": (-0.2, 0.2), "rz": (-0.6, 0.6)},
    "delta": {"x": (-0.4, 0.4), "y": (-0.4, 0.4), "z": (-0.85, -0.3)},
    "orthoglide": {"x": (-0.2, 0.2), "y": (-0.2, 0.2), "z": (-0.2, 0.2)},
    "gough-stewart": {
        **{"x": (-0.07, 0.13), "y": (-0.12, 0.08), "z": (0.6, 0.8)},
        **{"rx": (-TURN, TURN), "ry": (-TURN, TURN), "rz": (-TURN, TURN)},
    },
}


def poses(proved: ProvenWorkspace, u: np.ndarray) -> np.ndarray:
    """Poses (N, nx) of coordinates u (N, n), by NumPy alone."""
    region = proved.region
    x = np.repeat(region.at[None], len(u), axis=0)
    rotation = np.zeros((len(u), 3))
    plain = [name for name in region.robot.motion.coordinates if name not in region.rotations]
    for k, name in enumerate(region.names):
        if name in region.rotations:
            rotation[:, ("rx", "ry", "rz").index(name)] = u[:, k]
        else:
            x[:, plain.index(name)] = u[:, k]
    if region.rotations:
        x[:, -4:] = quat_multiply(quat_exp(rotation), x[:, -4:])
    return x


def are_taken(proved: ProvenWorkspace, u: np.ndarray) -> np.ndarray:
    """Which poses (N, n) are taken, by nacelle's kinematics in floats."""
    region, x = proved.region, poses(proved, u)
    joints = nacelle.inverse_kinematics(region.robot, x)
    with np.errstate(invalid="ignore"):
        taken = joints.ok & (joints.margins.min(axis=-1) > region.margins.serial)
        return taken & (nacelle.jacobian(region.robot, x).conditioning > region.margins.parallel)


def contradictions(proved: ProvenWorkspace, count: int, seed: int) -> tuple[int, float]:
    """How many of some random poses are not what is proved of them, and the share of those decided."""
    box, rng = proved.region.box, np.random.default_rng(seed)
    u = rng.uniform(box[:, 0], box[:, 1], (count, len(box)))
    found, taken = proved.classify(u), are_taken(proved, u)
    wrong = ((found == INSIDE) & ~taken) | ((found == OUTSIDE) & taken)
    return int(wrong.sum()), float(np.mean(found != UNDECIDED))


@pytest.mark.parametrize("name", REGIONS)
def test_samples_agree(name: str) -> None:
    proved = prove_workspace(library_robot(name), REGIONS[name], decided=0.9, boxes=20_000)
    wrong, share = contradictions(proved, 4000, 0)
    assert wrong == 0
    shares = proved.shares
    assert abs(shares.inside + shares.outside + shares.undecided - 1.0) <= shares.undecided + 1e-9
    # What is undecided is bounded from above.
    assert share >= proved.decided - 0.03
    assert np.isclose(proved.volumes.sum(), 1.0, rtol=1e-12)


def test_leaves_cover_the_box() -> None:
    proved = prove_workspace(library_robot("fivebar"), REGIONS["fivebar"], boxes=2000)
    box, rng = proved.region.box, np.random.default_rng(3)
    u = rng.uniform(box[:, 0], box[:, 1], (5000, 2))
    leaf = find_leaves(proved.tree, box, u)
    boxes, _ = proved.leaves
    assert np.all((u >= boxes[leaf, :, 0]) & (u <= boxes[leaf, :, 1]))


def test_singular_surface_is_never_proved_away() -> None:
    # With the distal bars in one line the tip may move across: J_r^-1 is singular on a curve of no width.
    robot = library_robot("fivebar")
    proved = prove_workspace(
        robot, {"x": (-0.05, 0.06), "y": (0.06, 0.31)}, serial=0.0, parallel=0.0, decided=0.999, boxes=4000
    )

    def determinant(x: float, y: float) -> float:
        return float(np.linalg.det(nacelle.jacobian(robot, [[x, y]]).inverse[0]))

    singular = []
    for x in np.linspace(-0.04, 0.05, 40):
        low, high = 0.07, 0.3
        signs = determinant(x, low) > 0.0, determinant(x, high) > 0.0
        assert signs[0] != signs[1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if (determinant(x, middle) > 0.0) == signs[0] else (low, middle)
        singular.append([x, low])
    assert np.all(proved.classify(singular) == UNDECIDED)
    assert proved.decided > 0.99


@pytest.mark.slow
def test_limit_touched_at_one_point_is_never_proved_away() -> None:
    # The x slide is lowest, 230 mm, where y = z = 0, and that is its limit.
    text = robots.text("orthoglide").replace("position: [80 mm, 420 mm]", "position: [230 mm, 420 mm]")
    robot = nacelle.loads(text)
    proved = prove_workspace(
        robot, {"y": (-0.04, 0.05), "z": (-0.05, 0.04)}, decided=1.0, boxes=3000, at=[0.0, 0.0, 0.0]
    )
    assert proved.classify([[0.0, 0.0]])[0] != INSIDE


@pytest.mark.soak
@pytest.mark.parametrize("name", REGIONS)
def test_a_billion_samples(name: str) -> None:
    # Two hundred million of each robot, none of which contradicts its proof.
    proved = prove_workspace(library_robot(name), REGIONS[name], decided=0.97)
    for seed in range(800):
        wrong, _ = contradictions(proved, 250_000, seed)
        assert wrong == 0
