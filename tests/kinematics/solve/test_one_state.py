"""Single states: the same bits, flags and errors as in a batch, whatever is asked of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError, NacelleError
from nacelle.kinematics.mechanism.mechanism import mechanism_of, with_turn_counting
from nacelle.kinematics.solve.one_state import SingleSample
from nacelle.model.robot import Robot
from support.turning_robots import four_bar
from support.uncompiled import named_robot, poses_around

# With a quaternion, with angles, without rotations, redundant, found by iteration (legs, platform,
# parasitic).
ROBOTS = ("palida", "3rrr", "delta", "redundant", "3rps", "quattro")
CALLS: dict[str, Callable[..., Any]] = {
    "inverse_kinematics": lambda robot, x, v, tau, **o: nacelle.inverse_kinematics(robot, x, **o),
    "jacobian": lambda robot, x, v, tau, **o: nacelle.jacobian(robot, x, **o),
    "inverse_dynamics": lambda robot, x, v, tau, **o: nacelle.inverse_dynamics(robot, x, v, 2.0 * v, **o),
    "forward_dynamics": nacelle.forward_dynamics,
    "mass_matrix": lambda robot, x, v, tau, **o: nacelle.mass_matrix(robot, x, **o),
    "bias_forces": lambda robot, x, v, tau, **o: nacelle.bias_forces(robot, x, v, **o),
    "gravity_forces": lambda robot, x, v, tau, **o: nacelle.gravity_forces(robot, x, **o),
    "kinetic_energy": lambda robot, x, v, tau, **o: nacelle.kinetic_energy(robot, x, v, **o),
    "potential_energy": lambda robot, x, v, tau, **o: nacelle.potential_energy(robot, x, **o),
    "dissipation": lambda robot, x, v, tau, **o: nacelle.dynamics.dissipation(robot, x, v, **o),
}
# All of them on small robots, one in closed form and one by iteration; inverse dynamics on every robot.
SMALL = ("3rrr", "3rps")
CASES = [(name, call) for name in ROBOTS for call in CALLS if call == "inverse_dynamics" or name in SMALL]


@cache
def states(name: str) -> tuple[Robot, Any, Any, Any, Any]:
    """A robot, poses around its reference that it reaches, solutions there, twists and forces."""
    robot = named_robot(name)
    x = poses_around(robot, 6)
    found = nacelle.inverse_kinematics(robot, x, limits=False)
    x = x[found.reachable & (found.flags == 0)]
    assert len(x) >= 3
    rng = np.random.default_rng(1)
    v = rng.uniform(-1.0, 1.0, (len(x), robot.motion.n))
    tau = rng.uniform(-1.0, 1.0, (len(x), len(robot.actuators)))
    return robot, x, nacelle.inverse_kinematics(robot, x, limits=False), v, tau


def near_guess(name: str, k: int | None = None) -> Any:
    """Unknowns near those of the states, as a control loop has them; None for robots in closed form."""
    robot, _, found, _, _ = states(name)
    if not mechanism_of(robot).unknown_count:
        return None
    return found.y + 1e-3 if k is None else found.y[k] + 1e-3


def parts(result: Any) -> dict[str, Any]:
    if isinstance(result, np.ndarray):
        return {"": result}
    return {name: value for name, value in vars(result).items() if isinstance(value, np.ndarray)}


def assert_equal(one: Any, other: Any) -> None:
    """The same arrays, bit by bit and kind by kind."""
    a, b = parts(one), parts(other)
    assert a.keys() == b.keys()
    assert a
    for name, value in a.items():
        assert (value.shape, value.dtype, value.flags.writeable) == (b[name].shape, b[name].dtype, True), name
        assert value.tobytes() == b[name].tobytes(), name


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every call whether its state was ordinary."""
    seen: list[bool] = []
    original = SingleSample.__call__

    def call(self: SingleSample, *arguments: Any) -> Any:
        found = original(self, *arguments)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(SingleSample, "__call__", call)
    return seen


def as_batch(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The same by the code for batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SingleSample, "__call__", lambda self, *rest: None)
        return call(*arguments, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "call"), CASES)
