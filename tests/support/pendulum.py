"""A pendulum with a telescope above it, whose balances are known by hand."""

from __future__ import annotations

MASS, CENTRE, HEIGHT, ARM, G = 2.0, 0.3, 0.4, 0.25, 9.81

PENDULUM = """\
format: nacelle/1
name: pendulum
title: An arm that a motor turns in gravity, and a telescope from a point above its pivot
motion: [rz]
gravity: 0 -9.81 0 m/s^2
reference: {rotation: {rpy: 0 0 20 deg}}
nacelle: {name: arm, mass: 2 kg, com: 300 0 0 mm, inertia: 0.001 0.02 0.02 kg*m^2}
legs:
  - name: pivot
    bodies: {hub: {}}
    joints:
      turn: {type: revolute, parent: base, child: hub, axis: z, guess: 20 deg, actuator: {name: motor}}
    closures:
      grip: {type: fixed, parent: hub, child: arm}
  - name: telescope
    bodies: {tube: {}, rod: {}}
    joints:
      swing: {type: revolute, parent: base, child: tube, at: 0 400 0 mm, axis: z, guess: -50 deg}
      slide: {type: prismatic, parent: tube, child: rod, axis: x, guess: 350 mm}
    closures:
      pin: {type: revolute, parent: rod, child: arm, child_at: 250 0 0 mm, axis: z}
"""
