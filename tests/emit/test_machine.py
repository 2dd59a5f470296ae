"""The library's programs compile for every machine that nacelle is used on, wherever the tests run."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import cache, drivers, make_program, native
from nacelle.compile.specification import WithCheck
from nacelle.emit.jit import target as jit
from nacelle.emit.jit.irk5 import compile_irk5
from nacelle.emit.jit.newton import compile_newton
from nacelle.emit.jit.rk4 import compile_rk4
from nacelle.emit.machine import other_machine
from nacelle.emit.registry import TargetError
from nacelle.kinematics.solve import newton_steps
from nacelle.program.program import Program
from nacelle.simulation.flow import flow
from nacelle.spatial.physics import input_shapes
from support.pairwise import ONE_OF_EACH
from support.random_programs import random_program

LINUX_ARM, LINUX_X86 = "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"
MACHINES = {
    "neoverse-n1": other_machine(LINUX_ARM, "neoverse-n1"),
    "cortex-a72": other_machine(LINUX_ARM, "cortex-a72"),
    "apple-m1": other_machine("arm64-apple-macosx13.0.0", "apple-m1"),
    "x86-64-v2": other_machine(LINUX_X86, "x86-64-v2"),
    "x86-64-v3": other_machine(LINUX_X86, "x86-64-v3"),
    "x86-64-v4": other_machine(LINUX_X86, "x86-64-v4"),
}
# Samples in a vector, vector registers, fused multiply-adds.
EXPECTED = {
    "neoverse-n1": (2, 32, True),
    "cortex-a72": (2, 32, True),
    "apple-m1": (2, 32, True),
    "x86-64-v2": (2, 16, False),
    "x86-64-v3": (4, 16, True),
    "x86-64-v4": (8, 32, True),
}
# What an object says of its machine: ELF's number, or Mach-O's.
AARCH64, X86_64, MACH_ARM64 = 183, 62, 0x0100000C


@pytest.fixture
def no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled for another machine never looks at this one."""
    monkeypatch.setattr(jit, "host_machine", lambda: pytest.fail("the host was looked at"))


def undefined_symbols(image: bytes) -> set[str]:
    """Names of the symbols that an ELF object expects from elsewhere."""
    (start,) = struct.unpack_from("<Q", image, 40)
    entry, count = struct.unpack_from("<HH", image, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, start + k * entry) for k in range(count)]
    names = set()
    for _, kind, _, _, offset, size, link, _, _, each in sections:
        if kind == 2:  # a table of symbols
            text = sections[link][4]
            for place in range(offset + each, offset + size, each):
                name, _, _, section = struct.unpack_from("<IBBH", image, place)
                if section == 0:
                    names.add(image[text + name : image.index(b"\0", text + name)].decode())
    return names


def check_object(image: bytes, name: str) -> None:
    """An object is of its machine's kind, and needs nothing that it was not given."""
    if name == "apple-m1":
        assert struct.unpack_from("<II", image) == (0xFEEDFACF, MACH_ARM64)
        return
    assert image[:6] == b"\x7fELF\x02\x01"
    assert struct.unpack_from("<H", image, 18) == (X86_64 if name.startswith("x86") else AARCH64,)
    assert undefined_symbols(image) == set()


def check_image(kind: str, image: bytes, name: str) -> None:
    """What `compile_modules` makes holds one object or two; an integrator is one."""
    for part in (image,) if kind in ("rk4", "irk5") else jit.split_objects(image):
        if part:
            check_object(part, name)


@pytest.mark.usefixtures("no_host")
@pytest.mark.parametrize("name", MACHINES)
def test_choices_follow_the_machine(name: str) -> None:
    options = jit.JitOptions(machine=MACHINES[name])
    machine = MACHINES[name]
    assert (machine.width, machine.registers, machine.fma) == EXPECTED[name]
    program = random_program(3, 400, operations=("add", "mul", "sqrt"))
    many, one = jit.module_texts(program, options)
    assert f'target triple = "{machine.triple}"' in many
    assert {w for w in (2, 4, 8) if f"<{w} x double>" in many} == {machine.width}
    assert "x double>" not in one
    assert ("@llvm.fma" in many) == machine.fma
    assert machine.cpu in jit.machine_key(options)
    check_image("function", jit.compile_object(program, options), name)


