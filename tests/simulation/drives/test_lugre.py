"""LuGre friction alone: what the literature says that it does, and the textbook's equations."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import nacelle
from nacelle.compile import compile_rk4
from nacelle.simulation.drives import LuGre
from nacelle.simulation.plant import NativeDriver
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import pack
from support.cart import cart

Array = np.ndarray
# The example of Canudas de Wit et al. (1995), table 1: a mass of 1 kg.
PAPER = LuGre(1.0, 1.5, 1e-3, 1e5, math.sqrt(1e5), 0.4, fade=math.inf)
# The same as it is by default: passive, and at high rates of steady sliding.
PASSIVE = dataclasses.replace(PAPER, fade=None)
BLENDED = dataclasses.replace(PASSIVE, blend=0.01)
MODELS = {"paper": PAPER, "passive": PASSIVE, "blended": BLENDED}


@cache
def mass_on(model: LuGre):
    """The native loop of a mass of 1 kg: states [position, rate, bristles] under u - k x, constants [k]."""

    @physics(s=(3,), u=(1,), k=(1,))
    def mass(robot, s, u, k):
        x, w, b = s
        return pack([w, u[0] - k[0] * x - model.force(w, b), model.bristle_rate(w, b)])

    return compile_rk4(mass, cart())


@cache
def rubbed(model: LuGre):
    """The native loop of friction at a given rate: states [bristles, work, energy lost]."""

    @physics(s=(3,), w=(1,), k=(1,))
    def rub(robot, s, w, k):
        b, rate = s[0], w[0]
        work, lost = model.force(rate, b) * rate, model.dissipation(rate, b)
        return pack([model.bristle_rate(rate, b), work, lost])

    return compile_rk4(rub, cart())


def integrated(driver, f: Callable[[Array], Array], until: float, h: float, k: float = 0.0) -> Array:
    """States (3, steps) from zero on, under an input that is a function of time."""
    t = h * np.arange(round(until / h))
    u = np.stack([f(t), f(t + 0.5 * h), f(t + h)], axis=1)[..., None]
    return NativeDriver(driver, np.array([k])).integrate(np.zeros(3), u, h=h, steps=len(t)).T


def textbook(t: float, s: Array, force: float) -> list[float]:
    """The equations as the paper has them, with its numbers."""
    _, v, z = s.tolist()
    g = (1.0 + 0.5 * math.exp(-((v / 0.001) ** 2))) / 1e5
    z_rate = v - abs(v) / g * z
    return [v, force - (1e5 * z + math.sqrt(1e5) * z_rate + 0.4 * v), z_rate]


def test_the_equations_of_the_textbook() -> None:
    def force(t: float | Array) -> float | Array:
        return 2.0 * np.sin(28.0 * t)

    ours = integrated(mass_on(PAPER), force, 0.25, 2e-6)[:, 499::500]
    theirs = solve_ivp(
        lambda t, s: textbook(t, s, 2.0 * math.sin(28.0 * t)),
        (0.0, 0.25),
        np.zeros(3),
        "Radau",
        1e-3 * np.arange(1, 251),
        rtol=1e-7,
        atol=1e-11,
    ).y
    assert np.ptp(ours[0]) > 1e-3
    assert np.min(ours[1]) < -0.01  # it slides both ways, and sticks in between
    np.testing.assert_allclose(ours[:2], theirs[:2], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_steady_sliding(model: LuGre) -> None:
    """At a constant rate the bristles come to g(w) sign(w) / sigma_0, and friction to the static curve."""
    for w in (-0.3, -1e-3, 2e-4, 5e-3, 1.0):
        time = 40.0 / model.relaxation(w)
        b = integrated(rubbed(model), lambda t, w=w: np.full(len(t), w), time, time / 400.0)[0, -1]
        static_curve = (1.0 + 0.5 * math.exp(-((w / 1e-3) ** 2))) * np.sign(w) + 0.4 * w
        assert model.force(w, b) == pytest.approx(static_curve, abs=1e-9)
        assert model.steady(w) == pytest.approx(static_curve, abs=1e-15)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_break_away_falls_with_the_rate_of_the_force(model: LuGre) -> None:
    """The paper's figure 4: close to F_s for a slow ramp, towards F_c for a fast one."""
    peaks = []
    for ramp in (0.1, 1.0, 10.0, 50.0, 1000.0):
        _, w, b = integrated(mass_on(model), lambda t, ramp=ramp: ramp * t, 2.0 / ramp + 0.02, 5e-5)
        away = int(np.argmax(np.abs(w) > 2e-3))  # twice the Stribeck rate: it slides
        assert away > 0
        w, b = w[: away + 1], b[: away + 1]
        peaks.append(np.max(model.force(w, b) - model.viscous * w))
    assert peaks[0] == pytest.approx(1.5, rel=0.02)
    assert np.all(np.diff(peaks) < 0.0)
    assert peaks[-1] < 1.25


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_mass_sticks(model: LuGre) -> None:
    """Under a constant force below F_s it moves by about F / sigma_0, and then it rests."""
    h = 5e-4
    x, w, b = integrated(mass_on(model), lambda t: 1.2 * np.minimum(t, 1.0), 500.0, h)[:, round(1.2 / h) :]
    assert 0.9 * 1.2e-5 < b[0] < 1.1 * 1.2e-5
    assert abs(x[0]) < 5 * 1.2e-5
    assert np.ptp(x) < 1e-9
    assert abs(w[-1]) < 1e-12
    assert model.stiffness * b[-1] == pytest.approx(1.2, rel=1e-9)


