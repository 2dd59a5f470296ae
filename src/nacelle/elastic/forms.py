"""The forms in which a robot with flexible links is simulated: where things are in its state, its programs.

    condensed   links that carry no moments taken out: no closure, the smallest programs (`condensed`)
    general     the tree of frames with its closures, one program ([BK2013])
    assembled   the same for large robots: M, forces and closures are programs, LAPACK solves them

A state is s = [p; y], positions and independent rates, actuators' rates first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from nacelle.dynamics.physics import Physics
from nacelle.elastic.condensed.models import (
    condensed_energies,
    condensed_flow,
    condensed_forward,
    condensed_inverse,
    condensed_step,
    link_lengths,
)
from nacelle.elastic.condensed.reduced import (
    ReducedCoordinates,
    condensed_structure,
    normalise_positions,
    reduced_coordinates,
)
from nacelle.elastic.dynamics import positions
from nacelle.elastic.dynamics.models import (
    elastic_closing_step,
    elastic_closure_gaps,
    elastic_energies,
    elastic_flow,
    elastic_forward,
    elastic_inverse,
    elastic_step,
    elastic_terms,
)
from nacelle.elastic.dynamics.plan import RatePlan, choose_independent_rates, undeformed_positions
from nacelle.elastic.flexible_tree import FlexibleTree, cache_by_numbers
from nacelle.elastic.frames import frames_at
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.native import compile_native
from nacelle.model.robot import Robot
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

FORMS = ("condensed", "general", "assembled")
# Dependent rates beyond which one program with all its solves takes too long to compile.
_MAX_DEPENDENT_RATES = 12


class RigidConfiguration(NamedTuple):
    """The rigid robot in a configuration: platform, joints of its tree (nq,), all its rates u."""

    platform: Pose
    q_tree: Array
    u: Array


class Programs(NamedTuple):
    """Physics functions of a form: inverse and forward model, energies, flow."""

    inverse: Callable[..., Any]
    forward: Callable[..., Any]
    energies: Callable[..., Any]
    flow: Callable[..., Any]


@dataclass(frozen=True, eq=False)
class ElasticForm(ABC):
    """A form of a robot, and what a plant needs of it; its models are one program each.

    Attributes:
        robot: the robot.
        frames: the tree of frames that the first numbers in p place.
        size: length of p.
        n: length of y.
    """

    name: ClassVar[str]
    programs: ClassVar[Programs]
    robot: Robot
    frames: FlexibleTree
    size: int
    n: int

    def _position_index(self, joint: int) -> int:
        """The place in p of the first coordinate of a joint of the frames' robot."""
        return int(positions.platform_size(self.frames) + self.frames.robot.q_slices[joint].start)

    @cached_property
    def encoders(self) -> list[int]:
        """Places in p of the actuated joints' coordinates."""
        return [self._position_index(actuator.joint) for actuator in self.frames.robot.actuators]

    def joint(self, p: Array, name: str) -> Array:
        """Coordinate (...) of a joint of the platform at positions (..., size)."""
        return np.asarray(p[..., self._position_index(self.frames.robot.joint(name))])

    @abstractmethod
    def start(self, rigid: RigidConfiguration) -> tuple[Array, Array]:
        """Positions p (size,) and independent rates y (n,) of the undeformed robot."""

    @abstractmethod
    def close_loops(self, p: Array) -> Array:
        """Positions p (size,) whose dependent entries close all loops."""

    @abstractmethod
    def step_positions(self, p: Array, step: Array) -> Array:
        """Positions after a small step (n,) of the independent rates."""

    @abstractmethod
    def elastic(self, p: Array) -> Array:
        """Elastic coordinates (..., ne) at positions (..., size)."""

    def inverse(self, p: Array, y: Array, a: Array, physics: Physics) -> dict[str, Array]:
        """`force` (..., na), N or N m, at accelerations a (..., na), and `acceleration` of other rates."""
        result: dict[str, Array] = compile_native(self.programs.inverse, self.robot, physics=physics)(p, y, a)
        return result

    def forward(self, p: Array, y: Array, tau: Array, physics: Physics) -> Array:
        """Accelerations (..., n) of y at forces of the actuators."""
        # A program with one result gives it without its name.
        return np.asarray(compile_native(self.programs.forward, self.robot, physics=physics)(p, y, tau))

    def energies(self, p: Array, y: Array, physics: Physics) -> dict[str, Array]:
        """`kinetic` and `potential` energy (...), J, `dissipation`, W, and `rates` of platform and joints."""
        result: dict[str, Array] = compile_native(self.programs.energies, self.robot, physics=physics)(p, y)
        return result


