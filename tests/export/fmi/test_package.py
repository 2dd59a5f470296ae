"""FMUs, loaded by FMPy: they validate, and move as `nacelle.simulate` does."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from nacelle.errors import ExportError
from nacelle.export.entries import Wanted
from nacelle.export.fmi.package import wanted_for_fmi
from nacelle.export.states import seeded_states
from nacelle.simulation.plant import RigidPlant
from support.fmus import SMOOTH, fmu, loaded
from support.library import NAMES, library_robot

STEP, UNTIL = 1e-3, 0.02


def _simulated(name: str, x0: np.ndarray, v0: np.ndarray, force: np.ndarray) -> nacelle.Simulation:
    plant = RigidPlant(library_robot(name), smooth=SMOOTH)
    return nacelle.simulate(plant, x0, v0, force, until=UNTIL, method="rk4", step=STEP, events={})


def _cosimulated(name: str) -> None:
    """Steps of the FMU and of `nacelle.simulate` from the same state under the same forces."""
    states = seeded_states(library_robot(name), 1, seed=3, smooth=SMOOTH)
    x0, v0, force = states.x[0], 0.2 * states.v[0], 1.1 * states.tau[0]
    want = _simulated(name, x0, v0, force)
    with loaded(fmu(name)) as one:
        one.set("start.", [*x0, *v0])
        one.initialise()
        one.set("force.", force)
        for k in range(5):
            one.instance.doStep(k * UNTIL / 5, UNTIL / 5)
        got_x, got_v = one.get("pose."), one.get("twist.")
        q = nacelle.inverse_kinematics(library_robot(name), want.x[-1], limits=False).actuators
        np.testing.assert_allclose(one.get("position."), q, atol=1e-9)
    np.testing.assert_allclose(got_x, want.x[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(got_v, want.v[-1], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["", "inverse_dynamics", "controller cf-rb-friction"])
def test_it_validates(what: str) -> None:
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(fmu("fivebar", what))) == []


def test_motion_is_that_of_simulate() -> None:
    _cosimulated("fivebar")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_motion_of_every_robot(name: str) -> None:
    _cosimulated(name)


def test_model_exchange_and_states_to_come_back_to() -> None:
    """The Runge-Kutta method around the derivatives of the FMU; and the same again from a kept state."""
    states = seeded_states(library_robot("fivebar"), 1, seed=3, smooth=SMOOTH)
    x0, v0, force = states.x[0], 0.2 * states.v[0], 1.1 * states.tau[0]
    want = _simulated("fivebar", x0, v0, force)
    with loaded(fmu("fivebar"), exchanged=True) as one:
        model, n = one.instance, one.description.numberOfContinuousStates
        one.set("start.", [*x0, *v0])
        one.initialise()
        one.set("force.", force)
        model.enterContinuousTimeMode()
        kept = model.getFMUState()
        written = model.serializeFMUState(kept)

        def given(function: Callable[..., object], new: np.ndarray | None = None) -> np.ndarray:
            """What a function gives of all states, after these have been set."""
            numbers = (ctypes.c_double * n)()
            if new is not None:
                numbers[:] = new.tolist()
                model.setContinuousStates(numbers, n)
            function(numbers, n)
            return np.array(numbers)

        def slope(t: float, s: np.ndarray) -> np.ndarray:
            model.setTime(t)
            return given(model.getContinuousStateDerivatives, s)

        def moved() -> np.ndarray:
            s = given(model.getContinuousStates)
            for k in range(round(UNTIL / STEP)):
                t, h = k * STEP, STEP
                k1 = slope(t, s)
                k2 = slope(t + h / 2, s + h / 2 * k1)
                k3 = slope(t + h / 2, s + h / 2 * k2)
                s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(t + h, s + h * k3))
            given(model.getContinuousStates, s)
            return one.get("pose.")

        first = moved()
        np.testing.assert_allclose(first, want.x[-1], rtol=0, atol=1e-12)
        model.setFMUState(kept)
        np.testing.assert_array_equal(moved(), first)
        model.freeFMUState(kept)
        again = model.deserializeFMUState(written)
        model.setFMUState(again)
        np.testing.assert_array_equal(moved(), first)
        model.freeFMUState(again)


def _inverse(name: str) -> None:
    states = seeded_states(library_robot(name), 4, smooth=SMOOTH)
    with loaded(fmu(name, "inverse_dynamics")) as one:
        one.initialise()
        for x, v, a, force in zip(states.x, states.v, states.a, states.tau, strict=True):
            one.set("pose.", x)
            one.set("twist.", v)
            one.set("acceleration.", a)
            np.testing.assert_allclose(one.get("force."), force, rtol=0, atol=1e-9 * np.max(np.abs(force)))


@pytest.mark.slow
def test_inverse_dynamics() -> None:
    _inverse("fivebar")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["3rps", "quattro", "palida"])
def test_inverse_dynamics_where_legs_are_found_by_iteration(name: str) -> None:
    _inverse(name)


@pytest.mark.slow
def test_a_controller_takes_its_samples() -> None:
    """Two samples in a step, one, and none: forces are those of the controller in Python."""
    robot = library_robot("fivebar")
    law = controller(robot, "cf-rb-friction")
    states = seeded_states(robot, 1, smooth=SMOOTH)
    x, q = states.x[0], law.coordinates(states.x[0])
    memory, motion = law.start(x), DesiredMotion(x, np.zeros(2), np.zeros(2))
    with loaded(fmu("fivebar", "controller cf-rb-friction")) as one:
        one.set("start.", x)
        one.initialise()
        one.set("desired.pose.", x)
        t = 0.0
        for samples, part in ((2, 2.0), (1, 1.0), (1, 0.5), (0, 0.5), (1, 0.3)):
            reading = q + 1e-3 * np.sin(t / law.period + np.arange(len(q)))
            one.set("position.", reading)
            for _ in range(samples):
                want, memory = law.step(memory, reading, motion)
            one.instance.doStep(t, part * law.period)
            t += part * law.period
            np.testing.assert_allclose(one.get("force."), want, rtol=1e-9)
        assert one.get("status") == 0.0


def test_what_is_refused(tmp_path: Path) -> None:
    from fmpy.fmi1 import FMICallException

    with loaded(fmu("fivebar")) as one:
        one.set("start.", [9.0, 9.0, 0.0, 0.0])
        one.instance.enterInitializationMode()
        with pytest.raises(FMICallException):
            one.instance.exitInitializationMode()
        one.instance.reset()
        one.initialise()
        for wrong in ("start.", "pose."):
            with pytest.raises(FMICallException):
                one.set(wrong, [0.0] * len(one.names(wrong)))
        with pytest.raises(FMICallException):
            one.instance.doStep(0.0, -1.0)
    robot = library_robot("fivebar")
    for options, words in (
        ({"models": "inverse_dynamics,jacobian"}, "an FMU holds one"),
        ({"models": "forward_dynamics", "parameters": "inertia"}, "constants of an FMU"),
        ({"models": "inverse_dynamic"}, "did you mean"),
        ({"precision": "float"}, "computes in double"),
    ):
        with pytest.raises(ExportError, match=words):
            nacelle.export(robot, out=tmp_path / "a.fmu", target="fmi", **options)
    assert list(tmp_path.iterdir()) == []
    assert wanted_for_fmi(Wanted(())).plant
    assert wanted_for_fmi(Wanted(("forward_dynamics",))).models == ()
