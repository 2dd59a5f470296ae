"""Packages of the profile `embedded` on two boards in qemu, and on this machine: results, counts, sizes.

The program is `calls.c`: each task is called at all samples of a motion three times, for its results, for its
instructions and for its stack. Instructions are counted by the board's timer of 25 MHz while qemu takes 64 ns
of its own time for each (`-icount shift=6`): the timer resolves single ones, and each run counts the same.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import nacelle
from nacelle.control.controller import Controller
from nacelle.control.named import controller
from nacelle.emit.c.parts import c_constant
from nacelle.export.c.embedded import BOARDS, FLAGS, WARNINGS
from nacelle.export.export import Export
from nacelle.kinematics.mechanism.mechanism import mechanism_of, with_turn_counting
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.simulation.flow import coordinates_from_pose, pose_from_coordinates, reference_orientation

Array = np.ndarray

HERE = Path(__file__).parent
BOARD = Path(__file__).parents[3] / "examples" / "embedded"
MACHINES = {"Cortex-M4F": "mps2-an386", "Cortex-M7": "mps2-an500"}
TASKS = ("inverse", "forward", "dynamics", "controller")
MODELS = "kinematics,inverse_dynamics"
SAMPLES = 1000
PERIOD = 5e-4
# Half the way of the motion in robot sizes and rad; and instructions of a tick of the boards' timer.
_AMPLITUDE, _TICK = 0.025, 40 / 64
# Ways of random states from the reference pose, and their rates and accelerations, in the same units.
_RANGE, _RATES = 0.8, (0.2, 2.0)
COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
IS_INSTALLED = all(shutil.which(program) for program in (COMPILER, EMULATOR))

# glibc joins sine and cosine in a function of its own, and knows values of constants.
_OWN_MATH = tuple(f"-fno-builtin-{name}" for name in ("sinf", "cosf", "atan2f", "tanhf", "expf"))


@dataclass(frozen=True, eq=False)
class TaskRun:
    """What calls of one task gave.

    Attributes:
        status: that each call returned (samples,).
        bits: of its results (samples, size), floats as integers.
        mean: instructions of a call, over all of them.
        worst: of the dearest one.
        stack: bytes below the caller's frame, with those of the C library.
    """

    status: Array
    bits: Array
    mean: float
    worst: float
    stack: int

    @property
    def values(self) -> Array:
        """The results (samples, size)."""
        return self.bits.view(np.float32).astype(float)


@dataclass(frozen=True, eq=False)
class EmbeddedPackage:
    """A package of the profile, and the program that calls it.

    Attributes:
        robot: the robot.
        law: its controller.
        done: what was exported.
        folder: where programs are built.
    """

    robot: Robot
    law: Controller
    done: Export
    folder: Path

    @cached_property
    def sources(self) -> list[str]:
        """The package's sources."""
        return sorted(str(path) for path in (self.done.out / "src").glob("*.c"))

    def command(self, processor: str, *, warnings: bool = True) -> list[str]:
        """The compiler for a processor, with its options; for this machine if empty."""
        compiler = [COMPILER, *BOARDS[processor]] if processor else ["gcc", "-DHOST"]
        strict = [*WARNINGS, "-Werror"] if warnings else []
        sections = ["-ffunction-sections", "-fdata-sections"]
        folders = [f"-I{self.done.out / 'include'}", f"-I{BOARD}", f"-I{self.folder}"]
        return [*compiler, *FLAGS, *strict, *sections, *folders]

    def objects(self, processor: str) -> list[Path]:
        """The package compiled, a file for each source."""
        folder = self.folder / (processor or "host")
        if not folder.exists():
            folder.mkdir()
            _run([*self.command(processor), "-c", *self.sources], folder)
        return sorted(folder.glob("*.o"))

    def run(self, processor: str, *, own_math: bool) -> dict[str, TaskRun]:
        """Run all tasks on a board, or on this machine.

        Args:
            processor: a key of `BOARDS`; this machine if empty.
            own_math: whether sine and others are those of soft_math.c, the same on all machines; else those
                of the C library.
        """
        program = self.folder / f"calls-{processor}-{own_math}.elf"
        sources = [str(HERE / "calls.c"), *([str(HERE / "soft_math.c")] if own_math else [])]
        command = self.command(processor)
        if own_math:
            # The package again, since its compiler may otherwise choose other functions.
            sources += [*self.sources, *_OWN_MATH]
        else:
            sources += map(str, self.objects(processor))
        if processor:
            sources += [str(BOARD / "startup.c"), "-nostartfiles", f"-T{BOARD / 'mps2.ld'}"]
            sources += ["-Wl,--gc-sections"]
        _run([*command, *sources, "-lm", "-o", str(program)], self.folder)
        return _task_runs(
            run_on_board(program, processor) if processor else _run([str(program)], self.folder)
        )

    def flash(self, processor: str, task: str) -> int:
        """Bytes of code and constants that a task links, with those of the C library."""
        return self._linked(processor, task)[0]

    def library_data(self, processor: str, task: str) -> int:
        """Bytes of variables that a task links: those of the C library, as the package has none."""
        return self._linked(processor, task)[1]

    def _linked(self, processor: str, task: str) -> tuple[int, int]:
        name = self.done.name
        functions = {
            "inverse": ("kinematics_reset", "inverse"),
            "forward": ("kinematics_reset", "forward"),
            "dynamics": ("inverse_dynamics",),
            "controller": ("controller_reset", "controller_step"),
        }[task]
        roots = [f"-Wl,-u,{name}_{function}_f" for function in functions]
        program = self.folder / "linked.elf"
        objects = [str(path) for path in self.objects(processor)]
        entry = f"-Wl,--gc-sections,-e,{name}_{functions[0]}_f"
        _run(
            [
                COMPILER,
                *BOARDS[processor],
                "-nostartfiles",
                entry,
                *roots,
                *objects,
                "-lm",
                "-o",
                str(program),
            ],
            self.folder,
        )
        text, data, bss = (
            int(word) for word in _run(["arm-none-eabi-size", str(program)], self.folder).split()[6:9]
        )
        return text + data, data + bss

    def sizes(self, processor: str) -> dict[str, int]:
        """Bytes of the caller's structs on a board."""
        text = f'#include "{self.done.name}.h"\n'
        for what in ("kinematics", "controller"):
            text += f"const char size_of_{what}[sizeof({self.done.name}_{what}_f)] = {{0}};\n"
        (self.folder / "sizes.c").write_text(text)
        _run([*self.command(processor, warnings=False), "-c", "sizes.c"], self.folder)
        printed = _run(["arm-none-eabi-nm", "-S", "sizes.o"], self.folder)
        return {
            name: int(size, 16) for size, name in re.findall(r"^\w+ (\w+) \w size_of_(\w+)$", printed, re.M)
        }


