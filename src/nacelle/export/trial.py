"""The self-test of a package, compiled and run before the package is given away.

C is compiled as it is, CUDA as C++ for the host (`nacelle.export.cuda.host`), without optimisation, which is
quick. Where there is no compiler, the package says that its self-test has not been run yet.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacelle.errors import ExportError
from nacelle.export.compiler import Compiler, TimeLimitError, find_compiler, run_within
from nacelle.export.cuda.host import SOURCE, host_source
from nacelle.progress import task

_PROGRAM = "self_test"
_FLAGS = {
    "c": ("-std=c99", "-O0", "-fno-math-errno", "-fno-trapping-math", "-Iinclude"),
    "cuda": ("-std=c++17", "-O0", "-w", "-ffp-contract=off"),
}
_LANGUAGES = {"c": "c", "cuda": "c++"}
# The longest times of the compiler and of the self-test, s.
_COMPILING, _RUNNING = 120.0, 60.0
_BAD = re.compile(r"^(\S+)\s+(.*?)\s+worst error (\S+), tolerated (\S+): BAD$", re.MULTILINE)


@dataclass(frozen=True)
class Trial:
    """What became of a self-test.

    Attributes:
        compiler: the compiler with which it passed; empty if it has not been run.
        reason: why it has not been run.
        host: whether these were kernels of CUDA, run on the host and not on a device.
    """

    compiler: str = ""
    reason: str = ""
    host: bool = False

    @property
    def data(self) -> dict[str, Any]:
        """The same for the manifest."""
        if not self.compiler:
            return {"run": False, "reason": self.reason}
        return {"run": True, "passed": True, "compiler": self.compiler, "host": self.host}

    @property
    def short(self) -> str:
        """The same in a few words."""
        return f"self-test passed: {self.compiler}" if self.compiler else f"self-test not run: {self.reason}"

    @property
    def sentence(self) -> str:
        """The same in words."""
        if not self.compiler:
            return f"The self-test has not been run yet: {self.reason}. Run it as written above."
        where = ", its kernels as C++ on the host and not on a device" if self.host else ""
        passed = f"The self-test passed when the package was written{where}"
        return f"{passed}: {self.compiler}, without optimisation."


def try_package(name: str, target: str, files: Mapping[str, str]) -> Trial:
    """Compile and run the self-test of a package.

    Args:
        name: of the package.
        target: "c" or "cuda".
        files: its texts by their path.

    Raises:
        ExportError: if the package does not compile, or the self-test fails.
    """
    with task("compiling and running the self-test"):
        return _try(name, target, files)


def _try(name: str, target: str, files: Mapping[str, str]) -> Trial:
    compiler = find_compiler(_LANGUAGES[target])
    if compiler is None:
        return Trial(reason=f"there was no compiler of {_LANGUAGES[target].upper()}")
    with tempfile.TemporaryDirectory(prefix="nacelle-self-test-") as folder:
        place = Path(folder)
        if target == "cuda":
            files = {SOURCE: host_source(name, files)}
        for path, text in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8", newline="\n")
        sources = sorted(path for path in files if path.endswith((".c", ".cpp")))
        try:
            compiler.build([*_FLAGS[target], *sources, "-lm", "-o", _PROGRAM], place, _COMPILING)
            done = run_within([f"./{_PROGRAM}"], place, _RUNNING)
        except TimeLimitError as error:
            return Trial(reason=str(error))
        except ExportError as error:
            return _not_run(compiler, str(error))
    if done.returncode != 0:
        raise ExportError(_failure(compiler, done.stdout, done.returncode))
    return Trial(compiler=compiler.version, host=target == "cuda")


def _not_run(compiler: Compiler, said: str) -> Trial:
    """A compiler without programs that run does not count; one that works has refused the package."""
    if not compiler.works():
        return Trial(reason=f"the compiler {compiler.name} makes no program that runs here")
    raise ExportError(f"the package does not compile with {compiler.name}, and nothing is written: {said}")


def _failure(compiler: Compiler, printed: str, status: int) -> str:
    """Which function is worst, in which precision, and what may help."""
    bad = [(found[1], found[2], float(found[3]), float(found[4])) for found in _BAD.finditer(printed)]
    if not bad:
        return (
            f"the self-test of the package ends with status {status} ({compiler.version}): nothing is written"
        )
    function, output, worst, limit = max(bad, key=lambda row: row[2] / row[3] if row[3] else row[2])
    floats = [name for name, *_ in bad if _is_float(name)]
    real = "float" if _is_float(function) else "double"
    hint = "; precision double leaves float out" if len(floats) == len(bad) else ""
    return (
        f"the self-test of the package fails, and nothing is written: {function} ({real}), {output}: worst "
        f"error {worst:.1e}, tolerated {limit:.1e}; {len(bad)} bad in all ({compiler.version}){hint}"
    )


def _is_float(function: str) -> bool:
    return function.endswith(("_f", "_f_newton"))
