"""Checks proofs of workspaces with Arb balls (python-flint), from the file alone; no code of nacelle runs
here.

    python tests/support/proof_checker.py proof.npz [LEAVES]

The covering is checked in full: the codes are one tree of halved boxes. Of the leaves that decide something
all are checked, or as many as LEAVES says at random (100000). Each equation is evaluated once more over the
box, in forms c + g . t whose coefficients are balls, and every claim of the file is derived from these; a
leaf for which that fails is halved up to a few times. What is left open is bounded anew.
`proof_equations.py` derives the equations of five robots a second time, from their YAML.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from flint import arb, arb_mat, ctx

INSIDE, OUTSIDE, CUT, UNDECIDED = 250, 251, 252, 253
# How often a leaf may be halved to show what it claims.
DEPTH = 8
ctx.prec = 80


class RejectedError(Exception):
    """A proof that does not hold, or cannot be read."""


# ---- forms: c + g . t with |t_i| <= 1, coefficients balls, what is not linear in the ball c


def upper(x):
    """A float above a ball."""
    return float(x.upper()) * (1.0 + 1e-15) + 1e-300 if x.is_finite() else math.inf


class Form:
    """A function over a box, enclosed."""

    __slots__ = ("c", "g")

    def __init__(self, c, g):
        self.c, self.g = c, g

    def span(self):
        total = arb(0)
        for entry in self.g:
            if entry is not None:
                total += abs(entry)
        return total.upper()

    def ball(self):
        return self.c + arb(0, self.span())

    def __add__(self, other):
        g = [b if a is None else a if b is None else a + b for a, b in zip(self.g, other.g, strict=True)]
        return Form(self.c + other.c, g)

    def __neg__(self):
        return Form(-self.c, [None if a is None else -a for a in self.g])

    def __sub__(self, other):
        return self + (-other)

    def __mul__(self, other):
        g = []
        diagonal, size = arb(0), arb(0)
        for a, b in zip(self.g, other.g, strict=True):
            if a is None:
                g.append(None if b is None else self.c * b)
            elif b is None:
                g.append(other.c * a)
            else:
                g.append(self.c * b + other.c * a)
                diagonal += a * b
                size += abs(a * b)
        # t_i^2 lies in [0, 1], t_i t_j in [-1, 1].
        cross = self.span() * other.span() - size / 2
        return Form(self.c * other.c + diagonal / 2 + arb(0, cross.upper()), g)

    def smooth(self, value, slope, rest):
        """By the tangent at the middle: value + slope (x - m) + rest, slope and rest balls."""
        d = self.c - self.c.mid()
        return Form(value + slope * d + rest, [None if a is None else slope * a for a in self.g])

    def far(self):
        """The middle of c, a bound of the distance to it, and the ball of all values."""
        m = arb(self.c.mid())
        return m, (arb(0, self.c.rad()).upper() + self.span()).upper(), self.ball()

    def sqrt(self):
        m, d, x = self.far()
        if not x > 0:
            return Form(arb("nan"), [None] * len(self.g))
        r = m.sqrt()
        most = (d * d / (2 * r * (arb(x.lower()).sqrt() + r) ** 2)).upper()
        return self.smooth(r, 1 / (2 * r), -(most / 2) + arb(0, (most / 2).upper()))

    def reciprocal(self):
        m, d, x = self.far()
        if not (x > 0 or x < 0):
            return Form(arb("nan"), [None] * len(self.g))
        most = (d * d / (m * m * arb(abs(x).lower()))).upper()
        half = most / 2 + arb(0, (most / 2).upper())
        return self.smooth(1 / m, -1 / (m * m), half if x > 0 else -half)

    def sin(self):
        m, d, _ = self.far()
        return self.smooth(m.sin(), m.cos(), arb(0, (d * d / 2).upper()))

    def maximum(self, other):
        """max(d, 0) of a difference d between l < 0 < h lies between k d and k d + max(-k l, (1 - k) h)."""
        d = self - other
        x = d.ball()
        if not x.is_finite():
            return Form(arb("nan"), [None] * len(self.g))
        if x > 0 or x < 0:
            return self if x > 0 else other
        low, high = min(arb(x.lower()), arb(0)), max(arb(x.upper()), arb(0))
        k = arb(min(max(float(high / (high - low)), 0.0), 1.0)) if high - low > 0 else arb(1)
        half = (max((-k * low).upper(), ((1 - k) * high).upper()) / 2).upper()
        return other + Form(k * d.c + half + arb(0, half), [None if a is None else k * a for a in d.g])

    def cos(self):
        m, d, _ = self.far()
        return self.smooth(m.cos(), -m.sin(), arb(0, (d * d / 2).upper()))


# ---- the equations, from their text


def read_equations(text):
    """Steps (name, operation, operands) of a text; every name is known before it is used."""
    steps, known = [], set()
    for line in text.strip().splitlines():
        match = re.fullmatch(r"(\w+(?:\[\d+\])?) = (.+)", line)
        if match is None:
            raise RejectedError(f"the line {line!r} is no equation")
        name, right = match.groups()
        if found := re.fullmatch(r"(v\d+) ([-+*/]) (v\d+)", right):
            step = (found[2], found[1], found[3])
        elif found := re.fullmatch(r"(sqrt|sin|cos)\((v\d+)\)", right):
            step = (found[1], found[2])
        elif found := re.fullmatch(r"max\((v\d+), (v\d+)\)", right):
            step = ("max", found[1], found[2])
        elif found := re.fullmatch(r"-(v\d+)", right):
            step = ("neg", found[1])
        elif found := re.fullmatch(r"(u|rest)\[(\d+)\]", right):
            step = (found[1], int(found[2]))
        elif re.fullmatch(r"v\d+", right):
            step = ("is", right)
        else:
            try:
                step = ("number", float(right))
            except ValueError:
                raise RejectedError(f"the equation {line!r} is not one that this checker knows") from None
        if step[0] not in ("u", "rest", "number") and not known.issuperset(step[1:]):
            raise RejectedError(f"{line!r} uses what is not known yet")
        known.add(name)
        steps.append((name, *step))
    return steps


def evaluate(steps, u, rest, number):
    """Values of the outputs by name."""
    values, outputs = {}, {}
    for name, op, *operands in steps:
        if op == "number":
            result = number(operands[0])
        elif op == "u":
            result = u[operands[0]]
        elif op == "rest":
            result = rest
        elif op == "is":
            outputs[name] = values[operands[0]]
            continue
        elif op == "neg":
            result = -values[operands[0]]
        elif op in ("sqrt", "sin", "cos"):
            result = getattr(values[operands[0]], op)()
        elif op == "max":
            result = values[operands[0]].maximum(values[operands[1]])
        else:
            a, b = values[operands[0]], values[operands[1]]
            result = (
                a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a * b.reciprocal()
            )
        values[name] = result
    return outputs


# ---- a proof


@dataclass
class Proof:
    """A proof as its file says it."""

    header: dict
    tree: np.ndarray
    leaf: np.ndarray
    sign: np.ndarray
    form: np.ndarray
    steps: dict = field(default_factory=dict)

    @property
    def box(self):
        return np.array(self.header["box"], dtype=float)


def read_proof(path):
    """Read a file."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            header = json.loads(bytes(archive["header"]))
            arrays = [archive[name] for name in ("tree", "cut_leaf", "cut_sign", "cut_form")]
    except Exception as error:
        raise RejectedError(f"not readable: {error}") from None
    proof = Proof(header, *arrays)
    n = len(header["coordinates"])
    if header.get("format") != "nacelle-proof/1":
        raise RejectedError("another format")
    if (
        proof.box.shape != (n, 2)
        or not np.all(np.isfinite(proof.box))
        or not np.all(np.diff(proof.box) > 0.0)
    ):
        raise RejectedError("the box is not one")
    if proof.form.shape != (len(proof.leaf), n + 3) or len(proof.sign) != len(proof.leaf):
        raise RejectedError("the slabs do not fit each other")
    if len(proof.leaf) and (
        np.any(np.diff(proof.leaf.astype(int)) < 0) or proof.sign.max() > len(header["signs"])
    ):
        raise RejectedError("slabs are not in order, or of numbers that do not exist")
    proof.steps = {name: read_equations(header["equations"][name]) for name in ("signs", "rates")}
    for name, size in (("signs", len(header["signs"])), ("rates", math.prod(header["jacobian"]))):
        label = "signs" if name == "signs" else "J"
        outputs = [step[0] for step in proof.steps[name] if step[1] == "is"]
        if outputs != [f"{label}[{k}]" for k in range(size)]:
            raise RejectedError(f"the equations {name} do not give {size} numbers")
    return proof


