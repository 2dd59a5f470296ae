"""A program and its native code as the bytes that the cache keeps."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nacelle.compile.check import ProgramCheck
from nacelle.program.program import Program, Variable


class CacheEntry(NamedTuple):
    """What the cache keeps of a program.

    Attributes:
        signature: the program without its code.
        packed: its code, to be read only when it is needed.
        check: what it gives at some states, by the tree; None for a program that was not checked.
        image: the native object.
    """

    signature: Program
    packed: bytes
    check: ProgramCheck | None
    image: bytes


def packed_function(program: Program, image: bytes, check: ProgramCheck | None = None) -> bytes:
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


def unpack(payload: bytes) -> CacheEntry:
    """What was packed by `packed_function`."""
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


def with_code(signature: Program, packed: bytes) -> Program:
    """A signature with its packed code."""
    code, results = json.loads(zlib.decompress(packed))
    return replace(signature, code=tuple(tuple(entry) for entry in code), results=tuple(results))
