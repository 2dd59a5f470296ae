"""Writing a package: the whole folder, or the whole file, or nothing."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nacelle.errors import ExportError
from nacelle.files import write_whole

MANIFEST = "nacelle.json"
"""The file that says what a package holds, and which files are its own."""


def check_folder(out: Path, force: bool) -> None:
    """Say before the work is done that a folder cannot be written.

    Raises:
        ExportError: if it is a file, holds something, or its parent is missing.
    """
    try:
        if out.is_dir():
            if any(out.iterdir()) and not force:
                raise ExportError(
                    f"{out} is not empty; it is left as it is (force replaces the package in it)"
                )
        elif out.exists() or out.is_symlink():
            raise ExportError(f"{out} is no folder; it is left as it is")
        elif not out.parent.is_dir():
            raise ExportError(f"there is no folder {out.parent}")
        place = out if out.is_dir() else out.parent
        if not os.access(place, os.W_OK | os.X_OK):
            raise ExportError(f"cannot write {out}: {place} is not writable")
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror or error}") from None


def write_folder(out: Path, files: Mapping[str, str], force: bool) -> None:
    """Write files by their path in a folder; a new folder appears whole, or not at all.

    In a folder that holds something (with `force`) files are replaced one by one once all are written beside
    it; files of an earlier package that are no more are removed, and those of others stay.

    Raises:
        ExportError: if it cannot be written.
    """
    check_folder(out, force)
    try:
        stage = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
        try:
            for name, text in files.items():
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).write_text(text, encoding="utf-8", newline="\n")
            if out.is_dir() and any(out.iterdir()):
                _replace(out, stage, files)
            else:
                # The folder of a temporary name is closed to others.
                stage.chmod(0o777 & ~_umask())
                stage.rename(out)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror or error}") from None


def check_file(out: Path, ending: str, force: bool) -> None:
    """Say before the work is done that a file cannot be written.

    Raises:
        ExportError: if its name ends otherwise, it is there already or a folder, or its parent is missing.
    """
    if out.suffix != ending:
        raise ExportError(f"{out} is to end in {ending}")
    try:
        if out.is_dir():
            raise ExportError(f"{out} is a folder; it is left as it is")
        if (out.exists() or out.is_symlink()) and not force:
            raise ExportError(f"{out} is there already; it is left as it is (force replaces it)")
        if not out.parent.is_dir():
            raise ExportError(f"there is no folder {out.parent}")
        if not os.access(out.parent, os.W_OK | os.X_OK):
            raise ExportError(f"cannot write {out}: {out.parent} is not writable")
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror or error}") from None


def write_file(out: Path, content: bytes) -> None:
    """Write a file; it appears whole, or not at all.

    Raises:
        ExportError: if it cannot be written.
    """
    try:
        write_whole(out, content)
    except OSError as error:
        raise ExportError(f"cannot write {out}: {error.strerror or error}") from None


def _umask() -> int:
    """The mask of new files; it can be read only by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _replace(out: Path, stage: Path, files: Mapping[str, str]) -> None:
    earlier = _earlier(out)
    for name in files:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(stage / name, out / name)
    for name in earlier - set(files):
        (out / name).unlink(missing_ok=True)


def _earlier(out: Path) -> set[str]:
    """The files of the package that a folder holds already; none if it holds no package."""
    try:
        names = json.loads((out / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    root = out.resolve()
    listed = {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
    # Nothing outside the folder is ever touched.
    return {name for name in listed if root in (root / name).resolve().parents}
