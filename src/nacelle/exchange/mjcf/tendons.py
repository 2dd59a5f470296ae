"""Fixed tendons of MJCF: sums of joint coordinates, length = sum of coef q.

Where all joints of a sum follow one of them by linear couplings, the length is that of the leader alone,

    L = ratio (q - q_0) + L_0

and what acts along the tendon acts along the leader: with stiffness k, damping c, dry friction f and armature
a of the tendon  ratio^2 k, ratio^2 c, |ratio| f  and  ratio^2 a;  quadratic and cubic damping count with
|ratio|^3 and ratio^4. A spring that is slack between two lengths is an end stop of the leader beyond them,
and a range of the length one of the leader.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import Axis, ExchangeReport

_JOINT = int(mj.mjtWrap.mjWRAP_JOINT)
UNBOUNDED = (-math.inf, math.inf)
# Ends of a range beyond this are written where there is none, rad or m.
FAR = 1e6


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


def along_tendons(model: mj.MjModel, axes: dict[int, Axis], report: ExchangeReport) -> None:
    """Put what acts along fixed tendons on the axes of their leaders."""
    for tendon in range(model.ntendon):
        terms = fixed_terms(model, tendon)
        if terms is None:
            continue
        acts = any(
            np.any(getattr(model, f"tendon_{what}")[tendon])
            for what in ("stiffness", "damping", "dampingpoly", "frictionloss", "armature")
        )
        limited = bool(model.tendon_limited[tendon])
        name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_TENDON, tendon) or f"tendon{tendon}"
        leader = followed(model, terms) if acts or limited else None
        if leader is None or leader.joint not in axes:
            why = "its joints do not follow one of them"
            if acts:
                report.lost(f"spring, damper and friction of the tendon {name!r} left out: {why}")
            if limited:
                report.lost(f"the limit of the tendon {name!r} left out: {why}")
            continue
        tie = _Tie(model, tendon, name, leader)
        axes[leader.joint] = tie.bounded(tie.sprung(tie.damped(axes[leader.joint]), report), report)


@dataclass(frozen=True)
class _Tie:
    """A fixed tendon and the joint that it moves with."""

    model: mj.MjModel
    tendon: int
    name: str
    leader: Leader

    def at(self, length: float) -> float:
        """The coordinate of the leader at a length of the tendon."""
        joint = self.leader.joint
        drawn = float(self.model.qpos0[self.model.jnt_qposadr[joint]])
        return drawn + (length - self.leader.length) / self.leader.ratio

    def damped(self, axis: Axis) -> Axis:
        model, k, ratio = self.model, self.tendon, abs(self.leader.ratio)
        quadratic, cubic = (float(v) for v in model.tendon_dampingpoly[k])
        return replace(
            axis,
            damping=axis.damping + ratio**2 * float(model.tendon_damping[k]),
            quadratic=axis.quadratic + ratio**3 * quadratic,
            cubic=axis.cubic + ratio**4 * cubic,
            coulomb=axis.coulomb + ratio * float(model.tendon_frictionloss[k]),
            armature=axis.armature + ratio**2 * float(model.tendon_armature[k]),
        )

    def sprung(self, axis: Axis, report: ExchangeReport) -> Axis:
        """With the spring; one with a slack is an end stop beyond both ends of the slack."""
        k = self.leader.ratio**2 * float(self.model.tendon_stiffness[self.tendon])
        ends = [float(v) for v in self.model.tendon_lengthspring[self.tendon]]
        if not k:
            return axis
        if ends[0] == ends[1]:
            total = axis.stiffness + k
            rest = (axis.stiffness * axis.rest + k * self.at(ends[0])) / total
            return replace(axis, stiffness=total, rest=rest)
        lower, upper = sorted((self.at(ends[0]), self.at(ends[1])))
        free = bounded_ends(lower, upper)
        if axis.limits not in (UNBOUNDED, free) or (axis.stop and axis.limits != free):
            report.lost(
                f"the slack spring of the tendon {self.name!r} left out: its joint has other limits than "
                f"{lower:g} and {upper:g}"
            )
            return axis
        return replace(axis, limits=free, stop=axis.stop + k)

    def bounded(self, axis: Axis, report: ExchangeReport) -> Axis:
        """With the tendon's range, which is one of the joint where that has no end stops."""
        if not self.model.tendon_limited[self.tendon]:
            return axis
        lower, upper = sorted(self.at(float(end)) for end in self.model.tendon_range[self.tendon])
        if axis.stop:
            report.lost(f"the limit of the tendon {self.name!r} left out: its joint has end stops")
            return axis
        low, high = bounded_ends(lower, upper)
        return replace(axis, limits=(max(axis.limits[0], low), min(axis.limits[1], high)))


def bounded_ends(lower: float, upper: float) -> tuple[float, float]:
    """Ends of a range; those that are farther than any joint goes are none."""
    return (lower if lower > -FAR else -math.inf, upper if upper < FAR else math.inf)
