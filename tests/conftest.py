"""Fixtures and settings for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

import nacelle
from nacelle.model.robot import Robot

# The same examples on every run, so that a failure in CI is a failure everywhere; "explore" draws
# new ones: pytest --hypothesis-profile explore.
settings.register_profile(
    "steady",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("explore", settings.get_profile("steady"), derandomize=False, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(params=nacelle.robot_names())
def library_robot(request: pytest.FixtureRequest) -> Robot:
    """Every robot of the library in turn."""
    return nacelle.load(request.param)
