"""What the cache keeps of a program: its bytes, and the fingerprints by which it is found."""

from __future__ import annotations

import hashlib
import json
import types
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.compile.check import ProgramCheck
from nacelle.program.program import Program, Variable


@cache
def package_hash() -> str:
    """Hash of the package's own source."""
    return folder_hash(Path(__file__).parents[1])


def folder_hash(folder: Path) -> str:
    """Hash of all Python files under a folder: their places and what is in them."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def fingerprint(function: Callable[..., Any]) -> str | None:
    """Hash of a function's code and of the functions and numbers of its module that it uses.

    Functions of this package are covered by the hash of its source. None for functions whose
    behaviour depends on things that cannot be seen: closures, bound objects, unusual globals. A closure of
    this package may name what it was made from, functions and plain values, as `made_from`.
    """
    parts: tuple[Any, ...] | None = getattr(function, "made_from", None)
    if parts is not None:
        marks = [fingerprint(part) if callable(part) else repr(part) for part in parts]
        return None if None in marks else json.dumps([function.__qualname__, marks])
    module = getattr(function, "__module__", "") or ""
    name = f"{module}.{getattr(function, '__qualname__', '')}"
    if module == "nacelle" or module.startswith("nacelle."):
        return None if "<" in name else name
    digest = hashlib.sha256(name.encode())
    return digest.hexdigest() if _digest_function(function, digest, set()) else None


def _digest_function(function: Any, digest: Any, seen: set[int]) -> bool:
    if not isinstance(function, types.FunctionType) or function.__closure__:
        return False
    if id(function) in seen:
        return True
    seen.add(id(function))
    digest.update(repr((function.__defaults__, function.__kwdefaults__)).encode())
    return _digest_code(function.__code__, function.__globals__, digest, seen)


def _digest_code(code: types.CodeType, scope: dict[str, Any], digest: Any, seen: set[int]) -> bool:
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
        if isinstance(value, types.ModuleType) or str(getattr(value, "__module__", "")).startswith("nacelle"):
            if isinstance(value, types.ModuleType) and not _is_stable_module(value):
                return False
            continue
        if isinstance(value, types.FunctionType):
            if not _digest_function(value, digest, seen):
                return False
        elif not isinstance(value, type) and not _digest_value(value, digest):
            return False
    return True


def _digest_value(value: Any, digest: Any) -> bool:
    """Take up a number, a text, an array, or a collection of them; False for anything else."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(repr((value.shape, value.dtype.str)).encode() + value.tobytes())
        return True
    if isinstance(value, list | tuple):
        digest.update(repr((type(value).__name__, len(value))).encode())
        return all(_digest_value(entry, digest) for entry in value)
    if isinstance(value, dict):
        digest.update(repr(list(value)).encode())
        return all(isinstance(key, str) for key in value) and _digest_value(list(value.values()), digest)
    digest.update(repr(value).encode())
    return value is None or isinstance(value, int | float | str | bool | np.number)


def _is_stable_module(module: types.ModuleType) -> bool:
    """Whether a module is one that does not change between runs of one installation."""
    top = module.__name__.partition(".")[0]
    return top in ("numpy", "math", "nacelle", "functools", "itertools", "operator")


# ---- A program and its native code as the bytes that the cache keeps


class CacheEntry(NamedTuple):
    """What the cache keeps of a program.

    Attributes:
        signature: the program without its code.
        packed_code: its code, to be read only when it is needed.
        check: what it gives at some states, by the tree; None for a program that was not checked.
        image: the native object.
    """

    signature: Program
    packed_code: bytes
    check: ProgramCheck | None
    image: bytes


def pack_entry(program: Program, image: bytes, check: ProgramCheck | None = None) -> bytes:
    """Signature, code, check and native object as one; the code is read only when it is needed."""
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
    """What was packed by `pack_entry`."""
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
    """A signature with its packed code."""
    code, results = json.loads(zlib.decompress(packed))
    return replace(signature, code=tuple(tuple(entry) for entry in code), results=tuple(results))
