"""Exporting models of a robot as a package of source, with documentation and self-test.

The whole folder is written, or the whole file, or nothing.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from nacelle.control.controller import Controller
from nacelle.control.gains import loop_quality
from nacelle.control.laws.safeguarded import safeguards_of
from nacelle.distribution import __version__
from nacelle.errors import ExportError, did_you_mean
from nacelle.export.about import SELF_TEST_MARK, Package
from nacelle.export.entries import check_request, entries, package_name
from nacelle.export.entry import KINEMATICS, ExportRequest
from nacelle.export.kinematics import FORWARD_KINEMATICS
from nacelle.export.loop import gain_fields, memory_fields
from nacelle.export.notice import LICENSE, TERMS, with_notice
from nacelle.export.states import random_states
from nacelle.export.target import PRECISIONS, ExportTarget
from nacelle.export.trial import SelfTestResult, run_self_test
from nacelle.export.vectors import reference_vectors, relation_error
from nacelle.files import write_atomically
from nacelle.kinematics.branch import branch_of
from nacelle.kinematics.mechanism.mechanism import with_turn_counting
from nacelle.model.robot import Robot
from nacelle.program.cost import Count
from nacelle.results import HasTable

# ---- writing the whole folder, or the whole file, or nothing


MANIFEST = "nacelle.json"
"""The file that says what a package holds, and which files are its own."""


@contextmanager
def _report_write_errors(out: Path) -> Iterator[None]:
    """Say of errors of the system that something cannot be written."""
    try:
        yield
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror or error}") from None


def _require_folder(folder: Path, out: Path) -> None:
    """Require the folder in which something is written."""
    if not folder.is_dir():
        raise ExportError(f"there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ExportError(f"cannot write {out}: {folder} is not writable")


def check_folder(out: Path, overwrite: bool) -> None:
    """Say before the work is done that a folder cannot be written.

    Raises:
        ExportError: if it is a file, holds something, or its parent is missing.
    """
    with _report_write_errors(out):
        if out.is_dir():
            if any(out.iterdir()) and not overwrite:
                raise ExportError(
                    f"{out} is not empty; it is left as it is (overwrite=True, or --force, replaces the "
                    "package in it)"
                )
        elif out.exists() or out.is_symlink():
            raise ExportError(f"{out} is no folder; it is left as it is")
        _require_folder(out if out.is_dir() else out.parent, out)


def write_folder(out: Path, files: Mapping[str, str], overwrite: bool) -> None:
    """Write files by their path in a folder; a new folder appears whole, or not at all.

    In a folder that holds something (with `overwrite`) files are replaced one by one once all are written
    next to it; files of an earlier package that are no more are removed, and those of others stay.

    Raises:
        ExportError: if it cannot be written.
    """
    check_folder(out, overwrite)
    with _report_write_errors(out):
        stage = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
        try:
            for name, text in files.items():
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).write_text(text, encoding="utf-8", newline="\n")
            if out.is_dir() and any(out.iterdir()):
                _replace_files(out, stage, files)
            else:
                # The folder of a temporary name is closed to others.
                stage.chmod(0o777 & ~_umask())
                stage.rename(out)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def check_file(out: Path, ending: str, overwrite: bool) -> None:
    """Say before the work is done that a file cannot be written.

    Raises:
        ExportError: if its name ends otherwise, it is there already or a folder, or its parent is missing.
    """
    if out.suffix != ending:
        raise ExportError(f"{out} is to end in {ending}")
    with _report_write_errors(out):
        if out.is_dir():
            raise ExportError(f"{out} is a folder; it is left as it is")
        if (out.exists() or out.is_symlink()) and not overwrite:
            raise ExportError(
                f"{out} is there already; it is left as it is (overwrite=True, or --force, replaces it)"
            )
        _require_folder(out.parent, out)


def write_file(out: Path, content: bytes) -> None:
    """Write a file; it appears whole, or not at all.

    Raises:
        ExportError: if it cannot be written.
    """
    with _report_write_errors(out):
        write_atomically(out, content)


def _umask() -> int:
    """The mask of new files; it can be read only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _replace_files(out: Path, stage: Path, files: Mapping[str, str]) -> None:
    earlier = _previous_files(out)
    for name in files:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(stage / name, out / name)
    for name in earlier - set(files):
        (out / name).unlink(missing_ok=True)


