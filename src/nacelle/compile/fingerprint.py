"""Fingerprints of functions: what tells the native code of one from that of another."""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


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
            if isinstance(value, types.ModuleType) and not _is_settled(value):
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


def _is_settled(module: types.ModuleType) -> bool:
    """Whether a module is one that does not change between runs of one installation."""
    top = module.__name__.partition(".")[0]
    return top in ("numpy", "math", "nacelle", "functools", "itertools", "operator")
