"""The same robot gives the same program on every machine: counts, a few hashes, and moved last bits."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.models import model
from nacelle.program.cost import count
from nacelle.program.program import Program
from support import program_hashes
from support.last_bits import forget_everything, noisy_libraries, perturbed_robot
from support.library import NAMES as ROBOTS
from support.library import library_robot
from support.pairwise import FAMILIES, pairwise
from support.program_hashes import MODELS, SAMPLE

TESTS = Path(__file__).parents[1]
# Those whose last bits used to decide: equal legs, choices among equal candidates, fitted masses.
HARD = [
    ("hexa", "inverse_dynamics"),
    ("palida", "inverse_dynamics"),
    ("gough-stewart", "inverse_dynamics"),
    ("quattro", "inverse_dynamics"),
    ("h4", "jacobian"),
    ("dymo", "jacobian"),
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Choices are searched anew; what a test has analysed with moved bits is forgotten after it."""
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path))
    yield
    monkeypatch.undo()
    forget_everything()


def assert_same(found: dict[str, Any], expected: dict[str, Any], place: str) -> None:
    """Records agree in all that `expected` has, constants to nine digits."""
    for key, value in expected.items():
        assert found[key] == (pytest.approx(value, abs=1e-8) if key == "constants" else value), (place, key)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("robot", sorted(ROBOTS))
def test_operations(robot: str) -> None:
    found = {name: own["operations"] for name, own in program_hashes.records(library_robot(robot)).items()}
    assert found == program_hashes.stored_hashes()["operations"][robot]


@pytest.mark.parametrize("robot", sorted(ROBOTS))
def test_robots_are_the_same_to_the_last_bit(robot: str) -> None:
    """Frames, inertias and all else that is read from a description, in the robot's own hash."""
    assert library_robot(robot).hash == program_hashes.stored_hashes()["robots"][robot]


def same_programs(robots: list[nacelle.Robot], name: str) -> Program:
    """Programs of robots that differ in last bits are the same, but for last bits of their constants.

    The first of them is given.
    """
    first, *others = [model(robot, name).program() for robot in robots]
    for other in others:
        assert count(other).total == count(first).total
        assert program_hashes.structure(other) == program_hashes.structure(first)
        ours, theirs = (np.array(program_hashes.constants(program)) for program in (first, other))
        assert np.all(np.abs(theirs - ours) <= 1e-10 * np.abs(ours))
    return first


@pytest.mark.parametrize(("robot", "name"), SAMPLE)
def test_hashes_and_moved_numbers(robot: str, name: str) -> None:
    """The program is that of the file, and stays where every number moves by up to three last places."""
    own, kept = library_robot(robot), program_hashes.stored_hashes()
    found = program_hashes.record(same_programs([own, perturbed_robot(own, 1)], name))
    assert found["operations"] == kept["operations"][robot][name]
    assert_same(found, kept["programs"][f"{robot} {name}"], robot)


@pytest.mark.thinned(3)
@pytest.mark.slow
@pytest.mark.parametrize(("robot", "name"), pairwise(robot=FAMILIES, name=MODELS))
def test_moved_numbers(robot: str, name: str) -> None:
    own = library_robot(robot)
    same_programs([own, *(perturbed_robot(own, seed) for seed in (2, 3, 4, 5))], name)


def noisy(robot: str, name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and trace a robot with moved results of all linear algebra and elementary functions."""
    expected = program_hashes.record(model(library_robot(robot), name).program())
    noisy_libraries(monkeypatch, seed)
    own = nacelle.load(robot)
    assert own.hash == program_hashes.stored_hashes()["robots"][robot]
    assert_same(program_hashes.record(model(own, name).program()), expected, robot)


@pytest.mark.parametrize(("robot", "name"), SAMPLE)
def test_noisy_libraries(robot: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    noisy(robot, name, 1, monkeypatch)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("robot", "name"), HARD)
def test_noisy_libraries_where_it_is_hard(
    robot: str, name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy(robot, name, seed, monkeypatch)


def in_another_process(settings: dict[str, str], robots: str, models: str, folder: Path) -> Any:
    """Records of some models, made under other settings of the machine."""
    environment = {**os.environ, "NACELLE_CACHE": str(folder), "PYTHONPATH": str(TESTS), **settings}
    run = subprocess.run(
        [sys.executable, "-m", "support.program_hashes", robots, models],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def assert_same_there(settings: dict[str, str], robots: str, models: str, folder: Path) -> None:
    found = in_another_process(settings, robots, models, folder)
    for robot, listed in found["records"].items():
        assert found["robots"][robot] == program_hashes.stored_hashes()["robots"][robot]
        for name, own in program_hashes.records(library_robot(robot), tuple(models.split(","))).items():
            assert_same(listed[name], own, f"{robot} {name}")


@pytest.mark.slow
def test_hash_seeds(tmp_path: Path) -> None:
    """Nothing hangs on the order of sets and dictionaries of texts, nor on what the cache kept."""
    assert_same_there({"PYTHONHASHSEED": "1"}, "3rrr,fivebar", "inverse_dynamics,jacobian", tmp_path)
    assert_same_there({"PYTHONHASHSEED": "2"}, "3rrr,fivebar", "inverse_dynamics,jacobian", tmp_path)


ARM = platform.machine() in ("aarch64", "arm64")
# Other kernels of OpenBLAS, and NumPy without its wider vector instructions.
KERNELS = (
    [{"OPENBLAS_CORETYPE": core} for core in ("ARMV8", "CORTEXA57", "NEOVERSEN1", "THUNDERX2T99")]
    if ARM
    else [{"OPENBLAS_CORETYPE": core} for core in ("NEHALEM", "SANDYBRIDGE", "HASWELL")]
)
NARROW = {"NPY_DISABLE_CPU_FEATURES": "ASIMDHP ASIMDDP ASIMDFHM" if ARM else "AVX2 FMA3 AVX512F AVX512_SKX"}


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("settings", [*KERNELS, NARROW], ids=lambda s: "-".join(s.values()))
def test_other_kernels(settings: dict[str, str], tmp_path: Path) -> None:
    robots, models = "hexa,3rrr,h4", "inverse_dynamics,jacobian"
    assert_same_there(settings, robots, models, tmp_path)


@pytest.mark.slow
def test_another_kernel(tmp_path: Path) -> None:
    assert_same_there(KERNELS[1], "3rrr,orthoglide", "inverse_dynamics,jacobian", tmp_path)
