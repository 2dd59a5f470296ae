"""The largest proved shape around a pose: all its poses are taken, and not all of those of a larger one."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.proof.equations import ProofError
from nacelle.proof.largest import largest_shape
from support.library import library_robot

TILTS = {"rx": (-0.1, 0.1), "ry": (-0.1, 0.1), "rz": (-0.1, 0.1)}


@pytest.mark.parametrize(
    ("name", "shape", "orientations"),
    [
        ("fivebar", "box", None),
        pytest.param("delta", "cylinder", None, marks=pytest.mark.slow),
        pytest.param("delta", "sphere", None, marks=pytest.mark.slow),
        pytest.param("gough-stewart", "box", TILTS, marks=pytest.mark.slow),
    ],
)
def test_all_of_it_is_inside(
    name: str, shape: str, orientations: dict[str, tuple[float, float]] | None
) -> None:
    robot = library_robot(name)
    found = largest_shape(robot, 0.4, shape=shape, orientations=orientations, boxes=20_000, steps=12)
    assert found.region is not None
    assert 0.05 < found.size < found.beyond < 1.01 * found.size
    rng, start = np.random.default_rng(0), nacelle.reference_pose(robot)
    k = min(3, len(start))

    def positions(size: float) -> np.ndarray:
        p = rng.uniform(-size, size, (20_000, k))
        if shape == "sphere":
            p = p[np.linalg.norm(p, axis=1) <= size]
        elif shape == "cylinder":
            p = p[np.linalg.norm(p[:, :2], axis=1) <= size]
        x = np.repeat(start[None], len(p), axis=0)
        x[:, :k] += p
        if orientations:
            from nacelle.spatial.rotation import quat_exp, quat_multiply

            x[:, 3:] = quat_multiply(quat_exp(rng.uniform(-0.1, 0.1, (len(p), 3))), x[:, 3:])
        return x

    def taken(x: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return nacelle.inverse_kinematics(robot, x).ok & (nacelle.jacobian(robot, x).conditioning > 0.01)

    assert taken(positions(found.size)).all()
    if not orientations:
        assert not taken(positions(1.1 * found.size)).all()


def test_refuses_what_is_no_shape() -> None:
    with pytest.raises(ProofError, match="no shape is called 'ball'"):
        largest_shape(library_robot("fivebar"), 0.1, shape="ball")
    with pytest.raises(ProofError, match="solved numerically"):
        largest_shape(library_robot("h4"), 0.1)
