"""Branches: numbers that change their sign where the solution of an iteration changes its branch.

The closures that are solved by iteration say K dy = -residual, dy the unknown joints of legs and the
dependent coordinates of the platform. Along a path without singularities det K keeps its sign. K is sparse:
rows and columns can be arranged so that square blocks are on the diagonal and nothing below them (the
decomposition of Dulmage and Mendelsohn), a block for each loop that is solved once those before it are, and

    det K = product of the blocks' determinants up to a sign

so each block's determinant keeps its sign, too. So does the length of a telescopic strut:
at zero its direction is not determined. All numbers are positive in the reference pose. A negative one
proves another branch; positive ones alone prove nothing, because several solutions can share their signs.
Blocks with more rows than unknowns (overconstrained loops) have no determinant and give no number.

Loops that can lie flat, such as parallelograms, have two kinds of solutions that meet there and share their
signs beyond. On one of them unknowns are constant, equal or opposite:

    y_i = s y_j + c,    s = 1, -1 or 0,

which programs make use of. One more number says whether all such relations of the reference's branch hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nacelle.kinematics.configuration import Configuration, configuration
from nacelle.kinematics.margins import NEAR_MARGIN, margins
from nacelle.kinematics.mechanism.assembly import generic_poses, rate_scale, sample_closed_configuration
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, divide, pack, sin
from nacelle.tree.rates import rate_equations
from nacelle.tree.spanning_tree import TreeKinematics

# Entries below this are zero: pure numbers of the size 1 that are found with a few roundings.
_ZERO = 1e-11
# How far the configurations are from the reference by which relations of unknowns are recognised.
_NEAR = (0.07, 0.05, 0.03, 0.02)
# A relation holds at all of them to this number, and this multiple of the coordinates' rounding.
_RELATED, _ROUNDED = 1e-10, 64.0
RELATION_TOLERANCE = 1e-7
"""A state in double is elsewhere where a relation of unknowns is wrong by more, rad or robot's sizes."""
_ROTATIONAL = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL, JointKind.POINT)


