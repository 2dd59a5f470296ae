"""Targets by name, names that reach emitted source, and the store of what was emitted."""

from __future__ import annotations

import keyword
import os
import re
import stat
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.emit import registry
from nacelle.emit import store as module
from nacelle.emit.names import LONGEST, RESERVED, comment_text, entry_name, identifier
from nacelle.emit.registry import NAMES, Target, TargetError, register, target
from nacelle.emit.store import Store
from nacelle.errors import CompilerWarning
from nacelle.program.trace import trace
from support.hostile_names import HOSTILE

# ---- Targets by name: they are found when they are first needed, and faults name the nearest


@pytest.mark.parametrize("name", NAMES)
def test_every_target_writes_source(name: str) -> None:
    program = trace(lambda x: {"y": x * x + 1.0}, {"x": (2,)}, "square").program()
    found = target(name)
    assert found.name == name
    assert "square" in found.source(program) or len(found.source(program)) > 50


def test_a_new_target_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_targets", {})
    register(Target("spoken", lambda program: program.name))
    assert target("spoken").kernel is None
    with pytest.raises(TargetError, match="did you mean"):
        target("pyton")


# ---- Names and remarks that reach emitted source


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names(text: str) -> None:
    _check(identifier(text))


@given(st.text())
def test_any_text(text: str) -> None:
    _check(identifier(text))


def _check(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name), name
    assert len(name) <= LONGEST + 1
    assert name.lower() not in RESERVED
    assert not keyword.iskeyword(name)
    assert "__" not in name


def test_readable() -> None:
    assert identifier("inverse_dynamics") == "inverse_dynamics"
    assert identifier("leg1.knee-joint") == "leg1_knee_joint"
    assert identifier("θ̇₁") == "theta1"
    assert identifier("Ω") == "Omega"
    assert identifier("Größe") == "Grosse"
    assert identifier("3-RPS", "robot") == "robot_3_RPS"
    assert identifier("机", "robot") == "robot"
    assert identifier("double") == "double_"


def test_long_names_stay_apart() -> None:
    assert identifier("x" * 100 + "a") != identifier("x" * 100 + "b")


def test_entries_are_not_of_the_c_library() -> None:
    assert entry_name("random") == "random_eval"
    assert entry_name("inverse_dynamics") == "inverse_dynamics"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_remarks(text: str) -> None:
    _check_remark(comment_text(text))


@given(st.text(alphabet=st.sampled_from("*/?\\\n\r\"'x θ\u2028\u202e")))
def test_any_remark(text: str) -> None:
    _check_remark(comment_text(text))


def _check_remark(text: str) -> None:
    assert text.isascii()
    assert not text or text.isprintable()
    for mark in ("*/", "/*", "??", "\\", '"', "//"):
        assert mark not in text, text


def test_readable_remarks() -> None:
    assert comment_text("kg·m²") == "kg.m2"
    assert comment_text("20°, in the base's frame") == "20deg, in the base's frame"


# ---- A store gives back what it was given, whole, or nothing


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


with_owners = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")


@with_owners
@pytest.mark.parametrize("which", ["folder", "file"])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_what_others_may_write_is_not_read_and_one_warning_says_so(
    which: str, bits: int, tmp_path: Path
) -> None:
    store = Store(tmp_path / "cache")
    store.put("key", b"payload")
    changed = store.folder if which == "folder" else store.path("key")
    mode = stat.S_IMODE(changed.stat().st_mode)
    registry.warn_once.cache_clear()
    changed.chmod(mode | bits)
    with pytest.warns(CompilerWarning, match=f"{changed}.*{mode | bits:04o}") as caught:
        assert [store.get("key"), store.get("key")] == [None, None]
    assert len(caught) == 1
    # The folder stays closed until it is the user's own; a file is replaced by what is stored anew.
    assert store.put("key", b"new") == (which == "file")
    changed.chmod(mode)
    assert store.get("key") == (b"payload" if which == "folder" else b"new")


@with_owners
@pytest.mark.parametrize("which", ["folder", "file"])
def test_what_belongs_to_another_user_is_not_read(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user whom neither file nor folder belongs to, and as one whom only the folder does."""
    store = Store(tmp_path / "cache")
    store.put("key", b"payload")
    here = os.geteuid()
    fstat, lstat = os.fstat, os.lstat

    def owned(found: os.stat_result) -> os.stat_result:
        foreign = which == "folder" or stat.S_ISREG(found.st_mode)
        fields = list(found[:10])
        fields[stat.ST_UID] = here + 4711 if foreign else here
        return os.stat_result(fields)

    registry.warn_once.cache_clear()
    monkeypatch.setattr(module.os, "fstat", lambda handle: owned(fstat(handle)))
    monkeypatch.setattr(module.os, "lstat", lambda path, **options: owned(lstat(path, **options)))
    with pytest.warns(CompilerWarning, match=f"belongs to another user .id {here + 4711}."):
        assert store.get("key") is None
    assert store.put("key", b"new") == (which == "file")
    monkeypatch.undo()
    assert store.get("key") == (b"payload" if which == "folder" else b"new")


@with_owners
def test_the_folder_may_be_a_link_of_the_user_and_a_file_may_not(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put("key", b"payload")
    (tmp_path / "link").symlink_to(store.folder)
    assert Store(tmp_path / "link").get("key") == b"payload"
    store.path("key").rename(tmp_path / "elsewhere")
    store.path("key").symlink_to(tmp_path / "elsewhere")
    assert store.get("key") is None
    assert store.put("key", b"new")
    assert store.get("key") == b"new"


def test_a_system_without_owners_reads_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HAS_OWNERS", False)
    store = Store(tmp_path / "cache")
    assert store.put("key", b"payload")
    store.folder.chmod(0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get("key") == b"payload"
