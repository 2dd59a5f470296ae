"""Names and remarks that reach emitted source."""

from __future__ import annotations

import keyword
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.emit.names import LONGEST, RESERVED, entry_name, identifier, remark
from support.hostile_names import HOSTILE


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
    _check_remark(remark(text))


@given(st.text(alphabet=st.sampled_from("*/?\\\n\r\"'x θ\u2028\u202e")))
def test_any_remark(text: str) -> None:
    _check_remark(remark(text))


def _check_remark(text: str) -> None:
    assert text.isascii()
    assert not text or text.isprintable()
    for mark in ("*/", "/*", "??", "\\", '"', "//"):
        assert mark not in text, text


def test_readable_remarks() -> None:
    assert remark("kg·m²") == "kg.m2"
    assert remark("20°, in the base's frame") == "20deg, in the base's frame"
