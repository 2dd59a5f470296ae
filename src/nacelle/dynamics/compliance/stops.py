"""End stops: compliant contacts at the limits of a joint's coordinate.

With q the coordinate, rad or m, between the limits lower and upper, s = q - q held within the limits is how
far it is beyond one, signed, and zero within. The motion has to overcome

    F = k s + d,     d = c q' held within -k |s| and k |s|

k stiffness and c damping: a spring, and a damper whose force is at most the spring's. F is continuous in q
and q' everywhere, so that integrators need no event; beyond the first moments of a contact it is k s + c q'.
It never pulls the joint to its limit, and d only takes power: k s^2 / 2 is the energy stored.

An angle is the one nearest to the middle of the limits, or counts its turns (`Configuration.coordinate`).
"""

from __future__ import annotations

import math

from nacelle.model.joint import Joint, Stop
from nacelle.spatial.scalar import Scalar, maximum, minimum


def stop_of(joint: Joint, number: int) -> Stop | None:
    """The end stop of an axis of a joint."""
    return joint.stops[number] if joint.stops else None


def beyond(joint: Joint, number: int, q: Scalar) -> Scalar:
    """How far a coordinate (rad or m) of an axis is beyond its limits, signed; 0 within them.

    Args:
        joint: the joint, with limits of floats.
        number: of the axis.
        q: the coordinate.
    """
    lower, upper = joint.limits[number]
    held = q
    if math.isfinite(upper):
        held = minimum(held, upper)
    if math.isfinite(lower):
        held = maximum(held, lower)
    return q - held


def stop_energy(joint: Joint, number: int, q: Scalar) -> Scalar:
    """Energy k s^2 / 2 (J) that an end stop stores at a coordinate; 0 without one."""
    stop = stop_of(joint, number)
    if stop is None:
        return 0.0
    s = beyond(joint, number, q)
    return 0.5 * stop.spring_force(s) * s


def stop_effort(joint: Joint, number: int, q: Scalar, rate: Scalar, *, spring: bool, damper: bool) -> Scalar:
    """What the motion has to overcome in an end stop, N or N m; 0 without one.

    Args:
        joint: the joint.
        number: of the axis.
        q: its coordinate, rad or m.
        rate: its rate, rad/s or m/s.
        spring: whether k s counts.
        damper: whether d counts.
    """
    stop = stop_of(joint, number)
    if stop is None:
        return 0.0
    s = beyond(joint, number, q)
    total: Scalar = stop.spring_force(s) if spring else 0.0
    return total + stop.damper_force(s, rate) if damper else total
