"""Shapers leave no vibration of an oscillator that is integrated apart from them; laws are consistent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.trajectory import Line, ShapedTiming
from nacelle.trajectory.along_path import AlongPath, Path
from nacelle.trajectory.base import TrajectoryError
from nacelle.trajectory.shaping import PathTiming, Retimed, SplineTiming, shaper_weights
from nacelle.trajectory.timing import BangBang, Quintic, Timing


def left_after(law: Timing, w: float, zeta: float = 0.0) -> float:
    """Amplitude of z'' + 2 zeta w z' + w^2 z = -s'' after it: |integral of s'' exp(pole t)|."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.unique(law.knots)
    half = 0.5 * np.diff(ends)
    t = (ends[:-1, None] + half[:, None] * (1.0 + nodes)).ravel()
    pole = complex(zeta, np.sqrt(1.0 - zeta**2)) * w
    total = np.sum((half[:, None] * weights).ravel() * law(t).dds * np.exp(pole * t))
    return float(abs(total) * np.exp(-zeta * w * law.duration))


@pytest.mark.parametrize("zeta", [0.0, 0.08])
def test_residuals_at_the_frequency_and_near_it(zeta: float) -> None:
    f, T = 4.0, 0.6
    w = 2.0 * np.pi * f
    plain = {s: left_after(BangBang(T - n * 0.5 / f), w, zeta) for s, n in (("zv", 1), ("zvd", 2), ("ei", 2))}
    laws = {s: ShapedTiming(BangBang(1.0), s, f, T, damping=zeta) for s in plain}
    residuals = {s: left_after(law, w, zeta) / plain[s] for s, law in laws.items()}
    assert residuals["zv"] < 1e-9
    assert residuals["zvd"] < 1e-9
    assert 0.02 < residuals["ei"] < 0.06
    # A ZVD shaper has no first derivative by the frequency: a tenth of the error, a hundredth is left.
    near = [left_after(laws["zvd"], w * (1.0 + e), zeta) for e in (0.02, 0.002)]
    assert near[1] < 0.02 * near[0]
    near = [left_after(laws["zv"], w * (1.0 + e), zeta) for e in (0.02, 0.002)]
    assert near[1] > 0.05 * near[0]


def test_frequency_that_follows_the_place() -> None:
    """z'' + w(s)^2 z = -s'': a shaper that follows w leaves less than any fixed one of the same law."""
    T, grid = 0.9, np.linspace(5.0, 3.4, 9)

    def amplitude(law: Timing) -> float:
        steps = 800
        h = T / steps
        s, _, dds = law(np.arange(2 * steps + 1) * 0.5 * h)
        squares = (2.0 * np.pi * np.interp(s, np.linspace(0.0, 1.0, 9), grid)) ** 2

        def rates(k: int, y: np.ndarray) -> np.ndarray:
            return np.array([y[1], -squares[k] * y[0] - dds[k]])

        y = np.zeros(2)
        for k in range(0, 2 * steps, 2):
            a = rates(k, y)
            b = rates(k + 1, y + 0.5 * h * a)
            c = rates(k + 1, y + 0.5 * h * b)
            y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + rates(k + 2, y + h * c))
        return float(np.hypot(y[0], y[1] / np.sqrt(squares[-1])))

    fixed = [amplitude(ShapedTiming(Quintic(1.0), "zvd", f, T)) for f in np.linspace(3.2, 5.2, 9)]
    assert amplitude(ShapedTiming(Quintic(1.0), "zvd", grid, T)) < 0.5 * min(fixed)


@given(
    shaper=st.sampled_from(["zv", "zvd", "ei"]),
    frequencies=st.lists(st.floats(2.0, 9.0), min_size=2, max_size=5),
    damping=st.floats(0.0, 0.3),
)
def test_rates_are_derivatives(shaper: str, frequencies: list[float], damping: float) -> None:
    law = ShapedTiming(Quintic(1.0), shaper, frequencies, 0.8, damping=damping)
    t, h = np.linspace(0.013, 0.787, 60), 1e-5
    t = t[np.min(np.abs(t[:, None] - law.knots), axis=1) > 2.0 * h]
    ahead, here, behind = law(t + h), law(t), law(t - h)
    sizes = np.max(here.ds), np.max(np.abs(here.dds))
    np.testing.assert_allclose((ahead.s - behind.s) / (2.0 * h), here.ds, atol=1e-5 * sizes[0])
    np.testing.assert_allclose((ahead.ds - behind.ds) / (2.0 * h), here.dds, atol=1e-4 * sizes[1])
    assert np.all(here.ds >= 0.0)
    ends = law(np.array([0.0, law.duration]))
    np.testing.assert_allclose(ends.s, [0.0, 1.0], atol=1e-12)
    assert abs(float(shaper_weights(shaper, damping).sum()) - 1.0) < 1e-14


def test_one_frequency_is_the_sum_of_copies() -> None:
    T, f = 0.45, 4.0
    law, t = ShapedTiming(BangBang(1.0), "zvd", f, T), np.linspace(0.0, T, 301)
    plain = BangBang(T - 1.0 / f)
    copies = [plain(np.clip(t - k / (2.0 * f), 0.0, plain.duration)).s for k in range(3)]
    np.testing.assert_allclose(law(t).s, copies[0] / 4.0 + copies[1] / 2.0 + copies[2] / 4.0, atol=1e-13)


def test_retimed_keeps_the_way() -> None:
    line = Line([0.0, 0.0, -0.6], [0.2, 0.1, -0.7], motion="xyz", duration=3.0)
    motion = Retimed(Path(line), ShapedTiming(Quintic(1.0), "ei", [5.0, 4.0], 0.5))
    t, h = np.linspace(0.05, 0.45, 7), 1e-5
    here = motion(t)
    share = (here.x - line(0.0).x) / (line(3.0).x - line(0.0).x)
    np.testing.assert_allclose(share, share[:, :1] * np.ones(3), atol=1e-12)
    np.testing.assert_allclose((motion(t + h).x - motion(t - h).x) / (2.0 * h), here.v, atol=1e-7)
    np.testing.assert_allclose(motion(0.5).x, line(3.0).x, atol=1e-12)


def test_spline_rests_at_its_ends() -> None:
    c = np.concatenate([np.zeros(3), np.linspace(0.1, 0.9, 10), np.ones(3)])
    law = SplineTiming(0.4, c)
    ends = law(np.array([0.0, 0.4]))
    np.testing.assert_allclose([ends.s, ends.ds, ends.dds], [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]], atol=1e-9)


def test_timing_of_a_motion_along_a_path() -> None:
    path = Path(Line([0.0, 0.0, 0.0], [0.2, 0.0, 0.0], motion="xyz", duration=1.0))
    motion = AlongPath(
        path, np.linspace(0.0, path.length, 5), np.array([0.0, 1.0, 2.0, 1.0, 0.0]), np.zeros(4)
    )
    t = np.linspace(0.0, motion.duration, 9)[1:-1]
    np.testing.assert_allclose(Retimed(path, PathTiming(motion))(t).v, motion(t).v, atol=1e-12)


def test_errors() -> None:
    with pytest.raises(TrajectoryError, match="by itself, no less than the duration"):
        ShapedTiming(Quintic(1.0), "zvd", 4.0, 0.25)
    with pytest.raises(TrajectoryError, match="did you mean 'zv'"):
        shaper_weights("zdv")
    with pytest.raises(TrajectoryError, match="above zero"):
        ShapedTiming(Quintic(1.0), "zv", [4.0, np.nan], 1.0)
    with pytest.raises(TrajectoryError, match="damping"):
        shaper_weights("zv", 1.0)
