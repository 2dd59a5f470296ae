"""Machines that native code is made for: this one, and others by name."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from llvmlite import binding as llvm

from nacelle.emit.registry import TargetError

_X86 = ("x86_64", "i386", "i686")
# What the levels of x86-64 have that the emitter's choices depend on.
_LEVELS = {
    "x86-64": "",
    "x86-64-v2": "",
    "x86-64-v3": "+avx,+avx2,+fma",
    "x86-64-v4": "+avx,+avx2,+fma,+avx512f",
}


@dataclass(frozen=True)
class Machine:
    """A machine as LLVM sees it.

    Attributes:
        triple: architecture, vendor and system, for example "aarch64-unknown-linux-gnu".
        cpu: name of the processor.
        features: its features, "+avx2,+fma,-sse4a".
    """

    triple: str
    cpu: str
    features: str

    def has(self, feature: str) -> bool:
        """Say whether the processor has a feature."""
        return f"+{feature}" in self.features.split(",")

    @property
    def is_x86(self) -> bool:
        """Whether it is of Intel's family."""
        return self.triple.startswith(_X86)

    @property
    def width(self) -> int:
        """Samples in a vector."""
        if self.has("avx512f"):
            return 8
        return 4 if self.has("avx") else 2

    @property
    def fma(self) -> bool:
        """Whether fused multiply-add is one instruction."""
        return self.has("fma") or not self.is_x86

    @property
    def accumulates(self) -> bool:
        """Whether fused operations are c + a * b and c - a * b alone, in the register of c: NEON."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def registers(self) -> int:
        """Number of vector registers."""
        return 32 if self.has("avx512f") or not self.is_x86 else 16


@functools.cache
def host_machine() -> Machine:
    """Describe this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # not known on every system
        features = ""
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def other_machine(triple: str, cpu: str) -> Machine:
    """Describe another machine: any processor but those of Intel's family, of which the levels are known.

    Raises:
        TargetError: if it is a processor of Intel's family that is not named by its level.
    """
    machine = Machine(triple, cpu, "")
    if not machine.is_x86:
        return machine
    if cpu not in _LEVELS:
        raise TargetError(f"the processor {cpu!r} is not one of {', '.join(_LEVELS)}: give its features")
    return Machine(triple, cpu, _LEVELS[cpu])