@dataclass(frozen=True)
class SquareBlock:
    """A square block of K.

    Attributes:
        rows: places of its rows among all equations of the iteration, in the order of the pivots.
        columns: places of its columns among the unknown rates, in the order of the pivots.
        scale: what makes its determinant 1 in the reference pose.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    scale: float


@dataclass(frozen=True)
class TelescopicStrut:
    """A telescopic strut: a prismatic joint between two bodies that have one more joint each.

    Attributes:
        joint: index of the prismatic joint.
        zero: its coordinate at the length zero, m.
        scale: what makes its length 1 in the reference pose.
    """

    joint: int
    zero: float
    scale: float


@dataclass(frozen=True)
class Relation:
    """What holds between unknowns on a branch: y[first] = sign y[second] + constant, sign 1, -1 or 0."""

    first: int
    second: int
    sign: float
    constant: float


@dataclass(frozen=True)
class Branch:
    """What keeps its sign on a branch.

    Attributes:
        rates: places in u of the unknown rates of the iteration.
        blocks: the square blocks of K.
        struts: telescopic struts that are solved numerically.
        names: of the blocks and struts: their joints; of the relations: "related joints".
        relations: of unknowns on the branch of the reference pose.
    """

    rates: tuple[int, ...]
    blocks: tuple[SquareBlock, ...]
    struts: tuple[TelescopicStrut, ...]
    names: tuple[str, ...]
    relations: tuple[Relation, ...] = ()

    @property
    def signs(self) -> int:
        """How many numbers change their sign at singularities."""
        return len(self.blocks) + len(self.struts)

    @property
    def size(self) -> int:
        """How many numbers there are: these, and one for all relations."""
        return self.signs + bool(self.relations)


def branch_of(robot: Robot) -> Branch:
    """What keeps its sign on the branch of the reference pose of a robot."""
    return _branch(mechanism_of(robot).robot)


@lru_cache(maxsize=64)
def _branch(robot: Robot) -> Branch:
    mechanism = mechanism_of(robot)
    legs = [rate for k in mechanism.iterated_legs for rate in mechanism.legs[k].rates]
    rates = (*mechanism.dependent, *legs)
    if not rates:
        return Branch((), (), (), ())
    scale = rate_scale(robot)[list(rates)]
    reference = configuration(robot, *mechanism.reference)
    motions = [reference.motion, *(motion for motion, _ in generic_poses(robot, mechanism.assembly))]
    samples = np.stack([_iteration_matrix(robot, motion, rates) for motion in motions])
    nonzero = np.max(np.abs(samples * scale), axis=0) > _ZERO + _ROUNDED * robot.coordinate_rounding
    blocks = []
    for rows, columns in _square_blocks(nonzero):
        part = samples[0][np.ix_(rows, columns)]
        order = _elimination_order(part)
        first, second = tuple(rows[i] for i, _ in order), tuple(columns[j] for _, j in order)
        values = [float(_determinant(K[np.ix_(first, second)])) for K in samples]
        # What does not change cannot vanish.
        if np.ptp(values) > _ZERO * abs(values[0]):
            blocks.append(SquareBlock(first, second, 1.0 / values[0] if values[0] else 1.0))
    struts = _struts(mechanism)
    joints = _names_of_rates(robot)
    names = [" ".join(dict.fromkeys(joints[rates[j]] for j in sorted(block.columns))) for block in blocks]
    names += [robot.joints[strut.joint].name for strut in struts]
    relations = _relations(mechanism)
    return Branch(rates, tuple(blocks), struts, (*names, *["related joints"] * bool(relations)), relations)


def _relations(mechanism: Mechanism) -> tuple[Relation, ...]:
    """Relations of unknowns that hold at closed configurations near the reference, idle joints moved too."""
    rng = np.random.default_rng(2)
    rows = [mechanism.reference[1]]
    for reach in _NEAR:
        closed = sample_closed_configuration(mechanism.robot, mechanism.assembly, reach, rng)
        if closed is not None:
            rows.append(mechanism.unknowns(mechanism.chart.coordinates(closed[0])[1], closed[1]))
    if len(rows) < len(_NEAR):
        return ()
    # Angles that count turns are no unknowns of the loops.
    values = (np.stack(rows) / unknown_units(mechanism))[:, : mechanism.iterated_count]
    # The joint whose quaternion an unknown belongs to, -1 for all others.
    primitives = _unknown_primitives(mechanism)
    spherical = [j if primitive is Primitive.SPHERICAL else -1 for j, primitive in primitives]
    related = _RELATED + _ROUNDED * mechanism.robot.coordinate_rounding
    relations: list[Relation] = []
    free: list[int] = []
    for i, column in enumerate(values.T):
        others = [(i, 0.0), *((j, sign) for j in free for sign in (1.0, -1.0))]
        for j, sign in others:
            constant = column - sign * values[:, j]
            # A quaternion and its negative are one orientation.
            if spherical[i] != spherical[j] or (spherical[i] >= 0 and abs(constant[0]) > related):
                continue
            if np.ptp(constant) < related * max(1.0, float(np.ptp(column))):
                relations.append(Relation(i, j, sign, float(constant[0])))
                break
        else:
            free.append(i)
    return tuple(relations)


def _relation_number(mechanism: Mechanism, relations: Sequence[Relation], y: Array, wrong: float) -> Scalar:
    """1 where all relations hold, negative where one is wrong by more than `wrong`."""
    units, primitives = unknown_units(mechanism), _unknown_primitives(mechanism)
    number: Scalar = 1.0
    for relation in relations:
        i, j = relation.first, relation.second
        left = y[i] * float(1.0 / units[i]) - relation.constant
        if relation.sign:
            left = left - y[j] * float(relation.sign / units[j])
        primitive = primitives[i][1]
        if primitive is not None and primitive is not Primitive.SPHERICAL and primitive.is_rotation:
            # Full turns do not matter.
            left = 2.0 * sin(0.5 * left)
        left = left * (1.0 / wrong)
        number = number - left * left
    return number


def _unknown_primitives(mechanism: Mechanism) -> list[tuple[int, Primitive | None]]:
    """For every unknown its joint and primitive; (-1, None) for dependent numbers of the platform's pose."""
    iterated = [
        (axis.joint, axis.primitive) for axis in mechanism.iterated_axes for _ in range(axis.primitive.nq)
    ]
    counted = [(j, mechanism.robot.joints[j].primitives[number]) for j, number in mechanism.counted]
    return [*[(-1, None)] * mechanism.dependent_count, *iterated, *counted]


def pose_units(mechanism: Mechanism) -> Array:
    """What the entries of x count in (nx,)."""
    return np.array([mechanism.robot.size if unit == "m" else 1.0 for unit in mechanism.layout.units])


