"""What is tried where LLVM fails on a program: less optimisation, then NumPy; with one warning that names it.

Failures are remembered, so that nothing is waited for twice: in the user's store, under LLVM's version, the
machine and the program's hash, and in this process.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from nacelle.emit.jit import target as jit
from nacelle.emit.jit.compiler import CompilerError
from nacelle.emit.registry import TargetError, warn_once
from nacelle.emit.store import Store
from nacelle.program.program import Program

_T = TypeVar("_T")

ATTEMPTS = (jit.DEFAULT, replace(jit.DEFAULT, level=0))
"""How a program is compiled, one way after the other."""

# For how many seconds a failure is remembered: what was short of memory or time may not be so for ever.
_FAILURE_LIFETIME = 30 * 24 * 3600.0
_failures: dict[str, str] = {}


def compile_with_fallback(
    label: str,
    programs: tuple[Program, ...],
    native: Callable[[jit.JitOptions], _T],
    plain: Callable[[], _T],
    store: Store | None,
    mark: str,
) -> _T:
    """Compile and load, by one way after the other, or run as NumPy.

    Args:
        label: what the user knows the program as.
        programs: what is compiled.
        native: compiles and loads.
        plain: does the same in NumPy.
        store: where failures are remembered beyond this process.
        mark: what else the outcome depends on: the kind of code, the emitter's source.
    """
    first_reason, hashes = "", [_hash(program) for program in programs]
    for options in ATTEMPTS:
        key = json.dumps(["compiler failure", mark, jit.machine_key(options), hashes])
        reason = _recall_failure(store, key)
        if reason is None:
            try:
                result = native(options)
            except TargetError as error:
                reason = str(error)
                if not isinstance(error, CompilerError) or error.lasting:
                    _record_failure(store, key, reason)
            else:
                if first_reason:
                    warn_once(f"{label} is compiled without optimisation: {first_reason}")
                return result
        first_reason = first_reason or reason
    warn_once(f"{label} runs as NumPy, far slower: {first_reason}")
    return plain()


def _hash(program: Program) -> str:
    """Hash of what a program computes."""
    sizes = [[variable.size for variable in group] for group in (program.inputs, program.outputs)]
    return hashlib.sha256(json.dumps([program.code, program.results, sizes]).encode()).hexdigest()


def _recall_failure(store: Store | None, key: str) -> str | None:
    """Why a program failed before; None if it did not."""
    if key in _failures:
        return _failures[key]
    payload = None if store is None else store.get(key)
    if payload is None:
        return None
    try:
        when, reason = json.loads(payload)
        return str(reason) if abs(time.time() - when) < _FAILURE_LIFETIME else None
    except (ValueError, TypeError):
        return None  # damaged


def _record_failure(store: Store | None, key: str, reason: str) -> None:
    _failures[key] = reason
    if store is not None:
        store.put(key, json.dumps([time.time(), reason]).encode())
