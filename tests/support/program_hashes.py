"""Operation counts of the library's programs, and a few hashes: the same on every machine.

    make hashes        writes tests/program/program_hashes.json again

The file has the hash of every robot, the operations of every minimised program, and of a few programs the
SHA-256 of instructions and results, with all constants left out, and a sum over the constants. The robots
themselves are the same to the last bit everywhere, and so is most of what is folded from them; constants that
come out of an iteration (the reference configuration, masses at the legs' ends) or out of LAPACK have other
last bits on other machines, so constants are compared to nine digits and not hashed.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

from nacelle.dynamics.models import NAMES, model
from nacelle.model.robot import Robot
from nacelle.program.cost import count
from nacelle.program.program import Program
from support.library import NAMES as ROBOTS
from support.library import library_robot

# Regressors are long, and of the same parts as inverse dynamics.
MODELS = tuple(name for name in NAMES if not name.endswith("regressor"))
FILE = Path(__file__).parents[1] / "program" / "program_hashes.json"
# The few whose hashes are kept: quick to trace, with all kinds of legs and forms of equations among them.
SAMPLE = (
    ("fivebar", "inverse_dynamics"),
    ("3rrr", "jacobian"),
    ("delta-codourey", "forward_dynamics"),
    ("orthoglide", "inverse_dynamics"),
    ("hexa", "inverse_kinematics"),
    ("prrrp", "mass_matrix"),
)


def structure(program: Program) -> str:
    """SHA-256 of instructions and results; of a constant only that it is one, and its sign."""
    instructions = [
        ["const", (op[1] > 0.0) - (op[1] < 0.0)] if op[0] == "const" else list(op) for op in program.code
    ]
    return hashlib.sha256(json.dumps([instructions, program.results]).encode()).hexdigest()


def constants(program: Program) -> list[float]:
    """The finite constants of a program, in order."""
    return [op[1] for op in program.code if op[0] == "const" and math.isfinite(op[1])]


def checksum(program: Program) -> float:
    """A sum over the logarithms of the constants that feels each of them, and their order."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    terms = [
        (1.0 + k * golden % 1.0) * math.log2(abs(value))
        for k, value in enumerate(constants(program))
        if value
    ]
    return math.fsum(terms)


def record(program: Program) -> dict[str, Any]:
    """What is kept of a program."""
    return {
        "structure": structure(program),
        "operations": count(program).total,
        "constants": round(checksum(program), 9),
    }


def records(robot: Robot, models: tuple[str, ...] = MODELS, *, minimised: bool = True) -> dict[str, Any]:
    """Records of some models of a robot."""
    return {name: record(model(robot, name).program(minimise=minimised)) for name in models}


def stored_hashes() -> dict[str, dict[str, Any]]:
    """What the file keeps: `robots` and `operations` by robot, `programs` by robot and model."""
    loaded: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    return loaded


def write() -> None:
    """Write the file, a line a robot or program."""
    found: dict[str, dict[str, Any]] = {"robots": {}, "operations": {}, "programs": {}}
    for name in sorted(ROBOTS):
        robot = library_robot(name)
        found["robots"][name] = robot.hash
        found["operations"][name] = {label: own["operations"] for label, own in records(robot).items()}
        sys.stderr.write(f"{name}\n")
    for name, label in SAMPLE:
        own = records(library_robot(name), (label,))[label]
        found["programs"][f"{name} {label}"] = {key: own[key] for key in ("structure", "constants")}
    parts = []
    for part, entries in found.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())
        parts.append(f" {json.dumps(part)}: {{\n{lines}\n }}")
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def print_records(names: list[str], models: list[str]) -> None:
    """Print records of some robots as JSON: what another process compares."""
    found = {name: records(library_robot(name), tuple(models)) for name in names}
    sys.stdout.write(json.dumps({"robots": {n: library_robot(n).hash for n in names}, "records": found}))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print_records(sys.argv[1].split(","), sys.argv[2].split(","))
    else:
        write()
