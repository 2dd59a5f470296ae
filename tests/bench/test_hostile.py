"""Hostile setpoints and faulty readings at random: limits hold, stops are kept, machines come to rest."""

from collections import Counter

import pytest

from bench.hostile import machine, run_episode
from nacelle.control.blocks.signals import StopReason
from support.cc import COMPILERS

pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


@pytest.mark.parametrize(
    ("name", "law", "following", "episodes"),
    [
        pytest.param("fivebar", "cf-rb-friction", 0.05, 12, marks=pytest.mark.slow),
        pytest.param("fivebar", "cf-rb-friction", 0.05, 1000, marks=pytest.mark.soak),
        pytest.param("delta", "cf-rb-friction", 0.05, 300, marks=pytest.mark.soak),
        pytest.param("redundant planar 4-RRR", "cf-rb-friction", 0.05, 100, marks=pytest.mark.soak),
    ],
)
def test_no_episode_goes_wrong(name: str, law: str, following: float, episodes: int) -> None:
    """No force beyond a limit, no stop that is not kept, no singularity on the way, rest after a stop."""
    built = machine(name, law, following, 5e-5)
    made = [run_episode(built, seed) for seed in range(episodes)]
    assert not [(seed, episode) for seed, episode in enumerate(made) if episode.wrong]
    # The search meets what it looks for: many kinds of stops, and episodes without one.
    assert len(Counter(StopReason(episode.reason) for episode in made)) >= min(5, episodes // 3)
