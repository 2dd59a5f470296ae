"""Springs between bodies as they are written: in the robot or a leg, with errors at their place."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle

_TEXT = """\
format: nacelle/2
name: sprung
motion: xy
reference: {position: 0 0.28 0 m}
nacelle: {type: point, mass: 0.5 kg}
templates:
  leg:
    bodies:
      crank: {mass: 0.4 kg, com: 80 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
      rod: {mass: 0.2 kg, com: 100 0 0 mm, inertia: 0 0.001 0.001 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: crank, active: true, axis: z, guess: 100 deg}
      knee: {type: revolute, parent: crank, child: rod, at: 160 0 0 mm, axis: z, guess: -70 deg}
    closures: {end: {type: revolute, parent: rod, child: nacelle, at: 220 0 0 mm, axis: z}}
    springs:
      return: {between: [rod, base], at: [50 0 0 mm, 0 -100 0 mm], stiffness: 300 N/m, length: 80 mm}
legs:
  - {name: left, template: leg, placement: {translation: -100 0 0 mm}}
  - name: right
    template: leg
    placement: {translation: 100 0 0 mm}
    override: {joints: {motor: {guess: 80 deg}, knee: {guess: 70 deg}}}
springs:
  cross: {between: [left.crank, right.crank], stiffness: 2 kN/m, length: 0.1 m, damping: 10 N*s/m}
"""


def test_springs_of_the_robot_and_of_legs_with_their_placement() -> None:
    robot = nacelle.loads(_TEXT)
    springs = {spring.name: spring for spring in robot.springs}
    assert list(springs) == ["cross", "left.return", "right.return"]
    assert (springs["cross"].stiffness, springs["cross"].damping) == (2000.0, 10.0)
    names = [robot.bodies[body].name for body in springs["right.return"].bodies]
    assert names == ["right.rod", "base"]
    np.testing.assert_allclose(springs["right.return"].points[0], [0.05, 0.0, 0.0])
    np.testing.assert_allclose(springs["right.return"].points[1], [0.1, -0.1, 0.0])
    assert nacelle.loads(robot.to_yaml()).hash == robot.hash


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("nacelle/2", "nacelle/1", "springs between bodies are not in nacelle/1"),
        ("[left.crank, right.crank]", "[left.crank, right.arm]", "no body is called 'right.arm'"),
        ("[left.crank, right.crank]", "[left.crank, left.crank]", "on one body"),
        ("2 kN/m", "-2 kN/m", "must not be below 0"),
        ("10 N*s/m", "10 N/m", "N*s/m"),
    ],
)
def test_what_is_wrong_has_its_place(old: str, new: str, words: str) -> None:
    with pytest.raises(nacelle.DescriptionError) as caught:
        nacelle.loads(_TEXT.replace(old, new))
    assert any(words in str(problem) and problem.line for problem in caught.value.problems)
