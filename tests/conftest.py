"""Settings for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# "steady": the same examples on every run, so that a failure in one place is a failure everywhere; a
# random robot is costly to shrink, so the first failing one is shown as it is. "explore" draws new
# examples and shrinks: HYPOTHESIS_PROFILE=explore, or pytest --hypothesis-profile explore.
settings.register_profile(
    "steady",
    derandomize=True,
    deadline=None,
    max_examples=20,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "explore",
    settings.get_profile("steady"),
    derandomize=False,
    max_examples=300,
    phases=[Phase.explicit, Phase.generate, Phase.target, Phase.shrink],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collections: half a million objects are made, and all of them stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what was measured to be: `make test` stays short, `make test-all` runs everything."""
    listed = set((Path(__file__).parent / "slow.txt").read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.slow)