def form_of(robot: Robot, name: str | None = None) -> ElasticForm:
    """The form of a robot: the smallest one that supports it, or the one named.

    Raises:
        KinematicsError: if no form has that name, or it does not support the robot.
    """
    if name is not None and name not in FORMS:
        raise KinematicsError(f"no form is called {name!r}; {did_you_mean(name, FORMS)}")
    return _form(robot, name)


@cache_by_numbers
def _form(robot: Robot, name: str | None) -> ElasticForm:
    if name == "condensed" or (name is None and not isinstance(condensed_structure(robot), str)):
        reduced = reduced_coordinates(robot)
        return Condensed(robot, reduced.structure.subchains, reduced.size, reduced.n, reduced)
    plan = choose_independent_rates(robot)
    small = name == "general" or (name is None and len(plan.dependent) <= _MAX_DEPENDENT_RATES)
    kind = General if small else Assembled
    return kind(robot, plan.elastic_tree, positions.position_count(plan.elastic_tree), plan.n, plan)


@dataclass(frozen=True, eq=False)
class General(ElasticForm):
    """The tree of frames with its closures, one program."""

    name = "general"
    programs = Programs(elastic_inverse, elastic_forward, elastic_energies, elastic_flow)
    plan: RatePlan

    def start(self, rigid: RigidConfiguration) -> tuple[Array, Array]:
        """Positions p (size,) and independent rates y (n,) of the undeformed robot."""
        y = [rigid.u[index] if index < len(rigid.u) else 0.0 for index in self.plan.independent]
        return undeformed_positions(self.plan.elastic_tree, rigid.platform, rigid.q_tree), np.array(y)

    def close_loops(self, p: Array) -> Array:
        """Positions p (size,) whose dependent entries close all loops."""
        for _ in range(50):
            p, size = self._closing_step(p)
            if size < 1e-13:
                return p
        if size < 1e-10:
            return p
        raise KinematicsError(f"the loops of {self.robot.name} do not close at this deformation")

    def step_positions(self, p: Array, step: Array) -> Array:
        """Positions after a small step (n,) of the independent rates."""
        result = compile_native(elastic_step, self.robot)(p, step)
        return self.close_loops(np.asarray(result))

    def _closing_step(self, p: Array) -> tuple[Array, float]:
        result = compile_native(elastic_closing_step, self.robot)(p)
        return np.asarray(result["p"]), float(np.max(np.abs(result["step"]), initial=0.0))

    def elastic(self, p: Array) -> Array:
        """Elastic coordinates (..., ne) at positions (..., size)."""
        return np.asarray(p[..., positions.platform_size(self.frames) + self.robot.nq :])


