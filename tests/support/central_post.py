"""A platform on a fixed post with a ball at its top, tilted by three struts: a leg without freedoms."""

from __future__ import annotations

POST = """\
format: nacelle/1
name: post
motion: [rx, ry, rz]
gravity: 0 0 -9.81 m/s^2
reference: {position: 0 0 500 mm}
nacelle: {name: plate, mass: 2 kg, inertia: 0.02 0.02 0.04 kg*m^2}
templates:
  strut:
    parameters: {A: null, B: null}
    bodies:
      cross: {mass: 0.1 kg, inertia: 0.0001 0.0001 0.0001 kg*m^2}
      tube: {mass: 1 kg, com: 0 0 150 mm, inertia: 0.01 0.01 0.001 kg*m^2}
      rod: {mass: 0.5 kg, com: 0 0 -100 mm, inertia: 0.005 0.005 0.0005 kg*m^2}
    joints:
      pan: {type: revolute, parent: base, child: cross, at: $A, axis: x}
      tilt: {type: revolute, parent: cross, child: tube, axis: y}
      slide: {type: prismatic, parent: tube, child: rod, axis: z, guess: 500 mm, actuator: {}}
    closures:
      end: {type: spherical, parent: rod, child: plate, child_at: $B}
legs:
  - repeat: strut
    table:
      - {name: a, A: 300 0 0 mm, B: 150 0 50 mm}
      - {name: b, A: -150 260 0 mm, B: -75 130 50 mm}
      - {name: c, A: -150 -260 0 mm, B: -75 -150 50 mm}
  - name: mast
    bodies:
      column: {mass: 5 kg, com: 0 0 250 mm, inertia: 0.1 0.1 0.01 kg*m^2}
    joints:
      foot: {type: fixed, parent: base, child: column}
    closures:
      head: {type: spherical, parent: column, at: 0 0 500 mm, child: plate}
"""
