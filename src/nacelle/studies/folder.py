"""The folder of a study's results: a file for every block of variants, so that a study can be resumed.

    study.json                     the study: key, blocks, columns, and what the caller adds
    blocks/block-000000.parquet    columns of a block
    lock                           held by the process that writes, which it names

A file is written under another name, put on the disk and renamed; so a process may die at any instruction:

    before a block is there        the next one begins the study, and may correct it
    while it writes a block        the next one removes the file of the other name; the block is missing
    behind a block                 the next one finds the block
    at any time                    the system unlocks the folder

What a disk loses all the same is noticed: every block has the study's key, its number and a SHA-256 of its
columns, which are compared when a study is resumed and whenever a block is read. Equal columns give equal
bytes, for one version of pyarrow.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import platform
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from nacelle.distribution import install_command
from nacelle.errors import StudyError, StudyWarning, format_count, shorten
from nacelle.files import write_atomically
from nacelle.progress import task

Columns = dict[str, NDArray[Any]]
"""Columns of a block by name, all of one length: float64, int64 or texts."""

_STUDY, _BLOCKS, _LOCK = "study.json", "blocks", "lock"
_EMPTY: Columns = {"float64": np.empty(0), "int64": np.empty(0, np.int64), "str": np.empty(0, str)}
_MARK = b"nacelle"
# Entries of study.json that decide whether it is the same study.
_IDENTITY = ("key", "blocks", "columns")
# Damaged blocks that a warning lists, entries that differ, and length of values that an error shows.
_LISTED, _DIFFERENCES, _SHORT = 3, 5, 80


class ResultFolder:
    """Results of a study in a folder: `open` to write them, `load` to read them.

    Attributes:
        path: the folder.
        metadata: contents of study.json.
        damaged: blocks that were damaged when the folder was opened and are not replaced yet, with reasons.
    """

    def __init__(self, path: Path, metadata: Mapping[str, Any], lock: IO[str] | None) -> None:
        self.path, self.metadata, self._lock = path, metadata, lock
        self.damaged: dict[int, str] = {}

    @classmethod
    def open(cls, path: Path, metadata: Mapping[str, Any]) -> ResultFolder:
        """Begin a study or resume it; until `close` no other process can.

        Args:
            path: the folder; made where it is missing.
            metadata: plain data that say what the study is: `key`, a hash of all that decides the results,
                `blocks`, their number, `columns`, each with its type ("float64", "int64", "str"), and more
                (its text, seed, robot, versions). A study that is resumed keeps those that it began with.

        Raises:
            StudyError: if the folder is used by another process, holds another study, or cannot be written.
        """
        _parquet()
        text = json.dumps(metadata, indent=2, ensure_ascii=False) + "\n"
        with _report_write_errors(path):
            (path / _BLOCKS).mkdir(parents=True, exist_ok=True)
            folder = cls(path, json.loads(text), _open_lock(path))
            try:
                for part in (*path.glob(f".{_STUDY}.*"), *path.glob(f"{_BLOCKS}/.block-*")):
                    part.unlink()
                # Without a block nothing was found: a start that failed is no other study.
                if any(path.glob(f"{_BLOCKS}/block-*.parquet")):
                    there = _read_metadata(path)
                    _require_same_study(path, there, folder.metadata)
                    folder.metadata = there
                    folder._check_blocks()
                else:
                    write_atomically(path / _STUDY, text, durable=True)
            except BaseException:
                folder.close()
                raise
        return folder

    @classmethod
    def load(cls, path: Path) -> ResultFolder:
        """A folder to be read alone, even while another process writes.

        Raises:
            StudyError: if it is not the folder of a study.
        """
        _parquet()
        return cls(path, _read_metadata(path), None)

    def close(self) -> None:
        """Let other processes write."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> ResultFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def count(self) -> int:
        """How many blocks the study has."""
        return int(self.metadata["blocks"])

    def missing_blocks(self) -> list[int]:
        """Numbers of the blocks that are not there or are damaged."""
        present = {path.name for path in self.path.glob(f"{_BLOCKS}/block-*.parquet")}
        return [k for k in range(self.count) if self._block(k).name not in present or k in self.damaged]

    def write(self, k: int, columns: Columns) -> None:
        """Keep a block: it is on the disk when this returns.

        Raises:
            StudyError: if its columns are not those of the study, or it cannot be written.
        """
        pa, parquet = _parquet()
        expected, types = self.metadata["columns"], _types(columns)
        lengths = {array.size for array in columns.values()}
        if self._lock is None:
            raise StudyError(f"{self.path} is open for reading alone: open it by ResultFolder.open")
        if types != expected or len(lengths) > 1 or not 0 <= k < self.count:
            raise StudyError(f"block {k} has columns {types}: columns {expected} of one length are right")
        mark = json.dumps([self.metadata["key"], k, _digest(columns, expected)])
        table = pa.table({name: columns[name] for name in expected}, metadata={_MARK: mark})
        # Floats hardly ever repeat: a dictionary of them takes time alone.
        repeating = [name for name, kind in expected.items() if kind != "float64"]
        stream = io.BytesIO()
        parquet.write_table(table, stream, compression="zstd", use_dictionary=repeating)
        with _report_write_errors(self.path):
            write_atomically(self._block(k), stream.getvalue(), durable=True)
        self.damaged.pop(k, None)

    def read(self, blocks: Iterable[int] | None = None) -> Columns:
        """Columns of all blocks in their order, or of some.

        Raises:
            StudyError: if one of them is missing or damaged.
        """
        parts = [self._read_block(k) for k in (range(self.count) if blocks is None else blocks)]
        return {
            name: np.concatenate([_EMPTY[kind], *(part[name] for part in parts)])
            for name, kind in self.metadata["columns"].items()
        }

    def _block(self, k: int) -> Path:
        return self.path / _BLOCKS / f"block-{k:06d}.parquet"

    def _check_blocks(self) -> None:
        """Find damaged blocks, and warn of them."""
        present = sorted(set(range(self.count)) - set(self.missing_blocks()))
        with task(f"checking {format_count(len(present), 'block')}") as report:
            for n, k in enumerate(present):
                try:
                    self._read_block(k)
                except StudyError as error:
                    self.damaged[k] = str(error)
                report((n + 1) / len(present))
        if self.damaged:
            reasons = "; ".join(list(self.damaged.values())[:_LISTED])
            count = format_count(len(self.damaged), "damaged block")
            warnings.warn(StudyWarning(f"{count} in {self.path}, such as {reasons}"), stacklevel=3)

    def _read_block(self, k: int) -> Columns:
        """A block, compared with what was written."""
        pa, parquet = _parquet()
        path, expected = self._block(k), self.metadata["columns"]
        try:
            table = parquet.ParquetFile(pa.BufferReader(path.read_bytes())).read()
            columns = {name: _as_array(table.column(name)) for name in table.column_names}
            mark = json.loads((table.schema.metadata or {}).get(_MARK, "null"))
            if _types(columns) != expected:
                reason = f"columns {_types(columns)} instead of {expected}"
            elif mark != [self.metadata["key"], k, _digest(columns, expected)]:
                reason = "its study, number or checksum is another"
            else:
                return columns
        except FileNotFoundError:
            raise StudyError(f"{path} is missing: run the study again to complete it") from None
        except OSError as error:
            reason = error.strerror or str(error)
        # What pyarrow raises depends on where the damage is.
        except Exception as error:
            reason = shorten(str(error), _SHORT)
        raise StudyError(f"{path} is damaged ({reason}): run the study again to replace it")


