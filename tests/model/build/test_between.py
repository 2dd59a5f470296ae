"""Springs and dampers between bodies are placed and mirrored with their leg."""

import numpy as np

import nacelle

TEXT = """\
format: nacelle/2
name: pair
motion: [a.turn, b.turn]
templates:
  leg:
    bodies: {arm: {mass: 1 kg}}
    joints: {turn: {type: revolute, parent: base, child: arm, active: true, axis: z}}
    springs: {s: {between: [arm, base], at: [0 10 0 mm, 50 0 0 mm], stiffness: 1 N/m, length: 0 m}}
    dampers: {d: {between: [arm, base], damping: 1 N*m*s/rad}}
legs:
  - {name: a, template: leg, placement: {translation: 0 0 100 mm, rotation: {rpy: 0 0 90 deg}}}
  - {name: b, template: leg, placement: {mirror: y}}
"""


def test_points_on_the_base_are_placed_with_the_leg() -> None:
    robot = nacelle.loads(TEXT)
    first, second = robot.springs
    np.testing.assert_allclose(first.points, [[0, 0.01, 0], [0, 0.05, 0.1]], atol=1e-15)
    np.testing.assert_allclose(second.points, [[0, -0.01, 0], [0.05, 0, 0]], atol=1e-15)
    assert [damper.name for damper in robot.dampers] == ["a.d", "b.d"]
    assert [robot.bodies[damper.bodies[0]].name for damper in robot.dampers] == ["a.arm", "b.arm"]
