"""A store of compiled things: a folder of files, each with a checksum, written whole or not at all.

The folder belongs to the user alone (mode 0700). A file that is damaged, foreign or half written is as
good as none, and is written again. Several processes may read and write at the same time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path

_MAGIC = b"nacelle store 1\n"
# The oldest files go when the folder grows beyond this.
_LARGEST = 512 * 1024 * 1024


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
            data = self.path(key).read_bytes()
        except OSError:
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
            if not _is_private(self.folder):
                return False
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


def _is_private(folder: Path) -> bool:
    """Whether a folder is the user's own and nobody else may write into it."""
    if not hasattr(os, "getuid"):
        return True
    stat = folder.stat()
    return stat.st_uid == os.getuid() and not stat.st_mode & 0o022
