"""A Delta in ROS 2: a node that publishes where its plate is, and a transmission of ros2_control.

Exports the kinematics of the library's Delta, builds `platform_state.hpp` and `transmission.hpp` on the C++
header of the package and runs both against each other in `check.cpp`. ROS 2 is not needed: `stubs` has what
they use of it. In a ROS 2 workspace leave the stubs out.

    python examples/ros2/run.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import nacelle

HERE = Path(__file__).parent
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wold-style-cast", "-pedantic", "-Werror")


def build(folder: Path) -> Path:
    """Export the robot and compile everything; the program."""
    package = folder / "delta"
    target = nacelle.io.CTarget(precision="double", self_test=False)
    nacelle.export(
        nacelle.load("delta"), "kinematics", out=package, target=target, name="delta", overwrite=True
    )
    objects = []
    for source in sorted(package.glob("src/*.c")):
        objects.append(str(folder / f"{source.stem}.o"))
        command = [
            os.environ.get("CC", "cc"),
            "-std=c99",
            "-O2",
            "-c",
            f"-I{package / 'include'}",
            str(source),
        ]
        subprocess.run([*command, "-o", objects[-1]], check=True)
    program = folder / "check"
    includes = [f"-I{path}" for path in (package / "include", HERE / "stubs", HERE)]
    command = [
        os.environ.get("CXX", "c++"),
        "-std=c++17",
        "-O2",
        *WARNINGS,
        *includes,
        str(HERE / "check.cpp"),
    ]
    subprocess.run([*command, *objects, "-lm", "-o", str(program)], check=True)
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="keep the package and the program in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(options.out or folder))
        done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
        print(done.stdout, end="")


if __name__ == "__main__":
    main()
