"""What acts along the hinges and slides of an MJCF file: friction, springs, rotors, limits, actuators.

An actuator with the gain of a motor gives the force gear times control; one with a law of its own
(position, velocity, general) is a drive whose law belongs to a controller and is left out. Inertia at the
joint (`armature`) becomes that of a rotor behind the gear; inertia and damping of the actuator itself count
with the square of the gear, its quadratic and cubic damping with rates of the joint or tendon that it
pulls. A tendon that is a sum of joints is driven through the one that the others follow. A negative gear
stays negative: forces are those at the joint, along its axis.
"""

from __future__ import annotations

from dataclasses import replace

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import Axis, Motor
from nacelle.exchange.mjcf.compiled import CompiledMjcf
from nacelle.exchange.mjcf.tendons import UNBOUNDED, along_tendons, bounded_ends, fixed_terms, followed
from nacelle.exchange.names import Names

_HINGE, _SLIDE = int(mj.mjtJoint.mjJNT_HINGE), int(mj.mjtJoint.mjJNT_SLIDE)


def axes_by_joint(read: CompiledMjcf) -> dict[int, Axis]:
    """The axes of all hinges and slides by the numbers of their joints; the values are not set."""
    model, report = read.model, read.report
    axes = {
        joint: _axis(model, joint)
        for joint in range(model.njnt)
        if int(model.jnt_type[joint]) in (_HINGE, _SLIDE)
    }
    along_tendons(model, axes, report)
    given = Names()
    for actuator in range(model.nu):
        name = read.name("ACTUATOR", actuator) or f"actuator{actuator}"
        target = _driven(model, actuator)
        if target is None or target[0] not in axes:
            report.lost(f"the actuator {name!r} left out: it drives no single hinge or slide")
            continue
        joint, gear, ratio = target
        if axes[joint].motor is not None:
            driven = read.joints[joint]
            report.lost(f"the actuator {name!r} left out: another one drives the joint {driven!r}")
            continue
        made = given.new(name, f"actuator{actuator}")
        quadratic, cubic = (float(c) for c in model.actuator_dampingpoly[actuator])
        axes[joint] = replace(
            axes[joint],
            motor=_motor(read, actuator, made, (joint, gear)),
            damping=axes[joint].damping + gear**2 * float(model.actuator_damping[actuator]),
            quadratic=axes[joint].quadratic + gear**2 * abs(ratio) * quadratic,
            cubic=axes[joint].cubic + gear**2 * ratio**2 * cubic,
            armature=axes[joint].armature + gear**2 * float(model.actuator_armature[actuator]),
        )
    return axes


def _axis(model: mj.MjModel, joint: int) -> Axis:
    v, q = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
    limits = UNBOUNDED
    if model.jnt_limited[joint]:
        limits = bounded_ends(float(model.jnt_range[joint, 0]), float(model.jnt_range[joint, 1]))
    quadratic, cubic = (float(c) for c in model.dof_dampingpoly[v])
    return Axis(
        direction=np.array(model.jnt_axis[joint]),
        turns=int(model.jnt_type[joint]) == _HINGE,
        damping=float(model.dof_damping[v]),
        coulomb=float(model.dof_frictionloss[v]),
        quadratic=quadratic,
        cubic=cubic,
        armature=float(model.dof_armature[v]),
        stiffness=float(model.jnt_stiffness[joint]),
        rest=float(model.qpos_spring[q]),
        limits=limits,
    )


def _driven(model: mj.MjModel, actuator: int) -> tuple[int, float, float] | None:
    """The joint that an actuator drives, the force at it for one of the actuator, the rate of its target."""
    kind, target = int(model.actuator_trntype[actuator]), int(model.actuator_trnid[actuator, 0])
    gear = float(model.actuator_gear[actuator, 0])
    if kind in (int(mj.mjtTrn.mjTRN_JOINT), int(mj.mjtTrn.mjTRN_JOINTINPARENT)):
        return target, gear, 1.0
    if kind != int(mj.mjtTrn.mjTRN_TENDON):
        return None
    terms = fixed_terms(model, target)
    leader = None if terms is None else followed(model, terms)
    return None if leader is None else (leader.joint, gear * leader.ratio, leader.ratio)


def _motor(read: CompiledMjcf, actuator: int, name: str, target: tuple[int, float]) -> Motor:
    model, report = read.model, read.report
    joint, gear = target
    plain = (
        int(model.actuator_gaintype[actuator]) == int(mj.mjtGain.mjGAIN_FIXED)
        and int(model.actuator_biastype[actuator]) == int(mj.mjtBias.mjBIAS_NONE)
        and int(model.actuator_dyntype[actuator]) == int(mj.mjtDyn.mjDYN_NONE)
    )
    if not plain:
        report.lost(
            f"the law of the actuator {name!r} left out: it drives its joint with the force given to it"
        )
    ends: list[tuple[float, float]] = []
    if model.actuator_forcelimited[actuator]:
        ends.append(tuple(gear * model.actuator_forcerange[actuator]))
    if plain and model.actuator_ctrllimited[actuator]:
        gain = float(model.actuator_gainprm[actuator, 0])
        with np.errstate(over="ignore"):  # beyond all numbers: no limit
            ends.append(tuple(gear * gain * model.actuator_ctrlrange[actuator]))
    if model.jnt_actfrclimited[joint]:
        ends.append(tuple(model.jnt_actfrcrange[joint]))
    for lower, upper in ends:
        if not np.isclose(-lower, upper):
            report.lost(f"the force of the actuator {name!r} is limited alike in both directions")
    force = min((max(abs(lower), abs(upper)) for lower, upper in ends), default=np.inf)
    return Motor(name, gear or 1.0, float(force))