def test_a_single_state_is_the_same_as_in_a_batch(name: str, call: str, counted: list[bool]) -> None:
    robot, x, _, v, tau = states(name)
    together = as_batch(CALLS[call], robot, x, v, tau, guess=near_guess(name))
    counted.clear()
    for k in range(len(x)):
        guess = near_guess(name, k)
        one = CALLS[call](robot, x[k], v[k], tau[k], guess=guess)
        assert_equal(one, as_batch(CALLS[call], robot, x[k], v[k], tau[k], guess=guess))
        for part, value in parts(one).items():
            assert value.tobytes() == np.ascontiguousarray(parts(together)[part][k]).tobytes(), part
    assert counted == [True] * len(x)


def test_lists_and_long_quaternions_are_taken(counted: list[bool]) -> None:
    robot, x, _, v, _ = states("palida")
    counted.clear()
    long = x[0] * np.array([1, 1, 1, 3, 3, 3, 3])
    one = nacelle.inverse_dynamics(robot, long.tolist(), v[0].tolist())
    assert_equal(one, as_batch(nacelle.inverse_dynamics, robot, long, v[0]))
    np.testing.assert_allclose(np.linalg.norm(one.x[3:]), 1.0, rtol=1e-15)
    assert counted == [True]


def outcome(call: Callable[..., Any]) -> Any:
    try:
        return call()
    except NacelleError as error:
        return type(error), str(error)


BAD = (np.nan, np.inf, 1e200, 1e308, 30.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["palida", "3rrr", "3rps"])
@pytest.mark.parametrize("value", BAD)
def test_unusual_states_end_as_in_the_general_way(name: str, value: float) -> None:
    robot, x, _, v, tau = states(name)
    for argument in range(3):
        given = [x[0].copy(), v[0].copy(), tau[0].copy()]
        given[argument][:2] = value if argument == 0 else 0.5 * value
        for call in ("inverse_dynamics", "forward_dynamics", "inverse_kinematics"):
            guess = near_guess(name, 0)
            one = outcome(lambda c=call, g=given, s=guess: CALLS[c](robot, *g, guess=s))
            other = outcome(lambda c=call, g=given, s=guess: as_batch(CALLS[c], robot, *g, guess=s))
            if isinstance(other, tuple):
                assert one == other
            else:
                assert_equal(one, other)


def test_errors_and_flags_of_single_states() -> None:
    robot = named_robot("fivebar")
    x = nacelle.reference_pose(robot)
    with pytest.raises(nacelle.UnreachableError, match="not reach"):
        nacelle.inverse_dynamics(robot, x + 9.0)
    with pytest.raises(KinematicsError, match="not finite"):
        nacelle.inverse_dynamics(robot, [np.nan, 0.0])
    with pytest.raises(KinematicsError, match="not finite"):
        nacelle.inverse_dynamics(robot, x, [np.inf, 0.0])
    with pytest.raises(KinematicsError, match="shape"):
        nacelle.inverse_dynamics(robot, [*x, 0.0])
    # Towards the end of the reach: first flagged, at last refused, with never an ordinary result between.
    reached = [outcome(lambda s=s: nacelle.inverse_dynamics(robot, x * s)) for s in np.linspace(1, 3, 400)]
    words = [result[0] if isinstance(result, tuple) else int(result.flags) for result in reached]
    assert words[0] == 0
    assert words[-1] is nacelle.UnreachableError
    other = [
        outcome(lambda s=s: as_batch(nacelle.inverse_dynamics, robot, x * s)) for s in np.linspace(1, 3, 400)
    ]
    assert words == [result[0] if isinstance(result, tuple) else int(result.flags) for result in other]


def test_results_are_no_internal_buffers() -> None:
    robot, x, _, v, _ = states("palida")
    first = nacelle.inverse_dynamics(robot, x[0], v[0])
    kept = {name: value.copy() for name, value in parts(first).items()}
    given = x[1].copy()
    second = nacelle.inverse_dynamics(robot, given, v[1])
    again = {name: value.copy() for name, value in parts(second).items()}
    for name, value in parts(first).items():
        assert value.tobytes() == kept[name].tobytes()
        value[...] = 0
    third = nacelle.inverse_dynamics(robot, given, v[1])
    for name, value in parts(third).items():
        assert value.tobytes() == again[name].tobytes() == parts(second)[name].tobytes()
    assert not np.shares_memory(second.x, given)
    np.testing.assert_array_equal(given, x[1])


