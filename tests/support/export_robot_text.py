"""A small robot with everything that a file can hold, for tests of exported formats."""

from __future__ import annotations

from nacelle.model.read import read_text
from nacelle.model.robot import Robot

# A crank, a rod and a slider whose loop a ball joint with friction closes; beside them a joint beyond its end
# stop with one that follows it, and a spring between bodies.
TEXT = """
format: nacelle/2
name: all-kinds
motion: [arm.crank, arm.other]
gravity: 1 0 -9.81 m/s^2
legs:
- name: arm
  bodies:
    crank: {mass: 2 kg, com: 50 1 2 mm, inertia: 0.01 0.02 0.02 kg*m^2}
    rod: {mass: 1 kg, com: 100 3 0 mm, inertia: 0.004 0.01 0.01 kg*m^2}
    slider: {mass: 3 kg, com: 5 0 1 mm, inertia: 0.01 0.01 0.01 kg*m^2}
    other: {mass: 0.5 kg, com: 0 0 40 mm, inertia: 0.001 0.001 0.001 kg*m^2}
    follower: {mass: 0.5 kg, com: 0 10 40 mm, inertia: 0.001 0.002 0.001 kg*m^2}
  joints:
    crank: {type: revolute, parent: base, child: crank, axis: z, guess: 70 deg, limits: [-100 deg, 200 deg],
            actuator: {name: motor, gear_ratio: 10, rotor_inertia: 1e-4 kg*m^2,
                       limits: {force: 30 N*m, speed: 5 rad/s}},
            friction: {viscous: 0.3 N*m*s/rad, coulomb: 0.2 N*m, quadratic: 0.1 N*m*s^2/rad^2}}
    pin: {type: universal, parent: crank, child: rod, at: 100 0 0 mm, axes: [z, y], guess: [-100 deg, 5 deg],
          friction: [{viscous: 0.01 N*m*s/rad}, {viscous: 0.02 N*m*s/rad}]}
    rail: {type: prismatic, parent: base, child: slider, at: 0 -30 10 mm, axis: x, guess: 220 mm,
           spring: {stiffness: 200 N/m, rest: 0.2 m}}
    other: {type: revolute, parent: base, child: other, at: 0 0 300 mm, axis: x, guess: 1.3 rad,
            limits: [-1 rad, 1 rad], stop: {stiffness: 300 N*m/rad},
            actuator: {rotor_inertia: 1e-3 kg*m^2}}
    follower: {type: revolute, parent: base, child: follower, at: 0 100 300 mm, axis: x}
  closures:
    end: {type: spherical, parent: rod, at: 200 0 0 mm, child: slider, child_at: 0 20 0 mm,
          friction: {viscous: 0.05 N*m*s/rad}}
couplings:
  belt: {joint: arm.follower, follows: arm.other, ratio: -1.5, offset: 0.1 rad}
springs:
  tendon: {between: [arm.crank, arm.other], at: [50 0 0 mm, 0 0 50 mm], stiffness: 500 N/m, length: 200 mm,
           damping: 3 N*s/m}
"""


def all_kinds() -> Robot:
    """The robot."""
    return read_text(TEXT, "all-kinds.yaml")[0]
