"""The user's cache of native code: load what it keeps, or make it anew and keep it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from nacelle.compile.fingerprint import fingerprint, package_hash
from nacelle.compile.packed import pack, unpack
from nacelle.compile.specification import Specification
from nacelle.emit.store import Store
from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.progress import task
from nacelle.spatial.physics import sampler_of

_T = TypeVar("_T")


@dataclass(frozen=True)
class Form(Generic[_T]):
    """What is made of a program.

    Attributes:
        kind: its name in the cache.
        emit: compiles a program with options of the compiler.
        load: loads an object for a program, of which the code is packed where it came from the cache.
        plain: does the same with NumPy.
        beside: other programs that are compiled with it; with some it is not kept.
    """

    kind: str
    emit: Callable[[Program, Any], bytes]
    load: Callable[[bytes, Program, bytes | None], _T]
    plain: Callable[[Program], _T]
    beside: tuple[Program, ...] = ()


def kept(
    form: Form[_T],
    specification: Specification,
    make: Callable[[], Program],
    store: Store | None,
    part: str = "program",
) -> _T:
    """Load what the cache keeps, or make it anew and keep it, or run it as NumPy where LLVM fails.

    Args:
        form: what is made.
        specification: what it is made of.
        make: traces the program.
        store: the cache; None if it is not to be used.
        part: which part of the specification the program is.
    """
    key = None if store is None or form.beside else _key(form.kind, part, specification)
    payload = store.get(key) if store is not None and key is not None else None
    if payload is not None:
        try:
            signature, packed, image = unpack(payload)
            return form.load(image, signature, packed)
        except (ValueError, KeyError, TypeError, RuntimeError, OSError, NacelleError):
            pass  # damaged or foreign: made anew
    from nacelle.emit.jit import attempts

    start_compiler()
    program = make()

    def native(options: Any) -> _T:
        with task(f"compiling {program.name} ({len(program.code)} operations)"):
            image = form.emit(program, options)
        result = form.load(image, program, None)
        if store is not None and key is not None:
            store.put(key, pack(program, image))
        return result

    programs, mark = (program, *form.beside), f"{form.kind} {package_hash()}"
    return attempts.attempt(specification.label, programs, native, lambda: form.plain(program), store, mark)


def start_compiler() -> None:
    """Start the compiler's process, so that it is ready when the program is traced."""
    from nacelle.emit.jit import compiler

    compiler.default().start()


def remembered(kind: str, robot: Robot, parts: Any, make: Callable[[], str]) -> str:
    """The result of a search for a robot as text, from the user's cache or made anew and kept.

    Args:
        kind: what it is.
        robot: the robot.
        parts: what else it depends on, as plain data.
        make: the search.
    """
    store = Store()
    key = json.dumps([kind, robot.hash, parts, package_hash()])
    payload = store.get(key)
    if payload is not None:
        return payload.decode()
    text = make()
    store.put(key, text.encode())
    return text


def _key(kind: str, part: str, specification: Specification) -> str | None:
    """Everything that native code depends on; None if the function cannot be distinguished from others."""
    robot, groups = specification.robot, specification.groups
    functions = [specification.function, sampler_of(specification.function)]
    marks = [None if function is None else fingerprint(function) for function in functions]
    if any(mark is None and function is not None for mark, function in zip(marks, functions, strict=True)):
        return None
    from nacelle.emit.jit import target as jit

    numbers = None
    if robot is not None and groups:
        # The free numbers are no part of the robot's hash, but the sample of them tells what they are.
        sample = robot.with_numbers(robot.numbers.sample(*groups), *groups)
        numbers = [sample.hash, robot.numbers.names(*groups), specification.derivatives]
    return json.dumps(
        [
            [kind, part],
            robot.hash if robot is not None else None,
            marks,
            list(specification.shapes.items()),
            [groups, numbers],
            specification.minimised,
            sorted(specification.options.items()),
            package_hash(),
            jit.host_key(),
        ]
    )
