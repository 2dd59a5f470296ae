"""Compiled functions on arrays of a device; CuPy is replaced, kernels run on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.compile import CudaOptions
from nacelle.compile.on_device import DeviceFunction
from nacelle.emit.store import Store
from support import fake_cupy


def function(R, p):
    """Two outputs of a matrix and a vector."""
    return {"turned": R @ p, "length": p @ p}


INPUTS = {"R": (2, 2), "p": (2,)}


def compile_on_device(tmp_path: Path, **options: object) -> DeviceFunction:
    compiled = nacelle.compile(function, inputs=INPUTS, target="cuda", cache=Store(tmp_path), **options)
    assert isinstance(compiled, DeviceFunction)
    return compiled


def test_batches_shared_inputs_and_layouts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        compiled = compile_on_device(tmp_path)
        R, p = rng.normal(size=(5, 3, 2, 2)), rng.normal(size=(5, 3, 2))
        want = np.einsum("...ij,...j->...i", R, p)
        got = compiled(cupy.asarray(R), cupy.asarray(p))
        assert got["turned"].shape == (5, 3, 2)
        assert np.allclose(got["turned"], want, rtol=1e-14)
        assert np.allclose(got["length"], np.sum(p * p, axis=-1), rtol=1e-14)
        # A structure of arrays is taken as it is, and so are results for the next call.
        rows = cupy.asarray(np.ascontiguousarray(np.moveaxis(p, -1, 0)))
        again = compiled(R=cupy.asarray(R[0, 0]), p=cupy.moveaxis(rows, 0, -1))
        assert np.allclose(again["turned"], p @ R[0, 0].T, rtol=1e-14)
        out = {"turned": cupy.moveaxis(cupy.empty((2, 5, 3)), 0, -1), "length": cupy.empty((5, 3))}
        assert compiled(cupy.asarray(R), cupy.asarray(p), out=out)["turned"] is out["turned"]
        assert np.allclose(out["turned"], want, rtol=1e-14)
        one = compiled(cupy.asarray(R[0, 0]), cupy.asarray(p[0, 0]))
        assert np.allclose(one["turned"], want[0, 0], rtol=1e-14)
        assert compiled(cupy.empty((0, 2, 2)), cupy.empty((0, 2)))["length"].shape == (0,)


def test_errors(tmp_path: Path) -> None:
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        compiled = compile_on_device(tmp_path)
        R, p = cupy.asarray(np.eye(2)), cupy.asarray(np.ones((4, 2)))
        with pytest.raises(nacelle.errors.DeviceError, match="processor's memory"):
            compiled(np.eye(2), p)
        with pytest.raises(nacelle.errors.CompileError, match=r"'p' of function has shape \(..., 2\)"):
            compiled(R, cupy.asarray(np.ones(3)))
        with pytest.raises(nacelle.errors.CompileError, match="do not broadcast"):
            compiled(cupy.asarray(np.ones((3, 2, 2))), p)
        with pytest.raises(nacelle.errors.CompileError, match="side by side"):
            compiled(R, p, out={"turned": cupy.empty((4, 2)), "length": cupy.empty(4)})
        with pytest.raises(nacelle.errors.CompileError, match=r"'p' would be copied"):
            compiled.bind(R=R, p=p)
        # One state for all, with gaps between its entries.
        gaps, rows = cupy.asarray(np.ones((4, 4)))[::2, ::2], cupy.moveaxis(cupy.empty((2, 4)), 0, -1)
        with pytest.raises(nacelle.errors.CompileError, match=r"'R' would be copied"):
            compiled.bind(R=gaps, p=rows)
        with pytest.raises(nacelle.errors.CompileError, match="no precision"):
            CudaOptions("half")


def test_fixed_arrays(tmp_path: Path) -> None:
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        compiled = compile_on_device(tmp_path)
        p = cupy.moveaxis(cupy.asarray(np.ones((2, 4))), 0, -1)
        bound = compiled.bind(R=cupy.asarray(np.eye(2)), p=p)
        bound()
        assert np.allclose(bound["length"], 2.0)
        p[...] = 3.0
        bound()
        assert np.allclose(bound["turned"], 3.0)


def test_memory(tmp_path: Path) -> None:
    with (
        fake_cupy.in_place(fake_cupy.fake_module(memory=100)) as cupy,
        pytest.raises(nacelle.errors.DeviceError, match=r"results of function.*fewer states.*jit"),
    ):
        compile_on_device(tmp_path)(cupy.asarray(np.eye(2)), cupy.asarray(np.ones((40, 2))))


@pytest.mark.slow
def test_numbers_of_the_robot_are_inputs(tmp_path: Path) -> None:
    """The prologue and the body on the device give what they give on the processor."""
    robot = nacelle.load("fivebar")
    model = nacelle.model(robot, "gravity_forces")
    options = {"parameters": ["inertia"], "cache": Store(tmp_path)}
    numbers = robot.numbers.vector("inertia") * np.linspace(0.9, 1.1, 7)[:, None]
    x = np.asarray(nacelle.reference_pose(robot))
    want = model.compile(**options, target="numpy")(numbers, x)
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        compiled = model.compile(**options, target="cuda")
        got = compiled(cupy.asarray(numbers), cupy.asarray(x))
        again = model.compile(**options, target="cuda")
        assert np.allclose(again(cupy.asarray(numbers), cupy.asarray(x)), got, rtol=0)
    assert np.allclose(got, want, rtol=1e-12)
