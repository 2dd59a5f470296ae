"""Building modules by halcompile, and running LinuxCNC with them as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.export.linuxcnc.machine import Machine
from nacelle.export.linuxcnc.module import hal_name

MODULES = Path("/usr/lib/linuxcnc/modules")
DISPLAY = Path(__file__).parents[1] / "linuxcnc" / "display.py"
# rtapi refuses root; nobody owns nothing.
USER = 65534
LONGEST = 300.0


def missing() -> str:
    """What LinuxCNC's tests lack here; empty if nothing."""
    lacking = [tool for tool in ("linuxcnc", "halrun", "halcompile", "setpriv") if shutil.which(tool) is None]
    if lacking:
        return f"{', '.join(lacking)} not installed"
    if os.geteuid() != 0:
        return "modules are installed as root"
    return ""


def build(component: Path) -> str:
    """Compile and install a module; what the tools say."""
    done = subprocess.run(
        ["halcompile", "--install", component.name],
        cwd=component.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    return text


def as_user(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command in a folder of an ordinary user, as that user; all that it says."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)
    process = subprocess.Popen(
        ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        raise AssertionError(f"{' '.join(command)} took too long:\n{text}") from None
    return text


@contextmanager
def user_folder() -> Iterator[Path]:
    """A folder that an ordinary user reaches and may write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@dataclass(frozen=True)
class Calls:
    """What a module has recorded of its calls, a row each.

    Attributes:
        kind: 0 forward, 1 inverse.
        status: what they returned.
        axes: X Y Z A B C U V W, mm and degrees (calls, 9).
        joints: mm and degrees (calls, joints).
    """

    kind: np.ndarray
    status: np.ndarray
    axes: np.ndarray
    joints: np.ndarray


@dataclass(frozen=True)
class Run:
    """What became of a run of LinuxCNC.

    Attributes:
        log: all that it has said.
        results: of each program what `display.py` writes.
        calls: of the kinematics.
    """

    log: str
    results: list[dict[str, Any]]
    calls: Calls


def run_machine(machine: Machine, folder: Path, programs: Mapping[str, str]) -> Run:
    """Run programs, texts by their names, on the machine of an exported folder."""
    name, joints = machine.name, len(machine.robot.actuators)
    for program, lines in programs.items():
        (folder / program).write_text(lines)
    ini = folder / f"{name}.ini"
    text = ini.read_text().replace("DISPLAY = axis", f"DISPLAY = {folder / DISPLAY.name}")
    trace, results = folder / "calls", folder / "results.json"
    text = text.replace(
        f"KINEMATICS = {name}_kins", f"KINEMATICS = {name}_kins trace_file={trace} trace_calls=400000"
    )
    ini.write_text(text)
    shutil.copy(DISPLAY, folder)
    (folder / DISPLAY.name).chmod(0o755)
    environment = {
        "NACELLE_PROGRAMS": ":".join(str(folder / program) for program in programs),
        "NACELLE_RESULTS": str(results),
        "NACELLE_PINS": hal_name(machine.module),
    }
    log = as_user(["linuxcnc", str(ini)], folder, environment)
    assert results.is_file(), log
    assert trace.is_file(), log
    rows = np.fromfile(trace).reshape(-1, 11 + joints)
    calls = Calls(rows[:, 0], rows[:, 1], rows[:, 2:11], rows[:, 11:])
    return Run(log, json.loads(results.read_text()), calls)
