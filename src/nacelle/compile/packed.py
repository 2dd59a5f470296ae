"""Entries of the cache of compiled programs: their bytes, and fingerprints of functions for their keys.

An entry holds, one after the other,

    3 sizes (8 bytes each, little endian) | signature (JSON) | code (JSON, zlib) | check (float64) | object

The signature alone is read at first; the code is unpacked only when it is needed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import types
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile.check import ProgramCheck
from nacelle.model.data import RobotData
from nacelle.program.program import Program, Variable


@cache
def package_hash() -> str:
    """Hash of the package's own source."""
    return folder_hash(Path(__file__).parents[1])


def folder_hash(folder: Path) -> str:
    """Hash of all Python files under a folder: their relative paths and contents."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(function: Callable[..., Any]) -> str | None:
    """Hash of a function's code and of the functions, numbers and arrays of its module that it uses.

    A function of this package is known by its name, as `package_hash` covers its source. A closure of this
    package may list the functions and plain values that it was made from as its attribute `made_from`.

    Functions and classes of this package that it uses count by their full names, robots by their hashes, and
    other frozen objects of the package by their entries.

    Returns:
        The hash; None if the behaviour depends on something that is not hashed: a closure, a bound method,
        a module that may change, a global of another type.
    """
    parts: tuple[Any, ...] | None = getattr(function, "made_from", None)
    if parts is not None:
        marks = [fingerprint(part) if callable(part) else repr(part) for part in parts]
        return None if None in marks else json.dumps([function.__qualname__, marks])
    module = getattr(function, "__module__", "") or ""
    name = f"{module}.{getattr(function, '__qualname__', '')}"
    if _is_own_module(module):
        return None if "<" in name else name
    digest = hashlib.sha256(name.encode())
    return digest.hexdigest() if _digest_function(function, digest, set()) else None


def _digest_function(function: Any, digest: Any, seen: set[int]) -> bool:
    """Add a function, and the functions that it calls, to a digest; False if one cannot be hashed."""
    if not isinstance(function, types.FunctionType) or function.__closure__:
        return False
    if id(function) in seen:
        return True
    seen.add(id(function))
    defaults = [function.__defaults__, function.__kwdefaults__]
    return _digest_value(defaults, digest) and _digest_code(
        function.__code__, function.__globals__, digest, seen
    )


def _digest_code(code: types.CodeType, scope: dict[str, Any], digest: Any, seen: set[int]) -> bool:
    """Add a code object and the globals that it names to a digest; False if one cannot be hashed."""
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if not _digest_code(constant, scope, digest, seen):
                return False
        else:
            digest.update(repr(constant).encode())
    for name in code.co_names:
        if name not in scope:
            continue
        value = scope[name]
        if isinstance(value, types.ModuleType):
            known = _is_stable_module(value)
            digest.update(f"module {value.__name__}".encode())
        elif isinstance(value, types.FunctionType | type) and (
            _is_own_module(value.__module__) or (isinstance(value, type) and _is_standard(value.__module__))
        ):
            known = True
            digest.update(f"{value.__module__}.{value.__qualname__}".encode())
        elif isinstance(value, types.FunctionType):
            known = _digest_function(value, digest, seen)
        else:
            known = _digest_value(value, digest)
        if not known:
            return False
    return True


def _digest_value(value: Any, digest: Any) -> bool:
    """Add a number, a text, an array, or a collection of them to a digest; False for anything else."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(repr((value.shape, value.dtype.str)).encode() + value.tobytes())
        return True
    if isinstance(value, list | tuple):
        digest.update(repr((type(value).__name__, len(value))).encode())
        return all(_digest_value(entry, digest) for entry in value)
    if isinstance(value, dict):
        digest.update(repr(list(value)).encode())
        return all(isinstance(key, str) for key in value) and _digest_value(list(value.values()), digest)
    if (
        dataclasses.is_dataclass(value)
        and not isinstance(value, type)
        and _is_own_module(type(value).__module__)
    ):
        digest.update(type(value).__qualname__.encode())
        if isinstance(value, RobotData):
            digest.update(value.hash.encode())
            return True
        return _digest_value([getattr(value, field.name) for field in dataclasses.fields(value)], digest)
    digest.update(repr(value).encode())
    return value is None or isinstance(value, int | float | str | bool | np.number)


def _is_own_module(name: str | None) -> bool:
    """Whether a module is one of this package, whose source `package_hash` covers."""
    return name == "nacelle" or str(name).startswith("nacelle.")


def _is_standard(name: str | None) -> bool:
    """Whether a module belongs to Python or NumPy."""
    top = str(name).partition(".")[0]
    return top == "numpy" or top in sys.stdlib_module_names


def _is_stable_module(module: types.ModuleType) -> bool:
    """Whether a module stays the same between two runs of one installation."""
    top = module.__name__.partition(".")[0]
    return top in ("numpy", "math", "nacelle", "functools", "itertools", "operator")


# ---- A program and its native code as the bytes that the cache keeps


class CacheEntry(NamedTuple):
    """A program as the cache keeps it.

    Attributes:
        signature: the program without its code.
        packed_code: its code, for `unpack_code`; most calls never need it.
        check: expected results at some states, by the formulation of the tree; None if it was not checked.
        image: the native object.
    """

    signature: Program
    packed_code: bytes
    check: ProgramCheck | None
    image: bytes


def pack_entry(program: Program, image: bytes, check: ProgramCheck | None = None) -> bytes:
    """Pack signature, code, check and native object into the bytes of an entry (see the module)."""
    tables = [] if check is None else [check.inputs, check.outputs, check.allowed]
    if check is not None and check.numbers is not None:
        tables.append(check.numbers)
    numbers = b"".join(np.ascontiguousarray(table, dtype="<f8").tobytes() for table in tables)
    signature = json.dumps(
        {
            "name": program.name,
            "inputs": [[v.name, v.shape] for v in program.inputs],
            "outputs": [[v.name, v.shape] for v in program.outputs],
            "check": [table.shape for table in tables],
        }
    ).encode()
    code = zlib.compress(json.dumps([program.code, program.results]).encode(), 1)
    head = b"".join(len(part).to_bytes(8, "little") for part in (signature, code, numbers))
    return head + signature + code + numbers + image


def unpack_entry(payload: bytes) -> CacheEntry:
    """Read an entry that `pack_entry` has packed; its code stays packed."""
    ends = [24]
    for k in (0, 8, 16):
        ends.append(ends[-1] + int.from_bytes(payload[k : k + 8], "little"))
    data = json.loads(payload[ends[0] : ends[1]])
    inputs = tuple(Variable(name, tuple(shape)) for name, shape in data["inputs"])
    outputs = tuple(Variable(name, tuple(shape)) for name, shape in data["outputs"])
    numbers = np.frombuffer(payload[ends[2] : ends[3]], dtype="<f8")
    tables, start = [], 0
    for shape in data["check"]:
        count = int(np.prod(shape))
        tables.append(numbers[start : start + count].reshape(shape))
        start += count
    return CacheEntry(
        Program(data["name"], inputs, outputs, (), ()),
        payload[ends[1] : ends[2]],
        ProgramCheck(*tables) if tables else None,
        payload[ends[3] :],
    )


def unpack_code(signature: Program, packed: bytes) -> Program:
    """The whole program: a signature with its code, unpacked."""
    code, results = json.loads(zlib.decompress(packed))
    return replace(signature, code=tuple(tuple(entry) for entry in code), results=tuple(results))
