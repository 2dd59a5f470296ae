"""Forms that are out of use for a robot, kept in the user's cache with the reason.

A form whose program has disagreed with the physics, or could not be traced, is refused for all programs of
the robot (`nacelle.spatial.physics`), in later processes too, until the package changes.
"""

from __future__ import annotations

import json
from functools import lru_cache

from nacelle.compile.packed import package_hash
from nacelle.emit.registry import warn_once
from nacelle.emit.store import Store
from nacelle.model.robot import Robot
from nacelle.spatial import physics
from nacelle.spatial.physics import Form, refuse_form


def record_refusal(robot: Robot, also: tuple[Robot, ...], form: Form, reason: str) -> None:
    """Take a form out of use for a robot, and for others that stand for it in programs."""
    for each in (robot, *also):
        refuse_form(each.hash, form, reason)
        Store().put(_key(each.hash, form), reason.encode())


def refusal_reason(robot: Robot) -> str:
    """Why the compact form of a robot is out of use, found now or earlier; empty where it is in use."""
    _load_refusals(robot.hash, str(Store().folder))
    reason = physics.refusal_reason(robot.hash)
    if reason:
        warn_once(f"{robot.name}: {reason}; another form is taken")
    return reason


@lru_cache(maxsize=256)
def _load_refusals(robot_hash: str, folder: str) -> None:
    """Take out of use what was refused by an earlier process, once for a folder of the cache."""
    del folder
    for form in (Form.COMPACT, Form.JOINTS):
        payload = Store().get(_key(robot_hash, form))
        if payload is not None:
            refuse_form(robot_hash, form, payload.decode(errors="replace"))


def _key(robot_hash: str, form: Form) -> str:
    return json.dumps(["refused form", robot_hash, form.name, package_hash()])
