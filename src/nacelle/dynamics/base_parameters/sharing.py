"""Legs that share their parameters: which parameters are one, and with which sign.

What is shared is what a caller says, or else the description's key `shared` (`nacelle.model.shared`).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nacelle.dynamics.base_parameters.mirror import mirror_signs
from nacelle.errors import ParameterError, did_you_mean
from nacelle.model.leg import Leg
from nacelle.model.linear_parameters import LinearParameters, linear_parameters
from nacelle.model.numbers.parameters import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.model.shared import WORDS, named_leg, sharing_faults, structure_difference

# Values that differ by less than this part of them are one.
_ALIKE = 1e-9


class Follower(NamedTuple):
    """A leg that has the parameters of another.

    Attributes:
        leg: the leg.
        signs: by names of parameters of the other leg, those that its own are multiplied with; 1 without one.
    """

    leg: Leg
    signs: dict[str, float]


class Sharing(NamedTuple):
    """A leg, and others that have its parameters."""

    first: Leg
    others: list[Follower]


class SharedParameter(NamedTuple):
    """A parameter that is another one, times a sign: places among the linear parameters."""

    leader: int
    sign: float


def shared_columns(robot: Robot, shared: object = None) -> dict[int, SharedParameter]:
    """The parameters that are not their own, by place among the linear parameters.

    Args:
        robot: the robot.
        shared: "legs", "mirrored" or lists of names of legs; what the description says if None; nothing if
            False or "nothing".

    Raises:
        ParameterError: if there is no such leg, or legs that are to share parameters differ.
    """
    parameters = linear_parameters(robot)
    tied: dict[int, SharedParameter] = {}
    for sharing in _sharings(robot, robot.shared if shared is None else shared):
        tied |= _tied(robot, sharing, parameters)
    return tied


def without_broken_sharing(robot: Robot) -> Robot:
    """The robot, without its description's key `shared` if its numbers do not agree with it."""
    try:
        shared_columns(robot)
    except ParameterError:
        return dataclasses.replace(robot, shared=None)
    return robot


def _sharings(robot: Robot, shared: object) -> list[Sharing]:
    """Legs that share parameters."""
    if shared is None or shared is False or shared == "nothing":
        return []
    if shared is True or shared == "legs":
        alike: dict[tuple[object, ...], list[Leg]] = {}
        for leg in robot.legs:
            alike.setdefault(_signature(robot, leg), []).append(leg)
        groups = [legs for legs in alike.values() if len(legs) > 1]
        return [Sharing(legs[0], [Follower(leg, {}) for leg in legs[1:]]) for legs in groups]
    if shared == "mirrored":
        return _mirrored(robot)
    if isinstance(shared, str) or not isinstance(shared, Iterable):
        words = (*WORDS, "nothing")
        hint = did_you_mean(shared, words) if isinstance(shared, str) else ""
        raise ParameterError(
            f"shared is {', '.join(map(repr, words))} or lists of names of legs, got {shared!r}"
            + (f"; {hint}" if hint else "")
        )
    lists = [[given] if isinstance(given, str) else list(given) for given in shared]
    faults = sharing_faults(robot, lists)
    if faults:
        raise ParameterError(
            f"{robot.name}: {faults[0].message}" + f"; {faults[0].hint}" * bool(faults[0].hint)
        )
    by_name = {leg.name: leg for leg in robot.legs}
    return [_listed([named_leg(text) for text in listed], by_name, robot) for listed in lists]


def _listed(names: Sequence[tuple[str, bool]], by_name: dict[str, Leg], robot: Robot) -> Sharing:
    first = by_name[names[0][0]]
    others = []
    for name, mirrored in names[1:]:
        leg = by_name[name]
        others.append(Follower(leg, mirror_signs(robot, first, leg) if mirrored else {}))
    return Sharing(first, others)


