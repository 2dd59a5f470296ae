"""The references of flexible robots agree with a published table, with mechanics and with each other."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest

from nacelle.kinematics.pose_input import reference_pose
from support.flexible import prrrp
from support.flexible.beamed import with_beam_links, with_end_masses
from support.flexible.frame import frame_frequencies
from support.flexible.references import POSES, flexible_robot, frequencies, motion
from support.library import library_robot

with_exudyn = pytest.mark.skipif(
    importlib.util.find_spec("exudyn") is None, reason="Exudyn comes with `make test-extras`"
)
KEPT = [pytest.param(row, id=f"{row['robot']}-{k % 3}") for k, row in enumerate(frequencies())]


@pytest.mark.parametrize("q_4", prrrp.TABLE_2)
def test_one_element_a_beam_gives_table_2(q_4: float) -> None:
    robot, x = prrrp.robot_at(0.0, q_4)
    np.testing.assert_array_equal(np.round(frame_frequencies(robot, x, 1, 6), 3), prrrp.TABLE_2[q_4])


@pytest.mark.costly
@pytest.mark.parametrize("row", KEPT)
def test_frame_and_exudyn_agree(row: dict) -> None:
    np.testing.assert_allclose(row["frame"], row["exudyn"], rtol=1e-4)
    coarse = frame_frequencies(flexible_robot(row["robot"]), row["x"], 6, len(row["frame"]))
    np.testing.assert_allclose(coarse, row["frame"], rtol=2e-3)


def test_forces_of_the_motion_are_its_momentum() -> None:
    """Along z nothing but the drives acts: their impulse is the momentum of P and beams, sliders at rest."""
    kept = motion()
    t, force, velocity = kept["t"], kept["force"], kept["velocity"]
    # Where the acceleration jumps the sample is left out: both sides are extended to it.
    half = len(t) // 2
    halves = []
    for part in (slice(0, half + 1), slice(half, len(t))):
        total = force[part].sum(axis=1)
        good = np.isfinite(total)
        halves.append(np.trapezoid(np.interp(t[part], t[part][good], total[good]), t[part]))
    beams = 2 * 4.48e-3 * velocity[-1, 1] / 2
    assert abs(sum(halves) - velocity[-1, 1] - beams) < 1e-4 * halves[0]
    travelled = np.trapezoid(velocity, t, axis=0)
    np.testing.assert_allclose(travelled, kept["position"][-1] - kept["position"][0], atol=1e-6)


@pytest.mark.slow
@pytest.mark.extra
@with_exudyn
def test_kept_motion_is_that_of_exudyn() -> None:
    from support.flexible.exudyn_motion import STROKES, bang_bang, extrapolated_motion

    kept, run = motion(), extrapolated_motion(dt=1e-4)
    sliders = [bang_bang(kept["t"], stroke)[0] for stroke in STROKES]
    rigid = np.array([prrrp.tip_position(*pair) for pair in zip(*sliders, strict=True)])
    vibration = np.max(np.abs(kept["velocity"] - np.gradient(rigid, kept["t"], axis=0)))
    assert np.max(np.abs(run.velocity - kept["velocity"])) < 0.02 * vibration
    assert np.nanmax(np.abs(run.force - kept["force"])) < 0.02 * np.nanmax(np.abs(kept["force"]))


def test_poses_are_those_that_were_computed() -> None:
    listed = list(itertools.chain.from_iterable([(name, x) for x in poses] for name, poses in POSES.items()))
    assert [(row["robot"], row["x"]) for row in frequencies()] == listed


@pytest.mark.slow
@pytest.mark.extra
@with_exudyn
@pytest.mark.parametrize("name", ["delta4", "dymo", "fivebar", "hexaglide", "orthoglide", *POSES])
def test_exudyn_and_frame_agree(name: str) -> None:
    """For every kind of joint; of the flexible robots with masses at the ends and elastic drives."""
    from support.flexible.exudyn_model import extrapolated_frequencies

    robot = with_end_masses(flexible_robot(name)) if name in POSES else with_beam_links(library_robot(name))
    x, close = (POSES[name][-1], 3e-4) if name in POSES else (reference_pose(robot), 2e-3)
    np.testing.assert_allclose(
        extrapolated_frequencies(robot, x, (4, 8), 8), frame_frequencies(robot, x, 8, 8), rtol=close
    )
