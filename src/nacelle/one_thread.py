"""One thread of BLAS for work that consists of many small decompositions.

A singular value decomposition of a few hundred rows takes a millisecond. BLAS libraries give it to as many
threads as there are cores, which wait for one another at every step: on a machine that is busy otherwise that
takes many times as long, and nothing is gained on one that is not. The limit holds for the whole process
while the function runs, and is what it was afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def one_blas_thread(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, run with one thread of BLAS."""

    @wraps(function)
    def run_limited(*arguments: _P.args, **options: _P.kwargs) -> _R:
        # SciPy has a BLAS of its own, which only has a limit once it is loaded.
        import_module("scipy.linalg")
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            return function(*arguments, **options)

    return run_limited
