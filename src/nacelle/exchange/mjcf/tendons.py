"""Fixed tendons of MJCF: sums of joint coordinates, length = sum of coef q.

Where all joints of a sum follow one of them by linear couplings, the length is that of the leader alone,

    L = ratio (q - q_0) + L_0

and what acts along the tendon acts along the leader: with stiffness k, damping c, dry friction f and armature
a of the tendon  ratio^2 k, ratio^2 c, |ratio| f  and  ratio^2 a.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco as mj

from nacelle.exchange.graph import Axis, Report

_JOINT = int(mj.mjtWrap.mjWRAP_JOINT)


@dataclass(frozen=True)
class Leader:
    """The joint that a fixed tendon moves with.

    Attributes:
        joint: its number.
        ratio: the tendon's rate over the joint's.
        length: of the tendon where the joint is drawn.
    """

    joint: int
    ratio: float
    length: float


def fixed_terms(model: mj.MjModel, tendon: int) -> dict[int, float] | None:
    """Joints and coefficients of a fixed tendon; None of a spatial one."""
    first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    if any(int(model.wrap_type[k]) != _JOINT for k in range(first, first + count)):
        return None
    terms: dict[int, float] = {}
    for k in range(first, first + count):
        joint = int(model.wrap_objid[k])
        terms[joint] = terms.get(joint, 0.0) + float(model.wrap_prm[k])
    return terms


def followed(model: mj.MjModel, terms: dict[int, float]) -> Leader | None:
    """The joint of a sum that all others of it follow by linear couplings; None if there is none."""
    couplings: dict[int, tuple[int, float, float]] = {}
    for k in range(model.neq):
        linear = int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_JOINT) and not any(model.eq_data[k, 2:5])
        if linear and model.eq_active0[k] and int(model.eq_obj2id[k]) >= 0:
            offset, ratio = (float(v) for v in model.eq_data[k, :2])
            couplings[int(model.eq_obj1id[k])] = int(model.eq_obj2id[k]), ratio, offset
    total: dict[int, float] = {}
    length = 0.0
    for start, coefficient in terms.items():
        joint, factor, seen = start, coefficient, {start}
        length += coefficient * float(model.qpos0[model.jnt_qposadr[start]])
        while joint in couplings and couplings[joint][0] not in seen:
            other, ratio, offset = couplings[joint]
            length += factor * offset
            joint, factor = other, factor * ratio
            seen.add(joint)
        total[joint] = total.get(joint, 0.0) + factor
    if len(total) != 1:
        return None
    ((joint, ratio),) = total.items()
    return Leader(joint, ratio, length) if ratio else None


def along_tendons(model: mj.MjModel, axes: dict[int, Axis], report: Report) -> None:
    """Put what acts along fixed tendons on the axes of their leaders."""
    for tendon in range(model.ntendon):
        terms = fixed_terms(model, tendon)
        numbers = [
            float(getattr(model, f"tendon_{what}")[tendon])
            for what in ("stiffness", "damping", "frictionloss", "armature")
        ]
        if terms is None or not any(numbers):
            continue
        name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_TENDON, tendon) or f"tendon{tendon}"
        leader = followed(model, terms)
        lower, upper = (float(v) for v in model.tendon_lengthspring[tendon])
        slack = numbers[0] and lower != upper
        if leader is None or slack:
            why = "it has a slack" if slack else "its joints do not follow one of them"
            report.lost(f"spring, damper and friction of the tendon {name!r} left out: {why}")
            continue
        drawn = float(model.qpos0[model.jnt_qposadr[leader.joint]])
        rest = drawn + (lower - leader.length) / leader.ratio
        axes[leader.joint] = _with(axes[leader.joint], leader.ratio, numbers, rest)


def _with(axis: Axis, ratio: float, numbers: list[float], rest: float) -> Axis:
    stiffness, damping, friction, armature = numbers
    k = ratio**2 * stiffness
    total = axis.stiffness + k
    return replace(
        axis,
        stiffness=total,
        rest=(axis.stiffness * axis.rest + k * rest) / total if k else axis.rest,
        damping=axis.damping + ratio**2 * damping,
        coulomb=axis.coulomb + abs(ratio) * friction,
        armature=axis.armature + ratio**2 * armature,
    )
