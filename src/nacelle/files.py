"""Files: a message why one cannot be read; writing one whole or not at all. Imports nothing of nacelle."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def unread_reason(path: str | Path, fault: OSError | UnicodeDecodeError, kind: str) -> tuple[str, str]:
    """Message and hint for a file that cannot be read.

    Args:
        path: the file.
        fault: what reading it has raised.
        kind: what it should be, such as "CSV file".
    """
    hint = f"name a {kind}"
    if isinstance(fault, UnicodeDecodeError):
        byte = fault.object[fault.start]
        return f"byte {fault.start} ({byte:#04x}) is not UTF-8 text", f"{hint} saved as UTF-8"
    if isinstance(fault, FileNotFoundError):
        return "there is no such file", hint
    with suppress(OSError, ValueError):
        if Path(path).is_dir():
            return "this is a folder, not a file", f"name the {kind} in it"
    return f"cannot be read: {fault.strerror or fault}", hint


def write_atomically(path: Path, text: str | bytes, *, new: bool = False, durable: bool = False) -> None:
    """Write a file so that it is there whole or not at all, whatever interrupts it.

    Args:
        path: the file.
        text: its text, written as UTF-8, or its bytes.
        new: whether a file that exists already is left alone.
        durable: whether it is on the disk when this returns, so that a loss of power leaves it whole, too.

    Raises:
        FileExistsError: if it exists and should be new.
        OSError: if it cannot be written.
    """
    content = text.encode("utf-8") if isinstance(text, str) else text
    if path.exists() and not path.is_file() and not path.is_dir():
        # A device or a pipe, such as /dev/stdout: nothing to put in its place.
        path.write_bytes(content)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if new:
            os.link(part, path)
        else:
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    if durable:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Put the names of a folder's files on the disk, where the file system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
