"""The folder of a demonstration: nothing of anybody else's in it is ever replaced.

A list of what the demonstration wrote, each file with its SHA-256, is kept in the folder. A second run
removes what is on the list, unless somebody has changed it since; a folder with files and no list is refused.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from nacelle.errors import NacelleError
from nacelle.files import write_whole

LIST = "written-by-demo.json"


class DemoFolder:
    """A folder to write into, and the list of what is written.

    Args:
        path: the folder; it may be missing.

    Raises:
        NacelleError: if it holds anything that no demonstration wrote, or that was changed since.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._clear()
            path.mkdir(parents=True, exist_ok=True)
            self._files: dict[str, str] = {}
            self._keep_list()
        except OSError as error:
            raise NacelleError(f"cannot write {path}: {error.strerror or error}") from None

    def __truediv__(self, name: str) -> Path:
        """A place in the folder."""
        return self.path / name

    def write(self, name: str, text: str) -> Path:
        """Write a text file, whole or not at all, and put it on the list."""
        try:
            write_whole(self.path / name, text)
        except OSError as error:
            raise NacelleError(f"cannot write {self.path / name}: {error.strerror or error}") from None
        return self.add(name)

    def add(self, *names: str) -> Path:
        """Put files that are there on the list; give the first of them."""
        self._files |= {name: _digest(self.path / name) for name in names}
        self._keep_list()
        return self.path / names[0]

    def _keep_list(self) -> None:
        words = "Written by `nacelle demo`; it replaces these files, and leaves others alone."
        write_whole(self.path / LIST, json.dumps({"about": words, "files": self._files}, indent=1) + "\n")

    def _clear(self) -> None:
        """Remove what an earlier run wrote."""
        out = self.path
        if not out.exists() and not out.is_symlink():
            return
        if not out.is_dir():
            raise NacelleError(f"{out} is no folder; name another one (--out FOLDER)")
        if not any(out.iterdir()):
            return
        listed = self._listed()
        changed = [name for name, digest in listed.items() if _digest(out / name) not in ("", digest)]
        if changed:
            some = ", ".join(changed[:3]) + (", ..." if len(changed) > 3 else "")
            raise NacelleError(
                f"{out} was written by nacelle demo, but changed since ({some}); it is left as it is: name "
                "another folder (--out FOLDER)"
            )
        for name in listed:
            (out / name).unlink(missing_ok=True)
        inner = {folder for name in listed for folder in Path(name).parents if folder != Path()}
        for folder in sorted(inner, reverse=True):
            # What still holds somebody's files stays.
            with suppress(OSError):
                (out / folder).rmdir()

    def _listed(self) -> dict[str, str]:
        """The list of an earlier run, of files inside the folder alone."""
        refusal = NacelleError(
            f"{self.path} is there already and was not written by nacelle demo; name another folder "
            "(--out FOLDER)"
        )
        try:
            files = json.loads((self.path / LIST).read_text(encoding="utf-8"))["files"]
            listed = {str(name): str(digest) for name, digest in files.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise refusal from None
        root = self.path.resolve()
        if any(root not in (root / name).resolve().parents for name in listed):
            raise refusal
        return listed


def _digest(path: Path) -> str:
    """SHA-256 of a file; empty if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