def test_stick_slip() -> None:
    """A mass pulled slowly by a spring of 2 N/m (the paper's figure 6) stops again and again."""
    runs = [
        integrated(mass_on(model), lambda t: 0.2 * t, 25.0, h, 2.0)[:, round(1e-3 / h) - 1 :: round(1e-3 / h)]
        for model, h in ((PAPER, 2e-5), (BLENDED, 5e-4))
    ]
    for x, w, _ in runs:
        late = w[len(w) // 3 :]
        assert np.sum(np.diff((late < 1e-4).astype(int)) > 0) >= 2
        assert np.max(late) > 0.2
        assert x[-1] > 1.5
    # A damper that fades and steady sliding at high rates change the motion little.
    assert 1e-3 < np.max(np.abs(runs[0][0] - runs[1][0])) < 5e-3


def test_creep() -> None:
    """A known weakness: forces that swing below static friction move a LuGre joint, unless about zero."""
    ends = {}
    for mean in (0.0, 0.7):
        x = integrated(mass_on(BLENDED), lambda t, m=mean: m + 0.5 * np.sin(10.0 * t), 8.0 * np.pi, 2e-4)[0]
        period = round(0.2 * np.pi / 2e-4)
        ends[mean] = (x[-1] - x[-1 - 10 * period]) / 10.0
    assert abs(ends[0.0]) < 1e-8
    assert 1.2e-5 < ends[0.7] < 1.8e-5


def test_no_stick_slip_where_it_is_pulled_fast() -> None:
    w = integrated(mass_on(BLENDED), lambda t: 2.0 * t, 40.0, 5e-4, 2.0)[1]
    assert np.max(w) > 1.5
    np.testing.assert_allclose(w[-len(w) // 10 :], 1.0, atol=1e-2)


def test_passive() -> None:
    """Power is lost at every rate and deflection; with a constant damper it is not."""
    rng = np.random.default_rng(5)
    w = 10.0 ** rng.uniform(-7, 1, 20000) * rng.choice([-1.0, 1.0], 20000)
    b = rng.uniform(-1.5e-5, 1.5e-5, 20000)
    for model in (PASSIVE, BLENDED):
        for plain in (model, dataclasses.replace(model, viscous=0.0)):
            lost = plain.dissipation(w, b)
            assert np.min(lost) > -1e-12 * np.max(lost)
    assert np.min(dataclasses.replace(PAPER, viscous=0.0).dissipation(w, b)) < -1e-3


@pytest.mark.parametrize("model", [PASSIVE, BLENDED], ids=["passive", "blended"])
def test_no_cycle_gives_energy(model: LuGre) -> None:
    """Work of friction over closed motions of any size, after the first turn, is never negative."""
    for size, turns in ((1e-6, 3.0), (2e-5, 50.0), (1e-3, 20.0), (0.05, 9.0)):
        period = 2.0 * np.pi / turns
        run = integrated(
            rubbed(model),
            lambda t, size=size, turns=turns: size * turns * np.cos(turns * t),
            2.0 * period,
            period / 100000.0,
        )
        b, work, lost = run
        assert work[-1] - work[99999] > 0.0
        assert np.min(np.diff(lost)) > -1e-15 * np.max(lost)
        # What is not lost is in the bristles.
        np.testing.assert_allclose(work - lost, model.potential(b), rtol=0.0, atol=1e-8 * work[-1])


def test_the_damper_fades_so_far_that_friction_is_passive() -> None:
    for damping in (1.0, 1e3, 1e6):
        model = LuGre(2.0, 3.0, 0.05, 1e4, damping)
        w = np.linspace(1e-4, 1.0, 10001)
        assert np.all(model.damper(w) * w <= 4.0 * model.level(w))
        assert model.fade_rate <= 0.05


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"coulomb": 0.0}, "coulomb of LuGre friction is above zero"),
        ({"static": 0.5}, "static friction is at least Coulomb friction"),
        ({"rate": math.nan}, "rate of LuGre friction is above zero"),
        ({"stiffness": math.inf}, "stiffness of LuGre friction is above zero"),
        ({"damping": -1.0}, "damping of LuGre friction is not negative"),
        ({"fade": 0.0}, "fade of LuGre friction is above zero"),
        ({"blend": "fast"}, "blend of LuGre friction is a number"),
    ],
)
def test_mistakes(numbers: dict, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        dataclasses.replace(PAPER, **numbers)
