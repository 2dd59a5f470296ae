"""Forms of the physics: which one is taken, and which is out of use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nacelle.spatial.form import Form, forget_refusals, form_for, refusal, refuse, written_in


@pytest.fixture(autouse=True)
def nothing_is_refused() -> Iterator[None]:
    forget_refusals()
    yield
    forget_refusals()


def test_the_first_form_that_is_in_use() -> None:
    assert form_for("a") is Form.COMPACT
    refuse("a", Form.COMPACT, "it was off")
    assert form_for("a") is Form.JOINTS
    assert form_for("b") is Form.COMPACT
    refuse("a", Form.JOINTS, "it was off, too")
    # The tree is the reference: nothing comes after it.
    refuse("a", Form.TREE, "never")
    assert form_for("a") is Form.TREE
    assert refusal("a") == "it was off"
    assert refusal("b") == ""


def test_a_form_that_is_wanted() -> None:
    refuse("a", Form.COMPACT, "it was off")
    with written_in(Form.TREE):
        assert form_for("a") is form_for("b") is Form.TREE
        with written_in(Form.COMPACT):
            assert form_for("a") is Form.COMPACT
    assert form_for("a") is Form.JOINTS
    with pytest.raises(ZeroDivisionError), written_in(Form.TREE):
        raise ZeroDivisionError
    assert form_for("b") is Form.COMPACT
