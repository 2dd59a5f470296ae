"""Transfers: changes of the parameters that leave all forces as they are, by the rules of mechanics.

Points r_a of body a and r_b of body b move alike where their velocities are equal in every state,

    v_a + w_a x (R_a r_a) = v_b + w_b x (R_b r_b):

a point, a line or a space of pairs (r_a, r_b) + sum of s_i (e_a, e_b)_i, or none; without such points there
may still be directions e_a, e_b that turn alike. Of neighbours these are the points of their joint: the
centre of a universal or spherical one, the axis of a revolute one; two bodies on a prismatic joint share all
directions. Loops join bodies that are no neighbours: the rods of a parallelogram may move alike in all
points, and every point of a platform that does not turn moves as the tips of the legs do.

A mass at r_b counts as a mass at r_a, and so does what follows from masses at such points: with k directions
1 + k + k (k + 1) / 2 numbers pass between the two bodies, ten where they move alike in all points; where only
directions turn alike, second moments along them. These are the rules of [AGH2005] (21)-(23) for revolute and
prismatic joints, its grouping with the platform, and what loops add to them.

What counts on the base has no effect. Neither have, on a body that turns about one direction n at most, the
first moment along n and all of the inertia but n I n; nor n I n, on one that never turns about n; nor, on one
that does not turn, first moment and inertia; nor first moments on a body hinged to the base about a vertical
line. A rod with an idle spin is known by its mass, first moment along it and inertia across it. A rotor
counts as inertia of a link where their energies are the same; of two joints that move in proportion the
friction is felt as one.

A transfer is a vector over the parameters. Its coefficients are polynomials in coordinates of joints, so that
groupings can be read, `m_3 (y^2 + z^2)` and not `0.0128 m_3`: sums of products of atoms, each with a factor;
an atom is one coordinate of a joint's point in the frame of a body, and has a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from nacelle.kinematics.configuration import configuration, rate_map
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.mechanism.rods import find_rods, mass_point_rods
from nacelle.kinematics.sample_states import closed_sample_states
from nacelle.model.joint import JointKind, Primitive
from nacelle.model.leg import BASE
from nacelle.model.linear_parameters import linear_parameters, with_linear_forms
from nacelle.model.numbers import INERTIA_NAMES
from nacelle.model.robot import Robot
from nacelle.spatial.linear_form import coefficients
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import rate_rows

# Rates that are this part of the largest are zero; lengths likewise, over the robot's size.
_NO_MOTION = 1e-9


@dataclass(frozen=True, eq=False)
class SharedMotion:
    """Points and directions of two bodies that move alike.

    Attributes:
        a: the one body.
        b: the other.
        point: r_a and r_b (2, 3), m, in the bodies' frames; None if no points move alike.
        directions: pairs e_a, e_b (k, 2, 3), along which further points, or directions alone, do.
    """

    a: int
    b: int
    point: Array | None
    directions: Array


@dataclass(frozen=True, eq=False)
class BodyMotions:
    """Twists of all bodies over sample states.

    Attributes:
        R: orientations (samples, bodies, 3, 3), base axes.
        J: twists [v; w] at the bodies' origins (samples, bodies, 6, n) at unit v, base axes.
        rates: of every axis (joint, number) its rates over all samples and unit motions, one after the other;
            of a spherical joint the relative angular velocity, base axes.
        size: of the robot, m.
    """

    R: Array
    J: Array
    rates: Mapping[tuple[int, int], Array]
    size: float

    def shared_motion(self, a: int, b: int) -> SharedMotion:
        """Points and directions of two bodies that move alike."""
        A = np.concatenate([self._rotation_matrix(a), -self._rotation_matrix(b)], axis=1) * self.size
        right = (self.J[:, b, :3] - self.J[:, a, :3]).transpose(0, 2, 1).ravel()
        _, values, rows = np.linalg.svd(A, full_matrices=True)
        rank = int(np.count_nonzero(values > _NO_MOTION * self.rate * self.size * np.sqrt(len(A))))
        point = np.linalg.lstsq(A @ rows[:rank].T, right, rcond=None)[0] @ rows[:rank]
        left = np.max(np.abs(A @ point - right), initial=0.0)
        alike = left <= 1e2 * _NO_MOTION * self.rate * self.size
        directions = reduced_echelon(rows[rank:]).reshape(-1, 2, 3)
        return SharedMotion(a, b, (point * self.size).reshape(2, 3) if alike else None, directions)

    def have_equal_velocity(self, bond: SharedMotion, point: Array) -> bool:
        """Whether a pair of points r_a, r_b (2, 3) moves alike."""
        left = (self.J[:, bond.a, :3] - self.J[:, bond.b, :3]).transpose(0, 2, 1).ravel()
        left = left + self._rotation_matrix(bond.a) @ point[0] - self._rotation_matrix(bond.b) @ point[1]
        return bool(np.max(np.abs(left)) <= 1e2 * _NO_MOTION * self.rate * self.size)

    def _rotation_matrix(self, body: int) -> Array:
        """Matrix of w x (R r) over r, rows of all samples, unit motions and axes."""
        W = np.cross(
            self.J[:, body, 3:].transpose(0, 2, 1)[:, :, None, :], self.R[:, body].transpose(0, 2, 1)[:, None]
        )
        return np.asarray(W.transpose(0, 1, 3, 2).reshape(-1, 3))

    @cached_property
    def rate(self) -> float:
        """The largest rate of a body, of points at the robot's size, 1/s at unit v."""
        return max(
            float(np.max(np.abs(self.J[:, :, 3:]))), float(np.max(np.abs(self.J[:, :, :3]))) / self.size
        )


