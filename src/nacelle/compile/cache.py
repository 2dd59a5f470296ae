"""The user's cache of native code: load what it keeps, or make it anew and keep it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from nacelle.compile.check import ROUNDING, ProgramCheck
from nacelle.compile.packed import fingerprint, pack_entry, package_hash, unpack_code, unpack_entry
from nacelle.compile.refusals import refusal_reason
from nacelle.compile.specification import Specification, WithCheck
from nacelle.emit.registry import TargetError, warn_once
from nacelle.emit.store import Store
from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.progress import task
from nacelle.spatial.physics import sampler_of
from nacelle.spatial.scalar import Array

_T = TypeVar("_T")

# Loops of more results solve with one thread where they are checked.
_LARGE = 50
# Steps longer than the inputs by this factor are not compared.
_FAR = 10.0
# By how much a loop may differ from the same loop in NumPy, over its largest result.
_LOOP = 1e-7


@dataclass(frozen=True)
class CachedForm(Generic[_T]):
    """What is made of a program.

    Attributes:
        kind: its name in the cache.
        emit: compiles a program with options of the compiler, and its companions.
        load: loads an object for a program, of which the code is packed where it came from the cache, and
            for its companions.
        plain: does the same with NumPy.
        reference: the loop that it is checked against, from the programs; of loops alone.
        results_at: results (K, results) of what was loaded, at rows (K, size) of the first program's inputs.
        is_program: whether these are the results of the program itself, not of a loop around it.
        rows: the rows at which a loop is checked, from the loop in NumPy and the rows of its first program.
        note: puts the check down on what was loaded.
        companions: what other programs are made of that are compiled with it.
    """

    kind: str
    emit: Callable[..., bytes]
    load: Callable[..., _T]
    plain: Callable[..., _T]
    results_at: Callable[[_T, Array], Array]
    is_program: bool = False
    reference: Callable[..., _T] | None = None
    rows: Callable[[_T, Array], Array] = lambda plain, rows: rows
    note: Callable[[_T, ProgramCheck | None], None] = lambda result, check: None
    companions: tuple[Specification, ...] = ()


def load_or_compile(
    form: CachedForm[_T],
    specification: Specification,
    make: Callable[[], WithCheck[Program]],
    store: Store | None,
    part: str = "program",
    *,
    anew: bool = False,
) -> _T:
    """Load what the cache keeps, or make it anew and keep it, or run it as NumPy where LLVM fails.

    What runs is checked before it is given away, machine code from the cache too: at the states of the check
    that is kept with it, and at one of them against the physics function as it is now.

    Args:
        form: what is made.
        specification: what it is made of.
        make: traces the program, and says how it is checked.
        store: the cache; None if it is not to be used.
        part: which part of the specification the program is.
        anew: whether it is made anew, and takes the place of what the cache keeps.

    Raises:
        CompileError: if it disagrees with its physics even as NumPy.
    """
    keys = None if store is None else _keys(form, part, specification)
    if store is not None and keys is not None and not anew:
        try:
            entry, *others = (unpack_entry(_require_payload(store.get(key))) for key in keys)
            result = form.load(
                entry.image, entry.signature, entry.packed_code, *(o.signature for o in others)
            )
        except (ValueError, KeyError, TypeError, RuntimeError, OSError, NacelleError):
            pass  # missing, damaged or foreign: made anew
        else:
            reason = _disagreement_reason(form, result, entry.check, entry.signature)
            if not reason and form.is_program and part == "program":
                reason = specification.staleness_reason(entry.check, entry.signature)
            if not reason:
                if specification.robot is not None:
                    refusal_reason(specification.robot)
                form.note(result, entry.check)
                return result
            warn_once(f"{specification.label} is compiled anew: the cache has another, {reason}")
    from nacelle.emit.jit import attempts, compiler

    # The compiler's process is ready when the program is traced.
    compiler.default().start()
    extra = tuple(companion.program() for companion in form.companions)
    program, check = make()
    if check is not None and form.reference is not None:
        check = _loop_check(form, check, form.reference(program, *extra))

    def verify(result: _T) -> _T:
        reason = _disagreement_reason(form, result, check, program)
        if reason:
            raise TargetError(f"what is compiled disagrees with the physics: {reason}")
        form.note(result, check)
        return result

    def native(options: Any) -> _T:
        with task(f"compiling {program.name} ({len(program.code)} operations)"):
            image = form.emit(program, options, *extra)
        result = verify(form.load(image, program, None, *extra))
        if store is not None and keys is not None:
            for k, (key, entry_program) in enumerate(zip(keys, (program, *extra), strict=True)):
                store.put(key, pack_entry(entry_program, b"" if k else image, None if k else check))
        return result

    programs, mark = (program, *extra), f"{form.kind} {package_hash()}"
    return attempts.compile_with_fallback(
        specification.label, programs, native, lambda: verify(form.plain(program, *extra)), store, mark
    )


def _disagreement_reason(
    form: CachedForm[_T], result: _T, check: ProgramCheck | None, signature: Program
) -> str:
    """In what something that runs differs from its check; empty where it does not."""
    if check is None:
        return ""
    return check.disagreement_reason(
        form.results_at(result, check.inputs), signature.outputs if form.is_program else ()
    )


def _loop_check(form: CachedForm[_T], check: ProgramCheck, plain: _T) -> ProgramCheck:
    """What a loop around a program must give: what the same loop gives in NumPy."""
    # On a busy machine threads of BLAS wait for one another; small matrices have none.
    with threadpool_limits(1, user_api="blas") if check.outputs.shape[1] > _LARGE else nullcontext():
        inputs = form.rows(plain, check.inputs)
        outputs = form.results_at(plain, inputs)
    sizes = np.max(np.abs(inputs), axis=1, keepdims=True)
    # From inputs that belong to no state a step may lead anywhere: where that is so nothing is compared.
    wild = ~(np.max(np.abs(outputs), axis=1, keepdims=True) <= _FAR * np.max(sizes))
    outputs = np.where(wild, np.nan, outputs)
    largest = float(np.max(np.abs(outputs[np.isfinite(outputs)]), initial=0.0))
    # A loop is at least as uncertain as its program, relative to the largest results of both.
    compared = np.isfinite(check.outputs)
    scale = np.max(np.abs(check.outputs[compared]), initial=0.0)
    uncertain = np.max(check.allowed[compared], initial=0.0) / scale if scale else 0.0
    allowed = (_LOOP + uncertain) * largest + ROUNDING * sizes
    return ProgramCheck(inputs, outputs, allowed + np.zeros(outputs.shape))


def load_or_trace(
    kind: str,
    specification: Specification,
    make: Callable[[], Program],
    store: Store | None,
    part: str = "program",
) -> Program:
    """The program of a specification, from the cache or made anew and kept; see `load_or_compile`."""
    key = None if store is None else _key(kind, part, specification, kind)
    if store is not None and key is not None:
        try:
            entry = unpack_entry(_require_payload(store.get(key)))
            return unpack_code(entry.signature, entry.packed_code)
        except (ValueError, KeyError, TypeError):
            pass  # missing or damaged: made anew
    program = make()
    if store is not None and key is not None:
        store.put(key, pack_entry(program, b""))
    return program


def _require_payload(payload: bytes | None) -> bytes:
    if payload is None:
        raise KeyError("not kept")
    return payload


def _keys(form: CachedForm[Any], part: str, specification: Specification) -> list[str] | None:
    """Keys of a program and of its companions, each of which depends on all; None if one has none."""
    keys = [_key(form.kind, part, specification)]
    keys += [_key("beside", part, companion) for companion in form.companions]
    if None in keys:
        return None
    return [json.dumps([index, *keys]) if len(keys) > 1 else str(keys[0]) for index in range(len(keys))]


def cached_search(kind: str, robot: Robot, parts: Any, make: Callable[[], str]) -> str:
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


def _key(kind: str, part: str, specification: Specification, machine: str = "") -> str | None:
    """Everything that native code depends on; None if the function cannot be distinguished from others.

    The machine is this one unless a name is given.
    """
    robot, groups = specification.robot, specification.groups
    functions = [specification.function, sampler_of(specification.function)]
    marks = [None if function is None else fingerprint(function) for function in functions]
    if any(mark is None and function is not None for mark, function in zip(marks, functions, strict=True)):
        return None
    if not machine:
        from nacelle.emit.jit import target as jit

        machine = jit.machine_key()
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
            specification.minimise,
            sorted(specification.options.items()),
            package_hash(),
            machine,
        ],
        default=_plain_option,
    )


def _plain_option(option: Any) -> list[Any]:
    """An option that is a frozen object of plain values, such as `Physics`, as a key has it."""
    if not is_dataclass(option) or isinstance(option, type):
        raise TypeError(f"an option is no part of a key: {option!r}")
    return [type(option).__qualname__, *sorted(asdict(option).items())]
