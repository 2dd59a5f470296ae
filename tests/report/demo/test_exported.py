"""The exported package in words."""

from __future__ import annotations

import dataclasses

from support.demo_steps import exported


def test_with_and_without_a_compiler() -> None:
    assert "compiled with cc, its self-test says: all is well." in exported().claim
    assert "*force" in "".join(exported().content())
    without = dataclasses.replace(exported(), compiler="", verdict="")
    assert "left out" in without.claim
    assert "no C compiler" in without.lines()[-1]