def _previous_files(out: Path) -> set[str]:
    """The files of the package that a folder holds already; none if it holds no package."""
    try:
        names = json.loads((out / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    root = out.resolve()
    files = {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
    # Nothing outside the folder is ever touched.
    return {name for name in files if root in (root / name).resolve().parents}


# ---- exporting


_TARGETS = {
    "c": "nacelle.export.c.package.CTarget",
    "cuda": "nacelle.export.cuda.CudaTarget",
    "numpy": "nacelle.export.python.NumpyTarget",
    "casadi": "nacelle.export.python.CasadiTarget",
    "fmi": "nacelle.export.fmi.package.FmiTarget",
    "linuxcnc": "nacelle.export.linuxcnc.package.LinuxcncTarget",
}
TARGETS = tuple(_TARGETS)
ROBOT_TARGETS = ("mjcf", "urdf", "sdf")
"""Formats of the robot itself, which `nacelle.export_robot` writes."""


@dataclass(frozen=True, eq=False)
class Export(HasTable):
    """What was written.

    Attributes:
        robot: the robot.
        name: prefix of all names in the package.
        target: "c", "cuda", "numpy", "casadi", "fmi" or "linuxcnc".
        out: the folder; of "fmi" the file.
        files: paths in it.
        counts: operations of every function, by its name behind the prefix.
        self_test: of C and CUDA what became of the self-test.
    """

    robot: Robot
    name: str
    target: str
    out: Path
    files: tuple[str, ...]
    counts: Mapping[str, Count]
    self_test: SelfTestResult | None = None

    @property
    def data(self) -> dict[str, Any]:
        """What was written as plain data."""
        return {
            "ok": True,
            "out": str(self.out),
            "name": self.name,
            "target": self.target,
            "files": list(self.files),
            "functions": {label: {"total": n.total, **asdict(n)} for label, n in self.counts.items()},
            **({} if self.self_test is None else {"self_test": self.self_test.data}),
        }

    @property
    def lines(self) -> list[str]:
        """What was written, as lines of text: operations of every function, the self-test, the files."""
        lines = [f"{self.name} {label}: {count}" for label, count in self.counts.items()]
        if self.target == "fmi":
            built = [file.split("/")[1] for file in self.files if file.startswith("binaries/")]
            what = (
                f"a binary for {built[0]}" if built else "no binary, as there is no C compiler (cc, or $CC)"
            )
            return [*lines, f"wrote {self.out}: FMI 3.0, sources and {what}"]
        if self.self_test is not None:
            lines.append(self.self_test.short)
        return [*lines, f"wrote {len(self.files)} files to {self.out}; see README.md there"]


def export(
    robot: Robot,
    models: str | Sequence[str] = (),
    *,
    out: str | Path,
    target: str | ExportTarget = "c",
    input: str = "pose",
    friction: bool = True,
    smooth: float | None = None,
    bare: bool = False,
    name: str | None = None,
    overwrite: bool = False,
) -> Export:
    """Write models of a robot as a package: source, documentation, and a self-test with reference vectors.

    Args:
        robot: the robot.
        models: names of models ("inverse_dynamics", "kinematics", ...), a sequence or one text with commas
            ("forward_kinematics" is part of "kinematics", and means it); may be empty
            where there is a controller or a plant. An FMU holds one; the robot under forces if empty. For
            LinuxCNC it is the kinematics.
        out: folder to write; it must be empty or missing unless `overwrite`. With "fmi" a file that ends in
            .fmu.
        target: "c", "cuda", "numpy", "casadi", "fmi" (FMI 3.0) or "linuxcnc" with what is usual, or
            `CTarget`, `CudaTarget`, `NumpyTarget`, `CasadiTarget` or `FmiTarget` (`nacelle.io`) with options
            of its own.
        input: what inverse dynamics starts from: "pose", "elements" or "encoders".
        friction: whether friction counts.
        smooth: rate (rad/s, m/s) over which Coulomb friction changes its sign smoothly; at once if None.
        bare: whether to leave out what a controller watches besides the result (pivot, margins, branch).
        name: prefix of all names; made from the robot's if None.
        overwrite: whether to replace a package in a folder that holds something; other files in it stay.

    Raises:
        ExportError: if a model, target or option is unknown, the self-test fails, or the folder cannot be
            written.
        KinematicsError: if the robot has no such model.
    """
    chosen = select_target(target) if isinstance(target, str) else target
    model_names = [part.strip() for part in models.split(",")] if isinstance(models, str) else list(models)
    model_names = [KINEMATICS if part == FORWARD_KINEMATICS else part for part in model_names]
    if chosen.models:
        if model_names and tuple(model_names) != chosen.models:
            raise ExportError(
                f"the target {chosen.name} has {', '.join(chosen.models)} alone: leave the models out"
            )
        model_names = list(chosen.models)
    group_names = chosen.parameters
    groups = (
        [part.strip() for part in group_names.split(",")] if isinstance(group_names, str) else group_names
    )
    request = ExportRequest(
        tuple(model_names),
        input,
        friction,
        smooth,
        bool(bare),
        tuple(group for group in groups if group),
        chosen.controller,
        bool(chosen.plant),
        chosen.trajectory,
    )
    prefix = package_name(robot, name)
    if chosen.name == "fmi" or request.loop:
        # These move: angles that forces depend on count their turns.
        robot = with_turn_counting(robot)
    if chosen.name == "fmi":
        return _fmu(robot, prefix, request, Path(out), overwrite)
    check_request(request)
    folder = Path(out)
    check_folder(folder, overwrite)
    states = random_states(robot, friction=request.friction, smooth=request.smooth)
    if "float" in PRECISIONS[chosen.precision] and branch_of(robot).relations:
        request = replace(request, wrong=relation_error(states))
    package = Package(prefix, robot, __version__, request, entries(robot, prefix, request))
    references = {entry.label: reference_vectors(entry, states) for entry in package.entries}
    files = with_notice(chosen.files(package, references)) | {LICENSE: TERMS}
    trial = None
    if chosen.self_test is not None:
        trial = (
            run_self_test(prefix, chosen.name, files)
            if chosen.self_test
            else SelfTestResult(reason="it was left out")
        )
        files["README.md"] = files["README.md"].replace(SELF_TEST_MARK, trial.sentence)
    manifest = _manifest(package, chosen, files, trial)
    files[MANIFEST] = json.dumps(manifest, indent=2) + "\n"
    write_folder(folder, files, overwrite)
    counts = {entry.label: entry.count for entry in package.entries}
    return Export(robot, prefix, chosen.name, folder, tuple(sorted(files)), counts, trial)


def select_target(name: str, options: Mapping[str, Any] | None = None) -> ExportTarget:
    """The target of a name, with some of the options that targets have.

    Raises:
        ExportError: if no target has that name, or the target does not take an option that asks for
            something.
    """
    if name in ROBOT_TARGETS:
        raise ExportError(f"{name} is a format of the robot, not of its models: export_robot writes it")
    if name not in TARGETS:
        hint = did_you_mean(name, (*TARGETS, *ROBOT_TARGETS))
        raise ExportError(f"no target is called {name!r}; {hint}")
    module, _, kind = _TARGETS[name].rpartition(".")
    result: ExportTarget = getattr(import_module(module), kind).with_options(options or {})
    return result


def _fmu(robot: Robot, prefix: str, request: ExportRequest, out: Path, overwrite: bool) -> Export:
    """Write an FMU."""
    from nacelle.export.fmi.package import fmi_file, fmi_package

    check_file(out, ".fmu", overwrite)
    package = fmi_package(robot, prefix, __version__, request)
    content, files = fmi_file(package)
    write_file(out, content)
    counts = {entry.label: entry.count for entry in package.entries}
    return Export(robot, prefix, "fmi", out, tuple(files), counts)


def _manifest(
    package: Package, target: ExportTarget, files: Mapping[str, str], trial: SelfTestResult | None
) -> dict[str, Any]:
    tried = {} if trial is None else {"self_test": trial.data}
    return {
        "nacelle": package.version,
        "robot": package.robot.name,
        "hash": package.robot.as_described.hash,
        "name": package.name,
        "target": target.name,
        "precision": target.precision,
        "profile": target.profile,
        "friction": bool(package.request.friction),
        "smooth": package.request.smooth,
        "parameters": list(package.request.parameters),
        "controller": _controller_data(package.request.controller),
        "plant": package.request.plant,
        "trajectory": None if package.request.trajectory is None else package.request.trajectory.duration,
        **tried,
        "functions": {
            entry.label: {"total": entry.count.total, **asdict(entry.count)} for entry in package.entries
        },
        "files": sorted([*files, MANIFEST]),
    }


def _controller_data(controller: Controller | None) -> dict[str, Any] | None:
    """Name, sample time and parts of a controller, each with its offset and its size."""
    if controller is None:
        return None
    parts = {"memory": memory_fields(controller), "gains": gain_fields(controller)}
    spans = {
        what: {name: [fields.slice_of(name).start, size] for name, size in fields.sizes.items()}
        for what, fields in parts.items()
    }
    guards = safeguards_of(controller.kind)._asdict()
    named = {"name": controller.name, "period": controller.period, "loop": _loop_data(controller)}
    adapted = {"parameters": list(controller.kind.parameter_names(controller.robot))}
    return {**named, **guards, **spans, **adapted}


def _loop_data(controller: Controller) -> dict[str, Any] | None:
    """What the loop of a tuned controller is like: bandwidth, damping, delay margin, ripple of encoders."""
    if controller.tuned is None:
        return None
    quality = loop_quality(controller, controller.tuned)
    stated, bandwidth, forced = controller.tuned
    return {
        "bandwidth": bandwidth,
        "forced": forced,
        "delay": stated.delay,
        "damping": quality.damping,
        # Beyond what is tried it is not a number of JSON.
        "delay_margin": quality.delay_margin if math.isfinite(quality.delay_margin) else None,
        "resolution": list(stated.resolution),
        "ripple": quality.ripple.tolist(),
    }