def walk(proof):
    """The boxes of all leaves and their codes, from the tree alone: together they are the box."""
    boxes, codes, position = [], [], 0
    level = [proof.box]
    while level:
        following = []
        for box in level:
            if position >= len(proof.tree):
                raise RejectedError("the tree ends too early: a part of the box is not covered")
            code = int(proof.tree[position])
            position += 1
            if code >= INSIDE:
                if code > UNDECIDED:
                    raise RejectedError(f"the code {code} means nothing")
                boxes.append(box)
                codes.append(code)
                continue
            if code >= len(box):
                raise RejectedError(f"a box is halved across side {code}, which it has not")
            middle = 0.5 * (box[code, 0] + box[code, 1])
            if not box[code, 0] < middle < box[code, 1]:
                raise RejectedError("a box has no middle any more")
            lower, higher = box.copy(), box.copy()
            lower[code, 1] = higher[code, 0] = middle
            following += [lower, higher]
        level = following
    if position != len(proof.tree):
        raise RejectedError("the tree has codes left over")
    return np.array(boxes), np.array(codes)


class Leaf:
    """What is known of one box."""

    def __init__(self, proof, box):
        self.proof = proof
        n = len(box)
        self.n, zero = n, [None] * n
        u = []
        for k, (low, high) in enumerate(box):
            m, h = (arb(low) + arb(high)) / 2, (arb(high) - arb(low)) / 2
            u.append(Form(m, [h if i == k else None for i in range(n)]))
        self.u, self.number = u, lambda value: Form(arb(value), zero)
        self.rest = Form(arb(0, proof.header["rest_bound"]), zero)
        self._signs = self._conditioning = None

    @property
    def signs(self):
        """Forms of the signs; balls that are not numbers where one is not defined."""
        if self._signs is None:
            found = evaluate(self.proof.steps["signs"], self.u, self.rest, self.number)
            self._signs = [found[f"signs[{k}]"] for k in range(len(self.proof.header["signs"]))]
        return self._signs

    @property
    def conditioning(self):
        """(lower, upper) of the quotient of singular values, and the slab (form, high, low); None:
        unknown."""
        if self._conditioning is None:
            found = evaluate(self.proof.steps["rates"], self.u, self.rest, self.number)
            shape, margin = self.proof.header["jacobian"], self.proof.header["parallel"]
            J = [found[f"J[{k}]"] for k in range(math.prod(shape))]
            self._conditioning = bound_conditioning(J, *shape, margin)
        return self._conditioning