@dataclass(frozen=True, eq=False)
class Assembled(General):
    """The tree of frames with its closures: programs for the terms, LAPACK for the solves."""

    name = "assembled"

    def _closing_step(self, p: Array) -> tuple[Array, float]:
        result = native_unminimised(elastic_closure_gaps, self.robot)(p)
        plan = self.plan
        step = np.zeros(plan.elastic_tree.embedding.shape[1])
        step[list(plan.dependent)] = np.linalg.solve(result["A"][:, list(plan.dependent)], -result["gap"])
        return np.asarray(positions.step_positions(plan.elastic_tree, p, step)), float(np.max(np.abs(step)))

    def step_positions(self, p: Array, step: Array) -> Array:
        """Positions after a small step (n,) of the independent rates."""
        plan = self.plan
        A = np.asarray(native_unminimised(elastic_closure_gaps, self.robot)(p)["A"])
        r = np.zeros(plan.elastic_tree.embedding.shape[1])
        r[list(plan.independent)] = step
        r[list(plan.dependent)] = -np.linalg.solve(
            A[:, list(plan.dependent)], A[:, list(plan.independent)] @ step
        )
        return self.close_loops(np.asarray(positions.step_positions(plan.elastic_tree, p, r)))

    def solve_terms(
        self, p: Array, y: Array, physics: Physics
    ) -> tuple[dict[str, Array], Array, Array, Array]:
        """Terms, J (..., r, n), all rates and their bias (..., r) at positions and independent rates."""
        plan = self.plan
        D, I = list(plan.dependent), list(plan.independent)
        size = plan.elastic_tree.embedding.shape[1]
        A = np.asarray(native_unminimised(elastic_closure_gaps, self.robot)(p)["A"])
        J = np.zeros((*p.shape[:-1], size, plan.n))
        J[..., I, range(plan.n)] = 1.0
        J[..., D, :] = -np.linalg.solve(A[..., :, D], A[..., :, I])
        r = np.einsum("...ij,...j->...i", J, y)
        terms: dict[str, Array] = native_unminimised(elastic_terms, self.robot, physics=physics)(p, r)
        bias = np.zeros_like(r)
        bias[..., D] = -np.linalg.solve(A[..., :, D], np.asarray(terms["second"])[..., None])[..., 0]
        return terms, J, r, bias

    def _reduced_equations(self, p: Array, y: Array, physics: Physics) -> tuple[Array, Array]:
        terms, J, _, bias = self.solve_terms(p, y, physics)
        MJ = np.asarray(terms["M"]) @ J
        M = np.swapaxes(J, -1, -2) @ MJ
        h = np.asarray(terms["h"]) + np.einsum("...ij,...j->...i", np.asarray(terms["M"]), bias)
        return M, np.einsum("...ij,...i->...j", J, h)

    def inverse(self, p: Array, y: Array, a: Array, physics: Physics) -> dict[str, Array]:
        """`force` (..., na), N or N m, at accelerations a (..., na), and `acceleration` of other rates."""
        M, c = self._reduced_equations(p, y, physics)
        k = self.plan.na
        right = -(np.einsum("...ij,...j->...i", M[..., k:, :k], a) + c[..., k:])
        others = np.linalg.solve(M[..., k:, k:], right[..., None])[..., 0]
        all_rates = np.concatenate([np.broadcast_to(a, (*others.shape[:-1], k)), others], axis=-1)
        force = np.einsum("...ij,...j->...i", M[..., :k, :], all_rates) + c[..., :k]
        return {"force": force, "acceleration": others}

    def forward(self, p: Array, y: Array, tau: Array, physics: Physics) -> Array:
        """Accelerations (..., n) of y at forces of the actuators."""
        M, c = self._reduced_equations(p, y, physics)
        right = -c
        right[..., : self.plan.na] += tau
        return np.asarray(np.linalg.solve(M, right[..., None])[..., 0])

    def energies(self, p: Array, y: Array, physics: Physics) -> dict[str, Array]:
        """`kinetic` and `potential` energy (...), J, `dissipation`, W, and `rates` of platform and joints."""
        terms, _, r, _ = self.solve_terms(p, y, physics)
        kinetic = 0.5 * np.einsum("...i,...ij,...j->...", r, np.asarray(terms["M"]), r)
        return {
            "kinetic": kinetic,
            "potential": terms["potential"],
            "dissipation": terms["dissipation"],
            "rates": r[..., : self.robot.platform_nv + self.robot.nv],
        }

    def derivative(self, s: Array, u: Array, physics: Physics, *, prescribed: bool) -> Array:
        """Derivative of a state (size + n,) at inputs (actuators,).

        Forces, or accelerations if prescribed.
        """
        p, y = s[: self.size], s[self.size :]
        p, _ = self._closing_step(p)
        if prescribed:
            accelerations = np.concatenate([u, self.inverse(p, y, u, physics)["acceleration"]])
        else:
            accelerations = self.forward(p, y, u, physics)
        r = self.solve_terms(p, y, physics)[2]
        return np.concatenate([positions.position_rates(self.frames, p, r), accelerations])


