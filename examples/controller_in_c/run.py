"""A controller in C at a fixed rate against an exported robot; no Python while it runs.

Exports PaLiDA's computed-force controller with friction as one package and a robot that differs from its
model (inertia 5 % more, friction 20 % more) as another, compiles both with `main.c`, and runs the loop: a
circle of 0.2 m inclined by 30 deg about x, 1 m/s, a sample every 0.5 ms.

    python examples/controller_in_c/run.py [--paced] [--controller sj|cf-rb|cf-rb-friction] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import nacelle
from nacelle.control.named import DEFAULT_PERIOD, controller

HERE = Path(__file__).parent
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-O3", "-fno-math-errno", "-fno-trapping-math"]
# Rate over which the robot's Coulomb friction changes its sign, m/s and rad/s.
SMOOTH = 1e-3


def packages(folder: Path, name: str) -> None:
    """Write the controller and the robot that it moves."""
    robot = nacelle.load("palida")
    heavier = robot.with_parameters(1.05 * robot.parameter_vector("inertia"), "inertia")
    real = heavier.with_parameters(1.2 * robot.parameter_vector("friction"), "friction")
    law = controller(robot, name, period=DEFAULT_PERIOD)
    nacelle.export(
        robot,
        out=folder / "palida",
        target=nacelle.io.CTarget(controller=law, precision="double"),
        name="palida",
        overwrite=True,
    )
    nacelle.export(
        real,
        out=folder / "machine",
        target=nacelle.io.CTarget(plant=True, precision="double"),
        smooth=SMOOTH,
        name="machine",
        overwrite=True,
    )


def built(folder: Path, compiler: str) -> Path:
    """Compile the loop with both packages."""
    sources = sorted(
        str(path) for name in ("palida", "machine") for path in (folder / name / "src").glob("*.c")
    )
    includes = [f"-I{folder / name / 'include'}" for name in ("palida", "machine")]
    program = folder / "loop"
    subprocess.run(
        [compiler, *FLAGS, *includes, str(HERE / "main.c"), *sources, "-lm", "-o", str(program)], check=True
    )
    return program


def main() -> None:
    """Export, compile, run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paced", action="store_true", help="one sample every 0.5 ms, by the clock")
    parser.add_argument("--controller", default="cf-rb-friction")
    parser.add_argument("--out", type=Path, help="folder that keeps the packages and the program")
    options = parser.parse_args()
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        print("skipped: there is no C compiler (cc, or what CC names)")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = options.out or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        packages(folder, options.controller)
        program = built(folder, compiler)
        words = ["paced"] if options.paced else []
        done = subprocess.run([str(program), *words], check=True, capture_output=True, text=True)
        print(done.stdout, end="")


if __name__ == "__main__":
    main()
