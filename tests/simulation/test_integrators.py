"""Every integrator has the order that it should have; events are met where their function crosses zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from nacelle.simulation.integrators import event_within, first_bad
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import Event, EventGroup
from nacelle.simulation.simulate import simulate
from support.sprung import shaken, sprung
from support.sprung_mass import SprungMass

Array = np.ndarray

# Method, expected order, lengths of the step, tolerance: so loose that the longest step is always taken.
METHODS = [
    ("rk4", 4, (0.02, 0.01), 1.0),
    ("irk5", 5, (0.2, 0.1), 1.0),
    ("dop853", 8, (0.25, 0.125), 1e3),
    ("radau", 5, (0.125, 0.0625), 1e-4),
]


def error(method: str, step: float, tolerance: float, **options) -> float:
    plant = SprungMass()
    force = options.pop("force", lambda t: np.array([np.cos(1.3 * t)]))
    run = simulate(
        plant, [1.0], [0.5], force, until=2.0, method=method, step=step, max_step=step,
        rtol=tolerance, atol=tolerance, **options,
    )  # fmt: skip
    assert len(run.t) == round(2.0 / step) + 1
    exact = plant.exact(run.t[-1], 1.0, 0.5, 1.3)
    return float(np.max(np.abs(run.states[-1] - exact)))


@pytest.mark.parametrize(("method", "order", "steps", "tolerance"), METHODS)
def test_order_with_a_function_of_time(
    method: str, order: int, steps: tuple[float, float], tolerance: float
) -> None:
    first, second = (error(method, step, tolerance) for step in steps)
    assert np.log2(first / second) == pytest.approx(order, abs=0.35)
    assert second > 1e-13


def test_order_with_feedback() -> None:
    """The drive's own spring, in Python, in the place of half of the plant's."""
    soft = SprungMass(stiffness=4.5)
    ends = []
    for step in (0.02, 0.01):
        run = simulate(
            soft, [1.0], [0.5], lambda t, x, v: np.cos(1.3 * t) - 4.5 * x, until=2.0, method="rk4", step=step
        )
        ends.append(np.max(np.abs(run.states[-1] - SprungMass().exact(2.0, 1.0, 0.5, 1.3))))
    assert np.log2(ends[0] / ends[1]) == pytest.approx(4.0, abs=0.2)


def test_a_held_force_is_of_first_order() -> None:
    first, second = (error("rk4", step, 1.0, hold=True) for step in (0.02, 0.01))
    assert first / second == pytest.approx(2.0, abs=0.1)


def test_order_of_a_robot_with_a_function_of_time() -> None:
    robot, x = sprung("fivebar", 20.0)
    plant = RigidPlant(robot, friction=False)

    def force(t: float) -> Array:
        return np.array([np.sin(20.0 * t), 0.5 * np.cos(15.0 * t)])

    exact = simulate(plant, x, shaken(robot), force, until=0.2, events=[]).states[-1]
    errors = []
    for step in (2e-3, 1e-3):
        run = simulate(plant, x, shaken(robot), force, until=0.2, method="rk4", step=step, events=[])
        errors.append(np.max(np.abs(run.states[-1] - exact)))
    assert 14.0 < errors[0] / errors[1] < 18.5


# ---- events: the last time before each, against SciPy's root


def states(t: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(3.0 * t), np.sin(t) + 0.1 * t])


LOW = Event("low", lambda t, s: s[:, 0] + 0.4)
HIGH = Event("high", lambda t, s: 0.9 - s[:, 1])


@pytest.mark.parametrize(("end", "name"), [(0.7, "low"), (0.6, None), (2.5, "low")])
def test_the_first_event_within_a_step(end: float, name: str | None) -> None:
    found = event_within([HIGH, LOW], 0.0, end, states)
    if name is None:
        assert found is None
        return
    assert found is not None
    root = brentq(lambda t: np.cos(3.0 * t) + 0.4, 0.0, 1.0, xtol=1e-15)
    assert found[0] == pytest.approx(root, abs=1e-14)
    assert found[1] == name
    assert LOW.value(np.array([found[0]]), states(np.array([found[0]])))[0] > 0.0


def test_what_crosses_and_comes_back_is_seen() -> None:
    dip = Event("dip", lambda t, s: np.abs(t - 0.5) - 0.1)
    assert event_within([dip], 0.0, 1.0, states) == (pytest.approx(0.4, abs=1e-15), "dip")


def test_states_that_are_not_finite_and_groups() -> None:
    t, s = np.arange(4.0), np.ones((4, 2))
    group = EventGroup(("one", "two"), lambda t, s: np.column_stack([s[:, 0], 2.5 - t]))
    assert first_bad([group], t, s) == 3
    s[2, 1] = np.nan
    assert first_bad([group], t, s) == 2
    assert first_bad([], t[:2], s[:2]) is None