def reduced_echelon(rows: Array) -> Array:
    """Rows (r, k) in reduced echelon form: the same space with leading ones, entries mostly whole."""
    rows = np.array(rows, dtype=float)
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) <= _NO_MOTION * np.max(np.abs(rows)):
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, column], rows[done])
        done += 1
    near = np.round(rows)
    return np.where(np.abs(rows - near) <= _NO_MOTION, near, rows)


@lru_cache(maxsize=32)
def sampled_twists(robot: Robot) -> BodyMotions:
    """Twists of all bodies at the robot's sample states."""
    R, J = [], []
    rates: dict[tuple[int, int], list[Array]] = {}
    for x, y in closed_sample_states(robot):
        now = configuration(robot, x, y)
        U = np.asarray(rate_map(now), dtype=float)
        motion = now.motion
        R.append([pose.R for pose in motion.poses])
        twists = [np.asarray(motion.jacobian(body), dtype=float) @ U for body in range(len(robot.bodies))]
        J.append(twists)
        for j, joint in enumerate(robot.joints):
            for number, rows in enumerate(rate_rows(robot, motion, j) if joint.primitives else ()):
                rate = np.asarray(rows, dtype=float) @ U
                if joint.primitives[number] is Primitive.SPHERICAL:
                    rate = twists[joint.successor][3:] - twists[joint.predecessor][3:]
                rates.setdefault((j, number), []).append(rate)
    return BodyMotions(
        np.array(R, dtype=float),
        np.array(J, dtype=float),
        {axis: np.ravel(values) for axis, values in rates.items()},
        float(robot.size),
    )


def body_pairs(robot: Robot) -> list[tuple[int, int, int | None]]:
    """Pairs of bodies (a, b), those that a joint joins first, with that joint, each pair once.

    b is the successor of the joint, or the body of a leg where it ends at the platform, so that a is nearer
    to the base or on the platform.
    """
    platform = set(robot.platform.bodies)
    pairs: dict[frozenset[int], tuple[int, int, int | None]] = {}
    for number, joint in enumerate(robot.joints):
        a, b = joint.predecessor, joint.successor
        if b in platform and a not in platform and a != BASE:
            a, b = b, a
        pairs.setdefault(frozenset((a, b)), (a, b, number))
    for b in range(1, len(robot.bodies)):
        for a in range(b):
            pairs.setdefault(frozenset((a, b)), (a, b, None))
    return list(pairs.values())


# ---- polynomials in coordinates of joints


