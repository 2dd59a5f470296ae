"""Fixed tendons of MJCF: sums of joint coordinates, length = sum of coef q."""

from __future__ import annotations

import mujoco as mj

_JOINT = int(mj.mjtWrap.mjWRAP_JOINT)


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


def followed(model: mj.MjModel, terms: dict[int, float]) -> tuple[int, float] | None:
    """The joint of a sum that all others of it follow by linear couplings, and the sum's rate over its own.

    sum c_k q_k' = (sum c_k r_k) q_leader' where q_k' = r_k q_leader'.
    """
    ratios: dict[int, tuple[int, float]] = {}
    for k in range(model.neq):
        linear = int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_JOINT) and not any(model.eq_data[k, 2:5])
        if linear and model.eq_active0[k] and int(model.eq_obj2id[k]) >= 0:
            ratios[int(model.eq_obj1id[k])] = int(model.eq_obj2id[k]), float(model.eq_data[k, 1])
    total: dict[int, float] = {}
    for start, coefficient in terms.items():
        joint, factor, seen = start, coefficient, {start}
        while joint in ratios and ratios[joint][0] not in seen:
            other, ratio = ratios[joint]
            joint, factor = other, factor * ratio
            seen.add(joint)
        total[joint] = total.get(joint, 0.0) + factor
    if len(total) != 1:
        return None
    return next(iter(total.items()))
