"""Base parameters of a robot: the minimal set, its groupings, and how sure the rank is.

Forces are linear in the parameters, Gamma = Y(x, v, a) p ([AGH2005] (17)-(28), [CB1997] (34)). Over generic
states a rank-revealing factorisation of Y says how many combinations of parameters can be distinguished;
those are the base parameters,

    beta = K z,      Y z = Y_base beta,

and no experiment that measures the motion and the actuators' forces can find more. Rules of mechanics
(`transfers`) say why parameters act together, and give the coefficients as polynomials in coordinates of
joints: transfers of chosen parameters are added up over legs that share them, and Gauss's elimination with
constant pivots leaves for every dependent parameter one transfer, in which it stands next to base parameters
alone. What its numbers agree with is written with symbols, all else with numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.choice import ParameterChoice, choose_parameters
from nacelle.dynamics.base_parameters.sampling import (
    ColumnReduction,
    parameter_units,
    reduce_columns,
    sampled_regressor,
)
from nacelle.dynamics.base_parameters.transfers import (
    Polynomial,
    Transfer,
    Transfers,
    TransferVector,
    format_number,
    format_polynomial,
    sampled_twists,
)
from nacelle.model.linear_parameters import linear_parameters
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.results import HasTable
from nacelle.spatial.scalar import Array

_SMALL = 1e-9
# Longer polynomials are given as numbers.
_TERMS = 24
_ZERO = Polynomial({}, {})


def combine_transfers(choice: ParameterChoice, transfers: Iterable[Transfer]) -> list[TransferVector]:
    """Transfers over the chosen parameters, summed over legs that share them."""
    column = {int(k): int(np.flatnonzero(row)[0]) for k, row in enumerate(choice.E) if np.any(row)}
    size = [int(count) for count in np.count_nonzero(choice.E, axis=0)]
    together: dict[tuple[str, ...], list[Transfer]] = {}
    for number, transfer in enumerate(transfers):
        alone = all(size[column[k]] == 1 for k in transfer.change if k in column)
        together.setdefault((*transfer.rule, *([str(number)] if alone else [])), []).append(transfer)
    vectors = []
    for group in together.values():
        total: dict[int, Polynomial] = {}
        for transfer in group:
            for k, value in transfer.change.items():
                total[k] = total.get(k, _ZERO) + value
        vector = _restrict_transfer(total, choice, column)
        if vector:
            vectors.append(vector)
    return vectors


def _restrict_transfer(
    total: dict[int, Polynomial], choice: ParameterChoice, column: dict[int, int]
) -> TransferVector | None:
    """A transfer over chosen parameters; None where it changes what is zero, or one of several legs alone."""
    largest = max((abs(value.value) for value in total.values()), default=0.0)
    vector: TransferVector = {}
    for k, value in total.items():
        if k not in column:
            if abs(value.value) > _SMALL * largest:
                return None
            continue
        z = column[k]
        value = value.scale(float(choice.E[k, z]))
        if z in vector and abs(vector[z].value - value.value) > _SMALL * largest:
            return None
        vector.setdefault(z, value)
    for z in vector:
        if any(int(k) not in total for k in np.flatnonzero(choice.E[:, z])):
            return None
    return vector


def symbolic_coefficients(
    vectors: list[TransferVector], dependent: Sequence[int], K: Array, leading: Sequence[int]
) -> dict[tuple[int, int], Polynomial]:
    """Coefficients (base parameter, dependent parameter) with symbols, as far as rules give them.

    Args:
        vectors: transfers over the chosen parameters.
        dependent: places of those that are not base parameters.
        K: (kept, chosen), the coefficients as numbers.
        leading: places of the base parameters.
    """
    rows = [dict(vector) for vector in vectors]
    order = {k: index for index, k in enumerate(leading)}
    reduced_rows: dict[int, TransferVector] = {}
    outside = set(dependent)

    def length(row: TransferVector) -> tuple[int, int]:
        return len(outside & row.keys()), sum(len(value.terms) for value in row.values())

    for k in reversed(dependent):
        candidates = [row for row in rows if k in row and abs(row[k].constant or 0.0) > _SMALL]
        if not candidates:
            continue
        pivot = min(candidates, key=length)
        rows = [row for row in rows if row is not pivot]
        pivot = {j: value.scale(1.0 / float(pivot[k].constant or 1.0)) for j, value in pivot.items()}
        rows = [_eliminate(row, k, pivot) for row in rows]
        reduced_rows = {j: _eliminate(row, k, pivot) for j, row in reduced_rows.items()}
        reduced_rows[k] = pivot
    coefficients: dict[tuple[int, int], Polynomial] = {}
    for k, row in reduced_rows.items():
        if any(j in outside and j != k and abs(value.value) > _SMALL for j, value in row.items()):
            continue
        column = np.zeros(len(leading))
        for j, value in row.items():
            if j in order:
                column[order[j]] = -value.value
        if np.max(np.abs(column - K[:, k]), initial=0.0) > 1e-7 * max(
            1.0, float(np.max(np.abs(K[:, k]), initial=0.0))
        ):
            continue
        for j, value in row.items():
            if j in order and len(value.terms) <= _TERMS:
                coefficients[j, k] = value.scale(-1.0)
    return coefficients


def _eliminate(row: TransferVector, k: int, pivot: TransferVector) -> TransferVector:
    """A transfer with parameter k taken out by another, in which it has the factor one."""
    if k not in row:
        return row
    factor = row[k].scale(-1.0)
    new = dict(row)
    for j, value in pivot.items():
        total = new.get(j, _ZERO) + factor * value
        if total.terms:
            new[j] = total
        else:
            new.pop(j, None)
    new.pop(k, None)
    return new


# Changes of parameters of which less than this part lies across all transfers are transfers.
_NO_TRANSFER = 1e-7
# A gap below this leaves the rank in doubt.
_CERTAIN_GAP = 1e4


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(HasTable):
    """The minimal set of parameters of a robot.

    Attributes:
        robot: the robot.
        choice: the parameters that take part, with assumptions and sharing.
        kept: places among them of those that lead a base parameter.
        K: (base parameters, chosen parameters) with beta = K z; SI units.
        gap: how sharply the rank is determined: smallest accepted over largest rejected part of a column.
        structural: how many base parameters the rules of mechanics alone leave.
        unexplained: parameters that depend on base parameters by the numbers, without a rule that says so.
        coefficients: those of K that the rules give, as polynomials in coordinates of joints.
    """

    robot: Robot
    choice: ParameterChoice
    kept: tuple[int, ...]
    K: Array
    gap: float
    structural: int
    unexplained: tuple[str, ...]
    coefficients: dict[tuple[int, int], Polynomial]

    def __len__(self) -> int:
        """Number of base parameters."""
        return len(self.kept)

    @property
    def names(self) -> tuple[str, ...]:
        """Names (base parameters,) of the parameters that lead the base parameters."""
        return tuple(self.choice.names[k] for k in self.kept)

    @property
    def values(self) -> Array:
        """Base parameters (base parameters,) of the robot's own numbers p, beta = K p; SI units."""
        return np.asarray(self.K @ self.choice.values)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """For every linear parameter of the robot the base parameter that it leads; -1 if it leads none."""
        index_of = {k: index for index, k in enumerate(self.kept)}
        return tuple(index_of.get(k, -1) for k in self.choice.columns)

    @property
    def signs(self) -> tuple[int, ...]:
        """For every linear parameter of the robot 1 or -1, with which it counts in its column."""
        return self.choice.signs

    @property
    def rigid(self) -> tuple[int, ...]:
        """Places of the base parameters that inertia, rotors and springs lead."""
        return tuple(i for i, name in enumerate(self.names) if not _is_friction(self.robot, name))

    @property
    def friction(self) -> tuple[int, ...]:
        """Places of the base parameters that friction leads."""
        return tuple(i for i, name in enumerate(self.names) if _is_friction(self.robot, name))

    @property
    def effects(self) -> dict[str, str]:
        """Of every chosen parameter whether it has "no effect", acts "alone" or is "grouped"."""
        effect_of = {}
        rows = np.count_nonzero(self.K, axis=1)
        for k, name in enumerate(self.choice.names):
            acting = np.flatnonzero(self.K[:, k])
            if not acting.size:
                effect_of[name] = "no effect"
            else:
                effect_of[name] = "alone" if len(acting) == 1 and rows[acting[0]] == 1 else "grouped"
        return effect_of

    @property
    def is_certain(self) -> bool:
        """Whether the rank is beyond doubt: no column is nearly, but not quite, dependent on others."""
        return self.gap > _CERTAIN_GAP

    @cached_property
    def groupings(self) -> tuple[str, ...]:
        """Every base parameter as a sum of parameters."""
        return tuple(self._grouping_text(i) for i in range(len(self.kept)))

    def _grouping_text(self, i: int) -> str:
        leader = self.kept[i]
        parts = [self.choice.names[leader]]
        # Sums over legs that are zero by symmetry are shown: they say what the symmetry is worth.
        acting = {*np.flatnonzero(self.K[i]).tolist(), *(k for j, k in self.coefficients if j == leader)}
        for k in sorted(acting - {leader}):
            polynomial = self.coefficients.get((leader, k), Polynomial.number(float(self.K[i, k])))
            parts.append(_describe_term(polynomial, self.choice.names[k], self._legs[k]))
        return " ".join(parts)

    @cached_property
    def _legs(self) -> list[list[str]]:
        """For every chosen parameter the names of the legs that share it."""
        names, legs = linear_parameters(self.robot).names, [leg.name for leg in self.robot.legs]
        return [
            [leg for leg in legs if any(names[j].startswith(f"{leg}.") for j in group)]
            for group in self.choice.groups()
        ]

    def data(self) -> dict[str, Any]:
        """Counts, groupings and effects as plain data."""
        names = self.choice.names
        terms = [{names[k]: float(row[k]) for k in np.flatnonzero(row).tolist()} for row in self.K]
        entries = [
            {
                "name": self.names[i],
                "value": float(self.values[i]),
                "grouping": self.groupings[i],
                "terms": terms[i],
            }
            for i in range(len(self.kept))
        ]
        return {
            "robot": self.robot.name,
            "rigid": len(self.rigid),
            "friction": len(self.friction),
            "structural": self.structural,
            "unexplained": list(self.unexplained),
            "gap": self.gap,
            "certain": self.is_certain,
            "base_parameters": entries,
            "effects": self.effects,
            "assumed_zero": list(self.choice.assumed_zero),
        }


