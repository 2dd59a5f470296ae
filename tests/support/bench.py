"""A small robot that descriptions with mistakes are made from."""

from __future__ import annotations

import pytest

import nacelle
from nacelle import DescriptionError, Problem

# A planar robot of three legs with two bars each.
BENCH = """\
format: nacelle/1
name: bench
motion: xy+rz
gravity: 0 -9.81 0 m/s^2
reference: {position: 0 0 0 m, rotation: {quat_xyzw: 0 0 0 1}}
constants: {arm: 150 mm, rod: 200 mm}
nacelle:
  name: plate
  mass: 1 kg
  com: 0 0 0 mm
  inertia: {xx: 0.001 kg*m^2, yy: 0.001 kg*m^2, zz: 0.002 kg*m^2}
tools: {tip: {body: plate, at: 0 0 50 mm}}
payload: {part: {mass: 0.1 kg}}
modes: {upper: {motion: xy+rz, branch: {leg1: 1}}}
templates:
  leg:
    parameters: {side: 60 mm}
    bodies:
      arm: {mass: 0.5 kg, com: [$arm/2, 0, 0], inertia: 0.0001 0.001 0.001 kg*m^2}
      rod: {mass: 0.2 kg, com: [$rod/2, 0, 0], inertia: 0.0001 0.0007 0.0007 kg*m^2}
    joints:
      shoulder:
        type: revolute
        parent: base
        child: arm
        at: {translation: 250 0 0 mm}
        axis: z # of the drive
        guess: 120 deg
        limits: [0 deg, 300 deg]
        actuator:
          name: motor
          rotor_inertia: 0.0001 kg*m^2
          gear_ratio: 5
          limits: {position: [10 deg, 290 deg], speed: 300 rpm, force: 5 N*m}
        friction: {viscous: 0.01 N*m*s/rad, coulomb: 0.1 N*m}
      elbow:
        type: revolute # passive
        parent: arm
        child: rod
        at: [$arm, 0, 0]
        axis: z # of the elbow
        guess: 90 deg
    closures:
      wrist:
        type: revolute # at the end
        parent: rod
        child: plate
        at: [$rod, 0, 0]
        child_at: [$side, 0, 0]
        axis: z # of the wrist
legs:
  - repeat: leg
    angles: [90 deg, 210 deg, 330 deg]
"""


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(DescriptionError) as caught:
        nacelle.loads(text)
    return caught.value.problems
