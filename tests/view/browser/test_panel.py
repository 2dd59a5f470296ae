from __future__ import annotations

import pytest

from nacelle.view.viewer import view

pytest.importorskip("viser")


def test_sliders_have_units_and_problems_come_and_go() -> None:
    with view("3rps") as viewer:
        panel = viewer._members[0].panel
        labels = [slider.label for _, slider in panel._sliders]
        assert labels == ["z (mm)", "rx (deg)", "ry (deg)"]
        assert panel._sliders[0][1].value == pytest.approx(500.0, abs=1.0)
        viewer._loop.call(lambda: panel.show_problems(["own.yaml:3:1: wrong"]))
        assert "own.yaml:3:1: wrong" in panel.problems.content
        viewer._loop.call(lambda: panel.show_problems([]))
        assert panel.problems.content == ""
        viewer.show([0.52, 0.1, 0.1])
        viewer._loop.call(lambda: viewer._members[0].tick(1.0))
        assert panel._sliders[0][1].value == pytest.approx(520.0, abs=1.0)
        assert "follows: x " in panel.dependent.content
