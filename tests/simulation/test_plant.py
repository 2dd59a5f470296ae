"""The plant protocol: a plant of the tests' own through every method, events, resuming, files, pictures."""

from __future__ import annotations

import dataclasses
import inspect
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.simulation.integration import Integration
from nacelle.simulation.integrators import integrate_fixed
from nacelle.simulation.protocol import Event, user_event
from nacelle.simulation.rigid_plant import rigid_plant
from nacelle.simulation.simulate import simulate
from support.sprung import random_twist, sprung_robot
from support.sprung_mass import SprungMass

Array = np.ndarray
METHODS = ["rk4", "dop853", "radau"]
OPTIONS = {
    "rk4": {"step": 1e-3},
    "dop853": {"rtol": 1e-10, "atol": 1e-12},
    "radau": {"rtol": 1e-9, "atol": 1e-11},
}
ENTRIES = {field.name for field in dataclasses.fields(Integration)}


def wave(t: float) -> Array:
    return np.array([np.cos(1.3 * t)])


def run_of(
    method: str, plant: SprungMass | None = None, until: float = 2.0, **options
) -> nacelle.simulation.Simulation:
    plant = SprungMass() if plant is None else plant
    steps = OPTIONS[method] | {name: options.pop(name) for name in ENTRIES & options.keys()}
    settings = {"tau": wave, **options}
    return simulate(plant, [1.0], [0.5], until=until, integration=Integration(method, **steps), **settings)


@pytest.mark.parametrize("method", METHODS)
def test_exact_solution(method: str) -> None:
    run = run_of(method)
    np.testing.assert_allclose(run.states[-1], SprungMass().exact(2.0, 1.0, 0.5, 1.3), rtol=2e-8)
    assert np.max(np.abs(run.balance)) < 1e-8 * np.max(run.energy)
    assert run.evaluations > 0


@pytest.mark.parametrize("method", METHODS)
def test_friction_and_forces_in_the_balance(method: str) -> None:
    run = run_of(method, SprungMass(damping=0.7))
    assert run.dissipated_energy[-1] > 0.5
    assert abs(run.work[-1]) > 0.05
    assert np.max(np.abs(run.balance)) < 1e-8 * np.max(run.energy)


def test_balance_of_a_robot_with_held_rows() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    rows = 0.5 * np.sin(np.linspace(0.0, 9.0, 200))[:, None] * np.array([1.0, -0.5])
    run = simulate(
        rigid_plant(robot, smooth=0.5), x, tau=rows, until=0.2, integration=Integration("rk4", step=1e-3)
    )
    assert np.max(np.abs(run.work)) > 1e-3
    assert np.max(run.dissipated_energy) > 1e-5
    assert np.max(np.abs(run.balance)) < 1e-7 * np.max(np.abs(run.work))