def bound_conditioning(J, m, n, margin):
    """From J = U (S + E) V^T with any U, V near orthogonal, in balls.

    With the columns of U^T J V, the last row and column set apart: J^-1 is a product of three matrices.
    """
    unknown = (-math.inf, math.inf, None)
    if not all(entry.ball().is_finite() for entry in J):
        return unknown
    centre = np.array([float(entry.c.mid()) for entry in J]).reshape(m, n)
    U, s, Vt = np.linalg.svd(centre)
    left, right = arb_mat(U.T.tolist()), arb_mat(Vt.T.tolist())
    sides = len(J[0].g)
    parts = [left * arb_mat(m, n, [entry.c for entry in J]) * right]
    for k in range(sides):
        entries = [arb(0) if entry.g[k] is None else entry.g[k] for entry in J]
        parts.append(left * arb_mat(m, n, entries) * right)
    E = np.array(
        [
            [
                upper(
                    abs(parts[0][i, j] - (arb(s[i]) if i == j else 0)) + sum(abs(p[i, j]) for p in parts[1:])
                )
                for j in range(n)
            ]
            for i in range(m)
        ]
    )
    up, down = 1.0 + 1e-11, 1.0 - 1e-11
    for A in (left, right):
        defect = A.transpose() * A - arb_mat(
            A.nrows(), A.ncols(), [int(i == j) for i in range(A.nrows()) for j in range(A.ncols())]
        )
        if sum(upper(abs(entry)) for entry in defect.entries()) > 1e-13:
            return unknown

    def norm(A):
        return math.sqrt(A.sum(axis=0).max(initial=0.0) * A.sum(axis=1).max(initial=0.0)) * up

    largest = (s[0] + norm(E)) * up
    lower = s[-1] * (1.0 - norm(E[:n] / s[:, None])) / largest - 1e-11
    column = E[:, -1].copy()
    column[n - 1] += s[-1]
    first = (s[0] - E[0, 0]) * down
    above = np.linalg.norm(column) / first + 1e-11 if first > 0.0 else math.inf
    slab = None
    if m == n:
        by_row, by_column = norm(E[:-1, :-1] / s[:-1, None]), norm(E[:-1, :-1] / s[None, :-1])
        if max(by_row, by_column) < 1.0:
            b, a = E[:-1, -1], E[-1, :-1]
            beta = np.linalg.norm(b / s[:-1]) / (1.0 - by_row) * up
            gamma = np.linalg.norm(a / s[:-1]) / (1.0 - by_column) * up
            moved = gamma * np.linalg.norm(b) * up
            slant = (1.0 + beta) * (1.0 + gamma) * up
            high = margin * largest * slant + moved
            if not min(s[:-1], default=math.inf) * (1.0 - by_row) * down > high:
                high = math.inf
            slab = (
                Form(parts[0][n - 1, n - 1], [p[n - 1, n - 1] for p in parts[1:]]),
                high,
                margin * first - moved,
            )
    return lower, above, slab


