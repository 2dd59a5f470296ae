"""A store gives back what it was given, whole, or nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nacelle.emit.store import Store


def test_what_is_put_is_given(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    assert store.get("a") is None
    assert store.put("a", b"one")
    assert store.put("b", b"")
    assert (store.get("a"), store.get("b")) == (b"one", b"")
    assert store.put("a", b"two")
    assert store.get("a") == b"two"
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert len(list(store.folder.iterdir())) == 2


@pytest.mark.parametrize("size", [0, 5, 20, 47, 52])
def test_what_is_cut_off_or_changed_is_nothing(size: int, tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put("key", b"payload")
    file = store.path("key")
    data = file.read_bytes()
    file.write_bytes(data[:size])
    assert store.get("key") is None
    file.write_bytes(data[:size] + bytes([data[size] ^ 1]) + data[size + 1 :])
    assert store.get("key") is None
    file.write_bytes(data)
    assert store.get("key") == b"payload"


def test_the_entry_of_another_key_is_foreign(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put("one", b"payload")
    store.path("one").rename(store.path("two"))
    assert store.get("two") is None
