"""Packages of the profile `embedded` on Cortex-M4F and M7 in qemu: results, counts, stack, memory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.export.c.embedded import BOARDS, FLAGS, LIBRARY, WARNINGS, cross_compiler, measure_stack
from support.embedded import (
    BOARD,
    COMPILER,
    IS_INSTALLED,
    TASKS,
    EmbeddedPackage,
    export_embedded,
    run_on_board,
)
from support.library import library_robot

pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(not IS_INSTALLED, reason="`make test-embedded` installs the compiler and qemu"),
]

# In closed form, an articulated platform, iterated legs and pose, six degrees of freedom.
ROBOTS = ("delta", "quattro", "3rps", "gough-stewart")
EPS = float(np.finfo(np.float32).eps)
STACK = 4096


@pytest.fixture(scope="module", params=ROBOTS)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EmbeddedPackage:
    return export_embedded(library_robot(request.param), tmp_path_factory.mktemp("package"))


@pytest.mark.parametrize("processor", BOARDS)
def test_results_are_those_of_this_machine(package: EmbeddedPackage, processor: str) -> None:
    """Bit for bit with the same elementary functions, up to rounding with those of the C libraries."""
    here, there = package.run("", own_math=True), package.run(processor, own_math=True)
    for task in TASKS:
        assert np.array_equal(here[task].status, there[task].status), task
        assert np.array_equal(here[task].bits, there[task].bits), task
        assert set(here[task].status) == {0}, task
        assert np.ptp(here[task].values, axis=0).max() > 0.0
    here, there = package.run("", own_math=False), package.run(processor, own_math=False)
    for task in TASKS[:3]:
        largest = np.max(np.abs(here[task].values), axis=1, keepdims=True)
        error = np.max(np.abs(here[task].values - there[task].values) / largest)
        assert error <= 32 * EPS, (task, error / EPS)


@pytest.mark.parametrize("processor", BOARDS)
def test_counts_repeat_and_the_stack_is_within_its_bound(package: EmbeddedPackage, processor: str) -> None:
    runs = [package.run(processor, own_math=False) for _ in range(2)]
    files = {name: (package.done.out / name).read_text() for name in package.done.files}
    gcc = cross_compiler()
    assert gcc is not None
    bound = measure_stack(files, gcc, processor)
    for task, function in zip(
        TASKS, ("inverse", "forward", "inverse_dynamics", "controller_step"), strict=True
    ):
        first, second = (run[task] for run in runs)
        assert (first.mean, first.worst, first.stack) == (second.mean, second.worst, second.stack)
        assert 100 < first.mean <= first.worst + 10
        own = bound.depth(f"{package.done.name}_{function}_f")
        # What the caller of a task and the C library take is no more than this.
        assert own - 40 <= first.stack <= own + 400
        assert first.stack < STACK


@pytest.mark.parametrize("processor", BOARDS)
def test_objects_have_constants_and_code_alone(package: EmbeddedPackage, processor: str) -> None:
    """No variables, nothing of doubles, and of the C library what the profile allows."""
    objects = list(map(str, package.objects(processor)))
    assert objects
    sizes = subprocess.run(
        ["arm-none-eabi-size", *objects], capture_output=True, text=True, check=True
    ).stdout
    for line in sizes.splitlines()[1:]:
        assert line.split()[1:3] == ["0", "0"], line
    names = subprocess.run(["arm-none-eabi-nm", *objects], capture_output=True, text=True, check=True).stdout
    undefined = set(re.findall(r" U (\w+)", names)) - set(re.findall(r" [TR] (\w+)", names))
    assert undefined <= {*LIBRARY, "memcpy", "memset", "memmove"}


@pytest.mark.parametrize("processor", BOARDS)
def test_the_self_test_of_a_package_passes_on_a_board(tmp_path: Path, processor: str) -> None:
    done = nacelle.export(
        library_robot("delta"),
        "kinematics,inverse_dynamics",
        out=tmp_path / "package",
        target=nacelle.io.CTarget(profile="embedded", self_test=False),
    )
    sources = [*map(str, (done.out / "src").glob("*.c")), "test/self_test.c", str(BOARD / "startup.c")]
    command = [
        COMPILER,
        *BOARDS[processor],
        *FLAGS,
        *WARNINGS,
        "-Werror",
        "-Iinclude",
        f"-I{BOARD}",
        *sources,
    ]
    command += ["-nostartfiles", f"-T{BOARD / 'mps2.ld'}", "--specs=nosys.specs", "-Wl,--gc-sections", "-lm"]
    subprocess.run([*command, "-o", str(tmp_path / "test.elf")], cwd=done.out, check=True)
    assert run_on_board(tmp_path / "test.elf", processor).splitlines()[-1] == "all is well"


def test_the_example_prints_a_pose_and_its_torques() -> None:
    """Forward kinematics and inverse dynamics on the board are those of Python; inverse kinematics closes."""
    command = [sys.executable, str(BOARD / "run.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    q, x, torque = np.array(re.findall(r"q (\S+) mrad, x (\S+) um, torque (\S+) mN m", printed), float).T
    robot = library_robot("delta")
    pose = nacelle.forward_kinematics(robot, [0.3, 0.4, 0.5]).x
    expected = nacelle.inverse_dynamics(robot, pose, [0.0, 0.1, 0.0], [0.0, 0.0, 1.0]).tau
    assert np.allclose(q, [300, 400, 500], atol=1)
    assert np.allclose(x, 1e6 * pose, atol=2)
    assert np.allclose(torque, 1e3 * expected, atol=2)
