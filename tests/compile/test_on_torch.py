"""Functions of PyTorch: the native program's numbers, exact derivatives of every order, vmap, both types."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import Differentiable
from nacelle.compile.on_torch import TorchFunction
from nacelle.emit.store import Store
from nacelle.export.states import model_inputs, random_states
from support import square_root
from support.library import NAMES, library_robot
from support.stress_robots import STRESS

torch = pytest.importorskip("torch", reason="PyTorch is missing: nacelle-robotics[torch], make test-extras")
pytestmark = pytest.mark.extra


def test_numbers_types_batches_and_errors(tmp_path: Path) -> None:
    def function(R: Any, p: Any) -> Any:
        return {"turned": R @ p, "length": p @ p}

    made = nacelle.compile(function, inputs={"R": (2, 2), "p": (2,)}, target="torch", cache=Store(tmp_path))
    assert isinstance(made, TorchFunction)
    rng = np.random.default_rng(0)
    R, p = (torch.from_numpy(rng.normal(size=shape)) for shape in ((5, 3, 2, 2), (3, 2)))
    got = made(R, p=p)
    np.testing.assert_allclose(got["turned"], np.einsum("...ij,...j->...i", R, p), rtol=1e-14)
    assert got["length"].shape == (5, 3)
    mapped = torch.func.vmap(made, (1, 0))(R, p)["turned"]
    np.testing.assert_allclose(mapped, np.moveaxis(got["turned"].numpy(), 1, 0), rtol=1e-15)
    single = made(R.float(), p.float())["turned"]
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single, got["turned"], rtol=1e-5, atol=1e-6)
    # Another device: that of shapes alone, where operations of PyTorch run.
    there = made(R.to("meta"), p.to("meta"))["turned"]
    assert there.device.type == "meta"
    assert there.shape == (5, 3, 2)
    assert made(torch.ones((0, 2, 2)), torch.ones(2))["turned"].shape == (0, 2)
    assert made([[1, 0], [0, 1]], [2, 3])["length"] == 13.0
    with pytest.raises(
        nacelle.errors.CompileError, match=r"'p' of function has shape \(..., 2\), got \(3,\)"
    ):
        made(R, torch.ones(3))
    with pytest.raises(nacelle.errors.CompileError, match="do not broadcast"):
        made(R, torch.ones((4, 2)))
    with pytest.raises(nacelle.errors.CompileError, match="bind target='jit'"):
        made.bind()


def test_what_iteration_finds_has_derivatives_up_to_the_third() -> None:
    made = nacelle.compile(
        square_root.function,
        library_robot("fivebar"),
        inputs=square_root.INPUTS,
        target=Differentiable("torch", square_root.square_root_closing()),
    )
    x = torch.tensor([2.5, 0.7], dtype=torch.float64)
    func = torch.func

    def exact(x: Any) -> Any:
        return (x[0] + x[1] ** 2) ** 1.5 + x[1]

    for derived in (
        lambda f: f,
        func.jacrev,
        func.jacfwd,
        func.hessian,
        lambda f: func.jacrev(func.hessian(f)),
    ):
        np.testing.assert_allclose(derived(made)(x), derived(exact)(x), rtol=1e-12)
    many = torch.stack([x, 2 * x])
    np.testing.assert_allclose(
        func.vmap(func.grad(made))(many), func.vmap(func.grad(exact))(many), rtol=1e-12
    )
    # From a start of its own: the other root, whose cube has the other sign.
    np.testing.assert_allclose(
        made(x, torch.tensor([-1.5], dtype=torch.float64)), -exact(x) + 2 * x[1], rtol=1e-14
    )


def _check_derivatives(robot: nacelle.Robot, name: str) -> None:
    """Against the native program; derivatives against differences, forwards, backwards and twice."""
    model = nacelle.model(robot, name, smooth=1e-2)
    made, native = model.compile(target="torch"), model.compile()
    states = random_states(robot, 2)
    inputs = {key: value for key, value in model_inputs(states, model.inputs).items() if value.size}
    want = native(**inputs)
    keys = [key for key in inputs if key != "y"]
    values = [torch.tensor(inputs[key], requires_grad=True) for key in keys]

    def called(*tensors: Any) -> Any:
        return made(**dict(zip(keys, tensors, strict=True)))

    scale = float(np.max(np.abs(want)))
    assert np.max(np.abs(called(*values).detach().numpy() - want)) < 1e-11 * scale
    assert torch.autograd.gradcheck(
        called, values, eps=1e-6, atol=1e-5 * scale, rtol=1e-5, check_forward_ad=True
    )
    places = tuple(range(len(keys)))
    backwards = torch.func.vmap(torch.func.jacrev(called, places))(*values)
    forwards = torch.func.vmap(torch.func.jacfwd(called, places))(*values)
    for one, other in zip(backwards, forwards, strict=True):
        assert (one - other).abs().max().item() < 1e-11 * other.abs().max().item()


def test_a_robot() -> None:
    _check_derivatives(library_robot("fivebar"), "forward_dynamics")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model"),
    [
        *itertools.product(NAMES, ("inverse_dynamics", "forward_dynamics")),
        *((name, "forward_dynamics") for name in STRESS),
    ],
)
def test_every_robot(name: str, model: str) -> None:
    _check_derivatives(STRESS[name](1) if name in STRESS else library_robot(name), model)


def test_second_derivatives_backwards() -> None:
    robot = library_robot("fivebar")
    made = nacelle.model(robot, "inverse_dynamics", smooth=1e-2).compile(target="torch")
    states = random_states(robot, 1)
    x, v, a = (torch.tensor(values[0], requires_grad=True) for values in (states.x, states.v, states.a))
    assert torch.autograd.gradgradcheck(lambda *z: made(z[0], v=z[1], a=z[2]), (x, v, a), atol=1e-4)