def base_parameters(
    robot: Robot,
    *,
    assume: str | Sequence[str] = "undescribed",
    shared: object = None,
    share: str = "all",
    seed: int = 0,
) -> BaseParameters:
    """Find the base parameters of a robot: the fewest numbers on which its forces depend, Gamma = Y_b beta.

    beta = K p is linear in the linear parameters p ([AGH2005] Table I); SI units, kg, kg m, kg m^2 and those
    of friction and springs, with sums of like units.

    Args:
        robot: the robot.
        assume: what is always zero: "undescribed", "zeros", "nothing", names and patterns of parameters
            (`nacelle.dynamics.base_parameters.choice`).
        shared: "legs" if identical legs share their parameters, "mirrored" if mirror images do, or lists of
            names of legs (`nacelle.model.shared`); as the description says if None, nothing if False.
        share: which parameters of such legs are one: "all", or "inertia", so that friction and springs stay
            each leg's own; then of identical legs where `shared` and the description are silent.
        seed: of the motions at which the rank is found.

    Raises:
        ParameterError: if there is no such parameter or leg, or legs that are to share parameters differ.
    """
    choice = choose_parameters(robot, assume, shared, share)
    return _base_parameters(robot, choice, seed)


@lru_cache(maxsize=8)
def _base_parameters(robot: Robot, choice: ParameterChoice, seed: int) -> BaseParameters:
    """The base parameters of a choice; kept: checks of data and the estimate from them need the same."""
    W = sampled_regressor(robot, seed) @ choice.E
    reduced = reduce_columns(W, _elimination_order(robot, choice)).sort_columns
    K = _round_coefficients(reduced, parameter_units(robot)[[group[0] for group in choice.groups()]])
    transfers = list(Transfers(robot, sampled_twists(robot)).all())
    outside = _complement_of_transfers(robot, choice, transfers)
    structural = int(np.linalg.matrix_rank(outside, tol=_NO_TRANSFER))
    dependent = [k for k in _elimination_order(robot, choice) if k not in reduced.kept]
    relations = np.eye(len(choice.names))[:, dependent]
    relations[list(reduced.kept)] -= reduced.K[:, dependent]
    left = np.linalg.norm(outside @ relations, axis=0) > _NO_TRANSFER * np.linalg.norm(relations, axis=0)
    more = structural > len(reduced.kept)
    unexplained = tuple(choice.names[k] for k, out in zip(dependent, left, strict=True) if out and more)
    named = symbolic_coefficients(combine_transfers(choice, transfers), dependent, K, reduced.kept)
    return BaseParameters(robot, choice, reduced.kept, K, reduced.gap, structural, unexplained, named)


