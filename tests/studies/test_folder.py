"""Folders of results: whole blocks or none, one process at a time, no damage that is read in silence."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pyarrow import parquet

from nacelle.errors import StudyError, StudyWarning
from nacelle.studies.folder import Columns, ResultFolder
from support.block_plans import ROWS, Quadratic, block_bytes

PLAN = Quadratic("folder", count=4)


def write_all(path: Path, plan: Quadratic = PLAN) -> Path:
    with ResultFolder.open(path, plan.metadata()) as folder:
        for k in reversed(folder.missing_blocks()):
            folder.write(k, plan.evaluate(k))
    return path


def assert_equal(columns: Columns, expected: Columns) -> None:
    assert list(columns) == list(expected)
    for name, array in columns.items():
        assert array.dtype.kind == expected[name].dtype.kind
        if array.dtype.kind == "U":
            assert array.tolist() == expected[name].tolist()
        else:
            # Bit for bit: signed zeros and all kinds of NaN.
            np.testing.assert_array_equal(array.view(np.int64), expected[name].view(np.int64))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write_all(tmp_path / "study")


# ---- contents


def test_blocks_are_read_in_their_order(whole: Path) -> None:
    folder = ResultFolder.load(whole)
    blocks = [PLAN.evaluate(k) for k in range(PLAN.count)]
    assert folder.missing_blocks() == []
    assert_equal(folder.read(), {name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]})
    assert_equal(folder.read([2]), blocks[2])
    assert folder.read([])["status"].dtype == np.int64
    # Another reader of Parquet files finds the same.
    table = parquet.read_table(whole / "blocks" / "block-000001.parquet")
    assert table.column("reason").to_pylist() == blocks[1]["reason"].tolist()
    np.testing.assert_array_equal(table.column("y").to_numpy(), blocks[1]["y"])


@given(st.data())
def test_every_bit_is_kept(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 20))
    floats = data.draw(arrays.arrays(np.uint64, rows, elements=st.integers(0, 2**64 - 1))).view(np.float64)
    # NumPy's texts have no zeros at their ends.
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    texts = data.draw(st.lists(st.text(characters), min_size=rows, max_size=rows))
    columns: Columns = {
        "x": floats,
        "n": data.draw(arrays.arrays(np.int64, rows)),
        "text": np.array(texts, dtype=str),
    }
    metadata = {"key": "k", "blocks": 1, "columns": {"x": "float64", "n": "int64", "text": "str"}}
    with ResultFolder.open(tmp_path_factory.mktemp("bits"), metadata) as folder:
        folder.write(0, columns)
        assert_equal(folder.read(), columns)


def test_equal_columns_give_equal_bytes(whole: Path, tmp_path: Path) -> None:
    again = write_all(tmp_path / "again")
    assert block_bytes(again) == block_bytes(whole)
    assert (again / "study.json").read_bytes() == (whole / "study.json").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns.pop("y"),
        lambda columns: columns.update(y=columns["y"][1:]),
        lambda columns: columns.update(y=columns["y"].astype(np.float32)),
        lambda columns: columns.update(y=columns["y"].astype(">f8")),
        lambda columns: columns.update(y=columns["y"].reshape(2, -1)),
        lambda columns: columns.update(reason=columns["reason"].astype(object)),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, change: Callable[[Columns], object]) -> None:
    columns = PLAN.evaluate(0)
    change(columns)
    with ResultFolder.open(tmp_path, PLAN.metadata()) as folder:
        with pytest.raises(StudyError, match="block 0 has columns"):
            folder.write(0, columns)
        with pytest.raises(StudyError, match="block 4"):
            folder.write(4, PLAN.evaluate(0))
        assert folder.missing_blocks() == [0, 1, 2, 3]


def test_pyarrow_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StudyError, match=r"nacelle-robotics\[logs\]"):
        ResultFolder.open(tmp_path / "study", PLAN.metadata())
    assert not (tmp_path / "study").exists()


# ---- resuming


def test_a_study_is_resumed(whole: Path) -> None:
    (whole / "blocks" / "block-000002.parquet").unlink()
    # What a process leaves that dies while it writes.
    leftovers = [whole / ".study.json.17", whole / "blocks" / ".block-000002.parquet.17"]
    for path in leftovers:
        path.write_bytes(b"PAR1")
    with pytest.raises(StudyError, match=r"block-000002.parquet is missing: run the study again"):
        ResultFolder.load(whole).read()
    with ResultFolder.open(whole, PLAN.metadata()) as folder:
        assert not any(path.exists() for path in leftovers)
        assert folder.missing_blocks() == [2]
        assert_equal(folder.read([1]), PLAN.evaluate(1))


def test_another_study_is_left_as_it_is(whole: Path) -> None:
    before = block_bytes(whole), (whole / "study.json").read_bytes()
    plan = PLAN.metadata()
    robot = plan["robot"] | {"text": plan["robot"]["text"].replace("delta", "hexa", 1)}
    changed = plan | {"key": "another", "robot": robot, "versions": plan["versions"] | {"nacelle": "0.2.0"}}
    for study, difference in (
        ({"variables": {"x": [0, 2]}, "seed": 3}, "variables.x.1 is 1 there and 2 here"),
        ({"variables": {"x": [0, 1]}, "seed": 4}, "seed is 3 there and 4 here"),
        ({"variables": {"x": [0, 1]}}, "seed is 3 there and missing here"),
        ({"seed": 3, "variables": {"x": [0, 1]}}, "order is 'variables, seed' there"),
    ):
        with pytest.raises(StudyError) as caught:
            ResultFolder.open(whole, changed | {"study": study})
        message = str(caught.value)
        assert f"{whole} has results of another study, which stay ({difference}" in message
        # Nothing else differs, and a key that must differ says nothing.
        assert "; versions.nacelle is '0.1.0' there and '0.2.0' here; robot.text.line 1 is" in message
        assert message.count(" here") == 3
    many = {"study": {"variables": {f"x{k}": [0, 1] for k in range(9)}, "seed": 3}, "key": "another"}
    with pytest.raises(StudyError, match="; 5 more"):
        ResultFolder.open(whole, plan | many)
    with pytest.raises(StudyError, match="key is 'folder' there and 'another' here"):
        ResultFolder.open(whole, plan | {"key": "another"})
    with pytest.raises(StudyError, match="blocks is 4 there and 5 here"):
        ResultFolder.open(whole, plan | {"blocks": 5})
    assert (block_bytes(whole), (whole / "study.json").read_bytes()) == before
    # What decides nothing may be another.
    with ResultFolder.open(whole, plan | {"versions": {}}) as folder:
        assert folder.metadata == plan


def test_a_start_that_failed_before_its_first_block_is_taken_over(tmp_path: Path) -> None:
    changed = Quadratic("corrected", count=2).metadata()
    for content in (None, b'{"key": "fol'):
        ResultFolder.open(tmp_path, PLAN.metadata()).close()
        if content is not None:
            (tmp_path / "study.json").write_bytes(content)
        with ResultFolder.open(tmp_path, changed) as folder:
            assert folder.missing_blocks() == [0, 1]
        assert ResultFolder.load(tmp_path).metadata == changed
    # A block that the corrected study does not have is a result all the same.
    with ResultFolder.open(tmp_path, PLAN.metadata()) as folder:
        folder.write(3, PLAN.evaluate(3))
    with pytest.raises(StudyError, match="another study"):
        ResultFolder.open(tmp_path, changed)


@pytest.mark.parametrize("content", [None, b"", b'{"key": "fol', b"[]", b"{}", b"\xff"])
def test_blocks_without_their_study(whole: Path, content: bytes | None) -> None:
    (whole / "study.json").unlink()
    if content is not None:
        (whole / "study.json").write_bytes(content)
    before = block_bytes(whole)
    for action in (lambda: ResultFolder.open(whole, PLAN.metadata()), lambda: ResultFolder.load(whole)):
        with pytest.raises(StudyError, match=r"cannot read .*study\.json .*: restore it"):
            action()
    assert block_bytes(whole) == before


# ---- damage


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def altered(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 5] ^= 16
    path.write_bytes(content)


def with_other_columns(path: Path) -> None:
    table = parquet.read_table(path)
    parquet.write_table(table.rename_columns(["x", "z", "status", "reason"]), path)


def shortened(path: Path) -> None:
    parquet.write_table(parquet.read_table(path).slice(0, ROWS - 1), path)


def with_another_value(path: Path) -> None:
    table = parquet.read_table(path)
    status = pa.array(np.arange(ROWS))
    parquet.write_table(table.set_column(2, "status", status), path)


def with_a_hole(path: Path) -> None:
    table = parquet.read_table(path)
    parquet.write_table(table.set_column(2, "status", pa.array([None] * ROWS, pa.int64())), path)


def of_another_number(path: Path) -> None:
    shutil.copy(path.with_name("block-000002.parquet"), path)


def of_another_study(path: Path) -> None:
    folder = write_all(path.parents[2] / "another", Quadratic("another", PLAN.count))
    shutil.copy(folder / "blocks" / path.name, path)


DAMAGES = [
    *(truncated, emptied, altered, with_other_columns, shortened, with_another_value, with_a_hole),
    *(of_another_number, of_another_study),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_blocks_are_reported_and_replaced(whole: Path, damage: Callable[[Path], None]) -> None:
    before = block_bytes(whole)
    damage(whole / "blocks" / "block-000001.parquet")
    with pytest.raises(StudyError, match=r"block-000001\.parquet is damaged \(.+\): run the study again"):
        ResultFolder.load(whole).read()
    with pytest.warns(StudyWarning, match=r"1 damaged block in .*block-000001"):
        folder = ResultFolder.open(whole, PLAN.metadata())
    with folder:
        assert folder.missing_blocks() == list(folder.damaged) == [1]
        with pytest.raises(StudyError, match="damaged"):
            folder.read()
        folder.write(1, PLAN.evaluate(1))
        assert folder.missing_blocks() == []
        assert len(folder.read()["x"]) == ROWS * PLAN.count
    assert block_bytes(whole) == before


@given(position=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_altered_bit_is_read(tmp_path_factory: pytest.TempPathFactory, position: float, bit: int) -> None:
    folder = write_all(tmp_path_factory.mktemp("altered"), Quadratic("altered", 1))
    path = folder / "blocks" / "block-000000.parquet"
    content = bytearray(path.read_bytes())
    content[int(position * len(content))] ^= 1 << bit
    path.write_bytes(content)
    # Some bits of a Parquet file say nothing of the columns, such as those that say what has written it.
    with contextlib.suppress(StudyError):
        assert_equal(ResultFolder.load(folder).read(), PLAN.evaluate(0))


# ---- errors of the system


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[ResultFolder]:
    with ResultFolder.open(tmp_path / "study", PLAN.metadata()) as folder:
        folder.write(0, PLAN.evaluate(0))
        yield folder


def assert_refused(folder: ResultFolder, message: str) -> None:
    """Block 1 cannot be written: the error says where and why, and nothing else has changed."""
    before = block_bytes(folder.path)
    with pytest.raises(StudyError, match=message) as caught:
        folder.write(1, PLAN.evaluate(1))
    assert str(folder.path) in str(caught.value)
    assert block_bytes(folder.path) == before
    assert folder.missing_blocks() == [1, 2, 3]


class FullDisk(io.FileIO):
    """A file on a disk that has room for 100 bytes more."""

    def write(self, content: Any) -> int:
        if self.tell() >= 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(bytes(content)[:100])


def open_full(path: Path, mode: str, *_: object, **__: object) -> io.BufferedIOBase:
    return io.BufferedWriter(FullDisk(path, mode)) if "w" in mode else io.BufferedReader(io.FileIO(path))


def test_the_disk_is_full_in_the_middle_of_a_block(
    begun: ResultFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_full)
        assert_refused(begun, "No space left on device; blocks in it stay.: free some space")
    begun.write(1, PLAN.evaluate(1))
    assert begun.missing_blocks() == [2, 3]


@pytest.mark.parametrize(
    ("function", "number", "advice"),
    [
        # File systems that put off writing find the disk full at last.
        ("fsync", errno.ENOSPC, "free some space"),
        ("fsync", errno.EDQUOT, "free some space"),
        ("fsync", errno.EIO, "mend that"),
        ("replace", errno.EACCES, "make it writable"),
        ("replace", errno.EROFS, "make it writable"),
    ],
)
def test_errors_of_the_system(
    begun: ResultFolder, monkeypatch: pytest.MonkeyPatch, function: str, number: int, advice: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, function, fail)
    assert_refused(begun, f"{os.strerror(number)}; .*{advice}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_device_is_full(begun: ResultFolder) -> None:
    (begun.path / "blocks" / f".block-000001.parquet.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(StudyError, match=r"No space left on device.*free some space"):
        begun.write(1, PLAN.evaluate(1))
    assert list(block_bytes(begun.path)) == ["block-000000.parquet"]


def test_the_system_cuts_a_block(begun: ResultFolder) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal, so that the system writes what fits and refuses the rest.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        assert_refused(begun, "File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def fail_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_study_cannot_begin_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("results")
    with pytest.raises(StudyError, match=r"cannot write in .*file .*name a folder, not a file"):
        ResultFolder.open(tmp_path / "file", PLAN.metadata())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_full)
        with pytest.raises(StudyError, match="free some space"):
            ResultFolder.open(tmp_path / "study", PLAN.metadata())
    # The lock is free again, and the study begins.
    ResultFolder.open(tmp_path / "study", PLAN.metadata()).close()


# ---- one process at a time


def test_a_folder_is_used_by_one_process(whole: Path) -> None:
    with ResultFolder.open(whole, PLAN.metadata()):
        with pytest.raises(
            StudyError, match=rf"process {os.getpid()} of .* uses .*: wait until it has ended"
        ):
            ResultFolder.open(whole, PLAN.metadata())
        reader = ResultFolder.load(whole)
        assert len(reader.read()["x"]) == ROWS * PLAN.count
        with pytest.raises(StudyError, match="reading alone"):
            reader.write(0, PLAN.evaluate(0))
    closed = ResultFolder.open(whole, PLAN.metadata())
    closed.close()
    with pytest.raises(StudyError, match="reading alone"):
        closed.write(0, PLAN.evaluate(0))


def test_a_folder_that_another_process_uses(tmp_path: Path) -> None:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    command = [sys.executable, "-m", "support.block_plans", str(tmp_path), PLAN.key, "4", "60"]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            with pytest.raises(StudyError, match=rf"process {process.pid} of .* uses {tmp_path}"):
                ResultFolder.open(tmp_path, PLAN.metadata())
        finally:
            process.kill()
    # The system has unlocked the folder.
    with ResultFolder.open(tmp_path, PLAN.metadata()) as folder:
        assert folder.missing_blocks() == [0, 1, 2, 3]


def test_a_disk_that_cannot_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(StudyError, match=r"No locks available.*choose one on a disk that can lock files"):
        ResultFolder.open(tmp_path, PLAN.metadata())
