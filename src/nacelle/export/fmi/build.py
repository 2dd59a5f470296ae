"""Compiling the sources of an FMU with the system's C compiler, and packing the file."""

from __future__ import annotations

import io
import platform
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nacelle.errors import ExportError
from nacelle.export.compiler import find_compiler

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


@dataclass(frozen=True)
class Binary:
    """A shared library.

    Attributes:
        platform: the platform tuple of FMI, such as "x86_64-linux".
        ending: of its file.
        content: its bytes.
    """

    platform: str
    ending: str
    content: bytes


def this_platform() -> tuple[str, str]:
    """The platform tuple of FMI for this machine, and how shared libraries end."""
    machine = platform.machine().lower()
    system, ending = _SYSTEMS.get(platform.system().lower(), (platform.system().lower(), ".so"))
    return f"{_MACHINES.get(machine, machine)}-{system}", ending


def binary(name: str, files: Mapping[str, str], compiler: str | None = None) -> Binary | None:
    """Compile the sources of an FMU; None if there is no compiler.

    Args:
        name: of the library.
        files: texts of sources and headers by name.
        compiler: its command; $CC, or cc, if None.

    Raises:
        ExportError: if the compiler is named and missing, or fails.
    """
    found = find_compiler("c", compiler)
    if found is None:
        return None
    tuple_, ending = this_platform()
    with tempfile.TemporaryDirectory(prefix="nacelle-fmi-") as folder:
        place = Path(folder)
        for file, text in files.items():
            (place / file).write_text(text, encoding="utf-8")
        sources = sorted(file for file in files if file.endswith(".c"))
        out = f"{name}{ending}"
        try:
            found.build([*_FLAGS, "-I.", *sources, "-lm", "-o", out], place, _LONGEST)
        except ExportError as error:
            raise ExportError(f"the C compiler {found.name} does not compile the FMU: {error}") from None
        return Binary(tuple_, ending, (place / out).read_bytes())


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Files by their path as the bytes of a zip file; the same files are the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.startswith("binaries/") else 0o644) << 16
            archive.writestr(entry, content)
    return made.getvalue()