def export_embedded(robot: Robot, folder: Path, *, law: str = "cf-rb-friction") -> EmbeddedPackage:
    """Export kinematics, inverse dynamics and a controller of a robot, and the samples of a motion."""
    made = controller(robot, law, period=PERIOD)
    target = nacelle.io.CTarget(profile="embedded", controller=made, self_test=False)
    done = nacelle.export(robot, MODELS, out=folder / "package", target=target)
    (folder / "calls.h").write_text(_declarations(done) + motion_tables(robot))
    return EmbeddedPackage(robot, made, done, folder)


def motion_tables(robot: Robot) -> str:
    """Samples of a motion as tables of C: away from the reference pose and back, from rest to rest.

    c(t) = c_0 + w (1 - cos 2 pi t / t_end) / 2: pose x, passive y, actuators q, twist v and its derivative a.
    """
    mechanism, rng = mechanism_of(robot), np.random.default_rng(5)
    t = np.arange(SAMPLES) / (SAMPLES - 1)
    rate = 2.0 * np.pi / (PERIOD * (SAMPLES - 1))
    way = rng.choice([-1.0, 1.0], robot.motion.n) * rng.uniform(0.5, 1.0, robot.motion.n)
    way = way * twist_scales(robot) * _AMPLITUDE
    angle = 2.0 * np.pi * t
    middle, quat_0 = _middle(robot), reference_orientation(mechanism)
    x = np.array([pose_from_coordinates(mechanism, middle + s * way, quat_0) for s in 1.0 - np.cos(angle)])
    joints = inverse_kinematics(with_turn_counting(robot), x, limits=False)
    tables = {
        "x": x,
        "y": joints.y,
        "q": joints.q,
        "v": np.outer(rate * np.sin(angle), way),
        "a": np.outer(rate**2 * np.cos(angle), way),
    }
    return "\n".join(_table(name, values) for name, values in tables.items() if values.shape[1])


def _middle(robot: Robot) -> Array:
    """Coordinates of the reference pose (n,), rotations counted from it."""
    mechanism = mechanism_of(robot)
    return coordinates_from_pose(mechanism, mechanism.reference[0], reference_orientation(mechanism))


def _table(name: str, values: Array) -> str:
    rows = ["{" + ", ".join(c_constant(value, "float") for value in row) + "}," for row in values.tolist()]
    return f"static const float {name}[{len(values)}][{values.shape[1]}] = {{\n" + "\n".join(rows) + "\n};\n"


def _declarations(done: Export) -> str:
    """What programs are to know of a package: names, sizes, and the call of its inverse dynamics."""
    name = done.name
    header = (done.out / "include" / f"{name}.h").read_text()
    prototype = re.search(rf"void {name}_inverse_dynamics_f\((.*?)\);", header, re.DOTALL)
    assert prototype is not None
    inputs = re.findall(r"const float \*(\w+)", prototype[1])
    watched = re.findall(r"(?<!const )float \*(\w+)", prototype[1])[1:]
    macro = f"{name}_inverse_dynamics_{{}}_SIZE".upper()
    return "\n".join(
        [
            f'#include "{name}.h"',
            f"#define NAME(function) {name}_##function",
            f"#define SAMPLES {SAMPLES}",
            f"#define DRIVES {name.upper()}_DRIVES",
            f"#define POSE {name.upper()}_POSE",
            f"#define TWIST {macro.format('V')}",
            "#define DYNAMICS(real, end, x, y, v, a, out)\\",
            *(f"    real {output}[{macro.format(output.upper())}];\\" for output in watched),
            f"    {name}_inverse_dynamics##end({', '.join([*inputs, 'out', *watched])})",
            "",
        ]
    )


