"""The command verify."""

from __future__ import annotations

import pytest

from support.command import run, run_json

pytestmark = pytest.mark.filterwarnings("error")


def test_verify_agrees() -> None:
    found = run_json("verify", "prrrp", "--states", "3")
    assert found["ok"] is True
    assert "agrees" in run("verify", "prrrp", "--against", "pinocchio", "--states", "2").stdout
