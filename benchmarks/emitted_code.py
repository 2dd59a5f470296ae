"""What LLVM writes for processors that are not at hand: `python benchmarks/emitted_code.py`.

The programs of `program.py` are compiled for a Neoverse-N1, for AVX2 and for AVX-512 and counted, not run:
instructions of the functions that evaluate vectors; of them negations (and masks of signs), copies between
registers, stores to the tile, and stores to the stack: values that LLVM did not hold as they were planned.
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from llvmlite import binding as llvm
from programs import HEXAPOD, JACOBIAN, PALIDA, large, palida, small
from timing import say

from nacelle.emit.jit import compiler, compiler_worker
from nacelle.emit.jit import target as jit
from nacelle.emit.machine import other_machine
from nacelle.program.minimise import minimise

FAMILIES = {
    "Neoverse-N1": other_machine("aarch64-unknown-linux-gnu", "neoverse-n1"),
    "AVX2": other_machine("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "AVX-512": other_machine("x86_64-unknown-linux-gnu", "x86-64-v4"),
}
COLUMNS = ("instructions", "negations", "copies", "stores to the tile", "stores to the stack")


def assembly(program, machine, level=1):
    """The assembly of a program's module for a batch."""
    many, _ = jit.module_texts(program, jit.JitOptions(machine=machine))
    generator = compiler_worker.target_machine(machine.triple, machine.cpu, machine.features, level)
    return generator.emit_assembly(llvm.parse_assembly(many, llvm.create_context()))


def counts(text):
    """Count the instructions of the functions that evaluate vectors."""
    found, inside = Counter(dict.fromkeys(COLUMNS, 0)), False
    for line in text.splitlines():
        label = re.match(r"([A-Za-z_]\w*):", line)
        if label:
            inside = re.fullmatch(r"v_chunk\d+", label[1]) is not None
        words = line.split()
        if not inside or not words or words[0].startswith((".", "#", "/")) or words[0].endswith(":"):
            continue
        found["instructions"] += 1
        found[kind(words[0], line)] += 1
    return {column: found[column] for column in COLUMNS}


def kind(name, line):
    """What an instruction on vectors is, as far as it is counted; stores of pairs count as one."""
    arm = re.search(r"\s[qv]\d", line) is not None
    if name == "fneg" or name.startswith("vxorp"):
        return "negations"
    if name.startswith("st") and arm:
        return "stores to the stack" if re.search(r"\[(sp|x29)", line) else "stores to the tile"
    if name == "mov" and arm:
        return "copies"
    if name.startswith("vmov") and re.search(r"[xyz]mm", line):
        operands = line.split(None, 1)[1].split("#")[0].strip()
        if operands.endswith(")"):
            return "stores to the stack" if re.search(r"\(%r[sb]p", operands) else "stores to the tile"
        if re.fullmatch(r"%[xyz]mm\d+, %[xyz]mm\d+", operands):
            return "copies"
    return "other"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    for option in compiler.LLVM_OPTIONS:
        llvm.set_option("nacelle", option)
    programs = {
        PALIDA: palida()[0],
        HEXAPOD: minimise(small().program()),
        JACOBIAN: minimise(large().program()),
    }
    rows = []
    for name, program in programs.items():
        for family, machine in FAMILIES.items():
            say(name, family, "...")
            rows.append({"program": name, "family": family, **counts(assembly(program, machine))})
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"| program | family | {' | '.join(COLUMNS)} |")
    print("|---" * (2 + len(COLUMNS)) + "|")
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")


if __name__ == "__main__":
    main()
