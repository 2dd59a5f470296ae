"""Registration of the compact form: which physics functions it writes, and for which robots.

A function that is written by the tree has its compact form here, with the same arguments and results; callers
ask for it by `compact(function)` (`nacelle.spatial.physics`), and every program written in it is checked
against the tree when it is made (`nacelle.compile.check`).
"""

from __future__ import annotations

from typing import Any

from nacelle.compact import legs as factors
from nacelle.compact import models, regressor
from nacelle.compact.actuators import actuator_jacobian
from nacelle.compact.closure_step import closure_step, is_step_determined
from nacelle.compact.configured import ALL_JOINTS, FormOptions, configure_for_rates
from nacelle.compact.legs import Legs, eliminate_legs
from nacelle.compact.plan import plan_of, reason_for_tree
from nacelle.dynamics import reference
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.configuration import Configuration, chart_basis
from nacelle.kinematics.margins import margins
from nacelle.kinematics.solve.newton_steps import coordinate_steps, loop_step, quaternion_step
from nacelle.model.robot import Robot
from nacelle.spatial.physics import register_compact_form
from nacelle.spatial.scalar import Array, Scalar


def _reason(robot: Robot, *_: Any) -> str:
    return reason_for_tree(robot)


def _reason_with_lines(robot: Robot, *_: Any) -> str:
    return reason_for_tree(robot, direct=True)


for _name in ("inverse", "forward", "inertia", "bias", "gravity", "energies"):
    register_compact_form(getattr(reference, _name), _reason_with_lines)(getattr(models, _name))
for _name in ("regressor", "reference_regressor"):
    register_compact_form(getattr(reference, _name), _reason)(getattr(regressor, _name))


def _eliminated_legs(now: Configuration, options: FormOptions = ALL_JOINTS) -> Legs:
    """The legs at a configuration, their rates eliminated."""
    plan = plan_of(now.robot, options)
    return eliminate_legs(plan, configure_for_rates(plan.parts, now))


def _reason_for_margins(now: Configuration) -> str:
    return "it is in closed form" if now.mechanism.has_closed_form else reason_for_tree(now.robot)


@register_compact_form(margins, _reason_for_margins)
def _margins(now: Configuration) -> Array:
    """Margins of the legs from the factors, for robots with passive coordinates."""
    return factors.margins(_eliminated_legs(now))


def _reason_for_distances(now: Configuration) -> str:
    reason = reason_for_tree(now.robot)
    return reason or ("" if plan_of(now.robot).is_complete else "rows that it leaves out may vanish")


@register_compact_form(kinematic_model.iterated_distances, _reason_for_distances)
def _distances(now: Configuration) -> list[Scalar]:
    """Squares that vanish at serial singularities, from the factors."""
    return factors.iterated_distances(_eliminated_legs(now))


@register_compact_form(kinematic_model.jacobian_at, lambda now: _reason_with_lines(now.robot))
def _jacobian(now: Configuration) -> dict[str, Array]:
    """J_r^-1 (actuators, n) from the factors, with their pivot figure, and margins."""
    legs = _eliminated_legs(now, FormOptions(direct=True))
    return {"J": actuator_jacobian(legs), **models.guard_outputs(legs)}


def _reason_for_step(now: Configuration, x: Array, y: Array) -> str:
    reason = reason_for_tree(now.robot)
    if reason:
        return reason
    count = chart_basis(now.mechanism, x, y[: now.mechanism.dependent_count]).shape[1]
    return "" if is_step_determined(plan_of(now.robot), count) else "legs in closed form leave rows over"


@register_compact_form(loop_step, _reason_for_step)
def _loop_step(
    now: Configuration, x: Array, y: Array, *, platform: Array | None = None
) -> tuple[list[Scalar], list[Scalar]]:
    """Newton's step of the passive coordinates, and what is open, from the factors."""
    robot, mechanism = now.robot, now.mechanism
    basis = chart_basis(mechanism, x, y[: mechanism.dependent_count])
    step = closure_step(_eliminated_legs(now), basis, platform)
    dy = step.dependent.tolist()[: mechanism.dependent_count]
    start = mechanism.dependent_count
    for j in mechanism.iterated_joints:
        q = y[start : start + robot.joints[j].nq]
        if j in step.rods:
            dy += list(quaternion_step(q, step.rods[j], before=True))
        else:
            dy += coordinate_steps(robot, (j,), q, step.rates)
        start += len(q)
    return dy, step.open