def _parquet() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise StudyError(f"results of studies need pyarrow: {install_command('logs')}") from None
    return pa, parquet


def _types(columns: Columns) -> dict[str, str]:
    """Types of columns, as study.json has them."""
    kinds = {name: "str" if array.dtype.kind == "U" else str(array.dtype) for name, array in columns.items()}
    return {name: kind + "[]" * (columns[name].ndim - 1) for name, kind in kinds.items()}


def _as_array(column: Any) -> NDArray[Any]:
    """A column of a Parquet file."""
    array: NDArray[Any] = column.to_numpy()
    return array.astype(str) if array.dtype == object else array


def _digest(columns: Columns, names: Iterable[str]) -> str:
    """SHA-256 of columns: names, lengths and values to the last bit."""
    digest = hashlib.sha256()
    for name in names:
        array = columns[name]
        content = json.dumps(array.tolist()).encode() if array.dtype.kind == "U" else array.tobytes()
        digest.update(json.dumps([name, len(content)]).encode() + content)
    return digest.hexdigest()


def _read_metadata(path: Path) -> dict[str, Any]:
    """Contents of a folder's study.json."""
    try:
        metadata: dict[str, Any] = json.loads((path / _STUDY).read_text(encoding="utf-8"))
        if metadata.keys() >= set(_IDENTITY):
            return metadata
        reason = "it is damaged"
    except OSError as error:
        reason = error.strerror or str(error)
    except (ValueError, AttributeError) as error:
        reason = f"it is damaged: {error}"
    raise StudyError(f"cannot read {path / _STUDY} ({reason}): restore it, or name another folder")