def distance(form, c, g):
    """A bound of |f - (c + g . t)| over the box."""
    total = abs(form.c - arb(c))
    for a, b in zip(form.g, g, strict=True):
        total += abs((arb(0) if a is None else a) - arb(b))
    return upper(total)


def holds(proof, box, code, slabs):
    """Whether the claim of a leaf is derived on its box as a whole. Slabs: (sign, c, g, low, high)."""
    leaf, signs, margin = Leaf(proof, box), len(proof.header["signs"]), proof.header["parallel"]
    if code == OUTSIDE:
        return any(form.ball() < 0 for form in leaf.signs) or leaf.conditioning[1] < margin
    cut = {sign for sign, *_ in slabs}
    if not all(form.ball() > 0 for k, form in enumerate(leaf.signs) if k not in cut):
        return False
    if signs not in cut and not leaf.conditioning[0] > margin:
        return False
    for sign, c, g, low, high in slabs:
        if not (math.isfinite(low) and math.isfinite(high)):
            continue
        if sign < signs:
            away = distance(leaf.signs[sign], c, g)
            if not (away <= high and away <= -low):
                return False
            continue
        slab = leaf.conditioning[2]
        if slab is None:
            return False
        form, own_high, own_low = slab
        away = min(distance(form, c, g), distance(-form, c, g))
        if not (own_high + away <= high and low <= own_low - away):
            return False
    return True


