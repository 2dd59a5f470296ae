"""States of a plant and its poses are each other's opposite, at large rotations too."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.physics import Physics
from nacelle.export.loop import plant_entries
from nacelle.spatial.rotation import quat_exp
from support.library import library_robot

# ---- States of a plant and its poses are each other's opposite, at large rotations too


def test_pose_and_state() -> None:
    entries = plant_entries(library_robot("palida"), "p", Physics())
    programs = {entry.label: entry.program for entry in entries}
    rng = np.random.default_rng(4)
    for angle in (0.0, 1e-9, 1e-3, 1.0, 3.0):
        axis = rng.normal(size=3)
        quat = quat_exp(angle * axis / np.linalg.norm(axis))
        given = np.array([*rng.normal(size=3), *quat, *rng.normal(size=6)])
        # Either of the two quaternions of an orientation gives the same state.
        turned = np.concatenate([given[:3], -given[3:7], given[7:]])
        state, same = (
            np.array(programs["plant_state"].evaluate(row.tolist()), dtype=float) for row in (given, turned)
        )
        assert np.allclose(state, same, atol=1e-15)
        assert np.isclose(np.linalg.norm(state[3:6]), angle, rtol=1e-12)
        back = np.array(programs["plant_pose"].evaluate(state.tolist()), dtype=float)
        back[3:7] *= np.sign(back[3:7] @ quat)
        assert np.max(np.abs(back - given)) < 1e-14
