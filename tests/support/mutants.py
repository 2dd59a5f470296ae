"""Mutation testing: what tests do not see.

    make mutants PART=1/4     # goes on where it was stopped; what was found is in .results/mutants.jsonl

Mutants are those of cosmic-ray's operators in the modules below, sampled by a seed; the list is kept in
tests/mutants.json, so that two commits are compared on the same ones. Each is made in a copy of the package
and tested for at most a minute: by the tests of `make test` that run the mutated line, those of the nearest
files first. Which tests run a line is read from a run of `make test` under coverage (.results/contexts).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from support.tiers import RESULTS, ROOT

MUTANT_LIST = ROOT / "tests/mutants.json"
OUTCOMES = RESULTS / "mutants.jsonl"
CONTEXTS = RESULTS / "contexts"
MUTATED_MODULES = (
    "spatial",
    "tree",
    "kinematics/configuration.py",
    "papers",
    "dynamics/friction.py",
    "dynamics/reference.py",
    "dynamics/tree_form.py",
    "dynamics/base_parameters",
    "identification/estimation",
)
SECONDS, TESTS = 60, 40
# Operators whose mutants say something about numbers; others replace + by << and the like.
OPERATORS = (
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceComparisonOperator_Lt_GtE",
    "ReplaceComparisonOperator_Gt_LtE",
    "ReplaceComparisonOperator_LtE_Gt",
    "ReplaceComparisonOperator_GtE_Lt",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "NumberReplacer",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ZeroIterationForLoop",
)


class Mutant(NamedTuple):
    """One change: a module, by its path under src, an operator, which of its places there, and the line."""

    module: str
    operator: str
    occurrence: int
    line: int


def mutation_lines(module: str, operator: str) -> list[int]:
    """The lines of all places in a module that an operator changes."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    tree = get_ast((ROOT / "src" / module).read_text(encoding="utf-8"))
    own = get_operator(f"core/{operator}")()
    return [start[0] for node in ast_nodes(tree) for start, _ in own.mutation_positions(node)]


def all_mutants() -> Iterator[Mutant]:
    """All mutants there are."""
    for source in MUTATED_MODULES:
        path = ROOT / "src/nacelle" / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            module = str(file.relative_to(ROOT / "src"))
            for name in OPERATORS:
                for k, line in enumerate(mutation_lines(module, name)):
                    yield Mutant(module, name, k, line)


def mutated_source(mutant: Mutant) -> str:
    """The text of the module with the change."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    text = (ROOT / "src" / mutant.module).read_text(encoding="utf-8")
    return str(mutate_code(text, get_operator(f"core/{mutant.operator}")(), mutant.occurrence))


def covering_tests(mutant: Mutant, line: int) -> list[str]:
    """Tests that run a line, nearest files first, the quickest of each."""
    from coverage import CoverageData

    data = CoverageData(str(CONTEXTS))
    data.read()
    by_line = data.contexts_by_lineno(str(ROOT / "src" / mutant.module))
    ids = _ids(by_line.get(line, []))
    if not ids and line in by_line:
        # A constant, which is read when the module is imported: all that runs in it.
        ids = _ids(context for contexts in by_line.values() for context in contexts)
    near = mutant.module.removeprefix("nacelle/").split("/")

    def distance(test: str) -> tuple[int, str]:
        parts = test.split("::", maxsplit=1)[0].split("/")[1:]
        return (-sum(a == b for a, b in zip(near, parts, strict=False)), test)

    return sorted(ids, key=distance)[:TESTS]


def _ids(contexts: Iterable[str]) -> set[str]:
    """Names of the tests among contexts."""
    return {context.partition("|")[0] for context in contexts if "::" in context}


@contextmanager
def package_copy() -> Iterator[Path]:
    """A folder with a copy of the package, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            ROOT / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        yield Path(folder)


def run_mutated_tests(
    folder: Path, module: str, text: str, tests: Iterable[str], *more: str, seconds: float | None = None
) -> tuple[str, str]:
    """Run tests in a copy of the package in which a module has another text.

    Args:
        folder: with the copy; the module is as before afterwards.
        module: its path there.
        text: its other text.
        tests: what is run, until the first failure.
        more: options of pytest.
        seconds: the time that they have.

    Returns:
        "killed", "survived" or "out of time", and the test that failed.
    """
    target = folder / module
    before = target.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    settings = {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'tests'}", "NACELLE_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    how: dict[str, Any] = {"cwd": ROOT, "env": os.environ | settings, "capture_output": True, "text": True}
    try:
        done = subprocess.run([*command, *more, *tests], **how, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "out of time", ""
    finally:
        target.write_text(before, encoding="utf-8")
        shutil.rmtree(folder / "cache", ignore_errors=True)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    by = failed[0].partition(" ")[2].partition(" - ")[0] if failed else ""
    return "survived" if done.returncode == 0 else "killed", by


def mutant_outcome(mutant: Mutant, folder: Path) -> dict[str, Any]:
    """Test one mutant in a folder with a copy of the package: killed, survived, not covered, or gone."""
    # The module may have changed since the list was drawn: the line is the one of today.
    lines = mutation_lines(mutant.module, mutant.operator)
    if mutant.occurrence >= len(lines):
        return {"outcome": "gone"}
    tests, text = covering_tests(mutant, lines[mutant.occurrence]), mutated_source(mutant)
    if not tests:
        return {"outcome": "not covered"}
    start = time.perf_counter()
    ended, by = run_mutated_tests(folder, mutant.module, text, tests, seconds=SECONDS)
    return {"outcome": ended, "by": by, "tests": len(tests), "seconds": round(time.perf_counter() - start, 1)}


def main() -> None:
    """Draw the list, or test a part of it."""
    parser = argparse.ArgumentParser(description="mutation testing")
    parser.add_argument("--draw", type=int, help="draw so many mutants and keep the list")
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--part", default="1/1")
    chosen = parser.parse_args()
    if chosen.draw:
        every = list(all_mutants())
        drawn = sorted(random.Random(chosen.seed).sample(every, chosen.draw))
        lines = ",\n".join(json.dumps(mutant._asdict()) for mutant in drawn)
        MUTANT_LIST.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        print(f"{len(drawn)} of {len(every)} mutants, seed {chosen.seed}")
        return
    k, n = map(int, chosen.part.split("/"))
    mutants = [Mutant(**entry) for entry in json.loads(MUTANT_LIST.read_text(encoding="utf-8"))][k - 1 :: n]
    lines = OUTCOMES.read_text(encoding="utf-8").splitlines() if OUTCOMES.is_file() else []
    done = {tuple(entry["mutant"]): entry for entry in map(json.loads, lines)}
    with package_copy() as folder:
        for mutant in mutants:
            if tuple(mutant) not in done:
                entry = {"mutant": list(mutant), **mutant_outcome(mutant, folder)}
                done[tuple(mutant)] = entry
                with OUTCOMES.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(entry) + "\n")
                print(entry["outcome"], *mutant, flush=True)
    print(Counter(entry["outcome"] for entry in done.values()))


if __name__ == "__main__":
    main()
