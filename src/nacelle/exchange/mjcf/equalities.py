"""Equalities and tendons of MJCF: closures, couplings, springs between bodies.

A `connect` is a spherical closure, a `weld` a fixed one; a `joint` equality

    q1 - q1_0 = a0 + a1 (q2 - q2_0) + a2 (q2 - q2_0)^2 + ...

is a coupling where a2 and all later coefficients vanish, and likewise for the lengths of fixed tendons; a
polynomial is refused at its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco as mj
import numpy as np

from nacelle.exchange.graph import Coupling, Link, Strut
from nacelle.exchange.mjcf.compiled import CompiledMjcf, quaternion_rotation
from nacelle.exchange.mjcf.tendons import fixed_terms
from nacelle.exchange.names import Names
from nacelle.spatial.pose import Pose

_SITE = int(mj.mjtObj.mjOBJ_SITE)


@dataclass(frozen=True, eq=False)
class Ties:
    """What ties bodies and joints together beside the tree."""

    closures: tuple[Link, ...]
    couplings: tuple[Coupling, ...]
    struts: tuple[Strut, ...]


def equalities(read: CompiledMjcf) -> Ties:
    """Read all equalities and tendons.

    Raises:
        DescriptionError: if one is no joint of rigid bodies.
    """
    reader = _Ties(read)
    for k in range(read.model.neq):
        reader.equality(k)
    for tendon in range(read.model.ntendon):
        reader.tendon(tendon)
    return Ties(tuple(reader.closures), tuple(reader.couplings), tuple(reader.struts))


class _Ties:
    def __init__(self, read: CompiledMjcf) -> None:
        self.read, self.model, self.report = read, read.model, read.report
        self.bodies, self.joints = read.bodies, read.joints
        self.names = Names()
        self.closures: list[Link] = []
        self.couplings: list[Coupling] = []
        self.struts: list[Strut] = []

    def equality(self, k: int) -> None:
        model = self.model
        kind = int(model.eq_type[k])
        given = self.read.name("EQUALITY", k)
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if not model.eq_active0[k]:
            self.report.lost(f"the equality {given or k} left out: it is not active")
        elif kind in (int(mj.mjtEq.mjEQ_CONNECT), int(mj.mjtEq.mjEQ_WELD)):
            self._closure(k, given)
        elif kind == int(mj.mjtEq.mjEQ_JOINT):
            self._coupling(k, given, {first: 1.0}, {} if second < 0 else {second: 1.0})
        elif kind == int(mj.mjtEq.mjEQ_TENDON):
            left = fixed_terms(model, first)
            right = {} if second < 0 else fixed_terms(model, second)
            if left is None or right is None:
                raise self.read.equality(k).fault(
                    "an equality holds the length of a spatial tendon, which is no joint of rigid bodies",
                    "write it as a rod between two ball joints",
                )
            self._coupling(k, given, left, right)
        else:
            self.report.lost(f"the equality {given or k} left out: it is none of rigid bodies")

    def _closure(self, k: int, given: str) -> None:
        model = self.model
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        data = np.array(model.eq_data[k])
        is_weld = int(model.eq_type[k]) == int(mj.mjtEq.mjEQ_WELD)
        if int(model.eq_objtype[k]) == _SITE:
            at, child_at = self._site(first), self._site(second)
            if not is_weld:
                at, child_at = Pose(np.eye(3), at.p), Pose(np.eye(3), child_at.p)
            first, second = int(model.site_bodyid[first]), int(model.site_bodyid[second])
        elif is_weld:
            at, child_at = Pose(quaternion_rotation(data[6:10]), data[3:6]), Pose(np.eye(3), np.zeros(3))
        else:
            at, child_at = Pose(np.eye(3), data[:3]), Pose(np.eye(3), data[3:6])
        word = "weld" if is_weld else "connect"
        parent, child = self.bodies[first], self.bodies[second]
        name = self.names.new(given or f"{parent}-to-{child}", f"{word}{k}")
        line = self.read.equality(k).line
        self.closures.append(Link(name, parent, child, at, child_at, spherical=not is_weld, line=line))

    def _site(self, site: int) -> Pose:
        return Pose(quaternion_rotation(self.model.site_quat[site]), np.array(self.model.site_pos[site]))

    def _coupling(self, k: int, given: str, left: dict[int, float], right: dict[int, float]) -> None:
        """Left - left_0 = a0 + a1 (right - right_0), solved for the first joint of the left side."""
        model = self.model
        a = [float(value) for value in model.eq_data[k, :5]]
        joint, *_ = left
        name = self.names.new(given or f"{self.joints[joint]}-coupling", f"coupling{k}")
        if any(a[2:]) and right:
            raise self.read.equality(k).fault(
                f"the joint {self.joints[joint]!r} follows another by a polynomial: couplings are linear",
                "keep its first two coefficients, or model the mechanism that makes the polynomial",
            )
        slope = a[1] if right else 0.0
        terms: dict[int, float] = {}
        for other, factor in left.items():
            terms[other] = terms.get(other, 0.0) + factor
        for other, factor in right.items():
            terms[other] = terms.get(other, 0.0) - slope * factor
        # sum terms (q - q0) = a0
        offset = a[0] + sum(factor * self.read.drawn(other) for other, factor in terms.items())
        own = terms.pop(joint)
        follows = {self.joints[other]: -factor / own for other, factor in terms.items() if factor}
        self.couplings.append(Coupling(name, self.joints[joint], follows, offset / own))

    def tendon(self, tendon: int) -> None:
        model = self.model
        name = self.read.name("TENDON", tendon) or f"tendon{tendon}"
        if fixed_terms(model, tendon) is not None:
            return
        if model.tendon_limited[tendon]:
            low, high = model.tendon_range[tendon]
            self.report.lost(f"the limit of the tendon {name!r} left out: {low:g} m to {high:g} m")
        if np.any(model.tendon_dampingpoly[tendon]):
            self.report.lost(f"higher terms of the damping of the tendon {name!r} left out")
        if model.tendon_frictionloss[tendon] or model.tendon_armature[tendon]:
            self.report.lost(f"dry friction and armature of the tendon {name!r} left out")
        stiffness, damping = float(model.tendon_stiffness[tendon]), float(model.tendon_damping[tendon])
        if not stiffness and not damping:
            return
        first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
        kinds = [int(model.wrap_type[k]) for k in range(first, first + count)]
        lower, upper = (float(v) for v in model.tendon_lengthspring[tendon])
        straight = kinds == [int(mj.mjtWrap.mjWRAP_SITE)] * 2
        if not straight or (stiffness and lower != upper):
            why = (
                f"it is slack from {lower:g} m to {upper:g} m" if straight else "it is not one straight line"
            )
            self.report.lost(f"spring and damper of the tendon {name!r} left out: {why}")
            return
        sites = [int(model.wrap_objid[k]) for k in (first, first + 1)]
        ends = [int(model.site_bodyid[site]) for site in sites]
        points = [np.array(model.site_pos[site]) for site in sites]
        self.struts.append(
            Strut(
                self.names.new(name, f"tendon{tendon}"),
                (self.bodies[ends[0]], self.bodies[ends[1]]),
                (points[0], points[1]),
                stiffness,
                lower,
                damping,
            )
        )
