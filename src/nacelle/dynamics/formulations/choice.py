"""The formulations side by side: one equation, said in several coordinates."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from nacelle.dynamics.demand import Settings
from nacelle.dynamics.state import State
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.spatial.scalar import Array

SOURCES = {
    "tree": "projection of the equivalent tree, [KI2007] (1)",
    "bodies": "body by body, [CB1997]",
    "legs": "legs and platform, [KI2007] (20)-(22)",
    "jourdain": "Jourdain's principle with recursion, [AGH2005]",
    "elements": "kinematic elements, [OAM]",
}
NAMES = tuple(SOURCES)


@cache
def _module(name: str) -> Any:
    if name not in SOURCES:
        raise KinematicsError(
            f"no formulation is called {name!r}; {did_you_mean(name, ('auto', 'compact', *NAMES))}"
        )
    home = "elements.balance" if name == "elements" else name
    return importlib.import_module(f"nacelle.dynamics.formulations.{home}")


def why_not(name: str, mechanism: Mechanism) -> str:
    """Why a formulation does not serve a robot, in a sentence; empty if it does."""
    applies: Callable[[Mechanism], str] | None = getattr(_module(name), "applies", None)
    return "" if applies is None else applies(mechanism)


def generalised_force(name: str, state: State, a: Array, settings: Settings) -> Array:
    """Force (n,) along the reduced twist that a motion asks for, by a formulation.

    Raises:
        KinematicsError: if the formulation does not serve the robot.
    """
    reason = why_not(name, state.mechanism)
    if reason:
        raise KinematicsError(f"the formulation {name!r} does not serve {state.robot.name}: {reason}")
    force: Array = _module(name).generalised_force(state, a, settings)
    return force
