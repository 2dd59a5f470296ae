"""A program and its native code as the bytes that the cache keeps."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

from nacelle.program.program import Program, Variable


def packed_function(program: Program, image: bytes) -> bytes:
    """Signature, code and native object as one; the code is read only when it is needed."""
    signature = json.dumps(
        {
            "name": program.name,
            "inputs": [[v.name, v.shape] for v in program.inputs],
            "outputs": [[v.name, v.shape] for v in program.outputs],
        }
    ).encode()
    code = zlib.compress(json.dumps([program.code, program.results]).encode(), 1)
    head = len(signature).to_bytes(8, "little") + len(code).to_bytes(8, "little")
    return head + signature + code + image


def unpack(payload: bytes) -> tuple[Program, bytes, bytes]:
    """Signature (a program without code), packed code, native object."""
    first, second = (int.from_bytes(payload[k : k + 8], "little") for k in (0, 8))
    data = json.loads(payload[16 : 16 + first])
    inputs = tuple(Variable(name, tuple(shape)) for name, shape in data["inputs"])
    outputs = tuple(Variable(name, tuple(shape)) for name, shape in data["outputs"])
    signature = Program(data["name"], inputs, outputs, (), ())
    start = 16 + first
    return signature, payload[start : start + second], payload[start + second :]


def with_code(signature: Program, packed: bytes) -> Program:
    """A signature with its packed code."""
    code, results = json.loads(zlib.decompress(packed))
    return replace(signature, code=tuple(tuple(entry) for entry in code), results=tuple(results))
