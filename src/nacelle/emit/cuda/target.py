"""The target "cuda": a program as one CUDA source, its kernels behind the header."""

from __future__ import annotations

from nacelle.emit.cuda.header import HEADER
from nacelle.emit.cuda.kernel import kernels
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.registry import Target, register
from nacelle.program.program import Program


def source_text(text: str, options: CudaOptions) -> str:
    """A whole source: the header, then the kernels."""
    return ("#define NACELLE_IEEE\n" if options.ieee else "") + HEADER.lstrip() + "\n" + text


def source(program: Program) -> str:
    """Write a program as one text, in double."""
    return source_text(kernels(program).text, CudaOptions())


register(Target("cuda", source))