@lru_cache(maxsize=64)
def native_unminimised(function: Callable[..., Any], robot: Robot, **options: Any) -> Any:
    """A physics function as native code, not minimised: for large robots that would take long."""
    from nacelle.compile import compile_function

    return compile_function(function, robot, options=options, minimise=False)


@dataclass(frozen=True, eq=False)
class Condensed(ElasticForm):
    """Links that carry no moments taken out."""

    name = "condensed"
    programs = Programs(condensed_inverse, condensed_forward, condensed_energies, condensed_flow)
    reduced: ReducedCoordinates

    def start(self, rigid: RigidConfiguration) -> tuple[Array, Array]:
        """Positions p (size,) and independent rates y (n,) of the undeformed robot."""
        structure, robot = self.reduced.structure, self.robot
        subchains = structure.subchains.robot
        joints = [robot.joint(joint.name) for joint in subchains.tree_joints]
        q = np.concatenate([np.zeros(0), *(rigid.q_tree[robot.q_slices[j]] for j in joints)])
        parts = [undeformed_positions(structure.subchains, rigid.platform, q)]
        whole = structure.elastic_tree
        frames = frames_at(whole, rigid.platform, rigid.q_tree, np.zeros(whole.ne))
        for link, constants in zip(structure.links, self.reduced.links, strict=True):
            parts.append(np.zeros(constants.n))
            if structure.normal is None:
                parts.append(np.asarray(frames.floating_frame(link.number).R[:, 1], dtype=float))
        m = robot.platform_nv
        moving = [
            rigid.u[:m],
            *(rigid.u[m + robot.v_slices[j].start : m + robot.v_slices[j].stop] for j in joints),
        ]
        rates = np.concatenate([*moving, np.zeros(structure.subchains.ne)])
        y = np.zeros(self.n)
        y[: len(self.reduced.order)] = rates[list(self.reduced.order)]
        return np.concatenate(parts), y

    def close_loops(self, p: Array) -> Array:
        """There is nothing to close; quaternions get unit length. Positions (..., size)."""
        if p.ndim > 1:
            return to_samples(normalise_positions(self.reduced, from_samples(p, 1)))
        return np.asarray(normalise_positions(self.reduced, p), dtype=float)

    def step_positions(self, p: Array, step: Array) -> Array:
        """Positions after a small step (n,) of the independent rates."""
        return self.close_loops(p + np.asarray(compile_native(condensed_step, self.robot)(p, step)))

    def elastic(self, p: Array) -> Array:
        """Elastic coordinates (..., ne) at positions (..., size).

        Lengths of links less those at rest among them.
        """
        structure = self.reduced.structure
        whole = structure.elastic_tree
        result = np.zeros((*p.shape[:-1], whole.ne))
        lengths = np.asarray(compile_native(link_lengths, self.robot)(p))
        numbers = {link.number: k for k, link in enumerate(structure.links)}
        start = positions.platform_size(self.frames) + self.frames.robot.nq
        for number, part in enumerate(whole.slices):
            if number in numbers:
                k = numbers[number]
                offset = self.reduced.link_slices[k].start
                constants = self.reduced.links[k]
                result[..., part.start] = lengths[..., k] - constants.shapes.beam.length
                result[..., part.start + 1 : part.stop] = p[..., offset : offset + constants.n]
            else:
                count = part.stop - part.start
                result[..., part] = p[..., start : start + count]
                start += count
        return result
