"""The law in a package is the controller's own program."""

from __future__ import annotations

import numpy as np

from nacelle.compile import make_program
from nacelle.control.law import law_of
from nacelle.control.named import controller
from nacelle.export.loop.law import controller_entries
from nacelle.export.states import seeded_states
from nacelle.spatial.physics import input_shapes
from support.library import library_robot


def test_the_same_program() -> None:
    robot = library_robot("fivebar")
    made = controller(robot, "cf-rb-friction", bandwidth=10.0)
    law, rest = controller_entries(made, "p")
    function = law_of(made.kind)
    own = make_program(function, robot, input_shapes(function, robot))
    assert law.program.code == own.code
    assert law.program.results == own.results
    x = seeded_states(robot, 1).x[0]
    assert np.array_equal(np.array(rest.program.evaluate(x.tolist()), dtype=float), made.start(x))
    # Reference vectors have forces that say something.
    given = law.at(seeded_states(robot, 4))
    rows = np.concatenate(list(given.values()), axis=1)
    forces = np.array([law.program.evaluate(row.tolist())[:2] for row in rows], dtype=float)
    assert np.unique(forces).size == forces.size
