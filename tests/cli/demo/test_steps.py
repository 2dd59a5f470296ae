"""Steps that go well, fail, break and are stopped."""

from __future__ import annotations

from typing import Any

import pytest

from nacelle.cli.demo.steps import counted, done
from nacelle.errors import NacelleError
from nacelle.library import load
from nacelle.report.demo.step import DONE, FAILED, STOPPED, DemoTask
from support.demo_steps import exported


@pytest.mark.parametrize(
    ("error", "state", "message"),
    [
        (None, DONE, ""),
        (NacelleError("an engine disagrees"), FAILED, "an engine disagrees"),
        (ValueError("no number"), FAILED, "ValueError: no number"),
        (KeyboardInterrupt(), STOPPED, "Ctrl-C has ended this step"),
    ],
)
def test_what_comes_of_a_step(error: BaseException | None, state: str, message: str) -> None:
    def compute() -> Any:
        if error is not None:
            raise error
        return exported()

    step = done(DemoTask("exported", "Code", compute))
    assert (step.state, step.message) == (state, message)
    assert (step.result is not None) == (state == DONE)
    assert step.seconds >= 0.0


def test_operations_are_fewer_than_published() -> None:
    result = counted(load("palida"))
    assert result.operations.total <= 1132
    assert "% of the 1987 of [AGH2005]" in result.claim
