"""Flags: which of them leave a sample without a result."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.flags import FAILED, Flag, failed


def test_failed_are_those_without_a_result() -> None:
    flags = np.array([0, *(int(flag) for flag in Flag), int(Flag.UNREACHABLE | Flag.NEAR_SINGULAR)])
    without = {Flag.INVALID, Flag.UNREACHABLE, Flag.SINGULAR}
    expected = [False, *(flag in without for flag in Flag), True]
    assert failed(flags).tolist() == expected
    assert all(flag & FAILED for flag in without)


def test_flags_are_single_bits() -> None:
    assert all(int(flag).bit_count() == 1 for flag in Flag)
    assert len({int(flag) for flag in Flag}) == len(Flag)