@pytest.mark.parametrize("name", ["palida", "3rps"])
def test_threads(name: str) -> None:
    robot, x, _, v, _ = states(name)

    def force(k: int) -> bytes:
        k %= len(x)
        found = nacelle.inverse_dynamics(robot, x[k], v[k], guess=near_guess(name, k))
        return bytes(found.tau.tobytes())

    expected = [force(k) for k in range(len(x))]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(force, range(400)))
    assert found == [expected[k % len(x)] for k in range(400)]


# ---- forward kinematics, and what is followed from the reference


@pytest.mark.costly
@pytest.mark.parametrize("reach", [0.05, 0.6])
@pytest.mark.parametrize("name", [*nacelle.robot_names(), "redundant"])
def test_single_states_without_a_guess_agree_with_batches(name: str, reach: float) -> None:
    """Poses far around the reference, some out of reach, both ways: same flags, results to rounding."""
    robot = named_robot(name)
    x = poses_around(robot, 60, 5, length=reach, angle=2.0 * reach)
    joints = nacelle.inverse_kinematics(robot, x)
    with np.errstate(invalid="ignore"):
        q = np.where(np.isfinite(joints.q), joints.q, 0.3)
    poses, guesses = nacelle.forward_kinematics(robot, q), poses_around(robot, len(q), 6)
    for k in range(len(x)):
        one = outcome(lambda k=k: nacelle.inverse_kinematics(robot, x[k]))
        compare(one, joints, k, ("q_tree", "q", "y"))
        compare(outcome(lambda k=k: nacelle.forward_kinematics(robot, q[k])), poses, k, ("x",))
        near = outcome(lambda k=k: nacelle.forward_kinematics(robot, q[k], guesses[k]))
        if not isinstance(near, tuple) and near.flags == 0 and poses.flags[k] == 0:
            compare(near, poses, k, ("x",))


def compare(one: Any, batch: Any, k: int, names: tuple[str, ...]) -> None:
    """One outcome against a sample of a batch: the same flags, arrays to rounding and the conditioning."""
    missing = int(nacelle.Flag.UNREACHABLE | nacelle.Flag.INVALID | nacelle.Flag.SINGULAR)
    if isinstance(one, tuple):
        assert int(batch.flags[k]) & missing
        return
    assert int(one.flags) == int(batch.flags[k])
    for name in names:
        np.testing.assert_allclose(getattr(one, name), getattr(batch, name)[k], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["gough-stewart", "3rps", "delta"])
def test_single_poses_follow_from_a_guess_in_threads(name: str) -> None:
    robot, x, joints, _, _ = states(name)

    def pose(k: int) -> bytes:
        k %= len(x)
        return bytes(nacelle.forward_kinematics(robot, joints.q[k], x[(k + 1) % len(x)]).x.tobytes())

    expected = [pose(k) for k in range(len(x))]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(pose, range(200))) == [expected[k % len(x)] for k in range(200)]
    for k in range(len(x)):
        np.testing.assert_allclose(np.frombuffer(expected[k]), x[k], rtol=0, atol=1e-11)


# ---- guesses


