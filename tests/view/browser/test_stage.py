from __future__ import annotations

import numpy as np
import pytest

from nacelle.view.browser.stage import wxyz
from nacelle.view.session import Standing
from nacelle.view.viewer import view

pytest.importorskip("viser")


def test_quaternions_have_the_scalar_first() -> None:
    np.testing.assert_allclose(wxyz(np.diag([1.0, -1.0, -1.0])), [0.0, 1.0, 0.0, 0.0], atol=1e-12)


def test_colours_tell_how_a_pose_is() -> None:
    with view("fivebar") as viewer:
        stage = viewer._members[0].stage
        own = {body: tuple(meshes[0][0].color) for body, meshes in stage._meshes.items()}

        def painted(standing: Standing) -> dict[int, tuple[int, ...]]:
            viewer._loop.call(lambda: stage.paint(standing))
            return {body: tuple(meshes[0][0].color) for body, meshes in stage._meshes.items()}

        near, out = painted(Standing.NEAR), painted(Standing.OUT)
        assert {colour for body, colour in near.items() if body} == {(230, 159, 0)}
        assert near[0] == out[0] == own[0]
        assert out[1] == (196, 38, 46)
        assert {body for body in own if out[body] != own[body]} == {1}
        assert painted(Standing.GOOD) == own
