"""A Delta's kinematics and inverse dynamics on a Cortex-M4F, run by qemu-system-arm.

Exports the embedded profile, compiles it with `main.c`, `startup.c` and the linker script `mps2.ld`; runs it.

    python examples/embedded/run.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import nacelle

HERE = Path(__file__).parent
COMPILER, EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
CPU = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
FLAGS = [*CPU, "-std=c99", "-O2", "-fno-math-errno", "-fno-trapping-math", "-ffunction-sections"]
LINK = ["-nostartfiles", f"-T{HERE / 'mps2.ld'}", "--specs=nosys.specs", "-Wl,--gc-sections", "-lm"]
RUN = ["-M", "mps2-an386", "-icount", "shift=6", "-nographic", "-monitor", "none", "-serial", "none"]
RUN += ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out"]


def main() -> None:
    """Export, compile, run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder that keeps the package and the program")
    options = parser.parse_args()
    if not (shutil.which(COMPILER) and shutil.which(EMULATOR)):
        print(f"skipped: {COMPILER} or {EMULATOR} is not installed")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = options.out or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        package = folder / "delta"
        target = nacelle.io.CTarget(profile="embedded")
        nacelle.export(
            nacelle.load("delta"), "kinematics,inverse_dynamics", out=package, target=target, overwrite=True
        )
        sources = [HERE / "main.c", HERE / "startup.c", *sorted((package / "src").glob("*.c"))]
        program = folder / "main.elf"
        includes = [f"-I{HERE}", f"-I{package / 'include'}"]
        subprocess.run(
            [COMPILER, *FLAGS, *includes, *map(str, sources), *LINK, "-o", str(program)],
            check=True,
            capture_output=True,
        )
        done = subprocess.run(
            [EMULATOR, *RUN, "-kernel", str(program)], check=True, capture_output=True, text=True
        )
        print(done.stdout, end="")


if __name__ == "__main__":
    main()