def _mirrored(robot: Robot) -> list[Sharing]:
    """Legs that are mirror images of one another, directly or one after the other.

    Raises:
        ParameterError: if there are none, with the reason for two legs that are built alike; or if the signs
            are not unique, as for three legs each of which is the image of both others.
    """
    legs, parameters = robot.legs, linear_parameters(robot)
    images: dict[tuple[int, int], dict[str, float]] = {}
    reasons = []
    for i, j in itertools.permutations(range(len(legs)), 2):
        if structure_difference(robot, legs[i], legs[j]):
            continue
        if i > j and (j, i) not in images:
            continue
        try:
            signs = mirror_signs(robot, legs[i], legs[j])
            _tied(robot, Sharing(legs[i], [Follower(legs[j], signs)]), parameters)
        except ParameterError as error:
            reasons.append(str(error))
            continue
        images[i, j] = {name.removeprefix(f"{legs[i].name}."): sign for name, sign in signs.items()}
    found, left = [], list(range(len(legs)))
    while left:
        start = left.pop(0)
        reached = _reached(legs, start, images)
        left = [k for k in left if k not in reached]
        first = legs[start]
        others = [
            Follower(legs[k], {f"{first.name}.{name}": sign for name, sign in signs.items()})
            for k, signs in reached.items()
            if k != start
        ]
        if others:
            found.append(Sharing(first, others))
    if not found:
        why = f": {reasons[0]}" if reasons else ""
        raise ParameterError(f"no two legs of {robot.name} are mirror images of each other{why}")
    return found


def _reached(
    legs: Sequence[Leg], start: int, images: dict[tuple[int, int], dict[str, float]]
) -> dict[int, dict[str, float]]:
    """Signs of all legs that reflections lead to from one, by names of parameters within the leg."""
    reached: dict[int, dict[str, float]] = {start: {}}
    waiting = [start]
    while waiting:
        i = waiting.pop(0)
        for (a, j), signs in images.items():
            if a != i:
                continue
            total = {name: sign * reached[i].get(name, 1.0) for name, sign in signs.items()}
            if j not in reached:
                reached[j] = total
                waiting.append(j)
            elif any(sign != reached[j].get(name, 1.0) for name, sign in total.items()):
                raise ParameterError(
                    f"whether {legs[j].name} is the mirror image of {legs[start].name} or has the same "
                    f"parameters is ambiguous, since both are mirror images of others: list the legs, as in "
                    f"[[{legs[start].name}, mirror {legs[j].name}]]"
                )
    return reached


def _signature(robot: Robot, leg: Leg) -> tuple[object, ...]:
    """What legs must have in common to share parameters: bodies with their inertia, kinds of joints."""
    inertia = tuple(tuple(float(f"{v:.9g}") for v in robot.bodies[body].inertia) for body in leg.bodies)
    names = tuple(robot.bodies[body].name.removeprefix(leg.name) for body in leg.bodies)
    kinds = tuple(robot.joints[joint].kind for joint in (*leg.joints, *leg.closures))
    return names, inertia, kinds


def _tied(robot: Robot, sharing: Sharing, parameters: LinearParameters) -> dict[int, SharedParameter]:
    """The parameters of legs that are those of the first one.

    Friction, rotors and springs whose values differ in one of the legs stay apart.
    """
    names, values = parameters.names, parameters.values
    place = {name: k for k, name in enumerate(names)}
    first = sharing.first
    bodies = {robot.bodies[body].name for body in first.bodies}
    tied: dict[int, SharedParameter] = {}
    for name in [name for name in names if name.startswith(f"{first.name}.")]:
        owner, _, part = name.rpartition(".")
        own = place[name]
        followers = []
        for leg, signs in sharing.others:
            other = place.get(leg.name + name.removeprefix(first.name))
            if other is None:
                raise ParameterError(
                    f"{leg.name} has no {name.removeprefix(first.name)[1:]}, as {first.name} has"
                )
            followers.append((other, signs.get(name, 1.0)))
        differ = [other for other, sign in followers if not _same(values[other], sign * values[own])]
        if differ and owner in bodies and part in INERTIA_NAMES:
            mirrored = dict(followers)[differ[0]] < 0.0
            raise ParameterError(
                f"{names[differ[0]]} is {values[differ[0]]:g}, {name} is {values[own]:g}: legs that share "
                f"parameters have {'opposite ones, as mirror images' if mirrored else 'the same'}"
            )
        if not differ:
            tied |= {other: SharedParameter(own, sign) for other, sign in followers}
    return tied


def _same(value: float, expected: float) -> bool:
    """Whether two values are one but for rounding."""
    return abs(value - expected) <= _ALIKE * max(abs(value), abs(expected))