@dataclass(frozen=True, eq=False)
class FloatErrors:
    """Errors of float against double, at states that are reached in double.

    Attributes:
        error: of each task relative to the largest entry of its result (states, tasks); NaN where either
            precision has no result.
        status: of each task in double, and in float (2, states, tasks).
        condition: of the actuators' Jacobian without unit (states,).
    """

    error: Array
    status: Array
    condition: Array


def float_errors(robot: Robot, folder: Path, count: int, *, law: str = "cf-rb-friction") -> FloatErrors:
    """Compare float with double in C, at random states about the reference pose.

    Poses are drawn up to 0.8 of the robot's size and 0.8 rad away, more of them near, until so many are
    reached.

    Args:
        robot: the robot.
        folder: where the program is built.
        count: states.
        law: of the controller.
    """
    target = nacelle.io.CTarget(controller=controller(robot, law, period=PERIOD), self_test=False)
    done = nacelle.export(robot, MODELS, out=folder / "both", target=target)
    (folder / "calls.h").write_text(_declarations(done))
    program = folder / "accuracy"
    sources = [str(HERE / "accuracy.c"), *map(str, sorted((done.out / "src").glob("*.c")))]
    _run(
        ["gcc", *FLAGS, f"-I{done.out / 'include'}", f"-I{folder}", *sources, "-lm", "-o", str(program)],
        folder,
    )
    mechanism, units, rng = mechanism_of(robot), twist_scales(robot), np.random.default_rng(17)
    n, m = robot.motion.n, len(robot.actuators)
    rows: list[Array] = []
    while sum(map(len, rows)) < count:
        ways = rng.uniform(0.0, _RANGE, (count // 4, 1)) * rng.uniform(-1.0, 1.0, (count // 4, n))
        c = _middle(robot) + ways * units
        quat_0 = reference_orientation(mechanism)
        x = np.array([pose_from_coordinates(mechanism, row, quat_0) for row in c])
        v, a = (rng.uniform(-1.0, 1.0, c.shape) * units * most for most in _RATES)
        states = np.hstack([x, v, a]).astype(np.float32)
        printed = subprocess.run([str(program)], input=states.tobytes(), capture_output=True, check=True)
        table = np.frombuffer(printed.stdout).reshape(len(states), 12 + m * n)
        rows.append(table[table[:, 0] <= 1])
    table = np.concatenate(rows)[:count]
    status = np.stack([table[:, :4], table[:, 4:8]]).astype(int)
    # The controller's status 1 bridges readings, which are all there; that of the others is a limit.
    has_result = np.all(status <= [1, 1, 1, 0], axis=0)
    drives = np.where(robot.revolute_actuators, 1.0, robot.size)
    J = table[:, 12:].reshape(-1, m, n) * units / drives[:, None]
    return FloatErrors(np.where(has_result, table[:, 8:12], np.nan), status, np.linalg.cond(J))


def run_on_board(program: Path, processor: str, seconds: float = 120.0) -> str:
    """Run a program on a board in qemu, 64 ns an instruction, and give what it prints."""
    command = [EMULATOR, "-M", MACHINES[processor], "-icount", "shift=6", "-nographic", "-monitor", "none"]
    command += ["-serial", "none", "-chardev", "stdio,id=out", "-semihosting-config"]
    command += ["enable=on,target=native,chardev=out", "-kernel", str(program)]
    return _run(command, program.parent, seconds)


def _task_runs(printed: str) -> dict[str, TaskRun]:
    """Read what calls.c prints."""
    words = [line.split() for line in printed.splitlines()]
    empty = next(int(row[2], 16) for row in words if row[:2] == ["count", "none"])
    runs = {}
    for task in TASKS:
        rows = [[int(word, 16) for word in row[1:]] for row in words if row[0] == task]
        (total, worst, least), (stack,) = (
            [int(word, 16) for row in words if row[:2] == [what, task] for word in row[2:]]
            for what in ("count", "stack")
        )
        table = np.array(rows, np.uint32)
        runs[task] = TaskRun(
            table[:, 0].astype(int),
            np.ascontiguousarray(table[:, 1:]),
            (total - empty) * _TICK / len(rows),
            (worst - least) * _TICK,
            stack,
        )
    return runs


def _run(command: Sequence[str], folder: Path, seconds: float = 600.0) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds)
    assert done.returncode == 0, (done.stdout[-1000:] + done.stderr)[:4000]
    return done.stdout