def unknown_units(mechanism: Mechanism) -> Array:
    """What the unknowns y count in (ny,): the robot's size for lengths, 1 for angles and quaternions."""
    translations = 3 - len(mechanism.chart.moves)
    lengths = [
        k < translations if primitive is None else not primitive.is_rotation
        for k, (_, primitive) in enumerate(_unknown_primitives(mechanism))
    ]
    return np.where(lengths, mechanism.robot.size, 1.0)


def pose_step_units(mechanism: Mechanism) -> Array:
    """What the unknowns [x; y] of forward kinematics count in (nx + ny,).

    Angles that count turns follow the pose a step later, and say nothing of how near the others are.
    """
    units = np.concatenate([pose_units(mechanism), unknown_units(mechanism)])
    if mechanism.counted:
        units[-len(mechanism.counted) :] = np.inf
    return units


def branch_determinants(now: Configuration, y: Array, wrong: float = RELATION_TOLERANCE) -> Array:
    """Numbers (size,) that are positive on the branch of the reference pose, 1 in it, over any scalar.

    Relations may be off by `wrong`: as exactly as y is known.
    """
    robot, mechanism, plan = now.robot, now.mechanism, branch_of(now.robot)
    if not plan.size:
        return np.zeros(0)
    values: list[Scalar] = []
    if plan.blocks:
        K = _iteration_matrix(robot, now.motion, plan.rates)
        values += [
            block.scale * _determinant(K[list(block.rows)][:, list(block.columns)]) for block in plan.blocks
        ]
    index_of = {axis.joint: axis.y.start for axis in mechanism.iterated_axes}
    values += [(y[index_of[strut.joint]] - strut.zero) * strut.scale for strut in plan.struts]
    if plan.relations:
        values.append(_relation_number(mechanism, plan.relations, y, wrong))
    return pack(values)


def is_on_branch(mechanism: Mechanism, x: Array, y: Array) -> bool:
    """Whether a closed configuration is on the branch of the reference, and near no serial singularity.

    Newton's iteration may have gone elsewhere: a platform that only translates may have tilted.
    """
    now = configuration(mechanism.robot, x, y)
    near = np.asarray(margins(now), dtype=float)
    signs = np.asarray(branch_determinants(now, y), dtype=float)
    return bool(np.all(near > NEAR_MARGIN) and np.all(signs > 0.0))


def _iteration_matrix(robot: Robot, motion: TreeKinematics, rates: Sequence[int]) -> Array:
    """K (equations, unknown rates): closure rows over their scale, then the rows of idle spins."""
    mechanism = mechanism_of(robot)
    system = rate_equations(robot, mechanism, motion)
    rows = list(mechanism.iterated_rows)
    K = system.closures.jacobian[rows][:, list(rates)] / mechanism.row_scale[rows].reshape(-1, 1)
    spins = [row[list(rates)] for k in (*mechanism.iterated_legs, -1) for row in system.rows[k]]
    return np.asarray(np.concatenate([K, np.stack(spins)]) if spins else K)


def _names_of_rates(robot: Robot) -> list[str]:
    """The name that a rate of the tree belongs to."""
    names = ["the platform"] * robot.platform_nv
    for joint in robot.tree_joints:
        names += [joint.name] * joint.nv
    return names


# ---- the structure of a sparse matrix


def _square_blocks(nonzero: Array) -> list[tuple[list[int], list[int]]]:
    """Rows and columns of the square blocks on the diagonal, from which entries can be other than zero."""
    parts = []
    for rows, columns in _connected_blocks(nonzero):
        if len(rows) != len(columns):
            continue
        row_of = _find_matching(nonzero[np.ix_(rows, columns)])
        if row_of is not None:
            for group in _strongly_connected(nonzero[np.ix_([rows[i] for i in row_of], columns)]):
                parts.append(([rows[row_of[j]] for j in group], [columns[j] for j in group]))
    return parts


def _connected_blocks(nonzero: Array) -> list[tuple[list[int], list[int]]]:
    """Rows and columns of the parts of a matrix that share nothing."""
    left, parts = set(range(nonzero.shape[1])), []
    while left:
        columns, rows = {min(left)}, set[int]()
        while True:
            more_rows = set(np.flatnonzero(np.any(nonzero[:, sorted(columns)], axis=1)).tolist())
            more = set(np.flatnonzero(np.any(nonzero[sorted(more_rows)], axis=0)).tolist()) | columns
            if more == columns and more_rows == rows:
                break
            columns, rows = more, more_rows
        parts.append((sorted(rows), sorted(columns)))
        left -= columns
    return parts


