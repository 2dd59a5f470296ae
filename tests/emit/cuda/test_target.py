"""The target "cuda" gives source without CuPy, and without a device."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.cuda.target import source_text
from nacelle.emit.registry import target
from support.random_programs import random_program


def test_source() -> None:
    compiled = nacelle.compile(lambda x: x @ x, inputs={"x": (3,)}, target="numpy")
    text = compiled.source("cuda")
    assert text.startswith("#ifndef NACELLE_CUDA_HEADER")
    assert text.count("__global__") == 2
    assert target("cuda").source(random_program(1)).count("__global__") >= 1
    assert source_text("", CudaOptions(ieee=True)).startswith("#define NACELLE_IEEE")


def test_options_of_the_device_are_no_options_of_the_processor() -> None:
    with pytest.raises(nacelle.CompileError, match="precision and ieee are for target='cuda'"):
        nacelle.compile(lambda x: x, inputs={"x": ()}, precision="float")