@pytest.mark.slow
def test_a_guess_may_be_a_result_or_its_unknowns(counted: list[bool]) -> None:
    robot, x, found, v, tau = states("3rps")
    before = nacelle.inverse_dynamics(robot, x[0])
    counted.clear()
    step = 0.02 * (x[1] - x[0])
    plain = nacelle.inverse_dynamics(robot, x[0] + step, v[0])
    assert counted.pop()
    for guess in (before, nacelle.inverse_kinematics(robot, x[0]), before.y):
        counted.clear()
        one = nacelle.inverse_dynamics(robot, x[0] + step, v[0], guess=guess)
        assert counted == [True]
        np.testing.assert_allclose(one.tau, plain.tau, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(one.y, plain.y, rtol=0, atol=1e-14)
    driven = nacelle.forward_dynamics(robot, x[0], v[0], tau[0], guess=before)
    on = nacelle.forward_dynamics(robot, x[0] + step, v[0], tau[0], guess=driven)
    np.testing.assert_allclose(on.y, plain.y, rtol=0, atol=1e-14)
    # A loop: each call from the one before it.
    result = before
    counted.clear()
    for t in np.linspace(0.0, 1.0, 50):
        result = nacelle.inverse_dynamics(robot, x[0] + t * (x[1] - x[0]), guess=result)
    assert counted == [True] * 50
    np.testing.assert_allclose(result.y, found.y[1], rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["3rps", "quattro"])
def test_a_guess_that_is_not_near_does_not_mislead(name: str) -> None:
    robot, x, found, v, _ = states(name)
    plain = nacelle.inverse_dynamics(robot, x, v)
    far = {
        "another pose": nacelle.inverse_kinematics(robot, np.roll(x, 1, axis=0), limits=False),
        "not finite": np.full(found.y.shape, np.nan),
        "anywhere": found.y + 2.0,
    }
    for guess in far.values():
        together = nacelle.inverse_dynamics(robot, x, v, guess=guess)
        np.testing.assert_array_equal(together.flags, plain.flags)
        np.testing.assert_allclose(together.tau, plain.tau, rtol=1e-9, atol=1e-9)
        followed = nacelle.inverse_kinematics(robot, x, guess=guess, follow=True, limits=False)
        np.testing.assert_allclose(followed.y, found.y, rtol=0, atol=1e-12)


@pytest.mark.parametrize("guess", ["a text", 3.0, np.zeros(4), object(), [[1.0], [2.0, 3.0]]])
@pytest.mark.parametrize("name", ["3rps", "fivebar"])
def test_wrong_guesses_are_refused(name: str, guess: Any) -> None:
    robot = named_robot(name)
    x = nacelle.reference_pose(robot)
    for call in (nacelle.inverse_dynamics, nacelle.inverse_kinematics, nacelle.mass_matrix):
        with pytest.raises(KinematicsError, match="the guess is a solution of"):
            call(robot, x, guess=guess)


def test_nothing_is_compiled_for_wrong_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacelle.kinematics.solve import one_state

    robot = named_robot("fivebar").with_parameters([0.0, 0.0, -9.0], "gravity")

    def refuse(*_: Any) -> Any:
        raise AssertionError("compiled")

    monkeypatch.setattr(one_state, "compile_native", refuse)
    for x in ([1.0], [[1.0, 2.0, 3.0]], "12", None, 7.0, [[1.0], [2.0]]):
        with pytest.raises((KinematicsError, TypeError, ValueError)):
            nacelle.mass_matrix(robot, x)


def test_without_a_compiler_batches_serve(monkeypatch: pytest.MonkeyPatch, counted: list[bool]) -> None:
    from nacelle.compile import compile_function
    from nacelle.kinematics import kinematic_model
    from nacelle.kinematics.solve import one_state

    robot = named_robot("fivebar")
    x = nacelle.reference_pose(robot)
    state = SingleSample(
        robot, lambda: compile_function(kinematic_model.joint_positions, robot, target="numpy")
    )
    assert state(x, None) is None
    assert state(x, None) is None
    assert one_state.single_sample(kinematic_model.joint_positions, robot)(x, None) is not None


@pytest.mark.slow
def test_turns_of_an_earlier_call_are_not_kept() -> None:
    """Without a guess y follows from x alone, whatever the call before was about."""
    robot = with_turn_counting(four_bar({"foot": (1.0, 0.0), "knee": (1.0, 0.0)}))
    x = poses_around(robot, 3)
    v, a = np.full((2, robot.motion.n), 0.3)
    fresh = [as_batch(nacelle.inverse_dynamics, robot, pose, v, a).tau for pose in x]
    for pose, tau in zip(x, fresh, strict=True):
        y = nacelle.inverse_kinematics(robot, pose).y
        wound = nacelle.inverse_dynamics(robot, pose, v, a, guess=y + 2.0 * np.pi).tau
        assert np.max(np.abs(wound - tau)) > 1e-3 * np.max(np.abs(tau))
        assert nacelle.inverse_dynamics(robot, pose, v, a).tau.tobytes() == tau.tobytes()
