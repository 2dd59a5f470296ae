"""The target `fmi`: one FMU of FMI 3.0, a zip file with descriptions, the emitted C, and its binary.

The sources are compiled with the system's C compiler.
"""

from __future__ import annotations

import hashlib
import io
import platform
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files as resources
from pathlib import Path

from nacelle.compile import make_program
from nacelle.control.controller import Controller
from nacelle.emit.c.parts import c_constant
from nacelle.emit.names import comment_text
from nacelle.errors import ExportError
from nacelle.export.about import Package, friction_note
from nacelle.export.c.assemble import assemble_prototype, assemble_source
from nacelle.export.c.package import package_code
from nacelle.export.compiler import find_compiler
from nacelle.export.entries import check_request, entries
from nacelle.export.entry import Entry, ExportRequest
from nacelle.export.fmi.description import FmuDescription, build_description, model_description
from nacelle.export.fmi.models import STEP, FmuModel, controller_model, plant_model, pose_model
from nacelle.export.loop import assembly_entry
from nacelle.export.notice import LICENSE, TERMS, with_notice
from nacelle.export.target import ExportTarget
from nacelle.export.vectors import TOLERANCES
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.simulation.flow import reference_orientation, rigid_signals, state_size
from nacelle.spatial.scalar import Array

# ---- compiling the sources, and packing the file


# Roots and choices as instructions. Never -ffast-math: NaN must pass through.
_FLAGS = (
    "-std=c99",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
)
_LONGEST = 600.0
_MACHINES = {"arm64": "aarch64", "amd64": "x86_64"}
_SYSTEMS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "windows": ("windows", ".dll")}
# The first day of a zip file: the same FMU is the same bytes.
_DAY = (1980, 1, 1, 0, 0, 0)


def fmi_platform() -> tuple[str, str]:
    """The platform tuple of FMI for this machine, and how shared libraries end."""
    machine = platform.machine().lower()
    system, ending = _SYSTEMS.get(platform.system().lower(), (platform.system().lower(), ".so"))
    return f"{_MACHINES.get(machine, machine)}-{system}", ending


def compile_binary(name: str, files: Mapping[str, str], compiler: str | None = None) -> dict[str, bytes]:
    """Compile the sources of an FMU: the shared library by its path; none if there is no compiler.

    Args:
        name: of the library.
        files: texts of sources and headers by name.
        compiler: its command; $CC, or cc, if None.

    Raises:
        ExportError: if the compiler is named and missing, or fails.
    """
    cc = find_compiler("c", compiler)
    if cc is None:
        return {}
    tuple_, ending = fmi_platform()
    with tempfile.TemporaryDirectory(prefix="nacelle-fmi-") as folder:
        path = Path(folder)
        for file, text in files.items():
            (path / file).write_text(text, encoding="utf-8")
        sources = sorted(file for file in files if file.endswith(".c"))
        out = f"{name}{ending}"
        try:
            cc.build([*_FLAGS, "-I.", *sources, "-lm", "-o", out], path, _LONGEST)
        except ExportError as error:
            raise ExportError(f"the C compiler {cc.name} does not compile the FMU: {error}") from None
        return {f"binaries/{tuple_}/{out}": (path / out).read_bytes()}


def zip_bytes(files: Mapping[str, str | bytes]) -> bytes:
    """Files by their path as the bytes of a zip file; the same files are the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.startswith("binaries/") else 0o644) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


# ---- the package


_INTERFACE = ("interface.c", "interface.h")

_SOURCE = """\
/* The model {title}, for the interface of FMI 3.0 in interface.c.
 * {origin}
 */
#include "interface.h"
#include "{name}.h"

#include <math.h>
#include <string.h>

{declared}const char *const model_token = "{token}";
const bool model_exchanged = {exchanged};
const size_t model_values = {values};
const size_t model_memory = {memory};
const size_t model_states = {states};
const size_t model_first_state = {first};
const double model_start[] = {{
{start}
}};
const unsigned char model_set[] = {{
{settable}
}};
const double model_nominal[] = {{1.0{nominal}}};

const char *model_begin(double *values, double *memory)
{{
    (void)values, (void)memory;
{begin}
}}

const char *model_evaluate(double *values, double *memory)
{{
    (void)values, (void)memory;
{evaluate}
}}

