"""The ruler for closed loops: its truth against formulas, nacelle and Pinocchio, and its page."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
RULER = ROOT / "benchmarks" / "ruler"
ROBOTS = sorted(path.stem for path in (RULER / "truth").glob("*.json"))
# Robots with friction, an overconstrained loop, ball joints.
QUICK = ("slider-crank", "bennett", "3rps")
# Two programs in double precision agree to these digits where a state is ordinary.
AGREE = 11.0


@pytest.fixture(scope="module")
def ruler() -> Iterator[Any]:
    """The modules of the ruler by their names."""
    path, digits = list(sys.path), mpmath.mp.dps
    sys.path.insert(0, str(RULER))
    yield importlib.import_module
    sys.path[:], mpmath.mp.dps = path, digits


def record_of(name: str) -> dict[str, Any]:
    return json.loads((RULER / "truth" / f"{name}.json").read_text(encoding="utf-8"))


def test_there_are_thirty_robots(ruler: Any) -> None:
    assert sorted(ruler("collection").ROBOTS) == ROBOTS
    assert len(ROBOTS) == 30


def test_the_four_bar_is_a_pendulum() -> None:
    """Two links and a plate that never turns: (2 I + M l^2) q'' = tau - (m + M) g l sin q."""
    record = record_of("gazebo-fourbar")
    with mpmath.workdps(60):
        link, _, *halves = record["robot"]["bodies"]
        m, r, l = mpmath.mpf(link["mass"]), mpmath.mpf("0.25"), mpmath.mpf("0.5")
        M = sum(mpmath.mpf(half["mass"]) for half in halves)
        g = -mpmath.mpf(record["robot"]["gravity"][2])
        inertia = 2 * (mpmath.mpf(link["inertia"][0][0]) + m * r**2) + M * l**2
        torque = (2 * m * r + M * l) * g
        exact = mpmath.sqrt(torque / inertia) / (2 * mpmath.pi)
        assert abs(mpmath.mpf(record["equilibrium"]["frequencies"][0]) / exact - 1) < mpmath.mpf("1e-48")
        for state in record["states"]:
            q, v, tau = (mpmath.mpf(state[key][0]) for key in ("q", "v", "tau"))
            a = (tau - torque * mpmath.sin(q)) / inertia
            assert abs(mpmath.mpf(state["accelerations"][0]) / a - 1) < mpmath.mpf("1e-46")
            assert abs(mpmath.mpf(state["kinetic"]) / (inertia * v**2 / 2) - 1) < mpmath.mpf("1e-48")
        # The page's figure for the release at 25 degrees: a quarter of the period is an elliptic integral.
        released = exact * mpmath.pi / 2 / mpmath.ellipk(mpmath.sin(mpmath.radians(25) / 2) ** 2)
    page = (ROOT / "docs" / "ruler.md").read_text(encoding="utf-8")
    assert f"{float(exact):.4f} Hz" in page
    assert f"Released at 25° it has {float(released):.4f} Hz" in page


def compare_with_engine(ruler: Any, engine: str, name: str, folder: Path) -> None:
    """Accelerations, forces, energies and frequencies of an engine with the truth."""
    measure, record = ruler("measure"), record_of(name)
    adapter = ruler(f"engines.{engine}").Adapter(record["robot"], ruler("describe").write_files(name, folder))
    for figure in ("accelerations", "forces", "energies"):
        assert getattr(measure, figure)(adapter, record) > AGREE - 1.0, figure
    # Of these the formula for derivatives has its share.
    assert measure.frequencies(adapter, record)["frequencies"] > 9.0


def test_nacelle_agrees(ruler: Any, tmp_path: Path) -> None:
    compare_with_engine(ruler, "nacelle", "slider-crank", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["nacelle", "pinocchio"])
@pytest.mark.parametrize("name", ROBOTS)
def test_engines_agree_on_all_robots(ruler: Any, name: str, engine: str, tmp_path: Path) -> None:
    if engine == "pinocchio":
        pytest.importorskip("pinocchio")
    compare_with_engine(ruler, engine, name, tmp_path)


def assert_alike(values: Any, expected: Any) -> None:
    """Descriptions with the same texts, and numbers that differ by rounding alone."""
    if isinstance(expected, dict):
        assert values.keys() == expected.keys()
        for key in expected:
            assert_alike(values[key], expected[key])
    elif isinstance(expected, list):
        assert len(values) == len(expected)
        for value, other in zip(values, expected, strict=True):
            assert_alike(value, other)
    elif isinstance(expected, float):
        assert math.isclose(values, expected, rel_tol=1e-12, abs_tol=1e-13)
    else:
        assert values == expected


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ROBOTS]
)
def test_descriptions_are_those_of_the_truth(ruler: Any, name: str) -> None:
    assert_alike(ruler("describe").describe(name), record_of(name)["robot"])


@pytest.mark.parametrize(
    "name",
    ["gazebo-fourbar", *(pytest.param(name, marks=pytest.mark.slow) for name in ("slider-crank", "bennett"))],
)
def test_the_truth_is_made_again(ruler: Any, name: str) -> None:
    """All digits but the last, from the numbers that are kept."""
    kept = record_of(name)
    again = ruler("truth").make(kept["robot"])
    pairs = [(again["equilibrium"]["frequencies"], kept["equilibrium"]["frequencies"])]
    for state, expected in zip(again["states"], kept["states"], strict=True):
        assert state["q"] == expected["q"]
        pairs.append((state["accelerations"], expected["accelerations"]))
    for texts, expected in pairs:
        with mpmath.workdps(60):
            for text, digits in zip(texts, expected, strict=True):
                assert abs(mpmath.mpf(text) - mpmath.mpf(digits)) <= abs(mpmath.mpf(digits)) * mpmath.mpf(
                    "1e-48"
                )


@pytest.mark.parametrize("name", QUICK)
def test_double_precision_has_the_digits_of_doubles(ruler: Any, name: str) -> None:
    """Equations in double agree with those at 50 digits, and states are on the loops."""
    measure, record = ruler("measure"), record_of(name)
    adapter = ruler("engines.equations").Adapter(record["robot"], {})
    assert measure.accelerations(adapter, record) > 13.0
    for state in record["states"]:
        assert np.max(np.abs(adapter.mechanism.state(np.array(state["q"])).gap)) < 1e-14


def test_gaps_are_seen(ruler: Any) -> None:
    """Of a body that leaves its joint by 1 mm."""
    engine, record = ruler("engine"), record_of("bennett")
    mechanism = ruler("mechanism").Mechanism(record["robot"])
    adapter = ruler("engines.equations").Adapter(record["robot"], {})
    q, v = (np.array(record["states"][0][key]) for key in ("q", "v"))
    bodies = adapter.tree_bodies(q, v)
    assert max(engine.gaps(mechanism, bodies)) < 1e-14
    angles, rates = engine.coordinates(mechanism, bodies)
    assert np.allclose(angles, q, rtol=0, atol=1e-14)
    assert np.allclose(rates, v, rtol=0, atol=1e-13)
    state = record["states"][0]
    total = float(state["kinetic"]) + float(state["potential"])
    assert math.isclose(engine.energy(mechanism, bodies), total, rel_tol=1e-13)
    bodies.p[1] += [0.001, 0.0, 0.0]
    assert math.isclose(engine.gaps(mechanism, bodies)[0], 0.001, rel_tol=1e-9)


def test_the_page_is_made_of_the_results(ruler: Any) -> None:
    page = ruler("page")
    results = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == page.page(results)
    written = {path.stem for path in (RULER / "engines").glob("*.py")}
    assert written == set(page.TITLES)