def _round_coefficients(reduced: ColumnReduction, unit: Array) -> Array:
    """K in SI units, without rounding; whole numbers where it has them."""
    K = reduced.K * unit[list(reduced.kept)][:, None] / unit
    near = np.round(K)
    return np.where(np.abs(K - near) <= 1e-9 * np.maximum(1.0, np.abs(near)), near, K)


def _elimination_order(robot: Robot, choice: ParameterChoice) -> list[int]:
    """Which parameters lead: of the platform, then of links from the base outwards, then all others."""
    bodies = {body.name: k for k, body in enumerate(robot.bodies)}
    depth = dict.fromkeys(robot.platform.bodies, 0)
    for joint in robot.tree_joints:
        if joint.successor not in depth:
            depth[joint.successor] = depth.get(joint.predecessor, 0) + 1
    names = linear_parameters(robot).names
    ranked = []
    for k, group in enumerate(choice.groups()):
        owner, _, part = names[group[0]].rpartition(".")
        rank = {"payload": 1000}.get(owner.partition(".")[0], 2000)
        if part in INERTIA_NAMES and owner in bodies:
            rank = depth.get(bodies[owner], 500)
        elif part == "rotor_inertia":
            rank = 1500
        ranked.append((rank, group[0], k))
    return [k for *_, k in sorted(ranked)]


