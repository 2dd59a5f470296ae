"""Work of many small decompositions runs with one thread of BLAS, and leaves the setting as it was."""

from __future__ import annotations

import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import nacelle
from nacelle.identification.excitation import excite as excitation
from nacelle.one_thread import one_blas_thread
from support.library import library_robot


def _threads() -> set[int]:
    # SciPy's BLAS is counted from when it is loaded on.
    assert scipy.linalg
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_within_and_as_before_afterwards():
    def fails() -> None:
        raise KeyError

    with threadpool_limits(2, user_api="blas"):
        assert one_blas_thread(_threads)() == {1}
        assert _threads() == {2}
        with pytest.raises(KeyError):
            one_blas_thread(fails)()
        assert _threads() == {2}


def test_excitation_has_it(monkeypatch):
    seen = []

    def stopped(*_arguments, **_options):
        seen.append(_threads())
        raise KeyError

    monkeypatch.setattr(excitation, "limits", stopped)
    with threadpool_limits(2, user_api="blas"), pytest.raises(KeyError):
        nacelle.excite(library_robot("fivebar"))
    assert seen == [{1}]