def _require_same_study(path: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Require the study in a folder to be the one that is to be resumed; else say what differs."""
    if all(there[name] == here[name] for name in _IDENTITY):
        return
    old, new = ({name: of[name] for name in of if name not in _IDENTITY} for of in (there, here))
    listing = [*_differences(old, new)] or [*_differences(there, here)]
    if (more := len(listing) - _DIFFERENCES) > 0:
        listing[_DIFFERENCES:] = [f"{more} more"]
    raise StudyError(
        f"{path} has results of another study, which stay ({'; '.join(listing)}): choose another folder, "
        "or resume that study"
    )


def _differences(there: Any, here: Any, entry: str = "") -> Iterator[str]:
    """Entries of plain data that differ, by keys with dots, and how; of texts the first line that does."""
    pairs: list[tuple[str, Any, Any]] = []
    if isinstance(there, dict) and isinstance(here, dict):
        pairs = [(key, there.get(key), here.get(key)) for key in {**here, **there}]
        if there.keys() == here.keys():
            pairs.append(("order", ", ".join(there), ", ".join(here)))
    elif isinstance(there, list) and isinstance(here, list):
        pairs = [(str(k), *pair) for k, pair in enumerate(zip_longest(there, here))]
    elif isinstance(there, str) and isinstance(here, str) and "\n" in there + here:
        lines = zip_longest(there.splitlines(), here.splitlines())
        pairs = [(f"line {k}", *pair) for k, pair in enumerate(lines, 1) if pair[0] != pair[1]][:1]
    elif there != here:
        old, new = ("missing" if value is None else shorten(repr(value), _SHORT) for value in (there, here))
        yield f"{entry.removeprefix('study.')} is {old} there and {new} here"
    for key, old, new in pairs:
        yield from _differences(old, new, f"{entry}.{key}" if entry else key)


def _open_lock(path: Path) -> IO[str]:
    """The lock of a folder, held until it is closed or this process ends, however it ends."""
    lock = (path / _LOCK).open("a+", encoding="utf-8")
    try:
        if sys.platform == "win32":
            import msvcrt

            # Behind the text: nobody else can read what is locked.
            lock.seek(1 << 20)
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate(0)
        lock.write(f"{os.getpid()} of {platform.node()}")
        lock.flush()
    except OSError as error:
        with lock:
            if not isinstance(error, (BlockingIOError, PermissionError)):
                raise
            lock.seek(0)
            holder = lock.read()
        message = f"process {holder} uses {path}: wait until it has ended, or choose another folder"
        raise StudyError(message) from None
    return lock


_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space on its disk"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "make it writable, or choose another folder"),
    **dict.fromkeys((errno.ENOLCK, errno.EOPNOTSUPP), "choose one on a disk that can lock files"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "name a folder, not a file"),
}


@contextmanager
def _report_write_errors(path: Path) -> Iterator[None]:
    """Say of errors of the system which folder cannot be written, and what would be right."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "mend that")
        reason = f"{error.strerror or error}; blocks in it stay"
        raise StudyError(f"cannot write in {path} ({reason}): {advice}, and run the study again") from None