def _complement_of_transfers(robot: Robot, choice: ParameterChoice, transfers: Sequence[Transfer]) -> Array:
    """The part of E, over parameters in their units, that lies across all transfers (parameters, chosen)."""
    E = (
        choice.E
        * (1.0 / parameter_units(robot))[:, None]
        * parameter_units(robot)[[group[0] for group in choice.groups()]]
    )
    N = np.array([transfer.numbers(len(E)) for transfer in transfers]).reshape(-1, len(E)) / parameter_units(
        robot
    )
    N = N[np.linalg.norm(N, axis=1) > 0.0]
    if not len(N):
        return np.asarray(E)
    _, values, rows = np.linalg.svd(N / np.linalg.norm(N, axis=1, keepdims=True), full_matrices=False)
    space = rows[values > 1e-9 * values[0]]
    return np.asarray(E - space.T @ (space @ E))


def _is_friction(robot: Robot, name: str) -> bool:
    part = name.rpartition(".")[2]
    return not (part in INERTIA_NAMES or part == "rotor_inertia" or part.startswith("stiffness"))


def _describe_term(polynomial: Polynomial, name: str, legs: list[str]) -> str:
    """A signed term: a coefficient and a parameter."""
    constant = polynomial.constant
    if constant is not None:
        size = abs(constant)
        factor = "" if size == 1.0 else f"{format_number(size)} "
        return f"{'-' if constant < 0.0 else '+'} {factor}{name}"
    text = _describe_over_legs(polynomial, legs)
    return f"+ {name} {text}"


def _describe_over_legs(polynomial: Polynomial, legs: list[str]) -> str:
    """A polynomial, written as a sum over legs where it is one."""
    first = legs[0] if legs else ""
    terms = {
        atoms: f
        for atoms, f in polynomial.terms.items()
        if any(atom.startswith(f"{first}.") for atom in atoms)
    }
    total: dict[tuple[str, ...], float] = {}
    for leg in legs:
        for atoms, factor in terms.items():
            total[tuple(leg + atom.removeprefix(first) for atom in atoms)] = factor
    if (
        len(legs) > 1
        and terms
        and {k: round(v, 9) for k, v in total.items()}
        == {k: round(v, 9) for k, v in polynomial.terms.items()}
    ):
        renamed = {tuple("j" + atom.removeprefix(first) for atom in atoms): f for atoms, f in terms.items()}
        return f"sum_j ({format_polynomial(Polynomial(renamed, {}))})"
    text = format_polynomial(polynomial)
    return f"({text})" if len(polynomial.terms) > 1 else text