def _find_matching(nonzero: Array) -> list[int] | None:
    """A row for every column of a square pattern, each once; None if there is no such choice."""
    n = len(nonzero)
    column_of: dict[int, int] = {}

    def free(column: int, seen: set[int]) -> bool:
        for row in np.flatnonzero(nonzero[:, column]).tolist():
            if row not in seen:
                seen.add(row)
                if row not in column_of or free(column_of[row], seen):
                    column_of[row] = column
                    return True
        return False

    if not all(free(column, set()) for column in range(n)):
        return None
    row_of = {column: row for row, column in column_of.items()}
    return [row_of[column] for column in range(n)]


def _strongly_connected(nonzero: Array) -> list[list[int]]:
    """Groups of columns of a pattern with a full diagonal that depend on each other."""
    reach = nonzero | np.eye(len(nonzero), dtype=bool)
    for _ in range(len(reach).bit_length()):
        reach = reach @ reach
    mutual = reach & reach.T
    return [np.flatnonzero(row).tolist() for k, row in enumerate(mutual) if np.flatnonzero(row)[0] == k]


# ---- determinants


def _elimination_order(A: Array) -> list[tuple[int, int]]:
    """The order (row, column) in which a matrix of floats is eliminated: large pivots that fill little.

    Among the pivots within a factor of ten of the largest one that which meets the fewest entries of its row
    and column is taken, the first of them in ties.
    """
    A, order = A.copy(), []
    rows, columns = list(range(len(A))), list(range(len(A)))
    while rows:
        part = np.abs(A[np.ix_(rows, columns)])
        full = part > _ZERO * np.max(part, initial=0.0)
        fill = (full.sum(axis=1)[:, None] - 1) * (full.sum(axis=0)[None] - 1)
        fill = np.where(part >= 0.1 * np.max(part), fill, len(full) ** 2)
        i, j = np.unravel_index(int(np.argmin(fill)), fill.shape)
        row, column = rows.pop(int(i)), columns.pop(int(j))
        order.append((row, column))
        if rows and A[row, column]:
            A[np.ix_(rows, columns)] -= np.outer(A[rows, column], A[row, columns]) / A[row, column]
    return order


def _determinant(A: Array) -> Scalar:
    """The determinant of a matrix of any scalar: written out up to 3 x 3, else by elimination in order."""
    n = len(A)
    if n == 1:
        return A[0, 0]
    if n == 2:
        return A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    if n == 3:
        minors = [A[1, j] * A[2, k] - A[1, k] * A[2, j] for j, k in ((1, 2), (2, 0), (0, 1))]
        return A[0, 0] * minors[0] + A[0, 1] * minors[1] + A[0, 2] * minors[2]
    M = [list(row) for row in A]
    value: Scalar = 1.0
    for k in range(n):
        value = M[k][k] * value
        if k == n - 1:
            break
        reciprocal = divide(1.0, M[k][k])
        for i in range(k + 1, n):
            factor = M[i][k] * reciprocal
            for j in range(k + 1, n):
                M[i][j] = M[i][j] - factor * M[k][j]
    return value


# ---- struts


def _struts(mechanism: Mechanism) -> tuple[TelescopicStrut, ...]:
    """Telescopic struts among the joints that are solved numerically."""
    robot = mechanism.robot
    joints_at: dict[int, list[Joint]] = {}
    for joint in robot.joints:
        for body in (joint.predecessor, joint.successor):
            joints_at.setdefault(body, []).append(joint)
    struts = []
    for j in mechanism.iterated_joints:
        joint = robot.joints[j]
        ends = [(joint.predecessor, joint.frame_predecessor), (joint.successor, joint.frame_successor)]
        heights = []
        for body, frame in ends:
            others = [mate for mate in joints_at[body] if mate is not joint]
            if joint.kind is not JointKind.PRISMATIC or len(others) != 1 or others[0].kind not in _ROTATIONAL:
                break
            mate = others[0]
            end = mate.frame_predecessor if mate.predecessor == body else mate.frame_successor
            heights.append(float((frame.R.T @ (end.p - frame.p))[2]))
        if len(heights) == 2:
            zero = heights[0] - heights[1]
            length = float(mechanism.assembly.q_tree[robot.q_slices[j]][0]) - zero
            if length:
                struts.append(TelescopicStrut(j, zero, 1.0 / length))
    return tuple(struts)