def check_leaf(proof, box, code, slabs, depth=DEPTH):
    """Whether the claim of a leaf is derived, halving it where that helps."""
    if holds(proof, box, code, slabs):
        return True
    if depth == 0:
        return False
    side = int(np.argmax((box[:, 1] - box[:, 0]) / np.diff(proof.box)[:, 0]))
    middle = 0.5 * (box[side, 0] + box[side, 1])
    for half, shift in ((0, -0.5), (1, 0.5)):
        part = box.copy()
        part[side, 1 - half] = middle
        # On a half t_side is shift + t_side / 2, exactly but for rounding of the middle, which slabs widen
        # for.
        moved = []
        for sign, c, g, low, high in slabs:
            g2 = list(g)
            g2[side] = 0.5 * g[side]
            moved.append((sign, c + shift * g[side], g2, low, high))
        if not check_leaf(proof, part, code, moved, depth - 1):
            return False
    return True


def open_share(proof, boxes, codes, slabs_of):
    """An upper bound of the share of the volume that the leaves leave open."""
    widths = np.diff(proof.box)[:, 0]
    total = 0.0
    for k, (box, code) in enumerate(zip(boxes, codes, strict=True)):
        if code in (INSIDE, OUTSIDE):
            continue
        part = 1.0
        if code == CUT:
            part = 0.0
            for sign, c, g, low, high in slabs_of(k):
                sizes = np.abs(g)
                if not (math.isfinite(low) and math.isfinite(high)) or not sizes.max() > 0.0:
                    part += 1.0
                    continue
                density = min(0.5 / sizes.max(), math.sqrt(0.5) / np.linalg.norm(sizes))
                width = high - low
                if sign == len(proof.header["signs"]):
                    width *= int(c + sizes.sum() >= low) + int(c - sizes.sum() <= -low)
                    width = 2.0 * high if low <= 0.0 else width
                part += max(width, 0.0) * density
        total += min(part, 1.0) * float(np.prod(np.diff(box)[:, 0] / widths))
    return total


def check_proof(proof, leaves=100_000, seed=0):
    """Check a proof.

    Returns:
        How many leaves were checked, and how many decide something.

    Raises:
        RejectedError: where it does not hold, or what it claims could not be derived.
    """
    boxes, codes = walk(proof)
    if len(proof.leaf) and (proof.leaf.max() >= len(codes) or np.any(codes[proof.leaf] != CUT)):
        raise RejectedError("a slab belongs to a leaf that is not cut")
    first = np.searchsorted(proof.leaf, np.arange(len(codes) + 1))

    def slabs_of(k):
        rows = range(first[k], first[k + 1])
        return [
            (int(proof.sign[r]), float(f[0]), [float(v) for v in f[1:-2]], float(f[-2]), float(f[-1]))
            for r in rows
            for f in [proof.form[r]]
        ]

    share = open_share(proof, boxes, codes, slabs_of)
    if not share <= proof.header["undecided"] * (1.0 + 1e-6):
        raise RejectedError(
            f"the leaves leave {share:.6g} open, more than the {proof.header['undecided']:.6g} claimed"
        )
    deciding = np.flatnonzero(codes != UNDECIDED)
    chosen = deciding
    if len(deciding) > leaves:
        chosen = np.sort(np.random.default_rng(seed).choice(deciding, leaves, replace=False))
    for k in chosen:
        if not check_leaf(proof, boxes[k], codes[k], slabs_of(k)):
            raise RejectedError(f"leaf {k} ({boxes[k].tolist()}, code {codes[k]}): not derived")
    return len(chosen), len(deciding)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    try:
        checked, deciding = check_proof(read_proof(file), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
    except RejectedError as error:
        sys.exit(f"{file}: refused: {error}")
    print(f"{file}: accepted; {checked} of {deciding} leaves that decide were checked")