# A factor that differs from a whole number by less than this is that number.
_WHOLE = 1e-9
Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in named coordinates.

    Attributes:
        terms: the factor of every product of atoms; the empty product is the constant.
        values: of the atoms, m.
    """

    terms: Mapping[Monomial, float]
    values: Mapping[str, float]

    @staticmethod
    def number(value: float) -> Polynomial:
        """A polynomial that is a number."""
        return Polynomial({(): value} if value else {}, {})

    @staticmethod
    def atom(name: str, value: float) -> Polynomial:
        """A polynomial that is a coordinate."""
        return Polynomial({(name,): 1.0}, {name: value})

    @property
    def value(self) -> float:
        """Its value."""
        total = 0.0
        for atoms, factor in self.terms.items():
            product = factor
            for atom in atoms:
                product *= self.values[atom]
            total += product
        return total

    @property
    def constant(self) -> float | None:
        """The number that it is; None if it has atoms."""
        return self.terms.get((), 0.0) if all(not atoms for atoms in self.terms) else None

    def __add__(self, other: Polynomial) -> Polynomial:
        """Sum."""
        terms = dict(self.terms)
        for atoms, factor in other.terms.items():
            total = terms.pop(atoms, 0.0) + factor
            if abs(total) > _WHOLE * abs(factor):
                terms[atoms] = total
        return Polynomial(terms, {**self.values, **other.values})

    def __mul__(self, other: Polynomial) -> Polynomial:
        """Product."""
        total = Polynomial({}, {})
        for atoms, factor in self.terms.items():
            part = {tuple(sorted((*atoms, *more))): factor * by for more, by in other.terms.items()}
            total = total + Polynomial(part, {**self.values, **other.values})
        return total

    def scale(self, factor: float) -> Polynomial:
        """Product with a number."""
        return self * Polynomial.number(factor)


def format_polynomial(polynomial: Polynomial) -> str:
    """A polynomial as text: `1.5`, `joint.x^2 + joint.y^2`."""
    parts: list[str] = []
    for atoms, factor in sorted(polynomial.terms.items()):
        powers = [
            atom if atoms.count(atom) == 1 else f"{atom}^{atoms.count(atom)}" for atom in dict.fromkeys(atoms)
        ]
        size = abs(factor)
        number = [] if powers and abs(size - 1.0) < _WHOLE else [format_number(size)]
        parts.append(("- " if factor < 0.0 else "+ ") + " ".join([*number, *powers]))
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:] if text else "0"


def format_number(value: float) -> str:
    """A number with as many digits as tell it from others, whole where it is."""
    whole = round(value)
    return str(whole) if abs(value - whole) < _WHOLE * max(1.0, abs(value)) else f"{value:.6g}"


_ZERO_TOLERANCE = 1e-9
_PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
TenParameters = list[Polynomial]
TransferVector = dict[int, Polynomial]
ZERO = Polynomial({}, {})
ONE = Polynomial.number(1.0)


@dataclass(frozen=True, eq=False)
class Transfer:
    """A change of parameters that no force shows.

    Attributes:
        rule: description of the reason; the same for identical legs.
        change: by parameter.
    """

    rule: tuple[str, ...]
    change: TransferVector

    def numbers(self, count: int) -> Array:
        """The change as numbers (count,)."""
        vector = np.zeros(count)
        for k, value in self.change.items():
            vector[k] = value.value
        return vector


def _point_mass(r: TenParameters) -> TenParameters:
    """Ten numbers of a unit mass at a point."""
    S = [[r[i] * r[j] for j in range(3)] for i in range(3)]
    return [ONE, *r, *_inertia_entries(S)]


def _inertia_entries(S: list[list[Polynomial]]) -> TenParameters:
    """Six moments of inertia from second moments: I = trace(S) - S."""
    trace = S[0][0] + S[1][1] + S[2][2]
    return [(trace if i == j else ZERO) + S[i][j].scale(-1.0) for i, j in _PAIRS]


def _first_moment(r: TenParameters, n: TenParameters) -> TenParameters:
    """A unit first moment along n at a point: d/ds of a mass at r + s n."""
    S = [[r[i] * n[j] + n[i] * r[j] for j in range(3)] for i in range(3)]
    return [ZERO, *n, *_inertia_entries(S)]


def _second_moment(n: TenParameters, m: TenParameters) -> TenParameters:
    """A second moment without mass along n and m, half of each order."""
    S = [[(n[i] * m[j] + m[i] * n[j]).scale(0.5) for j in range(3)] for i in range(3)]
    return [ZERO, ZERO, ZERO, ZERO, *_inertia_entries(S)]


def _constants(vector: Array) -> TenParameters:
    return [Polynomial.number(_round_cosine(float(value))) for value in vector]


def _round_cosine(value: float) -> float:
    """A direction cosine without its rounding."""
    near = round(value)
    return float(near) if abs(value - near) < _ZERO_TOLERANCE else value


class Transfers:
    """All transfers of a robot."""

    def __init__(self, robot: Robot, motions: BodyMotions) -> None:
        self._robot, self._motions = robot, motions
        parameters = linear_parameters(robot)
        self._index = {name: k for k, name in enumerate(parameters.names)}
        self._legs = {body: leg for leg in robot.legs for body in leg.bodies}

    def all(self) -> Iterator[Transfer]:
        """Every transfer that a rule gives; many follow from others."""
        for a, b, joint in body_pairs(self._robot):
            yield from self._between_bodies(self._motions.shared_motion(a, b), joint)
        for body in range(1, len(self._robot.bodies)):
            yield from self._without_effect(body)
        yield from self._payloads()
        yield from self._rods()
        yield from self._rotors()
        yield from self._frictions()
        for name, index in self._index.items():
            # A spring's preload is a constant force, as friction has it that pulls one way.
            constant = self._index.get(name.replace("stiffness*rest", "constant"))
            if name.endswith(".stiffness*rest") and constant is not None:
                yield Transfer(("preload", name), {index: ONE, constant: ONE})

    def _between_bodies(self, bond: SharedMotion, joint: int | None) -> Iterator[Transfer]:
        """What passes from b to a."""
        rule = ("alike", self._name_without_leg(bond.a), self._name_without_leg(bond.b))
        ways = [(_constants(e_a), _constants(e_b)) for e_a, e_b in bond.directions]
        for i, (e_a, e_b) in enumerate(ways):
            for j, (f_a, f_b) in enumerate(ways[i:], i):
                yield self._transfer(
                    (*rule, f"{i}{j}"), bond, _second_moment(e_b, f_b), _second_moment(e_a, f_a)
                )
        if bond.point is None:
            return
        r_a, r_b = self._shared_points(bond, joint)
        yield self._transfer((*rule, "m"), bond, _point_mass(r_b), _point_mass(r_a))
        for i, (e_a, e_b) in enumerate(ways):
            yield self._transfer((*rule, str(i)), bond, _first_moment(r_b, e_b), _first_moment(r_a, e_a))

    def _shared_points(self, bond: SharedMotion, joint: int | None) -> list[TenParameters]:
        """Points of a and b that move alike; named after the joint where it has them."""
        assert bond.point is not None
        if joint is not None:
            hinge = self._robot.joints[joint]
            sides = {hinge.predecessor: hinge.frame_predecessor.p, hinge.successor: hinge.frame_successor.p}
            points = np.array([sides[bond.a], sides[bond.b]], dtype=float)
            if self._motions.have_equal_velocity(bond, points):
                away = np.max(np.abs(points), axis=1) > _ZERO_TOLERANCE * self._motions.size
                return [
                    self._named_coordinates(hinge.name, body, p, both=bool(all(away))) if far else [ZERO] * 3
                    for body, p, far in zip((bond.a, bond.b), points, away, strict=True)
                ]
        return [_constants(p) for p in bond.point]

    def _named_coordinates(self, joint: str, body: int, p: Array, *, both: bool) -> TenParameters:
        """Coordinates of a joint in a body, by name."""
        where = f"@{self._robot.bodies[body].name}" if both else ""
        return [Polynomial.atom(f"{joint}.{axis}{where}", float(p[i])) for i, axis in enumerate("xyz")]

    def _transfer(
        self, rule: tuple[str, ...], bond: SharedMotion, here: TenParameters, there: TenParameters
    ) -> Transfer:
        """Numbers taken from b and given to a."""
        change = self._on_body(bond.b, here)
        for k, value in self._on_body(bond.a, there).items():
            change[k] = change.get(k, ZERO) + value.scale(-1.0)
        return Transfer(rule, {k: value for k, value in change.items() if value.terms})

    def _on_body(self, body: int, ten: TenParameters) -> TransferVector:
        if body == BASE:
            return {}
        name = self._robot.bodies[body].name
        return {
            self._index[f"{name}.{part}"]: value
            for part, value in zip(INERTIA_NAMES, ten, strict=True)
            if value.terms
        }

    def _name_without_leg(self, body: int) -> str:
        """The name of a body without that of its leg."""
        name = self._robot.bodies[body].name
        leg = self._legs.get(body)
        return name if leg is None else "*" + name.removeprefix(leg.name)

    def _without_effect(self, body: int) -> Iterator[Transfer]:
        """What a body's motion does not feel."""
        robot, motions = self._robot, self._motions
        w = np.einsum("sji,sjk->ski", motions.R[:, body], motions.J[:, body, 3:]).reshape(-1, 3)
        largest = float(np.max(np.abs(motions.J[:, :, 3:]), initial=0.0))
        rule = ("no effect", self._name_without_leg(body))
        axes = [_constants(axis) for axis in np.eye(3)]
        singular = np.linalg.svd(w, full_matrices=False)
        if singular[1][0] <= _ZERO_TOLERANCE * max(largest, 1.0):
            for part in INERTIA_NAMES[1:]:
                yield Transfer((*rule, part), {self._index[f"{robot.bodies[body].name}.{part}"]: ONE})
            return
        if singular[1][1] > _ZERO_TOLERANCE * singular[1][0]:
            if singular[1][2] <= _ZERO_TOLERANCE * singular[1][0]:
                # No spin about n: n I n is not felt.
                D = np.outer(singular[2][2], singular[2][2])
                spin = _constants(np.array([*[0.0] * 4, *(D[k] for k in _PAIRS)]))
                yield Transfer((*rule, "spin"), self._on_body(body, spin))
            return
        n = singular[2][0] * np.sign(singular[2][0][np.argmax(np.abs(singular[2][0]))])
        along = _constants(n)
        yield Transfer((*rule, "first"), self._on_body(body, [ZERO, *along, *[ZERO] * 6]))
        # Inertias D with n D n = 0: the five of six that a rotation about n does not meet.
        across = np.linalg.svd(n.reshape(1, 3))[2][1:]
        frame = [n, *across]
        for i, j in ((0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            D = 0.5 * (np.outer(frame[i], frame[j]) + np.outer(frame[j], frame[i]))
            ten = [ZERO] * 4 + [Polynomial.number(_round_cosine(float(D[k]))) for k in _PAIRS]
            yield Transfer((*rule, f"{i}{j}"), self._on_body(body, ten))
        bond = motions.shared_motion(BASE, body)
        g = np.asarray(robot.gravity, dtype=float)
        across_axis = np.linalg.norm(np.cross(g, motions.R[0, body] @ n))
        if bond.point is not None and across_axis <= _ZERO_TOLERANCE * np.linalg.norm(g):
            for i in range(3):
                # First moments about a point of the axis, which does not move.
                yield Transfer(
                    (*rule, f"gravity {i}"),
                    self._on_body(body, _first_moment(_constants(bond.point[1]), axes[i])),
                )

    def _payloads(self) -> Iterator[Transfer]:
        """A payload counts as the body that carries it."""
        robot = self._robot
        for load in robot.payload:
            name = robot.bodies[load.body].name
            for part in INERTIA_NAMES:
                change = {self._index[f"payload.{load.name}.{part}"]: ONE,
                          self._index[f"{name}.{part}"]: Polynomial.number(-1.0)}  # fmt: skip
                yield Transfer(("payload", load.name, part), change)

    def _rods(self) -> Iterator[Transfer]:
        """What a rod with an idle spin is not known by."""
        robot = self._robot
        forms = with_linear_forms(robot)
        rods = mass_point_rods(forms, find_rods(mechanism_of(robot)))
        for body, rod in rods.items():
            name = robot.bodies[body].name
            indices = [self._index[f"{name}.{part}"] for part in INERTIA_NAMES]
            A = np.asarray(coefficients(rod.masses, len(self._index))[:, indices], dtype=float)
            scale = np.array([1.0] + [self._motions.size] * 3 + [self._motions.size**2] * 6)
            null = np.linalg.svd(A * scale)[2][3:] * scale
            for i, row in enumerate(reduced_echelon(null / scale) * scale):
                ten = [Polynomial.number(float(value)) for value in row]
                yield Transfer(("rod", self._name_without_leg(body), str(i)), self._on_body(body, ten))

    def _rotors(self) -> Iterator[Transfer]:
        """Rotors whose energy is that of an inertia of a link on their joint.

        On a revolute joint with the axis n: where n . w of the link is the joint's rate, since the other link
        does not turn about n. On a prismatic joint from the base: as a mass, where no weight acts along it.
        """
        robot, motions = self._robot, self._motions
        g = np.asarray(robot.gravity, dtype=float)
        for j, joint in enumerate(robot.joints):
            index = self._index.get(f"{joint.name}.rotor_inertia")
            if index is None:
                continue
            factor = -(float(joint.gear_ratio) ** 2)
            sides = [(joint.successor, joint.frame_successor), (joint.predecessor, joint.frame_predecessor)]
            for body, frame in sides:
                axis = np.asarray(frame.R, dtype=float)[:, 2]
                if joint.kind is JointKind.REVOLUTE:
                    about = np.einsum("si,sik->sk", motions.R[:, body] @ axis, motions.J[:, body, 3:]).ravel()
                    rate = np.abs(motions.rates[j, 0])
                    alike = np.max(np.abs(np.abs(about) - rate)) <= _ZERO_TOLERANCE * motions.rate
                    ten = [*[0.0] * 4, *(axis[i] * axis[j] for i, j in _PAIRS)]
                else:
                    weight = abs(float(g @ motions.R[0, body] @ axis))
                    from_base = BASE in (joint.predecessor, joint.successor) and body != BASE
                    alike = joint.kind is JointKind.PRISMATIC and from_base
                    alike = alike and weight <= _ZERO_TOLERANCE * np.linalg.norm(g)
                    ten = [1.0, *[0.0] * 9]
                if alike:
                    change = self._on_body(body, _constants(factor * np.array(ten)))
                    yield Transfer(("rotor", self._name_without_leg(body)), {index: ONE, **change})
                    break

    def _frictions(self) -> Iterator[Transfer]:
        """Friction of the same form in joints that move in proportion: of rates, q_i' = c q_j'."""
        robot = self._robot
        axis_rates: list[tuple[Array, str, str]] = []
        for (j, number), rate in self._motions.rates.items():
            axis = robot.joints[j].friction_axes[number]
            prefix = f"{robot.joints[j].name}.{axis}."
            for form in ("viscous", "coulomb"):
                if prefix + form in self._index:
                    # Rotations, translations and spherical joints apart.
                    axis_rates.append((rate, prefix + form, f"{axis[0]}{form}"))
        largest = {
            form: max(np.max(np.abs(rate)) for rate, _, kind in axis_rates if kind == form)
            for _, _, form in axis_rates
        }
        for i, (rate, name, form) in enumerate(axis_rates):
            if np.max(np.abs(rate)) <= _ZERO_TOLERANCE * largest[form]:
                yield Transfer(("no effect", name), {self._index[name]: ONE})
                continue
            for first_rate, first, kind in axis_rates[:i]:
                if (
                    kind != form
                    or len(first_rate) != len(rate)
                    or np.max(np.abs(first_rate)) <= _ZERO_TOLERANCE * largest[form]
                ):
                    continue
                c = float(rate @ first_rate) / float(first_rate @ first_rate)
                if np.max(np.abs(rate - c * first_rate)) <= _ZERO_TOLERANCE * np.max(np.abs(rate)):
                    factor = c * c if form.endswith("viscous") else abs(c)
                    change = {self._index[name]: ONE, self._index[first]: Polynomial.number(-factor)}
                    yield Transfer(("friction", name, first), change)
                    break
