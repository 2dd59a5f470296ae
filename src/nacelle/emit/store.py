"""A store of compiled things: a folder of files, each with a checksum, written whole or not at all.

The folder belongs to the user alone (mode 0700). A file that is damaged, foreign or half written is as
good as none, and is written again. Several processes may read and write at the same time.

Native code is among the contents, so nothing is read that another user may have written: the open folder and
the open file must both belong to the user or to root, and neither group nor others may write them. The checks
are made on open descriptors and the file is opened within the open folder, so that nothing can be exchanged
between check and reading. The folder may be a link if that is the user's own or root's; a file may not.
Where a system has no such owners (Windows), the permissions of the user's profile protect the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from pathlib import Path

_MAGIC = b"nacelle store 1\n"
# The oldest files go when the folder grows beyond this.
_LARGEST = 512 * 1024 * 1024
_HAS_OWNERS = hasattr(os, "geteuid")


def default_folder() -> Path:
    """The user's folder: $NACELLE_CACHE, or the platform's place for caches."""
    chosen = os.environ.get("NACELLE_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "nacelle"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "nacelle"


class Store:
    """Bytes by key."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = default_folder() if folder is None else folder

    def path(self, key: str) -> Path:
        """File of a key."""
        return self.folder / hashlib.sha256(key.encode()).hexdigest()

    def get(self, key: str) -> bytes | None:
        """Give what is stored, or None if there is nothing or it is not whole."""
        try:
            data = self._read(self.path(key).name)
        except OSError as error:
            if isinstance(error, _ForeignError):
                _warn(str(error))
            return None
        head = len(_MAGIC)
        digest, payload = data[head : head + 32], data[head + 32 :]
        if data[:head] != _MAGIC or hashlib.sha256(key.encode() + payload).digest() != digest:
            return None
        return payload

    def put(self, key: str, payload: bytes) -> bool:
        """Store; give False if the folder cannot be written or is not the user's own."""
        digest = hashlib.sha256(key.encode() + payload).digest()
        name = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _HAS_OWNERS:
                os.close(_open_trusted(self.folder))
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + digest + payload)
            os.replace(name, self.path(key))
        except OSError:
            if name is not None:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            return False
        self._shrink()
        return True

    def _read(self, name: str) -> bytes:
        """Contents of a file of the folder, both of which nobody else may write."""
        if not _HAS_OWNERS:
            return (self.folder / name).read_bytes()
        folder = _open_trusted(self.folder)
        try:
            with os.fdopen(_open_trusted(self.folder / name, folder), "rb") as file:
                return file.read()
        finally:
            os.close(folder)

    def _shrink(self) -> None:
        """Remove the files used longest ago once the folder is too large."""
        with contextlib.suppress(OSError):
            files = [(entry.stat(), entry.path) for entry in os.scandir(self.folder) if entry.is_file()]
            total = sum(stat.st_size for stat, _ in files)
            for stat, path in sorted(files, key=lambda item: item[0].st_mtime):
                if total <= _LARGEST:
                    break
                os.unlink(path)
                total -= stat.st_size


class _ForeignError(OSError):
    """Another user may write a folder or a file; the message says so."""


def _open_trusted(path: Path, folder: int | None = None) -> int:
    """Open a folder, or a file within an open folder, that nobody but the user and root may write."""
    if folder is None:
        _require_trusted(path, os.lstat(path))
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    else:
        handle = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        _require_trusted(path, os.fstat(handle))
    except _ForeignError:
        os.close(handle)
        raise
    return handle


def _require_trusted(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise _ForeignError(
            f"{path} belongs to another user (id {status.st_uid}): nothing is loaded from it, and programs "
            "are compiled again; NACELLE_CACHE may name a folder of your own"
        )
    # A link has no mode of its own.
    if status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode):
        raise _ForeignError(
            f"other users may write {path} (mode {stat.S_IMODE(status.st_mode):04o}): nothing is loaded from "
            f"it, and programs are compiled again; `chmod go-w {path}` makes it yours alone"
        )


def _warn(text: str) -> None:
    from nacelle.emit.registry import warn_once

    warn_once(text)


def store_of(cache: Store | bool) -> Store | None:
    """The store that is meant: the user's if True, none if False."""
    return cache if isinstance(cache, Store) else Store() if cache else None
