"""A linear Delta: three vertical slides, two rods each; a printer's dimensions."""

from __future__ import annotations

import nacelle
from nacelle.model.robot import Robot

TEXT = """\
format: nacelle/1
name: linear-delta
motion: xyz
gravity: 0 0 -9.81 m/s^2
reference: {position: 0 0 50 mm}
platform: {name: effector, mass: 0.1 kg}
templates:
  leg:
    bodies:
      carriage: {mass: 0.1 kg}
      rod-a: &rod {mass: 0.02 kg, com: 125 0 0 mm}
      rod-b: *rod
    joints:
      slide:
        {type: prismatic, parent: base, child: carriage, at: 145 0 0 mm, axis: z, guess: 266.5 mm,
          actuator: {name: motor}}
      ball-a:
        {type: spherical, parent: carriage, child: rod-a, at: 0 22 0 mm, guess: [0, 0.866025403784, 0, 0.5]}
      ball-b:
        {type: spherical, parent: carriage, child: rod-b, at: 0 -22 0 mm, guess: [0, 0.866025403784, 0, 0.5]}
    closures:
      end-a: {type: spherical, parent: rod-a, at: 250 0 0 mm, child: effector, child_at: 20 22 0 mm}
      end-b: {type: spherical, parent: rod-b, at: 250 0 0 mm, child: effector, child_at: 20 -22 0 mm}
legs:
  - {repeat: leg, count: 3}
"""


def linear_delta() -> Robot:
    return nacelle.loads(TEXT)
