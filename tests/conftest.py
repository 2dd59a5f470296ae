"""Settings for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

from support import tiers

# "steady": the same examples on every run, so that a failure in one place is a failure everywhere; a
# random robot is costly to shrink, so the first failing one is shown as it is. "brief" draws fewer of them,
# for `make test`. "explore" draws new examples and shrinks: HYPOTHESIS_PROFILE=explore.
settings.register_profile(
    "steady",
    derandomize=True,
    deadline=None,
    max_examples=20,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("brief", settings.get_profile("steady"), max_examples=5)
settings.register_profile(
    "explore",
    settings.get_profile("steady"),
    derandomize=False,
    max_examples=300,
    phases=[Phase.explicit, Phase.generate, Phase.target, Phase.shrink],
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `make` says: which tier, which part of it, and whether to go on where a run was stopped."""
    parser.addoption("--tier", choices=tiers.TIERS, help="run the tests of one tier")
    parser.addoption("--part", default="1/1", help="run one of several parts of them, such as 2/4")
    parser.addoption("--resume", action="store_true", help="leave out what has passed on this commit")


def pytest_configure(config: pytest.Config) -> None:
    """Take the examples that the tier wants; where the run is led, keep what it finds."""
    tier = config.getoption("--tier")
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "brief" if tier == "test" else "steady"))
    if tier is None or hasattr(config, "workerinput"):
        return
    recorder = tiers.Recorder(tier, config.getoption("--part"), resume=config.getoption("--resume"))
    config.pluginmanager.register(recorder, "recorder")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collections: half a million objects are made, and all of them stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not of the tier, of another part, or has passed before."""
    tiers.mark_cases(items)
    tier = config.getoption("--tier")
    if tier is None:
        return
    files = tiers.in_part(config.getoption("--part"), items)
    recorder = config.pluginmanager.get_plugin("recorder")
    # Workers leave out what the one that leads them knows to have passed.
    passed = config.workerinput["passed"] if recorder is None else recorder.passed
    kept, left = [], []
    for item in items:
        wanted = tiers.is_in(tier, item) and str(item.path) in files and item.nodeid not in passed
        (kept if wanted else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept
