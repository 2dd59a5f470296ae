"""What tests with random descriptions share: cutting short what hangs, and edits of data."""

from __future__ import annotations

import contextlib
import copy
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from nacelle import DescriptionError

# Robots with some 200 bodies are checked in 6 s; one of 64 legs with four modes takes 32 s of dense algebra.
HANGS_S = 90.0


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Raise TimeoutError in what takes HANGS_S of processor time, so that a test fails and not hangs."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"still busy after {HANGS_S:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def error_of(action: Callable[[], object], limit_s: float) -> DescriptionError | None:
    """Call, and give the error; the limit of processor time must do, at the third try at least."""
    for attempt in (1, 2, 3):
        error = None
        start = time.process_time()
        try:
            with time_limit():
                action()
        except DescriptionError as caught:
            error = caught
        spent = time.process_time() - start
        if spent < limit_s:
            break
        assert attempt < 3, f"took {spent:.2f} s of processor time"
    return error


def value_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of everything below a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from value_paths(item, (*path, key))


def entry(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def _own_exception(value: Any) -> Any:
    """A copy, so that later edits leave what was drawn as it is; what cannot be copied is not edited."""
    try:
        return copy.deepcopy(value)
    except (TypeError, RuntimeError):
        return value


@st.composite
def edited_descriptions(
    draw: st.DrawFn,
    robots: st.SearchStrategy[Any],
    wrong: st.SearchStrategy[Any],
    keys: Callable[[str], st.SearchStrategy[Any]],
) -> Any:
    """Data of a robot with up to three edits.

    Args:
        draw: Hypothesis' own.
        robots: data of robots, which are left as they are.
        wrong: what is put in place of an entry.
        keys: what is put in place of a key.
    """
    data = copy.deepcopy(draw(robots))
    for _ in range(draw(st.integers(1, 3))):
        paths = list(value_paths(data))
        if not paths:
            break
        path, other = draw(st.sampled_from(paths)), draw(st.sampled_from(paths))
        parent, key = entry(data, path[:-1]), path[-1]
        what = draw(st.sampled_from(["wrong", "wrong", "delete", "copy", "swap", "rename", "add"]))
        if what == "wrong":
            parent[key] = _own_exception(draw(wrong))
        elif what == "delete":
            del parent[key]
        elif what == "copy":
            parent[key] = _own_exception(entry(data, other))
        elif what == "swap" and path[: len(other)] != other and other[: len(path)] != path:
            mine, yours = parent[key], entry(data, other)
            parent[key] = yours
            entry(data, other[:-1])[other[-1]] = mine
        elif what == "rename" and isinstance(parent, dict):
            parent[draw(keys(str(key)))] = parent.pop(key)
        elif what == "add":
            item = _own_exception(entry(data, other))
            if isinstance(parent, list):
                parent.append(item)
            else:
                parent[str(other[-1])] = item
    return data