const char *model_advance(double *values, double *memory, double h)
{{
    (void)values, (void)memory, (void)h;
{advance}
}}
"""


@dataclass(frozen=True)
class FmiTarget(ExportTarget):
    """An FMU (FMI 3.0), one file with sources and a binary; it computes in double.

    Attributes:
        controller: a controller of the robot, which the FMU holds then. Default None.
        plant: whether the FMU holds the robot under forces. Default False: so if there is no model and no
            controller.
    """

    name = "fmi"
    refusals = ExportTarget.refusals | {
        "parameters": "numbers of the robot are constants of an FMU: leave the parameters out"
    }
    controller: Controller | None = None
    plant: bool = False


def fmi_request(request: ExportRequest) -> ExportRequest:
    """What an FMU holds: one model, one controller, or the robot under forces.

    Raises:
        ExportError: if it is to hold several, or something that it cannot.
    """
    plant_models = tuple(name for name in request.models if name == "forward_dynamics")
    others = tuple(name for name in request.models if name not in plant_models)
    plant = request.plant or bool(plant_models) or (not others and request.controller is None)
    if plant + len(others) + (request.controller is not None) != 1:
        raise ExportError(
            "an FMU holds one: the robot under forces (forward_dynamics), another model, or a controller"
        )
    return replace(request, models=others, plant=plant)


def fmi_file(package: Package, compiler: str | None = None) -> tuple[bytes, list[str]]:
    """Make an FMU.

    Args:
        package: what is exported (`fmi_request`).
        compiler: the C compiler; that of the system if None, and no binary without a compiler.

    Returns:
        The bytes of the file, and the paths in it.

    Raises:
        ExportError: if the compiler fails.
    """
    package, glue, title = _fmu_model(package)
    code = package_code(package, ("double",), False)
    sources, headers = dict(code.sources), dict(code.headers)
    if package.closing_entry is not None and not package.request.loop:
        sources |= dict([assemble_source(package, "double", TOLERANCES["double"])])
    for file in _INTERFACE:
        text = resources("nacelle.export.fmi").joinpath(file).read_text(encoding="utf-8")
        (headers if file.endswith(".h") else sources)[file] = text
    sources["model.c"] = _source(package, glue, title, "")
    # Another code has another one.
    token = hashlib.sha256("\0".join([*sources.values(), *headers.values()]).encode()).hexdigest()[:32]
    sources["model.c"] = _source(package, glue, title, token)
    about = FmuDescription(
        package.name,
        f"{title} of the robot {comment_text(package.robot.name)}. {friction_note(package.request)}",
        token,
        f"nacelle {package.version}",
        glue.model_exchange,
        glue.period or STEP,
        glue.period,
    )
    files: dict[str, str | bytes] = {"modelDescription.xml": model_description(about, glue.table)}
    files["sources/buildDescription.xml"] = build_description(package.name, sorted(sources))
    files[f"documentation/licenses/{LICENSE.lower()}"] = TERMS
    texts = with_notice(sources | headers)
    files |= {f"sources/{file}": texts[file] for file in sorted(texts)}
    files |= compile_binary(package.name, texts, compiler)
    return zip_bytes(files), sorted(files)


def _fmu_model(package: Package) -> tuple[Package, FmuModel, str]:
    """The package with what its model needs, its C, and what it is."""
    request, robot = package.request, package.robot
    if request.controller is not None:
        name, period = comment_text(request.controller.name), request.controller.period
        title = f"the controller {name} with a sample time of {period:g} s"
        return package, controller_model(package, request.controller), title
    if request.plant:
        whole = replace(package, entries=[*package.entries, _rates_entry(robot, package.name)])
        return whole, plant_model(whole), "motion under the actuators' forces"
    if package.closing_entry is not None:
        package = replace(package, entries=[*package.entries, assembly_entry(robot, package.name)])
    main = next(entry for entry in package.entries if entry.model is not None)
    return package, pose_model(package, main), main.title


def _rates_entry(robot: Robot, prefix: str) -> Entry:
    """The rates of the actuators at a state."""
    quat_0 = reference_orientation(mechanism_of(robot))

    def rates(robot: Robot, s: Array) -> dict[str, Array]:
        return {"qd": rigid_signals(robot, s, quat_0, ("qd",))["qd"]}

    program = make_program(rates, robot, {"state": state_size(robot)})
    labels = {"state": "state of the plant", "qd": "rates of the actuators; rad/s, m/s"}
    return Entry(
        "plant_rates",
        "rates of the actuators",
        replace(program, name=f"{prefix}_plant_rates"),
        labels,
        None,
    )


def _source(package: Package, glue: FmuModel, title: str, token: str) -> str:
    table = glue.table
    states = table.slices.get("state", slice(0, 0))
    starts = [c_constant(scalar.start or 0.0, "double") for scalar in table.scalars]
    declared = ""
    if package.closing_entry is not None and not package.request.loop:
        declared = f"{assemble_prototype(package, 'double')};\n\n"
    return _SOURCE.format(
        title=title,
        origin=package.origin,
        name=package.name,
        declared=declared,
        token=token,
        exchanged="true" if glue.model_exchange else "false",
        values=len(table.scalars),
        memory=glue.memory,
        states=states.stop - states.start,
        first=states.start,
        start=_rows(starts),
        settable=_rows([scalar.settable for scalar in table.scalars]),
        nominal=", 1.0" * (max(states.stop - states.start, 1) - 1),
        **{part: _indent(getattr(glue, part)) for part in ("begin", "evaluate", "advance")},
    )


def _rows(texts: Sequence[str]) -> str:
    return "\n".join(f"    {', '.join(texts[k : k + 6])}," for k in range(0, len(texts), 6))


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def fmi_package(robot: Robot, prefix: str, version: str, request: ExportRequest) -> Package:
    """What an FMU is made of.

    Args:
        robot: the robot.
        prefix: of all names, and the identifier of the model.
        version: of nacelle.
        request: what is to be exported.
    """
    chosen = fmi_request(request)
    check_request(chosen)
    return Package(prefix, robot, version, chosen, entries(robot, prefix, chosen))
