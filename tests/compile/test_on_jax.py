"""Functions of JAX: the native program's numbers, exact derivatives, jit, vmap, both types of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import Differentiable
from nacelle.compile.on_jax import JaxFunction
from nacelle.emit.store import Store
from nacelle.errors import CompileError
from nacelle.export.states import model_inputs, random_states
from support import square_root
from support.library import library_robot
from support.pairwise import FAMILIES, pairwise
from support.random_robots import random_robot
from support.stress_robots import STRESS

jax = pytest.importorskip("jax", reason="JAX is not installed: nacelle-robotics[jax]")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def test_numbers_types_batches_and_errors(tmp_path: Path) -> None:
    def function(R: Any, p: Any) -> Any:
        return {"turned": R @ p, "length": p @ p}

    made = nacelle.compile(function, inputs={"R": (2, 2), "p": (2,)}, target="jax", cache=Store(tmp_path))
    assert isinstance(made, JaxFunction)
    rng = np.random.default_rng(0)
    R, p = rng.normal(size=(5, 3, 2, 2)), rng.normal(size=(3, 2))
    got = made(R, p=p)
    np.testing.assert_allclose(got["turned"], np.einsum("...ij,...j->...i", R, p), rtol=1e-14)
    assert got["length"].shape == (5, 3)
    mapped = jax.jit(jax.vmap(made, (1, 0)))(R, p)["turned"]
    np.testing.assert_allclose(mapped, np.moveaxis(got["turned"], 1, 0), rtol=1e-15)
    single = made(R.astype(np.float32), p.astype(np.float32))["turned"]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, got["turned"], rtol=1e-5, atol=1e-6)
    assert made(np.ones((0, 2, 2)), np.ones(2))["turned"].shape == (0, 2)
    assert made([[1, 0], [0, 1]], [2, 3])["length"] == 13.0
    with pytest.raises(
        nacelle.errors.CompileError, match=r"'p' of function has shape \(..., 2\), got \(3,\)"
    ):
        made(R, np.ones(3))
    with pytest.raises(nacelle.errors.CompileError, match="do not broadcast"):
        made(R, np.ones((4, 2)))
    with pytest.raises(nacelle.errors.CompileError, match=r"cannot be bound: call jax\.jit"):
        made.bind()
    with pytest.raises(nacelle.errors.CompileError, match="did you mean 'jax'"):
        Differentiable("jaxx")


@pytest.mark.slow
def test_what_iteration_finds_has_all_derivatives() -> None:
    made = nacelle.compile(
        square_root.function,
        library_robot("fivebar"),
        inputs=square_root.INPUTS,
        target=Differentiable("jax", square_root.square_root_closing()),
    )
    x = jnp.array([2.5, 0.7])

    def exact(x: Any) -> Any:
        return (x[0] + x[1] ** 2) ** 1.5 + x[1]

    def derivatives(f: Any) -> Any:
        many = jnp.stack([x, 2 * x])
        return (
            f(x),
            jax.grad(f)(x),
            jax.hessian(f)(x),
            jax.vmap(jax.grad(f))(many),
            jax.jacrev(jax.grad(f))(x),
        )

    for got, want in zip(*(jax.jit(lambda f=f: derivatives(f))() for f in (made, exact)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    # From a start of its own: the other root, whose cube has the other sign.
    np.testing.assert_allclose(made(x, jnp.array([-1.5])), -exact(x) + 2 * x[1], rtol=1e-14)
    # No root at all is no number.
    assert np.isnan(made(jnp.array([-2.0, 0.0])))
    np.testing.assert_allclose(made(jnp.float32([2.5, 0.7])), exact(x), rtol=1e-6)


def _check_derivatives(robot: nacelle.Robot, name: str) -> None:
    """Against the native program; derivatives against differences of the native program."""
    model = nacelle.model(robot, name, smooth=1e-2)
    made, native = model.compile(target="jax"), model.compile()
    states = random_states(robot, 4)
    inputs = {key: value for key, value in model_inputs(states, model.inputs).items() if value.size}
    moving = {key: jnp.asarray(value) for key, value in inputs.items() if key != "y"}
    want = native(**inputs)
    rng = np.random.default_rng(1)
    moves = {key: jnp.asarray(rng.normal(size=value.shape)) for key, value in moving.items()}
    weights = jnp.asarray(rng.normal(size=want.shape))

    @jax.jit
    def derivatives(z: Any) -> Any:
        got, slope = jax.jvp(lambda z: made(**z), (z,), (moves,))
        return got, slope, jax.grad(lambda z: jnp.vdot(weights, made(**z)))(z)

    got, slope, bars = derivatives(moving)
    assert np.max(np.abs(got - want)) < 1e-11 * np.max(np.abs(want))
    h = 1e-5
    ahead, behind = (
        made(**{key: value + sign * h * moves[key] for key, value in moving.items()}) for sign in (1, -1)
    )
    assert np.max(np.abs((ahead - behind) / (2 * h) - slope)) < 1e-5 * np.max(np.abs(slope))
    total = sum(float(jnp.vdot(bars[key], moves[key])) for key in moving)
    size = float(jnp.linalg.norm(weights) * jnp.linalg.norm(slope))
    assert abs(total - float(jnp.vdot(weights, slope))) < 1e-12 * size


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model"), pairwise(name=FAMILIES, model=["inverse_dynamics", "forward_dynamics"])
)
def test_values_of_every_robot(name: str, model: str) -> None:
    """XLA takes long for derivatives of long programs: those are held to differences for a few."""
    robot = library_robot(name)
    named = nacelle.model(robot, model, smooth=1e-2)
    inputs = model_inputs(random_states(robot, 4), named.inputs)
    want = named.compile()(**inputs)
    got = named.compile(target="jax")(**{key: value for key, value in inputs.items() if key != "y"})
    assert np.max(np.abs(got - want)) < 1e-11 * np.max(np.abs(want))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("fivebar", "delta", "3rps", pytest.param("gough-stewart", marks=pytest.mark.soak)),
        *("sprung five-bar", "drives, springs and rotors at closures", "one motion"),
    ],
)
def test_derivatives_of_a_few(name: str) -> None:
    if name in STRESS:
        _check_derivatives(STRESS[name](1), "forward_dynamics")
    else:
        _check_derivatives(library_robot(name), "inverse_dynamics")


@pytest.mark.slow
def test_numbers_of_the_robot_are_differentiated() -> None:
    """The force of gravity is linear in the inertia: its derivative, times the numbers, is itself."""
    robot = library_robot("fivebar")
    made = nacelle.model(robot, "gravity_forces").compile(target="jax", parameters=["inertia"])
    numbers, x = robot.numbers.vector("inertia"), np.asarray(nacelle.reference_pose(robot))
    J = jax.jacrev(made)(jnp.asarray(numbers), x)
    masses = np.array([name.endswith("mass") for name in robot.numbers.names("inertia")])
    assert np.any(masses)
    np.testing.assert_allclose(J[:, masses] @ numbers[masses], made(numbers, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["6 RRRS", "6 RRRS with axes that meet"])
def test_unknowns_are_not_solved_where_the_geometry_is_an_input(name):
    """Neither those of the robot, nor those that it has as soon as numbers move."""
    with pytest.raises(CompileError, match="leave geometry out"):
        nacelle.model(random_robot(name, 11)).compile(parameters="geometry", target="jax")
