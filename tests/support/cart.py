"""A cart on a rail under one motor: the mass of the literature's examples of friction."""

from __future__ import annotations

from functools import cache

import nacelle

MASS = 1.0

_CART = """\
format: nacelle/1
name: cart
motion: [x]
gravity: 0 0 0 m/s^2
platform: {name: cart, mass: 1 kg}
legs:
  - name: rail
    bodies: {slider: {}}
    joints:
      slide: {type: prismatic, parent: base, child: slider, axis: x, actuator: {name: motor}}
    closures:
      grip: {type: fixed, parent: slider, child: cart}
"""


@cache
def cart() -> nacelle.Robot:
    """The cart, without friction."""
    return nacelle.loads(_CART)
