"""What does not fit into memory is refused before it is allocated."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.capacity import memory, require_memory


def test_half_of_the_memory_is_the_bound() -> None:
    require_memory("points", memory() / 2.1 / 8, 8, "take fewer")
    with pytest.raises(
        nacelle.TooLargeError, match=r"points need about .*B of memory.*: take fewer"
    ) as caught:
        require_memory("points", memory() / 1.9 / 8, 8, "take fewer")
    assert caught.value.bytes == pytest.approx(memory() / 1.9)


@pytest.mark.parametrize("points", [100_000, 10_000_000_000])
def test_workspaces(points: int) -> None:
    robot = nacelle.load("fivebar")
    with pytest.raises(nacelle.TooLargeError, match="take fewer points"):
        nacelle.workspace(robot, {"x": (-0.1, 0.1, points), "y": (0.1, 0.3, points)})
    with pytest.raises(nacelle.TooLargeError, match="rays need about"):
        nacelle.reach(robot, rays=10**12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"method": "rk4", "step": 1e-12},
            "1e\\+12 steps of 1e-12 s need .* take a longer step, .* s or more",
        ),
        ({"samples": 10**12}, "1e\\+12 samples need .*: take fewer samples"),
        ({"method": "rk4", "samples": 10**12}, "1e\\+12 samples need"),
    ],
)
def test_runs(options: dict[str, object], words: str) -> None:
    with pytest.raises(nacelle.TooLargeError, match=words):
        nacelle.simulate(nacelle.load("fivebar"), [0.0, 0.28], until=1.0, **options)


def test_trajectories() -> None:
    robot = nacelle.load("fivebar")
    line = nacelle.Line([0.0, 0.28], [0.0, 0.3], motion=robot.motion, duration=1e9)
    for call in (
        lambda: line.sample(rate=1e6),
        lambda: line.sample(10**13),
        lambda: nacelle.size_motors(robot, line, rate=1e6),
    ):
        with pytest.raises(nacelle.TooLargeError, match="samples over 1e\\+09 s need"):
            call()
