"""Defects planted on purpose: which test of `make test` finds each.

make defects      # each in a copy of the package, by the tests of make test in the folders that are named
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

from support.mutants import package_copy, run_mutated_tests
from support.tiers import ROOT


class Defect(NamedTuple):
    """A change of one place in a module of the package, and the folders under tests whose tests are run."""

    what: str
    module: str
    right: str
    wrong: str
    folders: tuple[str, ...]


DEFECTS = (
    Defect(
        "a sign in the friction of passive joints",
        "dynamics/joint_effort.py",
        "return spherical_friction(terms, rate, smooth)",
        "return -spherical_friction(terms, rate, smooth)",
        ("papers", "dynamics"),
    ),
    Defect(
        "a gyroscopic term of the wrong sign",
        "dynamics/wrench.py",
        "cross(h, a) + I @ w_dot + cross(w, I @ w)",
        "cross(h, a) + I @ w_dot - cross(w, I @ w)",
        ("papers", "dynamics"),
    ),
    Defect(
        "a Christoffel term of the closures",
        "tree/closure.py",
        "- 2.0 * cross(w1, d_rate)",
        "- 1.0 * cross(w1, d_rate)",
        ("tree", "dynamics", "papers"),
    ),
    Defect(
        "a swapped closure",
        "tree/closure.py",
        "a1, a2 = velocity.biases[joint.predecessor][3:], velocity.biases[joint.successor][3:]",
        "a2, a1 = velocity.biases[joint.predecessor][3:], velocity.biases[joint.successor][3:]",
        ("tree", "dynamics", "papers"),
    ),
    Defect(
        "a stale key of the cache",
        "compile/packed.py",
        "        digest.update(path.read_bytes())\n",
        "",
        ("compile",),
    ),
    Defect(
        "a lost flag",
        "kinematics/solve/inverse.py",
        "    flags |= margin_flags(margins, flags)\n",
        "",
        ("kinematics",),
    ),
    Defect("a unit", "model/units.py", '"mm": (1e-3,', '"mm": (1e-2,', ("model",)),
    Defect(
        "a product of quaternions",
        "spatial/rotation.py",
        "a3 * b1 - a0 * b2 + a1 * b3 + a2 * b0",
        "a3 * b1 + a0 * b2 + a1 * b3 + a2 * b0",
        ("spatial",),
    ),
    Defect(
        "an operator in emitted C",
        "emit/c/parts.py",
        '"sub": "-"',
        '"sub": "+"',
        ("emit/c", "export/c"),
    ),
    Defect(
        "a moment that base parameters pass on",
        "dynamics/base_parameters/transfers.py",
        "S = [[r[i] * n[j] + n[i] * r[j] for j in range(3)] for i in range(3)]",
        "S = [[r[i] * n[j] - n[i] * r[j] for j in range(3)] for i in range(3)]",
        ("dynamics/base_parameters",),
    ),
    Defect(
        "a weight of Runge and Kutta",
        "emit/rk4.py",
        "h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)",
        "h / 6 * (k1 + 2 * k2 + k3 + 2 * k4)",
        ("emit", "simulation"),
    ),
    Defect(
        "the integral of a controller that does not unwind",
        "control/laws/single_joint.py",
        'integral = integral + k["unwinding"][0] * (force - unlimited_force)',
        'integral = integral - k["unwinding"][0] * (force - unlimited_force)',
        ("control",),
    ),
    Defect(
        "the covariance of estimates",
        "identification/estimation/estimator.py",
        "np.where(apart > variances, apart / variances, 1.0)",
        "np.where(apart > variances, variances / apart, 1.0)",
        ("identification/estimation",),
    ),
)


def text_with(defect: Defect, source: Path) -> str:
    """The text of the module with the defect; the right text must stand there exactly once."""
    text = (source / "nacelle" / defect.module).read_text(encoding="utf-8")
    count = text.count(defect.right)
    assert count == 1, f"{defect.module} has {defect.right!r} {count} times"
    return text.replace(defect.right, defect.wrong)


def found_by(defect: Defect, source: Path) -> str:
    """The first test that fails with a defect; empty if none does."""
    return _first_failure(defect, source, text_with(defect, source))


def broken_before(defect: Defect, source: Path) -> str:
    """The first test file that cannot even be imported without the defect; empty if all can be."""
    text = (source / "nacelle" / defect.module).read_text(encoding="utf-8")
    return _first_failure(defect, source, text, "--collect-only")


def _first_failure(defect: Defect, source: Path, text: str, *more: str) -> str:
    paths = [str(ROOT / "tests" / folder) for folder in defect.folders]
    options = ("-m", "not slow and not soak", *more)
    _, test = run_mutated_tests(source, f"nacelle/{defect.module}", text, paths, *options)
    return test.removeprefix(f"{ROOT}/")


if __name__ == "__main__":
    with package_copy() as folder:
        missed = 0
        for defect in DEFECTS:
            start = time.perf_counter()
            broken = broken_before(defect, folder)
            test = f"NOT TRIED, {broken} is broken without it" if broken else found_by(defect, folder)
            missed += bool(broken) or not test
            print(f"{defect.what}: {test or 'NOT FOUND'} ({time.perf_counter() - start:.0f} s)", flush=True)
    sys.exit(missed > 0)