@pytest.mark.usefixtures("no_host")
@pytest.mark.parametrize("name", [*MACHINES, "x86-64"])
def test_programs_need_no_library(name: str) -> None:
    """A processor without an instruction for an operation must not make a call of it."""
    machine = MACHINES.get(name) or other_machine(LINUX_X86, name)
    operations = ("add", "floor", "abs", "where", "sin", "cos", "tanh", "exp", "atan2")
    program = random_program(5, 60, operations=operations)
    assert set(operations) <= {step[0] for step in program.code}
    check_image("function", jit.compile_object(program, jit.JitOptions(machine=machine)), name)


@pytest.mark.usefixtures("no_host")
def test_planned_registers_follow_the_machine() -> None:
    """The same width and the same fusing, with half as many registers: another plan."""
    program = random_program(3, 3000, operations=("add", "mul"))
    few, many = (jit.JitOptions(machine=MACHINES[name], width=2) for name in ("x86-64-v3", "x86-64-v4"))
    assert jit.module_texts(program, few) != jit.module_texts(program, many)


def test_processors_without_a_level_need_their_features() -> None:
    with pytest.raises(
        TargetError, match=r"'skylake' is not one of x86-64, x86-64-v2, .*: give its features"
    ):
        other_machine(LINUX_X86, "skylake")


def programs_of(
    robot_name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, everything: bool
) -> list[Any]:
    """What the public functions compile for a robot: kind, label, program, and how it is emitted."""
    found: list[Any] = []
    real = cache.load_or_compile

    def recording(form: Any, specification: Any, make: Any, *given: Any, **more: Any) -> Any:
        def made() -> WithCheck[Program]:
            checked = make()
            found.append((form.kind, specification.label, checked.value, form.emit))
            return checked

        return real(form, specification, made, *given, **more)

    for module in (native, drivers):
        monkeypatch.setattr(module, "load_or_compile", recording)
    monkeypatch.setattr(cache, "_key", lambda *_: None)
    monkeypatch.setenv("NACELLE_CACHE", str(folder))
    robot = nacelle.load(robot_name)
    # Another robot of the same structure, so that nothing of it is in memory.
    robot = robot.with_parameters(robot.parameter_vector("gravity") * 1.001, "gravity")
    x, n = nacelle.reference_pose(robot), robot.motion.n
    forces = nacelle.inverse_dynamics(robot, x, np.zeros(n), np.zeros(n)).tau
    if everything:
        nacelle.kinematics.joint_motion(robot, x)
        nacelle.forward_kinematics(robot, nacelle.inverse_kinematics(robot, x).q)
        nacelle.forward_dynamics(robot, x, np.zeros(n), forces)
        nacelle.simulate(
            robot, x, until=0.002, tau=forces, integration=nacelle.simulation.Integration("rk4", step=0.001)
        )
    return found


def check_robot(found: list[Any]) -> None:
    for kind, _, program, emit in found:
        for name, machine in MACHINES.items():
            check_image(kind, emit(program, jit.JitOptions(machine=machine)), name)


@pytest.mark.slow
def test_the_inverse_dynamics_of_a_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = programs_of("delta", tmp_path, monkeypatch, everything=False)
    assert any("inverse" in label for _, label, *_ in found)
    check_robot(found)


@pytest.mark.costly
@pytest.mark.usefixtures("no_host")
@pytest.mark.parametrize("name", MACHINES)
def test_the_drivers_of_a_robot(name: str) -> None:
    robot, options = nacelle.load("fivebar"), jit.JitOptions(machine=MACHINES[name])
    step = newton_steps.pose_step
    program = make_program(step, robot, input_shapes(step, robot), minimise=False)
    check_image("newton", compile_newton(program, options), name)
    program = make_program(flow, robot, input_shapes(flow, robot), minimise=False)
    check_image("rk4", compile_rk4(program, options), name)
    check_image("irk5", compile_irk5(program, options), name)


@pytest.mark.thinned
@pytest.mark.slow
@pytest.mark.parametrize("robot_name", ONE_OF_EACH)
def test_robots_of_every_family(robot_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = programs_of(robot_name, tmp_path, monkeypatch, everything=True)
    assert {kind for kind, *_ in found} >= {"function", "rk4"}
    check_robot(found)