def test_without_friction_none_is_dissipated() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    run = simulate(rigid_plant(robot, friction=False), x, random_twist(robot), until=0.1, events=[])
    assert np.all(run.dissipated_energy == 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_events_end_at_their_time(method: str) -> None:
    """x = cos 3t + sin 3t / 6 is zero where tan 3t = -6."""
    plant = SprungMass()
    event = user_event(plant, "the mass passes its rest", lambda t, x, v: x[0])
    run = run_of(method, plant, tau=None, events=[event])
    assert run.status == "event"
    assert run.message.endswith("the mass passes its rest")
    exact = (np.pi - np.arctan(6.0)) / 3.0
    assert run.t[-1] == pytest.approx(exact, rel=1e-8)
    assert abs(run.x[-1, 0]) < 1e-13
    assert len(run.t) == len(run.states) == len(run.tau)


def test_an_event_that_comes_back_within_a_step_is_seen() -> None:
    plant = SprungMass()
    dip = Event("it was low", lambda t, s: np.abs(t - 0.5) - 0.06)
    run = run_of("dop853", plant, rtol=1e-2, atol=1e-2, max_step=1.0, step=1.0, tau=None, events=[dip])
    assert run.t[-1] == pytest.approx(0.44, abs=1e-12)


def test_the_plants_own_events_are_watched() -> None:
    run = run_of("dop853", tau=[60.0])
    assert run.message.endswith("the mass is at the wall")
    assert run.x[-1, 0] == pytest.approx(5.0, abs=1e-10)


def test_limits_of_passive_joints_end_a_run() -> None:
    import dataclasses

    robot = nacelle.load("fivebar")
    x = nacelle.reference_pose(robot)
    active = {actuator.joint for actuator in robot.actuators}
    j = next(k for k, joint in enumerate(robot.joints) if k not in active and joint.nq == 1)
    name = robot.joints[j].name
    q = float(nacelle.inverse_kinematics(robot, x).joint(name)[0])
    joints = list(robot.joints)
    joints[j] = dataclasses.replace(joints[j], limits=((q - 0.05, q + 0.05),))
    plant = rigid_plant(dataclasses.replace(robot, joints=tuple(joints)), friction=False)
    for method in ("rk4", "dop853"):
        run = simulate(plant, x, [0.3, 0.2], until=1.0, integration=Integration(method))
        assert run.status == "event"
        assert f"joint {name} is at its" in run.message
        assert abs(run.joints.joint(name)[-1, 0] - q) == pytest.approx(0.05, abs=2e-9)


@pytest.mark.parametrize("method", METHODS)
def test_resumed_after_the_end(method: str) -> None:
    whole, first = run_of(method), run_of(method, until=1.2)
    both = first.resume(2.0)
    assert both.t[0] == 0.0
    assert both.t[-1] == 2.0
    assert np.all(np.diff(both.t) > 0.0)
    np.testing.assert_allclose(both.states[-1], whole.states[-1], rtol=1e-8, atol=1e-10)
    if method == "rk4":
        np.testing.assert_allclose(both.states, whole.states, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(both.at([0.7, 1.7]).state, whole.at([0.7, 1.7]).state, atol=1e-7)
    assert np.max(np.abs(both.balance)) < 1e-7


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises, also where the tests run in the background and their shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("method", METHODS)
def test_resumed_after_an_interruption(method: str) -> None:
    calls = 0

    def stops(t: float) -> Array:
        nonlocal calls
        calls += 1
        if calls == 40 and method != "rk4":
            os.kill(os.getpid(), signal.SIGINT)
        return wave(t)

    def stops_at(part: float) -> None:
        if part >= 0.5 and method == "rk4" and calls >= 0:
            raise KeyboardInterrupt

    run = run_of(method, tau=stops, progress=stops_at)
    assert run.status == "interrupted"
    assert run.message.startswith("stopped at")
    assert 2 <= len(run.t) == len(run.states)
    assert run.t[-1] < 2.0
    calls = 41
    both = run.resume(progress=False)
    assert both.ok
    np.testing.assert_allclose(both.states[-1], run_of(method).states[-1], rtol=1e-8, atol=1e-10)


def test_rows_go_on_where_they_stopped() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    plant = rigid_plant(robot, friction=False)
    rows = np.random.default_rng(1).normal(size=(2500, 2))
    settings = {"until": 0.25, "integration": Integration("rk4", step=1e-4), "events": []}
    whole = simulate(plant, x, tau=rows, **settings)

    def stop(part: float) -> None:
        raise KeyboardInterrupt

    cut = simulate(plant, x, tau=rows, progress=stop, **settings)
    assert cut.status == "interrupted"
    assert len(cut.t) == 1001
    both = cut.resume(progress=False)
    np.testing.assert_allclose(both.states, whole.states, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(both.tau, whole.tau)
    with pytest.raises(nacelle.KinematicsError, match="has rows for 2500 steps"):
        cut.resume(0.3, progress=False)
    more = whole.resume(0.3, tau=np.zeros((500, 2)))
    assert more.t[-1] == 0.3


@pytest.mark.parametrize("hold", [False, True])
def test_fixed_steps_go_on_after_an_event(hold: bool) -> None:
    """The step that was cut short is finished first, with the force that was held."""
    plant = SprungMass()
    event = user_event(plant, "low", lambda t, x, v: x[0])
    run = run_of("rk4", plant, step=0.01, hold=hold, events=[event])
    both = run.resume(events=[])
    whole = run_of("rk4", plant, step=0.01, hold=hold, events=[])
    assert len(both.t) == len(whole.t) + 1
    np.testing.assert_allclose(both.states[-1], whole.states[-1], rtol=0.0, atol=1e-8)


def test_an_error_in_a_force_keeps_what_there_is() -> None:
    def breaks(t: float, x: Array, v: Array) -> Array:
        return np.array([1.0 / (0.0 if t > 1.0 else 1.0)])

    for method in METHODS:
        run = run_of(method, tau=breaks)
        assert run.status == "failed"
        assert "ZeroDivisionError" in run.message
        assert run.t[-1] > 0.5
        with pytest.raises(nacelle.NacelleError, match="cannot be resumed"):
            run.resume(3.0)
        with pytest.raises(ZeroDivisionError):
            run_of(method, tau=lambda t: 1 / 0)


def test_progress(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    for method in METHODS:
        parts: list[float] = []
        run_of(method, progress=parts.append)
        assert parts == sorted(parts)
        assert parts[-1] == pytest.approx(1.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    run_of("rk4", progress=True)
    reported = capsys.readouterr()
    assert "sprung mass" in reported.err
    assert reported.out == ""


def test_files_and_words(tmp_path: Path) -> None:
    run = run_of("dop853", samples=11)
    assert len(run.t) == 11
    run.to_csv(tmp_path / "run.csv")
    run.to_npz(tmp_path / "run.npz")
    lines = (tmp_path / "run.csv").read_text(encoding="utf-8").splitlines()
    assert [name.split(" ")[0] for name in lines[0].split(",")] == ["t", "x", "v", "push"]
    assert len(lines) == 12
    with np.load(tmp_path / "run.npz") as saved:
        np.testing.assert_array_equal(saved["states"], run.states)
    assert "sprung mass" in run._repr_html_()
    assert "sprung mass" in repr(run)
    for name in ("joints", "motion", "closure_error"):
        with pytest.raises(nacelle.KinematicsError, match="a plant without joints"):
            getattr(run, name)
    with pytest.raises(nacelle.KinematicsError, match="without a robot"):
        _ = run.robot
    with pytest.raises(nacelle.KinematicsError, match="from 0 s to 2 s"):
        run.at(2.1)
    assert run.at([]).x.shape == (0, 1)


def test_plots() -> None:
    run = run_of("dop853")
    figure = run.plot(shown=False)
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "position (m)",
        "velocity (m/s)",
        "force (N)",
        "energy since start (J)",
    ]
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), run.x[:, 0])
    assert len(run.plot("balance", shown=False).axes) == 1
    with pytest.raises(nacelle.NacelleError, match="no panel is called 'powers'"):
        run.plot("powers", shown=False)


@nacelle.dynamics.physics(x=(1,))
def law(robot, x):
    return x


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tau": law}, "cannot be compiled with the feedback 'law'"),
        ({"tau": lambda t: np.zeros(2)}, r"gives \(1,\) numbers, got the shape \(2,\) at 0 s"),
        ({"hold": True}, "goes with the methods 'rk4' and 'irk5'"),
        ({"max_step": 0.0}, "the longest step must be above zero"),
        ({"samples": 1}, "at least 2 samples"),
        ({"tau": np.zeros((7, 1))}, "goes with fixed steps, the methods 'rk4'"),
    ],
)
def test_mistakes(options: dict, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        run_of("dop853", **options)
    with pytest.raises(nacelle.KinematicsError, match="no option 'tol'"):
        run_of("dop853").resume(3.0, tol=1.0)


@pytest.mark.slow
def test_states_of_one_plant_keep_their_own_orientations() -> None:
    robot, x = sprung_robot("gough-stewart", 2e4)
    plant = rigid_plant(robot, friction=False)
    poses = [x, nacelle.pose(robot, x[:3], rotation_vector=[0.1, -0.2, 3.0])]
    states = np.array([plant.state(pose, np.arange(6.0)) for pose in poses])
    found, twists = plant.split(states)
    np.testing.assert_allclose(found[0], poses[0], rtol=0.0, atol=1e-14)
    # A quaternion and its opposite are one orientation.
    same = np.sign(np.dot(found[1, 3:], poses[1][3:]))
    np.testing.assert_allclose(found[1, :3], poses[1][:3], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(same * found[1, 3:], poses[1][3:], rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(twists, [np.arange(6.0)] * 2)


@pytest.mark.parametrize(
    ("name", "stiffness"),
    [("fivebar", 20.0), ("delta-codourey", 200.0), pytest.param("3rps", 2e4, marks=pytest.mark.slow)],
)
def test_the_jacobian_is_exact(name: str, stiffness: float) -> None:
    """Against differences of fourth order; the 3-RPS has iterated legs."""
    robot, x = sprung_robot(name, stiffness)
    plant = rigid_plant(robot, smooth=1e-1, exact_jacobian=True)
    s = plant.state(x, random_twist(robot))
    u = np.ones(plant.inputs)
    f, J = plant.derivative(), plant.jacobian()(s, u)
    for k in range(2 * robot.motion.n):
        e = np.zeros(plant.size)
        e[k] = 1e-5
        slope = (8.0 * (f(s + e, u) - f(s - e, u)) - f(s + 2 * e, u) + f(s - 2 * e, u)) / 12e-5
        np.testing.assert_allclose(J[:, k], slope, rtol=1e-6, atol=1e-7 * np.max(np.abs(J)))


@pytest.mark.slow
def test_the_implicit_method_with_either_jacobian() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    ends = [
        simulate(
            rigid_plant(robot, smooth=1e-3, exact_jacobian=exact), x, random_twist(robot), until=0.2,
            integration=Integration("radau", rtol=1e-8, atol=1e-10), events=[],
        ).states[-1]
        for exact in (True, False)
    ]  # fmt: skip
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.0, atol=1e-6)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("method", METHODS)
def test_a_run_without_a_step_has_a_balance(method: str) -> None:
    """Stopped by Ctrl-C before the first step: one sample, and nothing done or lost."""
    calls = 0

    def first(t: float) -> Array:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyboardInterrupt
        return np.zeros(1)

    cut = run_of(method, tau=first)
    assert cut.status == "interrupted"
    assert len(cut.t) == 1
    np.testing.assert_array_equal(cut.work, [0.0])
    np.testing.assert_array_equal(cut.dissipated_energy, [0.0])
    np.testing.assert_array_equal(cut.balance, [0.0])


@pytest.mark.parametrize("samples", [2, 3, 5])
@pytest.mark.parametrize("method", METHODS)
def test_an_event_before_the_first_sample(method: str, samples: int) -> None:
    """The first state and the one at the event are there, whatever was asked for in between."""
    plant = SprungMass()
    event = user_event(plant, "early", lambda t, x, v: 1e-2 - t)
    run = run_of(method, plant, step=1e-3 if method == "rk4" else None, samples=samples, events=[event])
    assert run.status == "event"
    assert run.t[0] == 0.0
    assert run.t[-1] == pytest.approx(1e-2, abs=1e-9)
    assert len(run.t) == len(run.x) == len(run.tau)
    assert abs(run.balance[-1]) < 1e-6


def test_derivatives_of_many_states_are_those_of_each() -> None:
    robot, x = sprung_robot("fivebar", 20.0)
    plant = rigid_plant(robot, friction=False)
    rng = np.random.default_rng(3)
    s = plant.state(x, [0.1, 0.2]) + 1e-3 * rng.normal(size=(5, plant.size))
    u = rng.normal(size=(5, 2))
    f = plant.derivative()
    np.testing.assert_allclose(
        plant.derivatives(s, u), [f(a, b) for a, b in zip(s, u, strict=True)], rtol=1e-13
    )


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (["a"], "an event is a nacelle.simulation.Event.*got 'a'"),
        ("a", "events are a list"),
        (3, "events are a list"),
    ],
)
def test_what_is_no_event(events: object, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        run_of("dop853", events=events)
    run = run_of("dop853", until=0.1)
    with pytest.raises(nacelle.KinematicsError, match=words):
        run.resume(0.2, events=events)


@pytest.mark.costly
@pytest.mark.parametrize("line", ["times.append(at", "states.append(part", "used.append(part", "now, t, k ="])
def test_ctrl_c_between_the_lines_that_keep_a_block(line: str) -> None:
    """Wherever it falls, times, states and inputs have one length, and the message has the last time."""
    source, begin = inspect.getsourcelines(integrate_fixed)
    number, *_ = [begin + k for k, text in enumerate(source) if text.strip().startswith(line)]
    hits = 0

    def watch(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal hits
        if frame.f_code is not integrate_fixed.__code__:
            return None if event == "call" else watch
        if event == "line" and frame.f_lineno == number:
            hits += 1
            if hits == 2:
                raise KeyboardInterrupt
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        run = run_of("rk4", step=1e-4, until=0.5)
    finally:
        sys.settrace(before)
    assert run.status == "interrupted"
    assert len(run.t) == len(run.states) == len(run.tau) >= 1001
    assert run.message == f"stopped at {run.t[-1]:.9g} s"
    assert len(run.balance) == len(run.t)
